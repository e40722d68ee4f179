/* Makes a report of samples that were never taken, for the benches of tables: threads that wander through a tree of
 * calls, and a chain for each sample, as nsys stores them. The same seed makes the same file.
 *
 * make_samples FILE [SAMPLES [SEED]]: by default 1 M samples, some 19 frames each. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/writer/writer.h"

enum { THREADS = 8, FUNCTIONS = 4000, MODULES = 40, DEEPEST = 32 };
#define GLOBAL_PID (INT64_C(1) << 48 | INT64_C(4242) << 24)

static uint64_t seed;

static uint64_t random_below(uint64_t limit)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return (seed >> 11) % limit;
}

/* functions, outermost first */
struct thread {
    uint32_t stack[DEEPEST];
    size_t depth;
};

struct program {
    struct writer *writer;
    int64_t symbols[FUNCTIONS], modules[MODULES];
    struct thread threads[THREADS];
};

static void make_names(struct program *program)
{
    char name[128];

    for (int i = 0; i < FUNCTIONS; i++) {
        int length = snprintf(name, sizeof name, "ns%d::Class%d<float, int>::method_%d(int const&)", i % 7, i % 61, i);
        program->symbols[i] = writer_string(program->writer, name, (size_t)length);
    }
    for (int i = 0; i < MODULES; i++) {
        int length = snprintf(name, sizeof name, "/usr/lib/libmodule%d.so.1", i);
        program->modules[i] = writer_string(program->writer, name, (size_t)length);
    }
}

/* Some calls return, and others are made: each function calls one of three, one of them nearly always. */
static uint32_t callee(uint32_t function)
{
    uint64_t dice = random_below(1000);

    return (function * 3 + 1 + (dice < 940) + (dice < 990)) % FUNCTIONS;
}

static void wander(struct thread *thread)
{
    size_t returns = random_below(100) < 80 ? random_below(4) : random_below(20);

    thread->depth = thread->depth > returns + 1 ? thread->depth - returns : 1;
    for (size_t calls = random_below(2 * returns + 1); calls-- > 0 && thread->depth < DEEPEST; thread->depth++)
        thread->stack[thread->depth] = callee(thread->stack[thread->depth - 1]);
}

static void add_sample(struct program *program, int64_t id)
{
    struct thread *thread = &program->threads[id % THREADS];
    struct row_COMPOSITE_EVENTS sample = { 0 };

    wander(thread);
    ROW_SET(&sample, COMPOSITE_EVENTS, id, id);
    ROW_SET(&sample, COMPOSITE_EVENTS, start, id * 125000 + (int64_t)random_below(1000));
    ROW_SET(&sample, COMPOSITE_EVENTS, cpu, id % THREADS);
    ROW_SET(&sample, COMPOSITE_EVENTS, threadState, 1);
    ROW_SET(&sample, COMPOSITE_EVENTS, globalTid, GLOBAL_PID | (4242 + id % THREADS));
    ROW_SET(&sample, COMPOSITE_EVENTS, cpuCycles, 1);
    writer_append(program->writer, TABLE_COMPOSITE_EVENTS, &sample);
    for (size_t depth = 0; depth < thread->depth; depth++) {
        uint32_t function = thread->stack[thread->depth - 1 - depth];
        struct row_SAMPLING_CALLCHAINS row = { 0 };
        ROW_SET(&row, SAMPLING_CALLCHAINS, id, id);
        ROW_SET(&row, SAMPLING_CALLCHAINS, symbol, program->symbols[function]);
        ROW_SET(&row, SAMPLING_CALLCHAINS, module, program->modules[function % MODULES]);
        ROW_SET(&row, SAMPLING_CALLCHAINS, originalIP,
                0x400000 + function * 64 + (int64_t)random_below(depth ? 4 : 16));
        ROW_SET(&row, SAMPLING_CALLCHAINS, unwindMethod, 6);
        ROW_SET(&row, SAMPLING_CALLCHAINS, stackDepth, (int64_t)depth);
        writer_append(program->writer, TABLE_SAMPLING_CALLCHAINS, &row);
    }
}

int main(int argc, char **argv)
{
    static struct program program;
    struct error err = { 0 };

    if (argc < 2) {
        fprintf(stderr, "usage: make_samples FILE [SAMPLES [SEED]]\n");
        return 2;
    }
    int64_t samples = argc > 2 ? strtoll(argv[2], NULL, 10) : 1000000;
    seed = (argc > 3 ? strtoull(argv[3], NULL, 10) : 1) * UINT64_C(0x9E3779B97F4A7C15) | 1;
    if (writer_open(argv[1], &(struct writer_options){ .overwrite = 1 }, &program.writer, &err) != 0) {
        fprintf(stderr, "make_samples: %s\n", err.text);
        return 1;
    }
    make_names(&program);
    for (int64_t id = 1; id <= samples; id++)
        add_sample(&program, id);
    if (writer_close(program.writer, &err) != 0) {
        fprintf(stderr, "make_samples: %s\n", err.text);
        return 1;
    }
    return 0;
}
