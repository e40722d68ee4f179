// What the CUDA programs of the judgement set share: they are run and timed like those in Python.
//
//     ./solver faulty       runs the faulty program, for a profiler
//     ./solver fixed        runs the repaired one
//     ./solver both         times both in turn, and prints µs per step as JSON
#pragma once

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <memory>
#include <sched.h>
#include <sys/file.h>
#include <vector>

enum { STEPS = 70, LEAD = 10, ROUNDS = 7, MOST = 40 };
static const double ROUND_SECONDS = 0.12;

static void check(cudaError_t error)
{
    if (error != cudaSuccess) {
        fprintf(stderr, "%s\n", cudaGetErrorString(error));
        exit(1);
    }
}

template <typename T> static T *device_array(size_t count)
{
    T *array;

    check(cudaMalloc(&array, count * sizeof *array));
    check(cudaMemset(array, 0, count * sizeof *array));
    return array;
}

struct Program {
    virtual ~Program() {}
    virtual void step(int number) = 0;
};

// Seconds of a step behind the first `lead`.
static double timed(Program &program, int count, int lead)
{
    std::chrono::steady_clock::time_point start;

    for (int step = 0; step < count; step++) {
        if (step == lead) {
            check(cudaDeviceSynchronize());
            start = std::chrono::steady_clock::now();
        }
        program.step(step);
    }
    check(cudaDeviceSynchronize());
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count() / (count - lead);
}

// Waits for the GPU: judge.py starts several programs at once, and the file PAIRS_TURN is locked by the one that runs. It then has the
// cores PAIRS_CORES for itself: numbers with commas between them.
static void take_turn()
{
    const char *path = getenv("PAIRS_TURN"), *cores = getenv("PAIRS_CORES");
    cpu_set_t set;

    if (!path)
        return;
    flock(open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0644), LOCK_EX);
    CPU_ZERO(&set);
    for (const char *at = cores; at && *at; at = strchr(at, ',') ? strchr(at, ',') + 1 : nullptr)
        CPU_SET(atoi(at), &set);
    if (cores)
        sched_setaffinity(0, sizeof set, &set);
}

static void print_times(const char *name, const std::vector<double> &seconds)
{
    printf("\"%s\": [", name);
    for (size_t i = 0; i < seconds.size(); i++)
        printf("%s%.3f", i ? ", " : "", seconds[i] * 1e6);
    printf("]");
}

// make: a new program, faulty or repaired.
static int run_steps(int argc, char **argv, Program *(*make)(bool fixed))
{
    const char *what = argc > 1 ? argv[1] : "faulty";

    take_turn();
    if (strcmp(what, "both") != 0) {
        std::unique_ptr<Program> program(make(strcmp(what, "fixed") == 0));
        auto start = std::chrono::steady_clock::now();
        double step = timed(*program, STEPS, LEAD);
        printf("{\"step\": %.3f, \"seconds\": %.3f}\n", step * 1e6, std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count());
        return 0;
    }
    std::unique_ptr<Program> programs[2] = {std::unique_ptr<Program>(make(false)), std::unique_ptr<Program>(make(true))};
    std::vector<double> times[2];
    int counts[2];
    for (int i = 0; i < 2; i++) {
        timed(*programs[i], LEAD, 2);
        counts[i] = std::max(4, std::min((int)MOST, (int)(ROUND_SECONDS / timed(*programs[i], 6, 2))));
    }
    for (int round = 0; round < ROUNDS; round++)
        for (int i = 0; i < 2; i++)
            times[i].push_back(timed(*programs[i], counts[i] + 2, 2));
    printf("{\"times\": {");
    print_times("faulty", times[0]);
    printf(", ");
    print_times("fixed", times[1]);
    printf("}}\n");
    return 0;
}
