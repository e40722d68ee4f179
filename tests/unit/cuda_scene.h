/* A process that uses CUDA, in small: an arena that a test fills as the agent and CUPTI would, and the report that
 * comes of it. Records are written at literal offsets, which are the vendor's headers' and not our table's. */
#ifndef TACHO_TESTS_CUDA_SCENE_H
#define TACHO_TESTS_CUDA_SCENE_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "collect/core/clock_map.h"
#include "collect/process/process.h"
#include "collect/sources/cuda/cuda_records.h"
#include "report/reader/reader.h"
#include "report/writer/writer.h"
#include "wire/wire_cuda.h"

#define SCENE_CHUNKS 4u
#define SCENE_BUFFERS 8u
#define SCENE_PID 4242u
#define SCENE_GLOBAL_PID (INT64_C(1) << 48 | (int64_t)SCENE_PID << 24)
#define SCENE_ORIGIN 1000 /* CUPTI's time at report time 0; a tick is a nanosecond */

struct scene {
    char path[32];
    struct clock_map clock;
    struct writer *writer;
    struct cuda_gpus gpus;
    struct process process; /* for its modules */
    struct wire_header *arena;
    size_t arena_bytes;
    uint64_t texts;         /* bytes of them */
    struct cuda_process *cuda;
    struct cuda_counts counts;
    struct report *report;
};

static struct scene *scene_begin(uint32_t version, uint32_t flags)
{
    struct scene *scene = calloc(1, sizeof *scene);
    assert_non_null(scene);
    strcpy(scene->path, "/tmp/tacho-unit-XXXXXX");
    close(mkstemp(scene->path));
    struct clock_pair first = { .ticks = 0, .monotonic_ns = 0 },
                      second = { .ticks = SCENE_ORIGIN, .monotonic_ns = SCENE_ORIGIN };
    assert_int_equal(clock_map_init(&scene->clock, WIRE_CLOCK_MONOTONIC, &first, &second), 0);
    assert_int_equal(writer_open(scene->path, &(struct writer_options){ .overwrite = 1, .workers = 1 }, &scene->writer,
                                 NULL),
                     0);
    scene->arena_bytes = wire_arena_bytes(SCENE_CHUNKS, SCENE_BUFFERS);
    scene->arena = mmap(NULL, scene->arena_bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE,
                        -1, 0);
    assert_ptr_not_equal(scene->arena, MAP_FAILED);
    scene->arena->chunk_count = SCENE_CHUNKS;
    wire_cuda(scene->arena)->settings.buffer_count = SCENE_BUFFERS;
    atomic_store(&wire_cuda(scene->arena)->free_buffers, WIRE_LIST_EMPTY);
    atomic_store(&wire_cuda(scene->arena)->cupti_version, version);
    struct cuda_setup setup = {
        .writer = scene->writer,
        .clock = &scene->clock,
        .gpus = &scene->gpus,
        .arena = scene->arena,
        .chunk_count = SCENE_CHUNKS,
        .buffer_count = SCENE_BUFFERS,
        .ns_per_tick = UINT64_C(1) << WIRE_SCALE_SHIFT,
        .flags = flags,
        .global_pid = SCENE_GLOBAL_PID,
        .pid = SCENE_PID,
        .own_pid = SCENE_PID,
        .process = &scene->process,
    };
    scene->cuda = cuda_process_new(&setup);
    assert_non_null(scene->cuda);
    return scene;
}

/* The process is gone: what there was to say is in the report. */
static void scene_finish(struct scene *scene)
{
    cuda_finish(scene->cuda);
    scene->counts = *cuda_process_counts(scene->cuda);
    cuda_process_free(scene->cuda);
    scene->cuda = NULL;
    assert_int_equal(writer_close(scene->writer, NULL), 0);
    scene->writer = NULL;
    assert_int_equal(report_open(scene->path, &scene->report, NULL), 0);
}

static void scene_end(struct scene *scene)
{
    if (!scene->report)
        scene_finish(scene);
    report_close(scene->report);
    clock_map_free(&scene->clock);
    munmap(scene->arena, scene->arena_bytes);
    unlink(scene->path);
    free(scene);
}

/* ---- The program's part ---------------------------------------------------------------------------------------- */

static inline struct wire_cuda_buffer *scene_descriptor(struct scene *scene, uint32_t index)
{
    return &wire_cuda_buffers(scene->arena, SCENE_CHUNKS)[index];
}

static inline unsigned char *scene_bytes(struct scene *scene, uint32_t index)
{
    return wire_cuda_bytes(scene->arena, SCENE_CHUNKS, SCENE_BUFFERS, index);
}

/* A buffer for CUPTI, or WIRE_NONE. */
static uint32_t scene_lend(struct scene *scene)
{
    struct wire_cuda_buffer *buffers = wire_cuda_buffers(scene->arena, SCENE_CHUNKS);
    uint32_t index = wire_list_pop(&wire_cuda(scene->arena)->free_buffers, &wire_cuda(scene->arena)->buffers_taken,
                                   SCENE_BUFFERS, &buffers->next_free, sizeof *buffers);
    if (index != WIRE_NONE)
        atomic_store(&buffers[index].state, WIRE_CUDA_LENT);
    return index;
}

static void scene_deliver(struct scene *scene, uint32_t index, uint32_t bytes)
{
    struct wire_cuda_buffer *buffer = scene_descriptor(scene, index);
    buffer->bytes = bytes;
    buffer->number = atomic_fetch_add(&wire_cuda(scene->arena)->deliveries, 1);
    atomic_store(&buffer->state, WIRE_CUDA_DELIVERED);
}

