# cmake --install makes a tree that works wherever it is put: the program finds its agent relative to itself.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

cmake --install "$(dirname "$TACHO")/.." --prefix "$folder/first" >"$folder/log" 2>&1 || { cat "$folder/log"; exit 1; }
mv "$folder/first" "$folder/second"
cd "$folder" || exit 1
output=$("$folder/second/bin/tacho" profile -o "$folder/report" cat /proc/self/maps 2>"$folder/log")
grep -qF "$folder/second/lib/tacho/libtacho-agent.so" <<<"$output" || complain "the program did not run with the agent beside it: $(cat "$folder/log")"

# What a user of the library does.
echo '#include <tacho/tacho.h>
int main(void) { tacho_mark("here"); return tacho_profiled() ? 3 : 4; }' >"$folder/user.c"
"$CC" -I"$folder/second/include" -o "$folder/user" "$folder/user.c" -L"$folder/second/lib/tacho" -Wl,-rpath,"$folder/second/lib/tacho" -ltacho || exit 1
"$folder/user"
[ $? = 4 ] || complain "a program that is not profiled takes itself for profiled"
"$folder/second/bin/tacho" profile -o "$folder/user" "$folder/user" >/dev/null 2>&1
status=$?
[ $status = 3 ] || complain "a program that is profiled takes itself for not profiled (exit status $status)"
exit $bad
