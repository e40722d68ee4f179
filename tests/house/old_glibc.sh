# The agent on a real old glibc, from before dlsym and the threads moved into libc: Debian 11's (2.31), with programs of
# that time, unpacked into a folder and profiled there.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
source "$SOURCE/scripts/lib.sh"
keyring=/usr/share/keyrings/debian-archive-keyring.gpg
[ "$ARCH" = "$(uname -m)" ] || skip "this build is for $ARCH"
[ -e $keyring ] && command -v apt-get >/dev/null || skip "this is not Debian, so its older packages cannot be had"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
old=$folder/old
archive=$(apt-get indextargets --format '$(REPO_URI)' 'Created-By: Packages' | grep -m 1 '/debian/$') ||
    skip "this machine knows no archive of Debian"
echo "deb [signed-by=$keyring] $archive bullseye main" >"$folder/sources"
unpack_packages "$folder/apt" "$old" -o Dir::Etc::SourceList="$folder/sources" -o Dir::Etc::SourceParts=/dev/null -- libc6 coreutils >"$folder/log" 2>&1 ||
    skip "Debian 11's packages could not be fetched: $(tail -n 1 "$folder/log")"
loader=$(echo "$old"/lib/*/ld-2.*.so)
libraries=$(dirname "$loader")
grep -qaF 'GLIBC_2.34' "$libraries/libc.so.6" && { complain "that libc is not old"; exit 1; }

run_old() {
    "$@" "$loader" --library-path "$libraries" "$old/bin/cat" /proc/self/maps 2>"$folder/log"
}
output=$(run_old env -u TACHO_SESSION LD_PRELOAD="$AGENT")
grep -qF "$AGENT" <<<"$output" || complain "the agent did not load: $(cat "$folder/log")"
grep -qF "$libraries/libc" <<<"$output" || complain "the program did not run on the old libc"

output=$(run_old "$TACHO" profile --osrt-threshold=0 -o "$folder/report")
grep -qF "$AGENT" <<<"$output" || complain "profiled, the agent did not load: $(cat "$folder/log")"
"$TACHO" stats -r osrt_sum --format csv "$folder/report.tacho" | grep -q ',read$' || complain "no read() of the program was recorded"

# With the stubs, whose dlsym() the agent's own calls then go through: the real one is in a library of its own there.
output=$(run_old "$TACHO" profile -t osrt,cublas --osrt-threshold=0 -o "$folder/stubs")
grep -qF "libtacho-libraries.so" <<<"$output" || complain "the stubs did not load: $(cat "$folder/log")"
"$TACHO" stats -r osrt_sum --format csv "$folder/stubs.tacho" | grep -q ',read$' || complain "with the stubs, no read() of the program was recorded"

# The program that loads NVIDIA's libraries.
output=$("$loader" --library-path "$libraries" "$HELPERS/tacho-gpu" 2>&1)
[ "$?" = 2 ] && grep -qF 'tacho-gpu is a part of tacho' <<<"$output" || complain "tacho-gpu does not run: $output"

# Threads, whose functions were in libpthread.
seq 300000 -1 1 >"$folder/numbers"
output=$("$TACHO" profile --osrt-threshold=0 -o "$folder/threads" "$loader" --library-path "$libraries" "$old/usr/bin/sort" --parallel=2 -n "$folder/numbers" 2>"$folder/log" | tail -n 1)
[ "$output" = 300000 ] || complain "sort with threads ended with '$output': $(cat "$folder/log")"
"$TACHO" stats -r osrt_sum --format csv "$folder/threads.tacho" | grep -q ',pthread_create$' || complain "no pthread_create() of sort was recorded"

# A root with nothing but libc: the other libraries of an old glibc are not there, and what the agent looks for in them is not either.
mkdir "$folder/minimal"
cp "$libraries/libc.so.6" "$folder/minimal"
output=$("$TACHO" profile --osrt-threshold=0 -o "$folder/minimal/report" "$loader" --inhibit-cache --library-path "$folder/minimal" "$old/bin/cat" /proc/self/maps 2>"$folder/log")
grep -qF "$AGENT" <<<"$output" || complain "without libdl, the agent did not load: $(cat "$folder/log")"
grep -qE 'libdl|libpthread|librt' <<<"$output" && complain "the root is not minimal: $output"
"$TACHO" stats -r osrt_sum --format csv "$folder/minimal/report.tacho" | grep -q ',read$' || complain "without libdl, no read() of the program was recorded"
exit $bad
