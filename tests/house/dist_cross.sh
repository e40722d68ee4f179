# The tarball for the other architecture: cross-built, and its parts run under emulation. Its agent obeys the same rules. The page,
# which is the same for both, comes from the build under test.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
need_other_architecture

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
if ! "$SOURCE/scripts/dist" --built "$(dirname "$TACHO")/.." $other >"$folder/log" 2>&1; then
    grep -q 'could not fetch' "$folder/log" && skip "$(grep 'could not fetch' "$folder/log")"
    cat "$folder/log"
    exit 1
fi
tar -C "$folder" -xzf "$SOURCE"/dist/tacho-*-$other.tar.gz || exit 1
home=$(echo "$folder"/tacho-*)
need_page_in "$home"

export ARCH=$other CC=$other-linux-gnu-gcc TACHO=$home/bin/tacho AGENT=$home/lib/tacho/libtacho-agent.so LIBTACHO=$home/lib/libtacho.so
for check in glibc_symbols agent_imports agent_shape agent_exports program_static; do
    bash "$SOURCE/tests/house/$check.sh" || complain "$check failed for $other"
done

version=$(sed -nE 's/^project\(tacho VERSION ([0-9.]+).*/\1/p' "$SOURCE/CMakeLists.txt")
output=$(qemu-$other "$TACHO" --version)
grep -qF "$version" <<<"$output" || complain "tacho --version, emulated, says '$output', not $version"

# The whole way of an event, emulated: agent, collector, report, table. The kernel cannot start a program of that
# architecture by itself, so the emulator is what tacho runs, and the emulator preloads the agent.
echo '#include <unistd.h>
int main(void) { return write(1, "unharmed\n", 9) != 9; }' >"$folder/program.c"
$CC -o "$folder/program" "$folder/program.c" || exit 1
emulated=(qemu-$other -L /usr/$other-linux-gnu -E LD_PRELOAD="$AGENT" "$folder/program")
output=$("${emulated[@]}" 2>&1)
[ "$output" = unharmed ] || complain "a program with the agent, emulated, says '$output'"
output=$(qemu-$other "$TACHO" profile --osrt-threshold=0 -o "$folder/report" "$(command -v qemu-$other)" "${emulated[@]:1}" 2>"$folder/log")
[ "$output" = unharmed ] || complain "profiled, emulated, the program says '$output': $(cat "$folder/log")"
table=$(qemu-$other "$TACHO" stats -r osrt_sum --format csv "$folder/report.tacho")
grep -qE '^[^,]*,[^,]*,1,.*,write$' <<<"$table" || complain "the one write() of the program is not in the table: $table"
exit $bad
