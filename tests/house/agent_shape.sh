# What a guest in somebody else's process must be: one pointer of static TLS, never unmapped, bound at load time,
# nothing executable that is writable, no search path, no text relocation.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -e "$AGENT" ] || { complain "$AGENT was not built"; exit 1; }

dynamic=$("$READELF" -Wd "$AGENT")
tls=$("$READELF" -Wl "$AGENT" | awk '$1 == "TLS" { print $6 }')
[ $((${tls:-0})) -le 8 ] || complain "the agent takes $((tls)) bytes of static TLS, more than the 8 of one pointer"
grep -q 'Flags:.*NODELETE' <<<"$dynamic" || complain "the agent can be unmapped under running hooks: NODELETE is not set"
grep -q 'BIND_NOW' <<<"$dynamic" || complain "the agent binds lazily, so that a hook could enter the loader"
grep -qE '\((RPATH|RUNPATH|TEXTREL)\)' <<<"$dynamic" && complain "the agent has a search path or text relocations"
"$READELF" -Wl "$AGENT" | grep -qE 'GNU_STACK.* RWE' && complain "the agent asks for an executable stack"
# A symbol bound to the dynamic loader's TLS helper would allocate at first use.
imports "$AGENT" | grep -q '^__tls_get_addr ' && complain "the agent uses dynamic TLS"
exit $bad
