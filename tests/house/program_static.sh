# bin/tacho runs on any Linux of its architecture: no interpreter, no shared library.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
[ -e "$TACHO" ] || { complain "$TACHO was not built"; exit 1; }
"$READELF" -Wl "$TACHO" | grep -q INTERP && complain "tacho asks for a dynamic loader"
"$READELF" -Wd "$TACHO" 2>/dev/null | grep -q NEEDED && complain "tacho needs shared libraries"
exit $bad
