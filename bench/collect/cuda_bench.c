/* What the collector does with CUPTI's buffers: CPU time per record from a delivered buffer to rows in the
 * writer's hands, and how many bytes a second of CPU time that is. Beside it the baseline: the same buffers only
 * copied and filled with zeros.
 *
 * cuda_bench [LAUNCHES [FILE]]: launches and their kernels, as CUPTI 13.0 writes them, a full buffer
 * of each in turn, 64 names. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "collect/core/clock_map.h"
#include "collect/sources/cuda/cuda_records.h"
#include "report/writer/writer.h"
#include "wire/wire_cuda.h"

#define CHUNKS 1u
#define BUFFERS 16u
#define KERNEL_BYTES 216u
#define CALL_BYTES 40u
#define NAMES 64u
#define LAUNCH 211u
#define PER_BUFFER (WIRE_CUDA_BUFFER_BYTES / KERNEL_BYTES)

struct bench {
    struct wire_header *arena;
    struct writer *writer;
    struct clock_map clock;
    struct cuda_gpus gpus;
    struct cuda_process *cuda;
    uint64_t launches, bytes;
    int64_t kernels_ns, calls_ns, copy_ns;
};

static int64_t cpu_ns(void)
{
    return clock_ns(CLOCK_THREAD_CPUTIME_ID);
}

static void put(unsigned char *record, size_t offset, uint64_t value, size_t bytes)
{
    memcpy(record + offset, &value, bytes);
}

static uint32_t fill_calls(unsigned char *bytes, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++, bytes += CALL_BYTES) {
        uint64_t start = 1000000 + (uint64_t)(first + i) * 4000;
        put(bytes, 0, 5 | (uint64_t)LAUNCH << 32, 8);
        put(bytes, 8, start, 8);
        put(bytes, 16, start + 2000, 8);
        put(bytes, 24, 77 | UINT64_C(77) << 32, 8);
        put(bytes, 32, first + i, 8);
    }
    return count * CALL_BYTES;
}

static uint32_t fill_kernels(unsigned char *bytes, uint32_t first, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++, bytes += KERNEL_BYTES) {
        uint64_t start = 1000000 + (uint64_t)(first + i) * 4000 + 2500;
        put(bytes, 0, 10, 4);
        put(bytes, 16, start, 8);
        put(bytes, 24, start + 1200 + (first + i) % 97, 8);
        put(bytes, 44, 1 | UINT64_C(7) << 32, 8);
        for (uint32_t at = 52; at < 76; at += 4)
            put(bytes, at, 1 + at % 3, 4);
        put(bytes, 92, first + i, 4);
        put(bytes, 96, first + i, 8);
        put(bytes, 104, 0x1000 + 64 * ((uint64_t)(first + i) * 7 % NAMES), 8);
    }
    return count * KERNEL_BYTES;
}

static uint32_t lend(struct bench *bench)
{
    struct wire_cuda_buffer *buffers = wire_cuda_buffers(bench->arena, CHUNKS);
    return wire_list_pop(&wire_cuda(bench->arena)->free_buffers, &wire_cuda(bench->arena)->buffers_taken, BUFFERS,
                         &buffers->next_free, sizeof *buffers);
}

static void deliver(struct bench *bench, uint32_t index, uint32_t bytes)
{
    struct wire_cuda_buffer *buffer = &wire_cuda_buffers(bench->arena, CHUNKS)[index];
    buffer->bytes = bytes;
    buffer->number = atomic_fetch_add(&wire_cuda(bench->arena)->deliveries, 1);
    atomic_store(&buffer->state, WIRE_CUDA_DELIVERED);
    bench->bytes += bytes;
}

static void add_names(struct bench *bench)
{
    char *at = wire_cuda_names(bench->arena, CHUNKS, BUFFERS);
    for (uint32_t i = 0; i <= NAMES; i++) {
        struct wire_cuda_text *entry = (struct wire_cuda_text *)at;
        entry->what = i < NAMES ? WIRE_CUDA_NAME_POINTER : WIRE_CUDA_NAME_RUNTIME;
        entry->key = i < NAMES ? 0x1000 + 64 * (uint64_t)i : LAUNCH;
        if (i < NAMES)
            snprintf(entry->text, 64, "_Z8kernel%02uIfLi%uEEvPKT_PS0_i", i, i);
        else
            strcpy(entry->text, "cudaLaunchKernel_v7000");
        uint32_t words = (uint32_t)(2 + strlen(entry->text) / 8 + 1);
        atomic_store(&entry->words, words);
        at += (size_t)words * 8;
    }
}

static int set_up(struct bench *bench, const char *path)
{
    struct clock_pair first = { .ticks = 0 }, second = { .ticks = 1000, .monotonic_ns = 1000 };
    bench->arena = mmap(NULL, wire_arena_bytes(CHUNKS, BUFFERS), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (bench->arena == MAP_FAILED || clock_map_init(&bench->clock, WIRE_CLOCK_MONOTONIC, &first, &second) != 0 ||
        writer_open(path, &(struct writer_options){ .overwrite = 1 }, &bench->writer, NULL) != 0)
        return -1;
    atomic_store(&wire_cuda(bench->arena)->free_buffers, WIRE_LIST_EMPTY);
    atomic_store(&wire_cuda(bench->arena)->cupti_version, 130001);
    add_names(bench);
    struct cuda_setup setup = {
        .writer = bench->writer,
        .clock = &bench->clock,
        .gpus = &bench->gpus,
        .arena = bench->arena,
        .chunk_count = CHUNKS,
        .buffer_count = BUFFERS,
        .ns_per_tick = UINT64_C(1) << WIRE_SCALE_SHIFT,
        .global_pid = INT64_C(77) << 24,
        .pid = 77,
    };
    bench->cuda = cuda_process_new(&setup);
    return bench->cuda ? 0 : -1;
}

static int64_t read_all(struct bench *bench)
{
    int64_t before = cpu_ns();
    cuda_note(bench->cuda);
    cuda_read(bench->cuda, SIZE_MAX, 1);
    return cpu_ns() - before;
}

static void run(struct bench *bench)
{
    unsigned char *copy = malloc(WIRE_CUDA_BUFFER_BYTES);
    for (uint32_t first = 1; first <= bench->launches; first += PER_BUFFER) {
        uint32_t count = bench->launches - first + 1 < PER_BUFFER ? (uint32_t)bench->launches - first + 1 : PER_BUFFER;
        uint32_t calls = lend(bench), kernels = lend(bench);
        unsigned char *bytes = wire_cuda_bytes(bench->arena, CHUNKS, BUFFERS, kernels);
        uint32_t length = fill_kernels(bytes, first, count);
        int64_t before = cpu_ns();
        memcpy(copy, bytes, length);
        memset(bytes, 0, length);
        bench->copy_ns += cpu_ns() - before;
        deliver(bench, kernels, fill_kernels(bytes, first, count));
        bench->kernels_ns += read_all(bench);
        deliver(bench, calls, fill_calls(wire_cuda_bytes(bench->arena, CHUNKS, BUFFERS, calls), first, count));
        bench->calls_ns += read_all(bench);
    }
    free(copy);
}

int main(int argc, char **argv)
{
    struct bench bench = { .launches = argc > 1 ? strtoull(argv[1], NULL, 10) : 2000000 };
    if (set_up(&bench, argc > 2 ? argv[2] : "/dev/null") != 0) {
        fprintf(stderr, "cuda_bench: out of memory, or no such folder\n");
        return 1;
    }
    run(&bench);
    int64_t before = clock_monotonic_ns();
    cuda_finish(bench.cuda);
    const struct cuda_counts *counts = cuda_process_counts(bench.cuda);
    printf("launches %llu  recorded %llu  without kernel %llu\n", (unsigned long long)bench.launches,
           (unsigned long long)counts->recorded, (unsigned long long)counts->launches_without_kernel);
    cuda_process_free(bench.cuda);
    writer_close(bench.writer, NULL);
    double launches = (double)bench.launches, walk_ns = (double)(bench.kernels_ns + bench.calls_ns);
    printf("to rows          %6.1f ns a kernel  %6.1f ns a call  %6.0f MB/s\n", (double)bench.kernels_ns / launches,
           (double)bench.calls_ns / launches, (double)bench.bytes / walk_ns * 1e3);
    printf("copy and clear   %6.1f ns a kernel\n", (double)bench.copy_ns / launches);
    printf("finish and close %6.3f s\n", (double)(clock_monotonic_ns() - before) / 1e9);
    return 0;
}
