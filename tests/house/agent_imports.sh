# Our shared libraries load on glibc 2.28: they need nothing but libraries of glibc, and import each symbol from the
# library and under the version that 2.28 has it. Guests in other people's processes need libc alone: libdl and the like
# are not in every root.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
column=$([ "$ARCH" = x86_64 ] && echo 3 || echo 4)

for library in $(guests) "$LIBTACHO"; do
    [ -e "$library" ] || { complain "$library was not built"; continue; }
    name=$(basename "$library")
    for needed in $("$READELF" -Wd "$library" | sed -nE 's/.*\(NEEDED\).*\[(.*)\]/\1/p'); do
        awk -v library="$needed" '$2 == library { found = 1 } END { exit !found }' "$table" || complain "$name needs $needed"
        [ "$library" = "$LIBTACHO" ] || [ "$needed" = libc.so.6 ] || complain "$name needs $needed"
    done
    while read -r symbol from version; do
        want=$(awk -v symbol="$symbol" -v column="$column" '$1 == symbol { print $2, $column }' "$table")
        [ "$want" = "$from $version" ] || complain "$name imports $symbol from $from as $version; in 2.28 it is: ${want:-unknown}"
    done < <(imports "$library")
    # What has no version is found by name alone, anywhere or nowhere: only weak references may be left to that.
    unversioned=$("$READELF" -W --dyn-syms "$library" | awk '$7 == "UND" && $5 == "GLOBAL" && $8 !~ /@/ { print $8 }')
    [ -z "$unversioned" ] || complain "$name imports without a version: $unversioned"
done
[ -n "$(imports "$AGENT")" ] || complain "no import of the agent was found: the check itself is broken"
exit $bad
