"""What --cost-limit=5 leaves of the cost of recording storms of cheap events: cost_limit.py TACHO [--rounds N] [--seconds S] [--python PYTHON]

Each program makes a fixed number of calls, so many that it takes S seconds of CPU time bare. It runs bare, recorded in full and under the limit;
rounds are interleaved. Figures are the program's CPU time beyond that of the bare run of the same round, in percent of that: the median of the
rounds, with the least and the most. With PYTHON, one that has torch, also small operators of PyTorch on the CPU.
"""
import argparse
import os
import statistics
import subprocess
import sys
import tempfile

C = """
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>
int main(int argc, char **argv)
{
    pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    int file = open("/dev/zero", O_RDONLY);
    long count = atol(argv[2]);
    volatile unsigned sum = 0;
    struct timespec used;
    char byte[4096];
    for (long i = 0; i < count; i++)
        switch (argv[1][0]) {
        case 'r': if (read(file, byte, 1) != 1) return 1; break;
        case 'l': if (read(file, byte, 4096) != 4096) return 1; break;
        case 'm': pthread_mutex_lock(&lock); pthread_mutex_unlock(&lock); break;
        case 'w': pthread_mutex_lock(&lock); for (int j = 0; j < 200; j++) sum += j; pthread_mutex_unlock(&lock); break;
        }
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used);
    fprintf(stderr, "cpu %ld.%09ld\\n", used.tv_sec, used.tv_nsec);
    return 0;
}
"""
TORCH = """
import sys, time, torch
torch.set_num_threads(1)
x = torch.ones(int(sys.argv[1]))
for _ in range(int(sys.argv[2])):
    x.neg_()
print("cpu", time.process_time(), file=sys.stderr)
"""
KINDS = {"read": "reads of one byte", "large": "reads of 4096 bytes", "mutex": "a free mutex", "work": "a free mutex, and 0.1 µs of work"}


def cpu(command):
    done = subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    for line in done.stderr.splitlines():
        if line.startswith("cpu "):
            return float(line.split()[1])
    sys.exit(f"{command}: {done.stderr}")


def measure(words, program, options, settings, folder):
    """program(count) is the command line of so many calls."""
    few = 20000
    count = max(few, int(few * settings.seconds / max(cpu(program(few)) - cpu(program(0)), 1e-6)))
    profile = [settings.tacho, "profile", "-f", "true", "-o", os.path.join(folder, "report"), "-q", *options]
    ways = {"bare": [], "in full": profile, "limit 5 %": [*profile, "--cost-limit=5"]}
    shares = {way: [] for way in ways}
    for _ in range(settings.rounds):
        used = {way: cpu([*before, *program(count)]) for way, before in ways.items()}
        for way in ways:
            shares[way].append(100 * (used[way] / used["bare"] - 1))
    print(f"| {words} | " + " | ".join(f"{statistics.median(shares[way]):+.1f} % ({min(shares[way]):.1f} to {max(shares[way]):.1f})"
                                       for way in list(ways)[1:]) + " |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("tacho")
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--seconds", type=float, default=10)
    parser.add_argument("--python")
    settings = parser.parse_args()
    print("| storm | in full | limit 5 % |\n|---|---|---|")
    with tempfile.TemporaryDirectory() as folder:
        source, storm = os.path.join(folder, "storm.c"), os.path.join(folder, "storm")
        with open(source, "w") as file:
            file.write(C)
        subprocess.run(["cc", "-O2", "-o", storm, source, "-lpthread"], check=True)
        for kind, words in KINDS.items():
            measure(words, lambda count, kind=kind: [storm, kind, str(count)], ["-s", "none", "-t", "osrt"], settings, folder)
        if settings.python:
            for size in (4, 4096):
                measure(f"PyTorch operators on {size} numbers",
                        lambda count, size=size: [settings.python, "-c", TORCH, str(size), str(count)], ["-s", "none", "-t", "osrt", "--pytorch=auto"],
                        settings, folder)


main()
