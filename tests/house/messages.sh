# Messages never name a file of the source or the docs: who has the wheel alone has neither. `tacho help` and man pages are always there.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
names='(^|[^/[:alnum:]])(docs|scripts|tests|bench|src)/[[:alnum:]_-]+|[A-Za-z-]+\.md\b'

for binary in "$TACHO" "$AGENT" "$LIBTACHO"; do
    found=$(strings -n 6 "$binary" | grep -E "$names" | grep -vE "^/|\.[ch]$") # paths of debug information and of glibc's asserts
    [ -z "$found" ] || complain "$(basename "$binary") names files that a user may not have: $found"
done
found=$(cd "$SOURCE/python" && grep -rnE 'docs/|[A-Za-z-]+\.md\b' --include=*.py .)
[ -z "$found" ] || complain "the Python package names files that a user may not have: $found"
exit $bad
