# The C code is laid out as .clang-format says, by the version that it is written for, within 120 columns. The gate looks at the files of
# the last commits and at those that are not committed yet, scripts/test --all at all of them.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
cd "$SOURCE" || exit 1
command -v clang-format-19 >/dev/null || skip "clang-format-19 is not installed"

sources='^(src|include|tests|bench|examples)/.*[.][ch]$'
said=$(recent "$sources" | xargs -0 -r -P2 -n 50 clang-format-19 --dry-run -Werror 2>&1)
while read -r file; do
    complain "$file is not formatted: clang-format-19 -i $file would change"
    diff "$file" <(clang-format-19 "$file") | head -20
done < <(sed -n 's/^\([^: ]*\):.*\[-Wclang-format-violations\]$/\1/p' <<<"$said" | sort -u)
[ -z "$said" ] || [ $bad = 1 ] || complain "$said"
# What clang-format leaves alone: macros, tables between "clang-format off" and "on", strings without a space.
find src include tests bench examples -name '*.[ch]' -print0 | LC_ALL=C.UTF-8 xargs -0 grep -nE '^.{121,}' && complain "the lines above are longer than 120 columns"
exit $bad
