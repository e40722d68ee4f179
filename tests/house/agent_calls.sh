# The agent calls no function that it hooks: such a call would come back to the hook, or to another guest's. It uses the
# pointers that libc_resolve() finds, or its own system calls (sys.h). A call by name would be a relocation of that name.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -e "$AGENT" ] || { complain "$AGENT was not built"; exit 1; }

hooks=$(printf '#define OS(type, symbol, ...) symbol\n#define OS_OWN(type, symbol, ...) symbol\n#include "%s/src/wire/libc_calls.def"\n' "$SOURCE" | "$CC" -E -P -x c -)
called=$("$READELF" -Wr "$AGENT" | awk 'NF >= 5 { sub(/@.*/, "", $5); print $5 }' | sort -u)
grep -qx memcpy <<<"$called" || complain "no call of memcpy() was found: the check itself is broken"
for name in $(comm -12 <(tr -s ' ' '\n' <<<"$hooks" | sort -u) <(echo "$called")); do
    complain "the agent calls $name(), which it hooks: use LIBC_REAL($name), or a system call of sys.h"
done
exit $bad
