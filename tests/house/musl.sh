# The agent loads under musl's loader too, finds what it needs there, leaves a program without a session alone, and
# records one that has one.
source "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
command -v musl-gcc >/dev/null || skip "musl-gcc is not installed"
[ "$ARCH" = "$(uname -m)" ] || skip "this machine cannot run programs for $ARCH"

folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cat >"$folder/program.c" <<'END'
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static void *thread(void *argument)
{
    char byte = 0;
    int *pipe_fds = argument;
    return read(pipe_fds[0], &byte, 1) == 1 && byte == 'x' ? argument : NULL;
}

/* Prints whether the agent is mapped, after having used what it hooks. */
int main(void)
{
    char line[4096];
    int fds[2], mapped = 0;
    pthread_t other;
    void *result = NULL;
    if (pipe(fds) != 0 || pthread_create(&other, NULL, thread, fds) != 0 || write(fds[1], "x", 1) != 1)
        return 1;
    if (pthread_join(other, &result) != 0 || result != fds)
        return 2;
    FILE *maps = fopen("/proc/self/maps", "r");
    while (maps && fgets(line, sizeof line, maps))
        mapped |= strstr(line, "libtacho-agent.so") != NULL;
    puts(mapped ? "mapped" : "not mapped");
    return 0;
}
END
musl-gcc -pthread -o "$folder/program" "$folder/program.c" || exit 1

[ "$("$folder/program")" = "not mapped" ] || complain "the program does not work even by itself"
output=$(env -u TACHO_SESSION LD_PRELOAD="$AGENT" "$folder/program" 2>&1)
status=$?
[ "$output $status" = "mapped 0" ] || complain "under musl, with the agent: '$output', exit status $status; expected 'mapped', 0"

output=$("$TACHO" profile --osrt-threshold=0 -o "$folder/report" "$folder/program" 2>"$folder/log")
status=$?
[ "$output $status" = "mapped 0" ] || complain "under musl, profiled: '$output', exit status $status; $(cat "$folder/log")"
calls=$("$TACHO" stats -r osrt_sum --format csv "$folder/report.tacho")
for call in read pthread_join pthread_create fgets; do
    grep -q ",$call\$" <<<"$calls" || complain "under musl, $call() was not recorded: $calls"
done

# With the stubs, too, though no library that they stand before is made for musl.
output=$("$TACHO" profile -t osrt,cublas --osrt-threshold=0 -o "$folder/stubs" "$folder/program" 2>"$folder/log")
status=$?
[ "$output $status" = "mapped 0" ] || complain "under musl, with the stubs: '$output', exit status $status; $(cat "$folder/log")"
"$TACHO" stats -r osrt_sum --format csv "$folder/stubs.tacho" | grep -q ',fgets$' || complain "under musl, with the stubs, fgets() was not recorded"
exit $bad
