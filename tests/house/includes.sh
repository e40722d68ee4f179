# Dependencies between the folders of src/ point one way. The tables below are the whole truth: who may include whom,
# and which folders may use which library.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$SOURCE/src" || exit 1

folders="base:
wire: base
agent: base wire
libraries: base wire agent
report: base
symbols: base
query: base report
import: base report
analyze: base report
export: base report query import analyze
view: base report query analyze
serve: base report query import analyze view
wasm: base report import view
collect: base wire report symbols
libtacho: base wire report
cmd: base wire report query import analyze export view serve collect"

libraries="zstd.h: report import symbols
zlib.h: import export symbols serve
lzma.h: symbols
xxhash.h: report base
sqlite3.h: query import export wasm
event2/: collect serve
libiberty/: symbols
elfutils/: symbols"

# Lines of "file:folder/header" for every include that names another folder of ours.
while IFS=: read -r file line; do
    from=${file%%/*}
    to=$(sed -nE 's/.*"\.\.\/([^/"]+)\/.*/\1/p' <<<"$line")
    allowed=$(sed -n "s/^$from: *//p" <<<"$folders")
    grep -q "^$from:" <<<"$folders" || complain "$file: the folder src/$from is in no table of dependencies"
    grep -qw -- "$to" <<<"$allowed" || complain "$file: src/$from must not see src/$to: $line"
done < <(grep -rnHE --include='*.[ch]' '^ *# *include *"\.\./' . | sed -E 's/^\.\///; s/^([^:]+):[0-9]+:/\1:/')

while IFS=: read -r header users; do
    while IFS=: read -r file line; do
        grep -qw -- "${file%%/*}" <<<"$users" || complain "$file: only$users may use <$header…>: $line"
    done < <(grep -rHE --include='*.[ch]' "^ *# *include *<$header" . | sed 's/^\.\///')
done <<<"$libraries"

# Headers of the same folder or "../folder/": any other spelling would slip past the check above.
while IFS= read -r line; do
    complain "$line: name a header of another folder as \"../folder/header.h\""
done < <(grep -rnHE --include='*.[ch]' '^ *# *include *"[^".][^"]*/' . | grep -v '"tacho/')

exit $bad
