/* Draining an arena that the test writes as an agent would, and then as no agent ever should. */
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
#include <event2/event.h>

#include "analyze/model/threads.h"
#include "collect/capture/capture_new.h"
#include "collect/capture/drain.h"
#include "collect/capture/drain_rounds.h"
#include "collect/capture/process_end.h"
#include "collect/collect.h"
#include "collect/core/overhead.h"
#include "report/reader/reader.h"
#include "rounds.h"
#include "wire/wire_cuda.h"
#include "wire/wire_nvtx.h"
#include "wire/wire_osrt.h"

#define CHUNKS 64
#define PID 4242

struct scene {
    char path[64];
    struct collector *collector;
    struct collect_options options;
    struct collect_result result;
    struct process *process;
    struct wire_header *arena;
};

static int set_scene(void **state)
{
    struct scene *scene = calloc(1, sizeof *scene);
    strcpy(scene->path, "/tmp/tacho-unit-XXXXXX");
    close(mkstemp(scene->path));
    struct capture *capture = capture_new(&scene->options, &scene->result);
    struct collector *collector = scene->collector = &capture->collector;
    scene->options.sources = collector->sources = WIRE_BIT(NVTX) | WIRE_BIT(OSRT);
    struct writer_options how = { .overwrite = 1, .workers = 1 };
    assert_int_equal(writer_open(scene->path, &how, &collector->writer, NULL), 0);
    /* One tick is one ns, and report time 0 is tick 1000. */
    struct clock_pair first = { .ticks = 0, .monotonic_ns = 0 }, second = { .ticks = 1000, .monotonic_ns = 1000 };
    assert_int_equal(clock_map_init(&collector->clock, WIRE_CLOCK_MONOTONIC, &first, &second), 0);
    SOURCES_CALL(begin, collector, 0);
    collector->base = event_base_new(); /* nobody runs it: each test makes the rounds itself */
    assert_int_equal(drain_rounds_init(collector), 0);
    scene->arena = mmap(NULL, wire_arena_bytes(CHUNKS, 0), PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(scene->arena, MAP_FAILED);
    scene->arena->chunk_count = CHUNKS;
    atomic_store(&scene->arena->free_chunks, WIRE_LIST_EMPTY);
    atomic_store(&scene->arena->free_note_chunks, WIRE_LIST_EMPTY);
    atomic_store(&scene->arena->free_threads, WIRE_LIST_EMPTY);
    scene->process = process_add(collector, PID, 0, "launch");
    process_attach(scene->process, scene->arena, wire_arena_bytes(CHUNKS, 0), CHUNKS);
    *state = scene;
    return 0;
}

static int strike_scene(void **state)
{
    struct scene *scene = *state;
    if (scene->collector->writer)
        drain_finish(scene->process, 0);
    process_table_free(scene->collector);
    drain_rounds_free(scene->collector);
    event_base_free(scene->collector->base);
    if (scene->collector->writer)
        writer_close(scene->collector->writer, NULL);
    clock_map_free(&scene->collector->clock);
    collect_result_free(&scene->result);
    unlink(scene->path);
    SOURCES_CALL(free, scene->collector);
    capture_free(capture_of(scene->collector));
    free(scene);
    return 0;
}

/* ---- The agent's part ------------------------------------------------------------------------------------------ */

struct thread {
    uint32_t slot, chunk;
    uint32_t used;
    enum wire_lane lane;
};

static struct thread begin_thread(struct scene *scene, uint32_t tid)
{
    struct thread thread = { .slot = wire_take_thread(scene->arena), .chunk = WIRE_NONE };
    struct wire_thread *slot = &wire_threads(scene->arena)[thread.slot];
    slot->tid = tid;
    slot->start_ticks = 1000;
    strcpy(slot->name, "worker");
    for (int lane = 0; lane < WIRE_LANES; lane++)
        atomic_store(&slot->first_chunk[lane], WIRE_NONE);
    atomic_store(&slot->state, WIRE_THREAD_LIVE);
    return thread;
}

static struct wire_record *reserve(struct scene *scene, struct thread *thread, uint32_t type, uint32_t words)
{
    if (thread->chunk == WIRE_NONE || thread->used + words * 8 > WIRE_CHUNK_DATA) {
        uint32_t next = wire_take_chunk(scene->arena);
        if (next == WIRE_NONE)
            return NULL;
        struct wire_chunk *chunk = &wire_chunks(scene->arena)[next];
        atomic_store(&chunk->committed, 0);
        atomic_store(&chunk->next, WIRE_NONE);
        if (thread->chunk == WIRE_NONE)
            atomic_store(&wire_threads(scene->arena)[thread->slot].first_chunk[thread->lane], next);
        else
            atomic_store(&wire_chunks(scene->arena)[thread->chunk].next, next);
        thread->chunk = next;
        thread->used = 0;
    }
    struct wire_record *record = (struct wire_record *)(wire_chunks(scene->arena)[thread->chunk].data + thread->used);
    *record = (struct wire_record){ .type = (uint8_t)type, .words = (uint16_t)words };
    return record;
}

static void commit(struct scene *scene, struct thread *thread, const struct wire_record *record)
{
    thread->used += record->words * 8u;
    atomic_store(&wire_chunks(scene->arena)[thread->chunk].committed, thread->used);
}

static int write_call(struct scene *scene, struct thread *thread, uint64_t ticks, uint64_t duration, int64_t result)
{
    struct wire_record *record = reserve(scene, thread, WIRE_OSRT_CALL, WIRE_HEAD_WORDS + 2);
    if (!record)
        return -1;
    record->ticks = ticks;
    record->body[0] = duration << 16;
    record->body[1] = (uint64_t)result;
    commit(scene, thread, record);
    return 0;
}

/* ---- The reader's part ----------------------------------------------------------------------------------------- */

static struct report *finish(struct scene *scene)
{
    struct report *report;
    if (scene->process->ending == PROCESS_RUNS)
        process_end(scene->process, PROCESS_EXITED, 0, 1000000);
    assert_int_equal(writer_close(scene->collector->writer, NULL), 0);
    scene->collector->writer = NULL;
    assert_int_equal(report_open(scene->path, &report, NULL), 0);
    return report;
}

static uint64_t rows(struct report *report, const char *name)
{
    const struct report_table *table = report_table(report, name);
    return table ? table->rows : 0;
}

static void every_record_becomes_a_row(void **state)
{
    struct scene *scene = *state;
    struct thread thread = begin_thread(scene, 77);
    for (uint64_t i = 0; i < 10; i++)
        write_call(scene, &thread, 2000 + i * 100, 50, (int64_t)i - 5);
    assert_true(drain_process(scene->process, SIZE_MAX) > 0);
    assert_int_equal(drain_process(scene->process, SIZE_MAX), 0);
    struct report *report = finish(scene);
    const struct report_table *table = report_table(report, "OSRT_API");
    int columns[] = { report_column(table, "start"), report_column(table, "end"), report_column(table, "globalTid"),
                      report_column(table, "returnValue") };
    struct report_columns read;
    assert_int_equal(report_read(report, table, columns, 4, &read, NULL), 0);
    assert_int_equal(read.rows, 10);
    for (size_t i = 0; i < read.rows; i++) {
        assert_int_equal(read.values[0][i], 1000 + (int64_t)i * 100);
        assert_int_equal(read.values[1][i], 1050 + (int64_t)i * 100);
        assert_int_equal(read.values[2][i], INT64_C(1) << 48 | (int64_t)PID << 24 | 77);
        assert_int_equal(read.values[3][i], (int64_t)i - 5);
    }
    report_columns_free(&read);
    report_close(report);
    assert_int_equal(scene->result.counts[WIRE_SOURCE_OSRT].recorded, 10);
}

static void write_range(struct scene *scene, struct thread *thread, uint32_t type, uint16_t level, uint64_t ticks)
{
    struct wire_record *record = reserve(scene, thread, type, WIRE_HEAD_WORDS);
    record->b = level;
    record->ticks = ticks;
    commit(scene, thread, record);
}

static void write_place(struct scene *scene, struct thread *handlers, uint64_t place)
{
    struct wire_record *record = reserve(scene, handlers, WIRE_PLACE, WIRE_HEAD_WORDS + 1);
    record->body[0] = place;
    commit(scene, handlers, record);
}

/* They are at the same level as ranges of the thread's that come before and after them. */
static void ranges_of_handlers_come_where_they_belong(void **state)
{
    enum { RANGES = 6000, RANGE_BYTES = 2 * WIRE_HEAD_WORDS * 8 }; /* more than a chunk holds */
    struct scene *scene = *state;
    struct thread thread = begin_thread(scene, 77), handlers = thread;
    handlers.lane = WIRE_LANE_HANDLER;
    for (uint64_t i = 0; i < RANGES; i++) {
        if (i % 3 == 0) { /* the handler comes as the thread is about to push */
            if (i)
                write_place(scene, &handlers, i * RANGE_BYTES);
            write_range(scene, &handlers, WIRE_NVTX_PUSH, 0, 2000 + i * 10);
            write_range(scene, &handlers, WIRE_NVTX_POP, 0, 2002 + i * 10);
        }
        write_range(scene, &thread, WIRE_NVTX_PUSH, 0, 2004 + i * 10);
        if (i % 1000 == 500) /* with this range open */
            drain_process(scene->process, SIZE_MAX);
        write_range(scene, &thread, WIRE_NVTX_POP, 0, 2008 + i * 10);
    }
    atomic_store(&wire_threads(scene->arena)[thread.slot].state, WIRE_THREAD_ENDED);
    drain_process(scene->process, SIZE_MAX);
    assert_int_equal(scene->process->counts[WIRE_SOURCE_NVTX].damaged, 0);
    struct report *report = finish(scene);
    const struct report_table *table = report_table(report, "NVTX_EVENTS");
    int columns[] = { report_column(table, "start"), report_column(table, "end") };
    struct report_columns read;
    assert_int_equal(report_read(report, table, columns, 2, &read, NULL), 0);
    assert_int_equal(read.rows, RANGES + RANGES / 3);
    for (size_t row = 0, i = 0; i < RANGES; i++) {
        if (i % 3 == 0) {
            assert_int_equal(read.values[0][row], 1000 + (int64_t)i * 10);
            assert_int_equal(read.values[1][row++], 1002 + (int64_t)i * 10);
        }
        assert_int_equal(read.values[0][row], 1004 + (int64_t)i * 10);
        assert_int_equal(read.values[1][row++], 1008 + (int64_t)i * 10);
    }
    report_columns_free(&read);
    report_close(report);
}

static void a_handler_ahead_of_its_thread_waits(void **state)
{
    struct scene *scene = *state;
    struct thread thread = begin_thread(scene, 77), handlers = thread;
    handlers.lane = WIRE_LANE_HANDLER;
    write_call(scene, &handlers, 2000, 1, 0); /* before the thread has any */
    drain_process(scene->process, SIZE_MAX);
    assert_int_equal(scene->process->counts[WIRE_SOURCE_OSRT].recorded, 1);
    write_place(scene, &handlers, (WIRE_HEAD_WORDS + 2) * 8);
    write_call(scene, &handlers, 2002, 1, 0);
    drain_process(scene->process, SIZE_MAX);
    assert_int_equal(scene->process->counts[WIRE_SOURCE_OSRT].recorded, 1);
    write_call(scene, &thread, 2001, 1, 0);
    drain_process(scene->process, SIZE_MAX);
    assert_int_equal(scene->process->counts[WIRE_SOURCE_OSRT].recorded, 3);
    report_close(finish(scene));
}

/* The program has written over the place: the thread never comes there. */
static void handlers_whose_place_never_comes_are_counted(void **state)
{
    struct scene *scene = *state;
    for (int i = 0; i < 2; i++) {
        struct thread thread = begin_thread(scene, 77 + (uint32_t)i), handlers = thread;
        handlers.lane = WIRE_LANE_HANDLER;
        write_call(scene, &thread, 2000, 1, 0);
        write_place(scene, &handlers, 4096);
        write_call(scene, &handlers, 2001, 1, 0);
        if (i == 0) /* the other thread runs when the process dies */
            atomic_store(&wire_threads(scene->arena)[thread.slot].state, WIRE_THREAD_ENDED);
        drain_process(scene->process, SIZE_MAX);
        assert_int_equal(scene->process->counts[WIRE_SOURCE_NVTX].damaged, 1);
    }
    report_close(finish(scene));
    assert_int_equal(scene->result.counts[WIRE_SOURCE_OSRT].recorded, 2);
    assert_int_equal(scene->result.counts[WIRE_SOURCE_NVTX].lost_damaged, 2);
}

static void chunks_are_used_again(void **state)
{
    struct scene *scene = *state;
    struct thread thread = begin_thread(scene, 77);
    uint64_t written = 0;
    for (int round = 0; round < 50; round++) { /* ten times what the arena holds */
        for (uint64_t i = 0; i < 25000; i++, written++)
            assert_int_equal(write_call(scene, &thread, 2000 + written, 1, 0), 0);
        while (drain_process(scene->process, SIZE_MAX) > 0)
            ;
    }
    assert_true(atomic_load(&scene->arena->chunks_taken) <= CHUNKS);
    struct report *report = finish(scene);
    assert_int_equal(rows(report, "OSRT_API"), written);
    report_close(report);
}

static void slots_of_ended_threads_are_used_again(void **state)
{
    struct scene *scene = *state;
    for (uint32_t tid = 1; tid <= 1000; tid++) {
        struct thread thread = begin_thread(scene, tid);
        assert_int_equal(write_call(scene, &thread, 2000, 1, 0), 0);
        atomic_fetch_add(&wire_threads(scene->arena)[thread.slot].counts[WIRE_SOURCE_OSRT][WIRE_UNTIMED], 3);
        atomic_store(&wire_threads(scene->arena)[thread.slot].state, WIRE_THREAD_ENDED);
        drain_process(scene->process, SIZE_MAX);
    }
    assert_int_equal(atomic_load(&scene->arena->threads_taken), 1);
    struct report *report = finish(scene);
    assert_int_equal(rows(report, "OSRT_API"), 1000);
    assert_int_equal(rows(report, "ThreadNames"), 1000);
    assert_int_equal(rows(report, "TACHO_THREAD"), 2000);
    assert_int_equal(scene->result.counts[WIRE_SOURCE_OSRT].fates[WIRE_UNTIMED], 3000);
    report_close(report);
}

static void count_short(struct scene *scene, const struct thread *thread, uint32_t place, uint32_t key, uint64_t count)
{
    struct wire_short_calls *calls = &wire_threads(scene->arena)[thread->slot].short_calls[place];
    atomic_store(&calls->function, key);
    atomic_fetch_add(&calls->count, count);
    atomic_fetch_add(&calls->failed, 1);
    atomic_fetch_add(&calls->ticks, 10 * count);
    atomic_fetch_add(&calls->bytes, 100 * count);
}

/* Two threads, one after the other in the same slot; the second counts on while it is read. Numbers that are no
 * function's are left out. */
static void short_calls_are_added_up(void **state)
{
    struct scene *scene = *state;
    struct thread thread = begin_thread(scene, 1);
    count_short(scene, &thread, 5, OSRT_read + 1, 3);
    atomic_store(&wire_threads(scene->arena)[thread.slot].state, WIRE_THREAD_ENDED);
    drain_process(scene->process, SIZE_MAX);
    thread = begin_thread(scene, 2);
    count_short(scene, &thread, 6, OSRT_read + 1, 4);
    count_short(scene, &thread, 7, OSRT_FUNCTION_COUNT + 2, 1000);
    count_short(scene, &thread, 8, WIRE_SHORT_OTHERS - 1, 1000);
    drain_process(scene->process, SIZE_MAX);
    drain_report_counts(scene->collector);
    count_short(scene, &thread, 6, OSRT_read + 1, 5);
    struct report *report = finish(scene);
    const struct report_table *table = report_table(report, "TACHO_SHORT_CALL");
    assert_non_null(table);
    int columns[] = { report_column(table, "count"), report_column(table, "failed"), report_column(table, "duration"),
                      report_column(table, "bytes"), report_column(table, "nameId") };
    struct report_columns read;
    int64_t sums[4] = { 0 };
    assert_int_equal(report_read(report, table, columns, 5, &read, NULL), 0);
    for (size_t row = 0; row < read.rows; row++) {
        assert_string_equal(report_string(report, read.values[4][row], NULL), "read");
        for (int i = 0; i < 4; i++)
            sums[i] += read.values[i][row];
    }
    assert_int_equal(sums[0], 12);
    assert_int_equal(sums[1], 3);
    assert_int_equal(sums[2], 120);
    assert_int_equal(sums[3], 1200);
    report_columns_free(&read);
    report_close(report);
}

static void a_call_in_progress_at_death_is_told(void **state)
{
    struct scene *scene = *state;
    struct thread thread = begin_thread(scene, 77);
    atomic_store(&wire_threads(scene->arena)[thread.slot].call_function, 0);
    atomic_store(&wire_threads(scene->arena)[thread.slot].call_ticks, 5000);
    struct report *report = finish(scene);
    const struct report_table *table = report_table(report, "OSRT_API");
    assert_non_null(table);
    int columns[] = { report_column(table, "start"), report_column(table, "end"), report_column(table, "incomplete") };
    struct report_columns read;
    assert_int_equal(report_read(report, table, columns, 3, &read, NULL), 0);
    assert_int_equal(read.rows, 1);
    assert_int_equal(read.values[0][0], 4000);
    assert_int_equal(read.values[1][0], 1000000);
    assert_int_equal(read.values[2][0], 1);
    report_columns_free(&read);
    report_close(report);
}

static void an_unknown_record_is_counted_as_damage(void **state)
{
    struct scene *scene = *state;
    struct thread thread = begin_thread(scene, 77);
    write_call(scene, &thread, 2000, 1, 0);
    struct wire_record *record = reserve(scene, &thread, WIRE_TYPE_COUNT, 2);
    commit(scene, &thread, record);
    struct report *report = finish(scene);
    assert_int_equal(rows(report, "OSRT_API"), 1);
    assert_int_equal(scene->result.counts[WIRE_SOURCE_NVTX].lost_damaged, 1);
    report_close(report);
}

static void sizes_beyond_the_chunk_are_not_believed(void **state)
{
    struct scene *scene = *state;
    struct thread thread = begin_thread(scene, 77);
    write_call(scene, &thread, 2000, 1, 0);
    atomic_store(&wire_chunks(scene->arena)[thread.chunk].committed, WIRE_CHUNK_DATA + 8);
    assert_int_equal(drain_process(scene->process, SIZE_MAX), 0);
    struct report *report = finish(scene);
    assert_int_equal(rows(report, "OSRT_API"), 0);
    assert_true(scene->result.counts[WIRE_SOURCE_NVTX].lost_damaged > 0);
    report_close(report);
}

static void a_chain_that_is_a_circle_ends(void **state)
{
    struct scene *scene = *state;
    struct thread thread = begin_thread(scene, 77);
    write_call(scene, &thread, 2000, 1, 0);
    atomic_store(&wire_chunks(scene->arena)[thread.chunk].next, thread.chunk);
    drain_process(scene->process, SIZE_MAX);
    report_close(finish(scene));
}

/* Its chunks are free, and the next thread that takes one is not read as this one. */
static void a_reader_does_not_stay_in_a_circle(void **state)
{
    struct scene *scene = *state;
    struct thread broken = begin_thread(scene, 77);
    for (int i = 0; i < 3000; i++) /* more than a chunk holds */
        write_call(scene, &broken, 2000, 1, 0);
    atomic_store(&wire_chunks(scene->arena)[broken.chunk].next,
                 atomic_load(&wire_threads(scene->arena)[broken.slot].first_chunk[WIRE_LANE_THREAD]));
    drain_process(scene->process, SIZE_MAX);
    struct thread sound = begin_thread(scene, 78);
    for (int i = 0; i < 3000; i++)
        write_call(scene, &sound, 2000, 1, 0);
    drain_process(scene->process, SIZE_MAX);
    struct report *report = finish(scene);
    const struct report_table *table = report_table(report, "OSRT_API");
    int columns[] = { report_column(table, "globalTid") };
    struct report_columns read;
    assert_int_equal(report_read(report, table, columns, 1, &read, NULL), 0);
    int calls[2] = { 0 };
    for (size_t i = 0; i < read.rows; i++)
        calls[(read.values[0][i] & 0xffffff) == 78]++;
    assert_int_equal(calls[0], 3000);
    assert_int_equal(calls[1], 3000);
    assert_int_equal(scene->result.counts[WIRE_SOURCE_NVTX].lost_damaged, 1);
    report_columns_free(&read);
    report_close(report);
}

/* It stays in the table, for a status that comes late: thousands of short processes must not add up. */
static void an_ended_process_keeps_no_memory_but_its_own(void **state)
{
    struct scene *scene = *state;
    struct thread thread = begin_thread(scene, 77);
    write_call(scene, &thread, 2000, 1, 0);
    process_add_module(scene->process, &(struct process_module){ .address = 4096 });
    drain_process(scene->process, SIZE_MAX);
    process_end(scene->process, PROCESS_EXITED, 0, 1000000);
    assert_null(scene->process->counts);
    assert_null(scene->process->readers);
    assert_null(scene->process->modules);
    process_set_wait_status(scene->process, 3 << 8); /* late */
    assert_int_equal(scene->process->status, 3);
    assert_true(sizeof *scene->process <= 1024);
}

/* ---- Flush goals ----------------------------------------------------------------------------------------------- */

/* As many calls as fill so many chunks. */
static void fill_chunks(struct scene *scene, struct thread *thread, uint32_t count)
{
    const uint32_t calls = WIRE_CHUNK_DATA / ((WIRE_HEAD_WORDS + 2) * 8);
    for (uint32_t i = 0; i < count * calls; i++)
        assert_int_equal(write_call(scene, thread, 2000 + i, 1, 0), 0);
}

static void a_flush_waits_for_what_was_recorded_before_it_alone(void **state)
{
    struct scene *scene = *state;
    struct thread early = begin_thread(scene, 77), late = begin_thread(scene, 78);
    fill_chunks(scene, &early, 20); /* two passes: a thread has 16 chunks read at a stretch */
    drain_set_goals(scene->collector);
    assert_false(drain_reached_goals(scene->collector));
    fill_chunks(scene, &early, 20);
    fill_chunks(scene, &late, 20);
    drain_process(scene->process, SIZE_MAX);
    assert_false(drain_reached_goals(scene->collector));
    drain_process(scene->process, SIZE_MAX);
    assert_true(drain_reached_goals(scene->collector));
    assert_true(drain_process(scene->process, SIZE_MAX) > 0); /* there was more, that nobody waited for */
}

static void a_flush_with_nothing_to_read_is_over_at_once(void **state)
{
    struct scene *scene = *state;
    struct thread thread = begin_thread(scene, 77);
    drain_set_goals(scene->collector);
    assert_true(drain_reached_goals(scene->collector));
    fill_chunks(scene, &thread, 1);
    assert_true(drain_reached_goals(scene->collector));
    drain_process(scene->process, SIZE_MAX);
    drain_set_goals(scene->collector);
    assert_true(drain_reached_goals(scene->collector));
}

static void a_flush_waits_for_a_thread_that_ends_meanwhile(void **state)
{
    struct scene *scene = *state;
    struct thread thread = begin_thread(scene, 77);
    fill_chunks(scene, &thread, 17);
    drain_set_goals(scene->collector);
    atomic_store(&wire_threads(scene->arena)[thread.slot].state, WIRE_THREAD_ENDED);
    drain_process(scene->process, SIZE_MAX);
    assert_false(drain_reached_goals(scene->collector));
    drain_process(scene->process, SIZE_MAX);
    assert_true(drain_reached_goals(scene->collector));
}

/* Ways in which a program that writes over its arena leaves less to read than there was when the goal was set. */
static void make_circle(struct scene *scene, const struct thread *thread)
{
    atomic_store(&wire_chunks(scene->arena)[thread->chunk].next, thread->chunk);
}

static void cut_chain(struct scene *scene, const struct thread *thread)
{
    atomic_store(
        &wire_chunks(scene->arena)[atomic_load(&wire_threads(scene->arena)[thread->slot].first_chunk[WIRE_LANE_THREAD])]
             .next,
        WIRE_NONE);
}

static void take_back_records(struct scene *scene, const struct thread *thread)
{
    atomic_store(&wire_chunks(scene->arena)[thread->chunk].committed, 0);
}

static void free_slot(struct scene *scene, const struct thread *thread)
{
    atomic_store(&wire_threads(scene->arena)[thread->slot].state, WIRE_THREAD_FREE);
}

static void a_flush_does_not_wait_for_what_is_not_there(void **state)
{
    static const struct {
        const char *what;
        void (*before)(struct scene *, const struct thread *), (*after)(struct scene *, const struct thread *);
    } damages[] = {
        { "a circle", make_circle, NULL },
        { "a chain cut short", NULL, cut_chain },
        { "records taken back", NULL, take_back_records },
        { "a slot set free", NULL, free_slot },
    };
    struct scene *scene = *state;
    for (uint32_t i = 0; i < COUNT_OF(damages); i++) {
        struct thread thread = begin_thread(scene, 77 + i);
        fill_chunks(scene, &thread, 3);
        if (damages[i].before)
            damages[i].before(scene, &thread);
        drain_set_goals(scene->collector);
        assert_false(drain_reached_goals(scene->collector));
        if (damages[i].after)
            damages[i].after(scene, &thread);
        drain_process(scene->process, SIZE_MAX);
        drain_process(scene->process, SIZE_MAX);
        if (!drain_reached_goals(scene->collector))
            fail_msg("%s: the goal is not reached, though there is nothing left to read", damages[i].what);
    }
}

static void threads_are_not_forgotten_with_their_number(void **state)
{
    struct scene *scene = *state;
    struct thread thread = begin_thread(scene, 77);
    write_call(scene, &thread, 2000, 1, 0);
    drain_process(scene->process, SIZE_MAX);
    write_call(scene, &thread, 3000, 1, 0);
    atomic_store(&scene->arena->threads_taken, 0);
    struct report *report = finish(scene);
    assert_int_equal(rows(report, "OSRT_API"), 2);
    assert_int_equal(rows(report, "ThreadNames"), 1);
    report_close(report);
}

static void write_name(struct scene *scene, struct thread *thread, const char name[8])
{
    struct wire_record *record = reserve(scene, thread, WIRE_THREAD_NAME, WIRE_HEAD_WORDS + 1);
    memcpy(record->body, name, 8);
    commit(scene, thread, record);
    drain_process(scene->process, SIZE_MAX);
    drain_report_names(scene->collector);
    drain_report_names(scene->collector);
}

/* If the collector is killed, the thread has its last name all the same. */
static void a_new_name_is_in_the_file_before_the_thread_ends(void **state)
{
    struct scene *scene = *state;
    struct thread thread = begin_thread(scene, 77);
    struct report *report;
    struct thread_names names;
    write_name(scene, &thread, "worker 1");
    write_name(scene, &thread, "worker 2");
    write_name(scene, &thread, "worker 2");
    assert_int_equal(writer_flush(scene->collector->writer, NULL), 0);
    assert_int_equal(report_open(scene->path, &report, NULL), 0);
    assert_int_equal(rows(report, "TACHO_THREAD"), 3);
    assert_int_equal(rows(report, "ThreadNames"), 0);
    assert_int_equal(thread_names_read(&names, report, NULL), 0);
    const struct thread_name *found = thread_name_find(&names, process_global_tid(scene->process, 77));
    assert_non_null(found);
    assert_string_equal(report_string(report, found->name, NULL), "worker 2");
    thread_names_free(&names);
    report_close(report);
    report = finish(scene);
    assert_int_equal(rows(report, "ThreadNames"), 1);
    report_close(report);
}

static void counts_beyond_reason_have_a_cost(void **state)
{
    struct collect_result result = { 0 };
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++) {
        result.counts[i].recorded = UINT64_MAX / 2;
        result.counts[i].fates[WIRE_UNTIMED] = UINT64_MAX;
    }
    overhead_estimate(&result);
    assert_true(result.cost_ns > 0);
    memset(&result, 0, sizeof result);
    overhead_estimate(&result);
    assert_int_equal(result.cost_ns, 0);
}

