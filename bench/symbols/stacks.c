/* What stacks cost the collector: stacks [FILE…] prints how fast copies of a stack are walked, beside
 * libgcc's unwinder on the same stack, and how fast the addresses of a million samples get their names, in
 * this program and in the files given. */
#include <execinfo.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "abi/registers.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "symbols/names/symbol_names.h"
#include "symbols/symbols.h"

enum { DEPTH = 30, ROUNDS = 200000, TRUTH_ROUNDS = 20000, SAMPLES = 1000000, SAMPLE_DEPTH = 25, STACK_BYTES = 16384 };

static struct symbols_registers registers;
static unsigned char stack[STACK_BYTES];
static size_t stack_bytes;
static double truth_rate; /* libgcc's frames a second */
static volatile int sink;

static double seconds_since(int64_t start_ns)
{
    return (double)(clock_ns(CLOCK_MONOTONIC) - start_ns) * 1e-9;
}

__attribute__((noinline)) static void take(void)
{
    void *addresses[256];
    REGISTERS_TAKE(registers.value);
    registers.known = REGISTERS_TAKEN;
    uint64_t low = registers.value[REGISTERS_STACK_POINTER];
    /* they lie above all frames */
    stack_bytes = (uintptr_t)environ - low < sizeof stack ? (uintptr_t)environ - low : sizeof stack;
    memcpy(stack, (const void *)low, stack_bytes);
    uint64_t frames = (uint64_t)backtrace(addresses, 256); /* the first call loads libgcc */
    int64_t start = clock_ns(CLOCK_MONOTONIC);
    frames = 0;
    for (int i = 0; i < TRUTH_ROUNDS; i++)
        frames += (uint64_t)backtrace(addresses, 256);
    truth_rate = (double)frames / seconds_since(start);
}

static int descend(const void *depth, const void *unused);
__attribute__((noinline)) static int through_library(int depth)
{
    int pair[2] = { depth - 1, depth - 1 };
    qsort(pair, 2, sizeof *pair, descend);
    return sink;
}

static int descend(const void *depth, const void *unused)
{
    int left = *(const int *)depth;
    if (left <= 0)
        take();
    else
        through_library(left);
    return sink++ & 1;
}

static void measure_walks(void)
{
    through_library(DEPTH / 4);
    struct symbols *symbols = symbols_new(NULL);
    struct symbols_process *process = symbols_process_new(symbols, getpid());
    struct symbols_sample sample = { .registers = &registers, .stack = stack, .stack_bytes = stack_bytes };
    int64_t start = clock_ns(CLOCK_MONOTONIC);
    uint64_t frames = symbols_unwind(process, &sample).frames;
    double first_us = seconds_since(start) * 1e6;
    start = clock_ns(CLOCK_MONOTONIC);
    for (int i = 0; i < ROUNDS; i++)
        frames += symbols_unwind(process, &sample).frames;
    double rate = (double)frames / seconds_since(start);
    printf("walks: %.1f M frames/s (%.0f ns a frame, %" PRIu64
           " frames a stack, the first stack %.0f us); libgcc's backtrace() %.1f M frames/s\n",
           rate * 1e-6, 1e9 / rate, frames / (ROUNDS + 1), first_us, truth_rate * 1e-6);
    symbols_delete(symbols);
}

struct picked {
    uint64_t *addresses, first;
    size_t count, limit, step, seen;
};

static void take_function(void *context, const struct symbol_names_entry *symbol)
{
    struct picked *picked = context;
    if (symbol->size && picked->seen++ % picked->step == 0 && picked->addresses && picked->count < picked->limit)
        picked->addresses[picked->count++] = symbol->start + symbol->size / 2 - picked->first;
}

/* Addresses all over the functions of a file, as many as there are functions, up to a limit. */
static size_t pick(const char *path, uint64_t *addresses, size_t limit)
{
    struct elf_image image;
    if (elf_image_open(&image, open(path, O_RDONLY | O_CLOEXEC)) != 0)
        return 0;
    struct picked counted = { .step = 1 };
    symbol_names_visit_image(&image, take_function, &counted);
    struct picked picked = {
        .addresses = addresses,
        .first = elf_image_first_address(&image),
        .limit = limit,
        .step = 1 + counted.seen / limit,
    };
    symbol_names_visit_image(&image, take_function, &picked);
    elf_image_close(&image);
    return picked.count;
}

static void measure_names(const char *path, struct parallel *pool)
{
    enum { PLACES = 50000 };
    static uint64_t addresses[PLACES], chain[SAMPLE_DEPTH];
    const uint64_t base = UINT64_C(0x7f0000000000);
    char resolved[4096];
    size_t count = realpath(path, resolved) ? pick(resolved, addresses, PLACES) : 0;
    if (!count) {
        printf("%s: no functions\n", path);
        return;
    }
    struct symbols *symbols = symbols_new(NULL);
    struct symbols_process *process = symbols_process_new(symbols, 0);
    symbols_process_map(process, &(struct symbols_mapping){
                                     .address = base, .bytes = UINT64_C(1) << 32, .path = resolved, .is_whole = 1 });
    int64_t start = clock_ns(CLOCK_MONOTONIC);
    uint64_t state = 1;
    for (size_t i = 0; i < SAMPLES; i++) {
        state = state * UINT64_C(6364136223846793005) + 1442695040888963407;
        size_t leaf = state >> 33;
        for (size_t k = 0; k < SAMPLE_DEPTH; k++) /* few callers, many leaves, as in programs */
            chain[k] = base + addresses[(k == 0 ? leaf : leaf % 64 + k) % count];
        symbols_stack_from_chain(process, &(struct symbols_chain){ .addresses = chain, .count = SAMPLE_DEPTH });
    }
    double taking = seconds_since(start);
    start = clock_ns(CLOCK_MONOTONIC);
    symbols_resolve(symbols, pool);
    double naming = seconds_since(start), frames = (double)SAMPLES * SAMPLE_DEPTH;
    const struct symbols_counts *counts = symbols_counts(symbols);
    printf("%s: %.0f M frames of %d stacks: kept in %.2f s (%.0f M frames/s); %" PRIu64
           " places named in %.2f s, %" PRIu64 " with source: %.1f M frames/s, repeats counted\n",
           path, frames * 1e-6, SAMPLES, taking, frames / taking * 1e-6, counts->named, naming, counts->with_source,
           frames / naming * 1e-6);
    symbols_delete(symbols);
}

int main(int count, char **paths)
{
    struct parallel *pool = parallel_new(0);
    measure_walks();
    measure_names(paths[0], pool);
    for (int i = 1; i < count; i++)
        measure_names(paths[i], pool);
    parallel_delete(pool);
    return 0;
}
