# Lists grow with array_reserve() and its variants (src/base/array.h): one growth factor, one check for overflow, one way to
# report that memory is short. Outside src/base only the files and folders of this table call realloc().
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$SOURCE" || exit 1

exceptions="
src/agent/heap_hooks/heap_hooks.c  is the hook of realloc(): it hands the call on
src/report/writer/writer.c  shrinks the rows of a batch that waits for space on the disk
"
callers=$(grep -rlE '\brealloc(array)?\(' src --include='*.[ch]')
grep -qx 'src/base/array.c' <<<"$callers" || complain "the call in src/base/array.c was not found: the check itself is broken"
while read -r place reason; do
    [ -z "$place" ] || grep -q "^$place" <<<"$callers" || complain "$place calls realloc() no more: remove it from the table"
done <<<"$exceptions"
for file in $(grep -v '^src/base/' <<<"$callers"); do
    awk -v file="$file" '$1 != "" && index(file, $1) == 1 { found = 1 } END { exit !found }' <<<"$exceptions" ||
        complain "$file calls realloc(): use array_reserve() of src/base/array.h"
done
exit $bad