static void random_bytes_do_no_harm(void **state)
{
    struct scene *scene = *state;
    uint64_t random = 88172645463325252u;
    for (int round = 0; round < 300; round += rounds_step(300)) {
        if (round % 100 == 0) /* all of the control part too: slots, free lists, counts */
            for (uint32_t i = 0; i < 64; i++) {
                struct wire_thread *slot = &wire_threads(scene->arena)[i];
                for (size_t k = 0; k < sizeof *slot / 8; k++) {
                    random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                    ((uint64_t *)slot)[k] = random;
                }
                atomic_store(&slot->state, 1 + random % 2);
                for (int lane = 0; lane < WIRE_LANES; lane++)
                    atomic_store(&slot->first_chunk[lane], random % (CHUNKS + 2 + (uint32_t)lane));
            }
        atomic_store(&scene->arena->threads_taken, round % 2 ? 64 : UINT32_MAX);
        for (uint32_t i = 0; i < CHUNKS; i++) {
            struct wire_chunk *chunk = &wire_chunks(scene->arena)[i];
            atomic_store(&chunk->committed, (uint32_t)(random >> 20) % (WIRE_CHUNK_DATA / 8 + 2) * 8);
            atomic_store(&chunk->next, (uint32_t)(random >> 40) % (CHUNKS + 1));
            for (size_t k = 0; k < 512; k++) {
                random ^= random << 13, random ^= random >> 7, random ^= random << 17;
                ((uint64_t *)chunk->data)[k] = random;
                if (k % 4 == 0) /* so that many are taken for records */
                    *(struct wire_record *)&((uint64_t *)chunk->data)[k] = (struct wire_record){
                        .type = (uint8_t)(random % WIRE_TYPE_COUNT),
                        .flags = (uint8_t)(random >> 8),
                        .words = 4,
                        .a = (uint16_t)(random >> 16 & 255),
                        .b = (uint16_t)(random >> 32 & 7),
                        .ticks = random >> 30,
                    };
            }
        }
        drain_process(scene->process, 64u << 20);
    }
    report_close(finish(scene));
}

