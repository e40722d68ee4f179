# The build stops, by name, when a library of ours would import what glibc 2.28 may lack; weak references pass.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

check() {
    "$CC" -fPIC -c -o "$folder/object.o" -x c - && "$SOURCE/cmake/check-imports" "$table" "$NM" "$CC" -- "$folder/object.o" 2>"$folder/log"
}
echo 'int closefrom(int); int f(void); int f(void) { return closefrom(3); }' | check && complain "an import of closefrom (2.34) passed"
grep -q '\bclosefrom\b' "$folder/log" || complain "the sentence does not name closefrom: $(cat "$folder/log")"
echo 'int getpid(void); int f(void); int f(void) { return getpid(); }' | check || complain "getpid did not pass: $(cat "$folder/log")"
echo 'int closefrom(int) __attribute__((weak)); int f(void); int f(void) { return closefrom ? closefrom(3) : 0; }' | check ||
    complain "a weak reference did not pass: $(cat "$folder/log")"
exit $bad