static inline size_t scene_read(struct scene *scene)
{
    cuda_note(scene->cuda);
    return cuda_read(scene->cuda, SIZE_MAX, 1);
}

/* Lends, fills, delivers and reads one. */
static inline void scene_send(struct scene *scene, const void *records, size_t bytes)
{
    uint32_t index = scene_lend(scene);
    assert_int_not_equal(index, WIRE_NONE);
    memcpy(scene_bytes(scene, index), records, bytes);
    scene_deliver(scene, index, (uint32_t)bytes);
    scene_read(scene);
}

static inline void scene_text(struct scene *scene, uint32_t what, uint64_t key, const char *text)
{
    struct wire_cuda_text *entry = (struct wire_cuda_text *)(wire_cuda_names(scene->arena, SCENE_CHUNKS,
                                                                             SCENE_BUFFERS) +
                                                             scene->texts);
    uint32_t words = (uint32_t)(sizeof *entry / 8 + strlen(text) / 8 + 1);
    entry->what = what;
    entry->key = key;
    strcpy(entry->text, text);
    atomic_store_explicit(&entry->words, words, memory_order_release);
    scene->texts += (uint64_t)words * 8;
}

/* A record of the agent's with `count` words of body, then a text. */
static inline void scene_tell(struct scene *scene, unsigned type, unsigned a, unsigned b, uint64_t ticks,
                              const uint64_t *body, uint32_t count, const char *text)
{
    union {
        struct wire_record record;
        uint64_t words[256];
    } made;
    memset(&made, 0, sizeof made);
    uint32_t words = WIRE_HEAD_WORDS + count + (text ? (uint32_t)strlen(text) / 8 + 1 : 0);
    made.record = (struct wire_record){
        .type = (uint8_t)type, .words = (uint16_t)words, .a = (uint16_t)a, .b = (uint16_t)b, .ticks = ticks
    };
    memcpy(made.record.body, body, count * 8);
    if (text)
        memcpy(made.record.body + count, text, strlen(text));
    cuda_record(scene->cuda, &made.record, words, SCENE_PID);
}

/* ---- Records at literal offsets -------------------------------------------------------------------------------- */

static inline void put16(unsigned char *record, size_t offset, uint16_t value)
{
    memcpy(record + offset, &value, sizeof value);
}
static inline void put32(unsigned char *record, size_t offset, uint32_t value)
{
    memcpy(record + offset, &value, sizeof value);
}
static inline void put64(unsigned char *record, size_t offset, uint64_t value)
{
    memcpy(record + offset, &value, sizeof value);
}

/* A kernel: kind 10, the same in all versions up to its size (11.8: 200, 12.0 to 12.9: 208, 13.0: 216). */
static inline void put_kernel(unsigned char *record, uint32_t correlation, uint64_t start, uint64_t end, uint64_t name)
{
    put32(record, 0, 10);
    put64(record, 16, start);
    put64(record, 24, end);
    put32(record, 92, correlation);
    put64(record, 104, name);
}

/* A call: kind 5 of the runtime, 4 of the driver; 40 bytes. */
static inline void put_call(unsigned char *record, uint32_t kind, uint32_t id, uint32_t correlation, uint64_t start,
                            uint64_t end, uint32_t thread, uint32_t result)
{
    put32(record, 0, kind);
    put32(record, 4, id);
    put64(record, 8, start);
    put64(record, 16, end);
    put32(record, 24, SCENE_PID);
    put32(record, 28, thread);
    put32(record, 32, correlation);
    put32(record, 36, result);
}

/* ---- The report ------------------------------------------------------------------------------------------------ */

static uint64_t scene_rows(struct scene *scene, const char *name)
{
    const struct report_table *table = report_table(scene->report, name);
    return table ? table->rows : 0;
}

#define SCENE_NULL INT64_MIN

/* One cell; SCENE_NULL for NULL. */
static inline int64_t scene_cell(struct scene *scene, const char *name, const char *column, size_t row)
{
    const struct report_table *table = report_table(scene->report, name);
    if (!table)
        fail_msg("there is no table %s", name);
    int index = report_column(table, column);
    if (index < 0)
        return SCENE_NULL; /* NULL in all rows */
    struct report_columns read;
    assert_int_equal(report_read(scene->report, table, &index, 1, &read, NULL), 0);
    assert_true(row < read.rows);
    int64_t value = columns_is_null(&read, 0, row) ? SCENE_NULL : read.values[0][row];
    report_columns_free(&read);
    return value;
}

static inline const char *scene_cell_text(struct scene *scene, const char *name, const char *column, size_t row)
{
    int64_t id = scene_cell(scene, name, column, row);
    return id == SCENE_NULL ? "NULL" : report_string(scene->report, id, NULL);
}

struct scene_expected {
    const char *column;
    int64_t value;
};

/* Compares a row with a list that ends with an empty column. */
static inline void scene_expect(struct scene *scene, const char *table, size_t row,
                                const struct scene_expected *expected)
{
    for (; expected->column; expected++) {
        int64_t value = scene_cell(scene, table, expected->column, row);
        if (value != expected->value)
            fail_msg("%s.%s of row %zu is %lld, not %lld", table, expected->column, row, (long long)value,
                     (long long)expected->value);
    }
}

#endif