static struct process *add_process(struct scene *scene, pid_t pid)
{
    struct process *process = process_add(scene->collector, pid, PID, "fork");
    struct wire_header *arena = mmap(NULL, wire_arena_bytes(CHUNKS, 0), PROT_READ | PROT_WRITE,
                                     MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    assert_ptr_not_equal(arena, MAP_FAILED);
    process_attach(process, arena, wire_arena_bytes(CHUNKS, 0), CHUNKS);
    return process;
}

/* As the agent does it, in two steps; report time 0 is tick 1000. */
static struct wire_switch *claim_switch(struct process *process)
{
    return &process->arena->switches[atomic_fetch_add(&process->arena->switches_made, 1) % WIRE_SWITCHES];
}

static void publish_switch(struct wire_switch *to, uint32_t number, int on, uint64_t time_ns)
{
    to->cause = WIRE_CAPTURE_NVTX;
    to->on = (uint16_t)on;
    to->ticks = 1000 + time_ns;
    atomic_store(&to->number, number);
}

static void set_switch(struct process *process, int on, uint64_t time_ns)
{
    struct wire_switch *to = claim_switch(process);
    publish_switch(to, atomic_load(&process->arena->switches_made), on, time_ns);
}

/* They found all switches unread; the last of them says this. */
static void miss_switches(struct process *process, uint64_t count, int on)
{
    atomic_store(&process->arena->switches_missed, count << 32 | (uint64_t)on << 16 | WIRE_CAPTURE_NVTX);
}

static void begin_repeated_ranges(struct scene *scene)
{
    scene->options.range = COLLECT_RANGE_NVTX;
    scene->options.range_end = COLLECT_END_REPEAT;
    capture_of(scene->collector)->recording = (struct capture_recording){ .is_armed = 1, .ranges_left = UINT32_MAX };
}

static void set_and_read(struct process *process, int on, uint64_t time_ns)
{
    set_switch(process, on, time_ns);
    drain_process(process, SIZE_MAX);
}

/* The program has been in three of four ranges, the third still on, before we read of the first. */
static void a_process_switches_itself(void **state)
{
    struct scene *scene = *state;
    struct collector *collector = scene->collector;
    struct process *other = add_process(scene, PID + 1);
    uint32_t sources = scene->options.sources;
    scene->options.range = COLLECT_RANGE_NVTX;
    scene->options.range_end = COLLECT_END_REPEAT;
    capture_of(collector)->recording = (struct capture_recording){ .is_armed = 1, .ranges_left = 4 };
    atomic_store(&other->arena->ranges_left, 4);
    atomic_store(&scene->arena->ranges_left, 1);
    atomic_store(&scene->arena->recording, sources);
    for (uint32_t range = 1; range <= 3; range++) {
        set_and_read(scene->process, 1, range * 10);
        assert_int_equal(atomic_load(&other->arena->recording), sources);
        assert_int_equal(atomic_load(&other->arena->ranges_left), 4 - range);
        assert_int_equal(atomic_load(&scene->arena->ranges_left), 1);
        if (range == 3)
            break;
        set_and_read(scene->process, 0, range * 10 + 5);
        assert_int_equal(atomic_load(&other->arena->recording), 0);
        assert_int_equal(atomic_load(&scene->arena->recording), sources);
    }
    atomic_store(&scene->arena->recording, 0);                        /* the third is over, too */
    set_and_read(other, 1, 34);
    set_and_read(scene->process, 0, 35);
    assert_int_equal(atomic_load(&scene->arena->recording), sources); /* for the other, which is inside the fourth */
    set_and_read(other, 0, 40);
    assert_int_equal(atomic_load(&scene->arena->recording), 0);
    assert_true(capture_of(collector)->recording.is_done);
    assert_int_equal(collector->recorded_ns, 5 + 5 + 10);
}

/* Two processes are in the same ranges. One has begun the second range before the collector reads that the other has
 * ended the first. */
static void a_late_switch_does_not_undo_a_newer_one(void **state)
{
    struct scene *scene = *state;
    struct process *other = add_process(scene, PID + 1);
    uint32_t sources = scene->options.sources;
    begin_repeated_ranges(scene);
    set_and_read(scene->process, 1, 10);
    set_and_read(other, 1, 10);
    set_and_read(other, 0, 20);
    atomic_store(&other->arena->recording, sources);
    set_switch(other, 1, 30); /* not read yet */
    set_and_read(scene->process, 0, 20);
    assert_int_equal(atomic_load(&other->arena->recording), sources);
    drain_process(other, SIZE_MAX);
    assert_int_equal(atomic_load(&other->arena->recording), sources);
    assert_true(scene->collector->is_recording);
    atomic_store(&other->arena->recording, 0);
    set_and_read(other, 0, 40);
    assert_false(scene->collector->is_recording);
}

/* More ranges than there are places, while nobody reads: those that were told are rows, and how it ended is known. */
static void the_last_switch_counts_even_if_there_was_no_place_for_it(void **state)
{
    struct scene *scene = *state;
    struct collector *collector = scene->collector;
    begin_repeated_ranges(scene);
    for (uint32_t i = 0; i < WIRE_SWITCHES; i++)
        set_switch(scene->process, i % 2 == 0, i);
    miss_switches(scene->process, 2, 0); /* one on, one off */
    drain_process(scene->process, SIZE_MAX);
    assert_int_equal(atomic_load(&scene->arena->switches_read), WIRE_SWITCHES);
    assert_false(collector->is_recording);
    assert_int_equal(collector->recorded_ns, WIRE_SWITCHES / 2);
    miss_switches(scene->process, 3, 1);
    drain_process(scene->process, SIZE_MAX);
    assert_true(collector->is_recording);
    struct report *report = finish(scene);
    assert_int_equal(scene->result.counts[WIRE_SOURCE_NOTES].fates[WIRE_LOST_BUFFER_FULL], 1);
    report_close(report);
}

/* A thread has claimed the last place and not filled it yet when others find none. */
static void a_missed_switch_waits_for_those_before_it(void **state)
{
    struct scene *scene = *state;
    struct collector *collector = scene->collector;
    begin_repeated_ranges(scene);
    for (uint32_t i = 1; i < WIRE_SWITCHES; i++)
        set_switch(scene->process, i % 2, i);
    assert_int_equal((WIRE_SWITCHES - 1) % 2, 1); /* the last of these begins a range */
    struct wire_switch *end = claim_switch(scene->process);
    miss_switches(scene->process, 1, 1);          /* and so does the one that comes after its end */
    drain_process(scene->process, SIZE_MAX);
    assert_int_equal(scene->process->switches_missed, 0);
    publish_switch(end, WIRE_SWITCHES, 0, WIRE_SWITCHES);
    drain_process(scene->process, SIZE_MAX);
    assert_int_equal(scene->process->switches_missed, 1);
    assert_true(collector->is_recording);
    assert_int_equal(collector->recorded_ns, WIRE_SWITCHES / 2);
}

static void switches_behind_one_that_was_never_set_are_lost(void **state)
{
    struct scene *scene = *state;
    begin_repeated_ranges(scene);
    set_switch(scene->process, 1, 10);
    claim_switch(scene->process); /* the thread was killed here */
    set_switch(scene->process, 1, 30);
    drain_process(scene->process, SIZE_MAX);
    assert_int_equal(atomic_load(&scene->arena->switches_read), 1);
    struct report *report = finish(scene);
    assert_int_equal(scene->result.counts[WIRE_SOURCE_NOTES].fates[WIRE_LOST_BUFFER_FULL], 2);
    report_close(report);
}

/* The number of switches made is loaded before that of those read: both may have grown meanwhile. */
static void switches_are_full_when_all_are_unread(void **state)
{
    assert_false(wire_switches_full(0, 0));
    assert_false(wire_switches_full(WIRE_SWITCHES - 1, 0));
    assert_true(wire_switches_full(WIRE_SWITCHES, 0));
    assert_false(wire_switches_full(100, 101));
    assert_true(wire_switches_full(WIRE_SWITCHES - 2, UINT32_MAX - 1));
    assert_false(wire_switches_full(UINT32_MAX, 1));
}

/* What the collector trims it takes off the list alone: the agent may not have mapped the others. */
static void free_chunks_are_no_fresh_ones(void **state)
{
    struct scene *scene = *state;
    struct wire_header *arena = scene->arena;
    _Atomic uint32_t *first_link = &wire_chunks(arena)[WIRE_NOTE_CHUNKS].next_free;
    uint32_t first = wire_take_chunk(arena), second = wire_take_chunk(arena);
    assert_int_equal(wire_list_pop_free(&arena->free_chunks, CHUNKS, first_link, sizeof(struct wire_chunk)), WIRE_NONE);
    wire_free_chunk(arena, second);
    wire_free_chunk(arena, first);
    assert_int_equal(wire_list_pop_free(&arena->free_chunks, CHUNKS, first_link, sizeof(struct wire_chunk)),
                     first - WIRE_NOTE_CHUNKS);
    assert_int_equal(wire_list_pop_free(&arena->free_chunks, CHUNKS, first_link, sizeof(struct wire_chunk)),
                     second - WIRE_NOTE_CHUNKS);
    assert_int_equal(wire_list_pop_free(&arena->free_chunks, CHUNKS, first_link, sizeof(struct wire_chunk)), WIRE_NONE);
    assert_int_equal(atomic_load(&arena->chunks_taken), 2);
}

/* The chunks behind those for events are read and given back as any others. */
static void notes_have_chunks_when_events_have_none(void **state)
{
    struct scene *scene = *state;
    struct thread full = begin_thread(scene, 77), quiet = begin_thread(scene, 78);
    while (write_call(scene, &full, 2000, 1, 0) == 0)
        ;
    quiet.chunk = wire_take_note_chunk(scene->arena);
    assert_true(quiet.chunk < WIRE_NOTE_CHUNKS);
    struct wire_chunk *chunk = &wire_chunks(scene->arena)[quiet.chunk];
    atomic_store(&chunk->next, WIRE_NONE);
    atomic_store(&wire_threads(scene->arena)[quiet.slot].first_chunk[WIRE_LANE_THREAD], quiet.chunk);
    struct wire_record *record = reserve(scene, &quiet, WIRE_EXIT, WIRE_HEAD_WORDS + 1);
    record->body[0] = 7;
    commit(scene, &quiet, record);
    atomic_store(&wire_threads(scene->arena)[quiet.slot].state, WIRE_THREAD_ENDED);
    drain_process(scene->process, SIZE_MAX);
    assert_int_equal(scene->process->exit_status, 7);
    assert_int_equal(scene->process->counts[WIRE_SOURCE_NVTX].damaged, 0);
    for (uint32_t i = 0; i < WIRE_NOTE_CHUNKS; i++) /* it was given back */
        assert_true(wire_take_note_chunk(scene->arena) < WIRE_NOTE_CHUNKS);
    assert_int_equal(wire_take_note_chunk(scene->arena), WIRE_NONE);
}

static int64_t interval_after(int64_t interval_us, int rounds, size_t bytes)
{
    for (int i = 0; i < rounds; i++)
        interval_us = drain_rounds_interval(interval_us, bytes);
    return interval_us;
}

/* A program that waits now and then writes a record or two in each round: that is no reason to poll a thousand times a
 * second. */
static void few_bytes_are_read_rarely(void **state)
{
    int64_t longest_us = interval_after(1000, 100, 0);
    assert_in_range(longest_us, 20000, 25000);
    assert_int_equal(interval_after(1000, 100, 64), longest_us);
    assert_in_range(interval_after(longest_us, 100, 100 << 10), 700, 1250);
    assert_int_equal(drain_rounds_interval(longest_us, 1 << 20), 1000);
}

#define SCENE_TEST(name) cmocka_unit_test_setup_teardown(name, set_scene, strike_scene)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SCENE_TEST(every_record_becomes_a_row),
        SCENE_TEST(chunks_are_used_again),
        SCENE_TEST(slots_of_ended_threads_are_used_again),
        SCENE_TEST(short_calls_are_added_up),
        SCENE_TEST(a_call_in_progress_at_death_is_told),
        SCENE_TEST(the_last_switch_counts_even_if_there_was_no_place_for_it),
        SCENE_TEST(notes_have_chunks_when_events_have_none),
        SCENE_TEST(a_missed_switch_waits_for_those_before_it),
        SCENE_TEST(switches_behind_one_that_was_never_set_are_lost),
        SCENE_TEST(ranges_of_handlers_come_where_they_belong),
        SCENE_TEST(a_handler_ahead_of_its_thread_waits),
        SCENE_TEST(handlers_whose_place_never_comes_are_counted),
        SCENE_TEST(free_chunks_are_no_fresh_ones),
        cmocka_unit_test(switches_are_full_when_all_are_unread),
        SCENE_TEST(an_unknown_record_is_counted_as_damage),
        SCENE_TEST(sizes_beyond_the_chunk_are_not_believed),
        SCENE_TEST(a_chain_that_is_a_circle_ends),
        SCENE_TEST(a_reader_does_not_stay_in_a_circle),
        SCENE_TEST(an_ended_process_keeps_no_memory_but_its_own),
        SCENE_TEST(random_bytes_do_no_harm),
        SCENE_TEST(a_flush_waits_for_what_was_recorded_before_it_alone),
        SCENE_TEST(a_flush_with_nothing_to_read_is_over_at_once),
        SCENE_TEST(a_flush_waits_for_a_thread_that_ends_meanwhile),
        SCENE_TEST(a_flush_does_not_wait_for_what_is_not_there),
        SCENE_TEST(a_process_switches_itself),
        SCENE_TEST(a_late_switch_does_not_undo_a_newer_one),
        SCENE_TEST(threads_are_not_forgotten_with_their_number),
        SCENE_TEST(a_new_name_is_in_the_file_before_the_thread_ends),
        cmocka_unit_test(counts_beyond_reason_have_a_cost),
        cmocka_unit_test(few_bytes_are_read_rarely),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
