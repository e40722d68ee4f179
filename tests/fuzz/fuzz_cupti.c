/* The fuzzer's way into CUPTI's buffers: the first bytes choose a version and how the rest is divided into texts, a
 * buffer that was delivered and one that was not; then it goes through all that the collector does with them.
 * scripts/fuzz links it with libFuzzer; tests/unit/collect_cuda_hostile.c has it too. */
#include <fcntl.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "collect/core/clock_map.h"
#include "collect/sources/cuda/cuda_records.h"
#include "report/writer/writer.h"
#include "wire/wire_cuda.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

#define CHUNKS 1u
#define BUFFERS 2u

static struct writer *open_writer(void)
{
    struct writer *writer;
    return writer_open("/dev/null", &(struct writer_options){ .overwrite = 1, .workers = 1 }, &writer, NULL) == 0
               ? writer
               : NULL;
}

/* An arena whose pages the last input has used are given back: an input begins with zeros. */
static struct wire_header *fresh_arena(void)
{
    static struct wire_header *arena;
    size_t bytes = wire_arena_bytes(CHUNKS, BUFFERS);
    if (!arena)
        arena = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    else
        madvise(arena, bytes, MADV_DONTNEED);
    atomic_store(&wire_cuda(arena)->free_buffers, WIRE_LIST_EMPTY);
    return arena;
}

struct parts {
    size_t texts, delivered, lent;
};

static void fill(struct wire_header *arena, const uint8_t *bytes, struct parts parts)
{
    struct wire_cuda_buffer *buffers = wire_cuda_buffers(arena, CHUNKS);
    memcpy(wire_cuda_names(arena, CHUNKS, BUFFERS), bytes, parts.texts);
    memcpy(wire_cuda_bytes(arena, CHUNKS, BUFFERS, 0), bytes + parts.texts, parts.delivered);
    memcpy(wire_cuda_bytes(arena, CHUNKS, BUFFERS, 1), bytes + parts.texts + parts.delivered, parts.lent);
    buffers[0].bytes = (uint32_t)parts.delivered;
    atomic_store(&buffers[0].state, WIRE_CUDA_DELIVERED);
    atomic_store(&buffers[1].state, WIRE_CUDA_LENT);
    atomic_store(&wire_cuda(arena)->buffers_taken, BUFFERS);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    static const uint32_t versions[] = { 18, 19,     20,     21,     22,     23,     24,     26,
                                         28, 130001, 130100, 130200, 130300, 130400, 999999, 1 };
    if (size < 3 || size > WIRE_CUDA_BUFFER_BYTES)
        return 0;
    struct wire_header *arena = fresh_arena();
    size_t left = size - 3;
    struct parts parts = { .texts = left * bytes[1] / 512 };
    parts.delivered = (left - parts.texts) * bytes[2] / 256;
    parts.lent = left - parts.texts - parts.delivered;
    fill(arena, bytes + 3, parts);
    atomic_store(&wire_cuda(arena)->cupti_version, versions[bytes[0] % 16]);
    struct clock_map clock;
    struct clock_pair first = { .ticks = 0 }, second = { .ticks = 1000, .monotonic_ns = 1000 };
    struct cuda_gpus gpus = { .count = 0 };
    struct writer *writer = open_writer();
    if (!writer || clock_map_init(&clock, WIRE_CLOCK_MONOTONIC, &first, &second) != 0)
        abort();
    struct cuda_setup setup = {
        .writer = writer,
        .clock = &clock,
        .gpus = &gpus,
        .arena = arena,
        .chunk_count = CHUNKS,
        .buffer_count = BUFFERS,
        .ns_per_tick = UINT64_C(1) << WIRE_SCALE_SHIFT,
        .flags = bytes[0] & 16 ? WIRE_CUDA_EVENTS : 0,
        .pid = 7,
        .own_pid = 7,
    };
    struct cuda_process *cuda = cuda_process_new(&setup);
    if (!cuda)
        abort();
    cuda_note(cuda);
    cuda_read(cuda, SIZE_MAX, 1);
    cuda_finish(cuda);
    cuda_process_free(cuda);
    writer_close(writer, NULL);
    clock_map_free(&clock);
    return 0;
}
