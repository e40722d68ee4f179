# libtacho-libraries.so exports the functions of its lists, dlsym and tacho_stub_of, and nothing else. The lists are sorted as a whole, in
# the order in which they are read: a function is found in them by halving.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
library=$(dirname "$AGENT")/libtacho-libraries.so
[ -e "$library" ] || { complain "$library was not built"; exit 1; }
folder=$SOURCE/src/agent/stubs/libraries
lists=$(sed -nE 's/^#include "(.*\.calls)"/\1/p' "$folder/library_lists.def")
[ "$(wc -w <<<"$lists")" = "$(ls "$folder"/*.calls | wc -l)" ] || complain "a list is not read"
owners=$(sed -nE 's/^#define OF_LIBRARY WIRE_LIBRARY_(\w+)$/\L\1.calls/p' "$folder/library_lists.def")
[ "$owners" = "$lists" ] || complain "library_lists.def gives the lists" $lists "to the libraries of" $owners
known=$(sed -nE 's/^LIBRARY\((\w+), .*/\L\1.calls/p' "$SOURCE/src/wire/libraries.def" | LC_ALL=C sort)
[ "$(LC_ALL=C sort <<<"$lists")" = "$known" ] || complain "libraries.def has the libraries of" $known ", library_lists.def the lists" $lists

names=$(cd "$folder" && printf '%s\n' '#define CALL(name, words, kind) name' '#include "library_lists.def"' |
    "$CC" -E -P -x c - | tr -s ' ' '\n' | grep .)
[ "$(wc -l <<<"$names")" -ge 1500 ] || complain "only $(wc -l <<<"$names") functions: fewer than 1500, or the check itself is broken"
odd=$(cd "$folder" && cat $lists | grep '^CALL' | grep -vE '^CALL(_AND_64)?\(\w+, [0-9]+, (PLAIN|SMALL)\)$')
[ -z "$odd" ] || complain "rows that are not of the usual form: $odd"
LC_ALL=C sort -uc <<<"$names" || complain "the lists are not sorted, or name a function twice"

exported=$("$NM" -D --defined-only "$library" | awk '$2 == "T" { print $3 }' | LC_ALL=C sort)
diff <(printf '%s\ndlsym\ntacho_stub_of\n' "$names" | LC_ALL=C sort) <(echo "$exported") | grep '^[<>]' | sed 's/^</should be exported, but is not:/; s/^>/is exported without a reason:/' | grep . && bad=1

# libtacho-nccl.so exports the tables that NCCL looks for.
plugin=$("$NM" -D --defined-only "$(dirname "$AGENT")/libtacho-nccl.so" | awk '{ print $3 }' | LC_ALL=C sort | tr '\n' ' ')
[ "$plugin" = "ncclProfiler_v1 ncclProfiler_v2 ncclProfiler_v3 ncclProfiler_v4 ncclProfiler_v5 ncclProfiler_v6 " ] || complain "libtacho-nccl.so exports: $plugin"
exit $bad
