# What a guest in somebody else's process must be: one pointer of static TLS, never unmapped, bound at load time,
# nothing executable that is writable, no search path, no text relocation.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"

for guest in $(guests); do
    [ -e "$guest" ] || { complain "$guest was not built"; continue; }
    name=$(basename "$guest")
    dynamic=$("$READELF" -Wd "$guest")
    tls=$("$READELF" -Wl "$guest" | awk '$1 == "TLS" { print $6 }')
    [ $((${tls:-0})) -le 8 ] || complain "$name takes $((tls)) bytes of static TLS, more than the 8 of one pointer"
    grep -q 'Flags:.*NODELETE' <<<"$dynamic" || complain "$name can be unmapped under running hooks: NODELETE is not set"
    grep -q 'BIND_NOW' <<<"$dynamic" || complain "$name binds lazily, so that a hook could enter the loader"
    grep -qE '\((RPATH|RUNPATH|TEXTREL)\)' <<<"$dynamic" && complain "$name has a search path or text relocations"
    "$READELF" -Wl "$guest" | grep -qE 'GNU_STACK.* RWE' && complain "$name asks for an executable stack"
    # A symbol bound to the dynamic loader's TLS helper would allocate at first use.
    imports "$guest" | grep -q '^__tls_get_addr ' && complain "$name uses dynamic TLS"
done
exit $bad
