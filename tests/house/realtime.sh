# Every test of tests/realtime.txt exists, and so do its deterministic twins, which must not be in that list themselves.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
list=$SOURCE/tests/realtime.txt

exists() { # a test, by its name
    compgen -G "$SOURCE/tests/$1.[cps]*" >/dev/null
}
while read -r test twins; do
    exists "$test" || complain "tests/realtime.txt names $test, which does not exist"
    [ -n "$twins" ] || complain "$test has no deterministic twin in tests/realtime.txt"
    for twin in $twins; do
        exists "$twin" || complain "the twin $twin of $test does not exist"
        ! grep -q "^$twin " "$list" || complain "the twin $twin of $test depends on real time itself"
    done
done < <(grep -v '^#' "$list")
exit $bad
