# Every test of tests/realtime.txt exists, and so do its deterministic twins, which must be in the gate: in neither of the lists of
# tests that scripts/test leaves out. Every test of tests/all.txt exists and has a reason.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
list=$SOURCE/tests/realtime.txt

exists() { # a test, by its name
    compgen -G "$SOURCE/tests/$1.[cmps]*" >/dev/null
}
while read -r test twins; do
    exists "$test" || complain "tests/realtime.txt names $test, which does not exist"
    [ -n "$twins" ] || complain "$test has no deterministic twin in tests/realtime.txt"
    for twin in $twins; do
        exists "$twin" || complain "the twin $twin of $test does not exist"
        ! grep -q "^$twin " "$list" || complain "the twin $twin of $test depends on real time itself"
        ! grep -q "^$twin " "$SOURCE/tests/all.txt" || complain "the twin $twin of $test is left to scripts/test --all"
    done
done < <(grep -v '^#' "$list")
while read -r test reason; do
    exists "${test/firefox\//}" || complain "tests/all.txt names $test, which does not exist"
    [ -n "$reason" ] || complain "tests/all.txt has no reason for $test"
done < <(grep -v '^#' "$SOURCE/tests/all.txt")
exit $bad
