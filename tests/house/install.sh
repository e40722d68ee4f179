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
"$CC" -I"$folder/second/include" -o "$folder/user" "$folder/user.c" -L"$folder/second/lib" -Wl,-rpath,"$folder/second/lib" -ltacho || exit 1
"$folder/user"
[ $? = 4 ] || complain "a program that is not profiled takes itself for profiled"
"$folder/second/bin/tacho" profile -o "$folder/user" "$folder/user" >/dev/null 2>&1
status=$?
[ $status = 3 ] || complain "a program that is profiled takes itself for not profiled (exit status $status)"

# The examples, compiled as docs/api.md says, with pkg-config where there is one.
home=$folder/second
flags="-I$home/include -L$home/lib -Wl,-rpath,$home/lib -ltacho"
if command -v pkg-config >/dev/null; then
    flags=$(PKG_CONFIG_PATH=$home/lib/pkgconfig pkg-config --cflags --libs tacho) || complain "pkg-config does not know tacho"
fi
for example in control read_report; do
    "$CC" -Wall -Wextra -Werror -o "$folder/$example" "$home/share/tacho/examples/$example.c" $flags || exit 1
done
grep -q "^not profiled" <<<"$("$folder/control")" || complain "control does not run by itself"
"$home/bin/tacho" profile -c api -o "$folder/control" "$folder/control" >"$folder/log" 2>&1 || complain "control failed: $(cat "$folder/log")"
found=$("$folder/read_report" "$folder/control.tacho" | awk '{ print $1, $NF }' | sort | tr '\n' ' ')
[ "$found" = "3 step 3 work " ] || complain "read_report found '$found' in the report of control, not 3 steps with 3 ranges of work"

# Other languages find the same functions.
cat >"$folder/control.py" <<'END'
import ctypes, sys
tacho = ctypes.CDLL(sys.argv[1])
tacho.tacho_push(b"before")
tacho.tacho_pop()
tacho.tacho_start()
tacho.tacho_push(b"inside")
tacho.tacho_pop()
tacho.tacho_stop()
END
"$home/bin/tacho" profile -c api -t nvtx -o "$folder/python" python3 "$folder/control.py" "$home/lib/libtacho.so" >"$folder/log" 2>&1 || complain "control.py failed: $(cat "$folder/log")"
found=$("$folder/read_report" "$folder/python.tacho" | awk '{ print $1, $NF }')
[ "$found" = "1 inside" ] || complain "Python's calls gave '$found', not '1 inside'"

# Links of the installed pages lead to installed files.
SOURCE=$home/share/tacho python3 "$SOURCE/tests/house/docs.py" Docs.test_links_lead_somewhere >"$folder/log" 2>&1 || complain "$(cat "$folder/log")"
exit $bad
