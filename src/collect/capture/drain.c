/* Draining: see drain.h.
 *
 * The owner of a slot publishes with release stores: slot.state and slot.first_chunk, then chunk.next and
 * chunk.committed. Each is read here with acquire, `next` before `committed` and `state` before both: once `next` is
 * set, `committed` is final; once the state is ENDED, the chain is. A chunk goes back to the free list when its
 * successor is known, a slot when its thread has ended and its last chunk is read.
 *
 * A signal handler that interrupts a record writes into the second lane, before that record is committed, and notes
 * where that record begins (WIRE_PLACE). So the second lane is read after `committed` of the first, and the first only
 * up to the next such place. Records are thus handled in the order in which they were written: those of the handler
 * before the record that it interrupted. */
#include "drain.h"

#include <event2/event.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "capture.h"
#include "recording.h"
#include "wire/wire_chunks.h"

#define SLOT_CHUNKS 16 /* of one thread per round, so that no thread starves the others */

static struct process_reader *drain_reader_of(struct process *process, uint32_t slot)
{
    size_t wanted = (size_t)slot + 1;
    if (array_reserve_zeroed(&process->readers, &process->reader_count, wanted, sizeof *process->readers) != 0)
        return NULL;
    return &process->readers[slot];
}

/* ---- Threads --------------------------------------------------------------------------------------------------- */

static void drain_thread_row(const struct process *process, struct process_reader *reader)
{
    struct row_TACHO_THREAD row = { 0 };
    ROW_SET(&row, TACHO_THREAD, start, reader->start_ns);
    if (reader->end_ns != PROCESS_NO_TIME)
        ROW_SET(&row, TACHO_THREAD, end, reader->end_ns);
    ROW_SET(&row, TACHO_THREAD, globalTid, process_global_tid(process, reader->tid));
    if (reader->name_id)
        ROW_SET(&row, TACHO_THREAD, nameId, reader->name_id);
    writer_append(process->collector->writer, TABLE_TACHO_THREAD, &row);
    reader->row_name_id = reader->name_id;
}

static void begin_thread(struct process *process, struct process_reader *reader, uint32_t index)
{
    const struct wire_thread *slot = &wire_threads(process->arena)[index];
    char name[sizeof slot->name + 1];
    memcpy(name, slot->name, sizeof slot->name);
    name[sizeof slot->name] = 0;
    *reader = (struct process_reader){
        .active = 1,
        .slot = index,
        .lanes = { { .chunk = WIRE_NONE }, { .chunk = WIRE_NONE } },
        .tid = slot->tid == process->own_pid ? (uint32_t)process->pid : slot->tid,
        .priority = slot->priority,
        .start_ns = clock_map_time(&process->collector->clock, slot->start_ticks),
        .end_ns = PROCESS_NO_TIME,
        .name_id = collector_string(process->collector, name),
    };
    SOURCES_CALL(thread_begin, process, reader, slot);
    if (reader->is_agents)
        return;
    process->threads_seen++;
    process->collector->processes->threads++;
    drain_thread_row(process, reader);
}

/* Writes the thread's last rows and resets the reader for the next thread in the slot. */
static void drain_end_thread(struct process *process, struct process_reader *reader, int64_t end_ns)
{
    SOURCES_CALL(thread_name, process, reader);
    SOURCES_CALL(thread_end, process, reader, end_ns);
    if (reader->end_ns == PROCESS_NO_TIME)
        reader->end_ns = end_ns;
    if (!reader->is_agents)
        drain_thread_row(process, reader);
    if (reader->name_id && !reader->is_agents) {
        struct row_ThreadNames row = { 0 };
        ROW_SET(&row, ThreadNames, nameId, reader->name_id);
        ROW_SET(&row, ThreadNames, priority, reader->priority);
        ROW_SET(&row, ThreadNames, globalTid, process_global_tid(process, reader->tid));
        writer_append(process->collector->writer, TABLE_ThreadNames, &row);
    }
    *reader = (struct process_reader){ 0 };
}

/* The owner may be counting right now, without a lock. So its counters are only read, never written. */
static void drain_take_counts(struct process *process, struct process_reader *reader, const struct wire_thread *slot)
{
    for (int source = 0; source < WIRE_SOURCE_COUNT; source++)
        for (int fate = 0; fate < WIRE_FATE_COUNT; fate++) {
            uint64_t count = atomic_load_explicit(&slot->counts[source][fate], memory_order_relaxed);
            process->counts[source].fates[fate] += count - reader->counted[source][fate];
            reader->counted[source][fate] = count;
        }
    SOURCES_CALL(thread_counts, process, reader, slot);
}

void drain_counts(struct process *process)
{
    for (size_t i = 0; i < process->reader_count; i++)
        if (process->readers[i].active)
            drain_take_counts(process, &process->readers[i], &wire_threads(process->arena)[i]);
    for (int source = 0; source < WIRE_SOURCE_COUNT; source++)
        for (int fate = 0; fate < WIRE_FATE_COUNT; fate++)
            process->counts[source]
                .fates[fate] += atomic_exchange_explicit(&process->arena->process_counts[source][fate], 0,
                                                         memory_order_relaxed);
}

static int is_chunk(const struct process *process, uint32_t index)
{
    return index < process->chunk_count + WIRE_NOTE_CHUNKS;
}

/* Marks the chunk as free: a reader whose chain leads to a free chunk, as a cycle would, finds the chain damaged. */
void drain_recycle_chunk(struct process *process, uint32_t index)
{
    struct wire_chunk *chunk = &wire_chunks(process->arena)[index];
    atomic_store_explicit(&chunk->committed, WIRE_NONE, memory_order_relaxed);
    atomic_store_explicit(&chunk->next, WIRE_NONE, memory_order_relaxed);
    wire_free_chunk(process->arena, index);
}

/* Called once the chains are complete. Records of handlers may still wait for a place that the thread never reaches,
 * because the program has overwritten it: they are counted as lost. */
static void count_waiting_handlers(struct process *process, const struct process_reader *reader)
{
    if (!reader->damaged && reader->place > reader->lanes[WIRE_LANE_THREAD].read_bytes)
        process_count_damaged(process);
}

static void recycle_slot(struct process *process, struct process_reader *reader, uint32_t index)
{
    struct wire_thread *slot = &wire_threads(process->arena)[index];
    for (int lane = 0; lane < WIRE_LANES; lane++) {
        if (reader->lanes[lane].chunk != WIRE_NONE && !reader->damaged)
            drain_recycle_chunk(process, reader->lanes[lane].chunk);
        atomic_store_explicit(&slot->first_chunk[lane], WIRE_NONE, memory_order_relaxed);
    }
    drain_take_counts(process, reader, slot);
    count_waiting_handlers(process, reader);
    memset(slot->counts, 0, sizeof slot->counts); /* safe: the thread has ended */
    memset(slot->short_calls, 0, sizeof slot->short_calls);
    drain_end_thread(process, reader, collector_now(process->collector));
    atomic_store_explicit(&slot->state, WIRE_THREAD_FREE, memory_order_relaxed);
    wire_free_thread(process->arena, index);
}

/* ---- Records --------------------------------------------------------------------------------------------------- */

static void drain_damaged(struct process *process, struct process_reader *reader)
{
    reader->damaged = 1;
    process_count_damaged(process);
}

/* Handles one record and returns its size in bytes. 0: it is damaged, and the start of the next record is unknown. */
static inline size_t drain_read_record(const struct collect_origin *origin, const unsigned char *bytes, size_t length)
{
    const struct wire_record *record = (const struct wire_record *)bytes;
    uint32_t words = length >= WIRE_HEAD_WORDS * 8 ? record->words : 0;
    if (words < WIRE_HEAD_WORDS || words > length / 8 || record->type >= WIRE_TYPE_COUNT ||
        !origin->collector->handlers[record->type]) {
        process_count_damaged(origin->process);
        return 0;
    }
    origin->collector->handlers[record->type](origin, record, words);
    return (size_t)words * 8;
}

static uint64_t bytes_read(const struct process_reader *reader)
{
    return reader->lanes[WIRE_LANE_THREAD].read_bytes + reader->lanes[WIRE_LANE_HANDLER].read_bytes;
}

/* The committed end of a lane's chunk, and its successor. */
struct drain_reach {
    uint32_t committed, next;
};

/* Moves the lane to the first chunk of its chain if it has none yet. Returns 1 if the lane has a chunk. */
static int enter_lane(struct process *process, struct process_reader *reader, enum wire_lane which)
{
    struct process_lane *lane = &reader->lanes[which];
    if (lane->chunk == WIRE_NONE && !reader->damaged) {
        uint32_t first = atomic_load_explicit(&wire_threads(process->arena)[reader->slot].first_chunk[which],
                                              memory_order_acquire);
        if (first != WIRE_NONE && !is_chunk(process, first))
            drain_damaged(process, reader);
        else
            lane->chunk = first;
    }
    return lane->chunk != WIRE_NONE && !reader->damaged;
}

/* 0, or -1: the chunk's fields are inconsistent. */
static int look_at_chunk(struct process *process, struct process_reader *reader, const struct process_lane *lane,
                         struct drain_reach *reach)
{
    struct wire_chunk *chunk = &wire_chunks(process->arena)[lane->chunk];
    reach->next = atomic_load_explicit(&chunk->next, memory_order_acquire);
    reach->committed = atomic_load_explicit(&chunk->committed, memory_order_acquire);
    if (reach->committed >= lane->offset && reach->committed <= WIRE_CHUNK_DATA && reach->committed % 8 == 0 &&
        (reach->next == WIRE_NONE || is_chunk(process, reach->next)))
        return 0;
    drain_damaged(process, reader);
    return -1;
}

static void drain_next_chunk(struct process *process, struct process_lane *lane, uint32_t next)
{
    drain_recycle_chunk(process, lane->chunk);
    lane->chunk = next;
    lane->offset = 0;
}

/* A private copy of `length` bytes of a chunk from the read position on. */
static const unsigned char *drain_copy_chunk(const struct collect_origin *origin, const struct process_lane *lane,
                                             enum wire_lane which, size_t length)
{
    unsigned char *copy = capture_of(origin->collector)->drain.copy[which];
    memcpy(copy, wire_chunks(origin->process->arena)[lane->chunk].data + lane->offset, length);
    return copy;
}

static void has_read(struct process_lane *lane, size_t bytes)
{
    lane->offset += (uint32_t)bytes;
    lane->read_bytes += bytes;
}

/* Handles the handler records of one chunk, as far as they belong before the next record of the thread's own lane. */
static void read_handlers_chunk(const struct collect_origin *origin, uint32_t committed)
{
    struct process_reader *reader = origin->reader;
    struct process_lane *lane = &reader->lanes[WIRE_LANE_HANDLER];
    const size_t length = committed - lane->offset;
    const unsigned char *copy = drain_copy_chunk(origin, lane, WIRE_LANE_HANDLER, length);
    size_t at = 0;
    while (at < length && reader->place <= reader->lanes[WIRE_LANE_THREAD].read_bytes) {
        size_t bytes = drain_read_record(origin, copy + at, length - at);
        at = bytes ? at + bytes : length;
    }
    has_read(lane, at);
}

/* Handles all such records. Returns how many bytes of the thread's own lane come before the next handler record; 0:
 * the chunk budget of this round is used up. */
static uint64_t read_handlers(const struct collect_origin *origin, int *chunks)
{
    struct process_reader *reader = origin->reader;
    struct process_lane *lane = &reader->lanes[WIRE_LANE_HANDLER];
    const struct process_lane *own = &reader->lanes[WIRE_LANE_THREAD];
    while (enter_lane(origin->process, reader, WIRE_LANE_HANDLER) && reader->place <= own->read_bytes) {
        struct drain_reach reach;
        if (*chunks <= 0)
            return 0;
        if (look_at_chunk(origin->process, reader, lane, &reach) != 0)
            break;
        read_handlers_chunk(origin, reach.committed);
        if (lane->offset == reach.committed && reach.next == WIRE_NONE)
            break;
        if (lane->offset == reach.committed) {
            drain_next_chunk(origin->process, lane, reach.next);
            --*chunks;
        }
    }
    return reader->place > own->read_bytes ? reader->place - own->read_bytes : UINT64_MAX;
}

/* Handles the records of one chunk of the thread's own lane, and the handler records in between. Returns 1 if the chain
 * continues after the chunk. */
static int drain_read_chunk(const struct collect_origin *origin, int *chunks)
{
    struct process_reader *reader = origin->reader;
    struct process_lane *lane = &reader->lanes[WIRE_LANE_THREAD];
    struct drain_reach reach;
    if (look_at_chunk(origin->process, reader, lane, &reach) != 0)
        return 0;
    uint64_t most = read_handlers(origin, chunks);
    while (lane->offset < reach.committed && most > 0) {
        size_t left = reach.committed - lane->offset, length = most < left ? (size_t)most : left;
        const unsigned char *copy = drain_copy_chunk(origin, lane, WIRE_LANE_THREAD, length);
        for (size_t at = 0, bytes; at < length && (bytes = drain_read_record(origin, copy + at, length - at)) > 0;
             at += bytes)
            ;
        has_read(lane, length);
        most = read_handlers(origin, chunks);
    }
    if (most == 0 || reach.next == WIRE_NONE || reader->damaged)
        return 0;
    drain_next_chunk(origin->process, lane, reach.next);
    return 1;
}

/* The reader of a slot that holds a thread, positioned at the thread's first chunk if it had none. NULL: no thread, or
 * out of memory. */
static struct process_reader *enter_slot(struct process *process, uint32_t index, uint32_t *state)
{
    *state = atomic_load_explicit(&wire_threads(process->arena)[index].state, memory_order_acquire);
    struct process_reader *reader = drain_reader_of(process, index);
    if (!reader)
        return NULL;
    if (*state != WIRE_THREAD_LIVE && *state != WIRE_THREAD_ENDED) {
        if (reader->active && !reader->damaged) /* only recycle_slot() frees a slot */
            drain_damaged(process, reader);
        return NULL;
    }
    if (!reader->active)
        begin_thread(process, reader, index);
    enter_lane(process, reader, WIRE_LANE_THREAD);
    return reader;
}

/* Follows a slot's chains for at most this many chunks. */
static size_t drain_slot(struct process *process, uint32_t index, int chunks)
{
    uint32_t state;
    struct process_reader *reader = enter_slot(process, index, &state);
    if (!reader)
        return 0;
    const struct collect_origin origin = { process->collector, process, reader };
    const uint64_t before = bytes_read(reader);
    /* A handler may run while the thread is still taking its first chunk. */
    if (reader->lanes[WIRE_LANE_THREAD].chunk == WIRE_NONE)
        read_handlers(&origin, &chunks);
    else
        while (chunks > 0 && !reader->damaged && drain_read_chunk(&origin, &chunks))
            chunks--;
    if (chunks <= 0)
        process->behind = 1;
    else
        for (int lane = 0; lane < WIRE_LANES; lane++)
            /* Everything is read. It may be less than was counted, since the program can overwrite its chain. */
            reader->lanes[lane].goal_bytes = 0;
    size_t bytes = (size_t)(bytes_read(reader) - before);
    if (state == WIRE_THREAD_ENDED && chunks > 0)
        recycle_slot(process, reader, index);
    return bytes;
}

static uint32_t slots_taken(struct process *process)
{
    uint32_t taken = atomic_load_explicit(&process->arena->threads_taken, memory_order_acquire);
    if (taken > process->slots_seen)
        process->slots_seen = taken < WIRE_THREAD_SLOTS ? taken : WIRE_THREAD_SLOTS;
    return process->slots_seen;
}

size_t drain_process(struct process *process, size_t budget)
{
    if (!process->arena)
        return 0;
    size_t bytes = 0;
    recording_read_switches(process->collector, process);
    SOURCES_CALL(round_begin, process);
    process->behind = 0;
    uint32_t taken = slots_taken(process), i;
    for (i = 0; i < taken && bytes < budget; i++) {
        if (process->next_slot >= taken)
            process->next_slot = 0;
        bytes += drain_slot(process, process->next_slot++, SLOT_CHUNKS);
    }
    for (int source = 0; source < COLLECT_SOURCE_COUNT; source++)
        if (collect_sources[source]->round_end)
            bytes += collect_sources[source]->round_end(process, bytes < budget ? budget - bytes : 0,
                                                        i == taken && !process->behind);
    return bytes;
}

int drain_slice(struct process *process)
{
    return drain_process(process, DRAIN_ROUND_BYTES) >= DRAIN_ROUND_BYTES || process->behind;
}

/* ---- Flush goals ----------------------------------------------------------------------------------------------- */

void drain_schedule(struct collector *collector, int64_t interval_us)
{
    struct timeval wait = { 0, (suseconds_t)interval_us };
    event_add(capture_of(collector)->drain.timer, &wait);
}

static uint64_t unread_bytes(const struct process *process, const struct process_lane *lane)
{
    uint64_t bytes = 0;
    uint32_t index = lane->chunk, offset = lane->offset;
    for (uint32_t i = 0; i < process->chunk_count + WIRE_NOTE_CHUNKS && is_chunk(process, index); i++) {
        struct wire_chunk *chunk = &wire_chunks(process->arena)[index];
        index = atomic_load_explicit(&chunk->next, memory_order_acquire);
        uint32_t committed = atomic_load_explicit(&chunk->committed, memory_order_acquire);
        if (committed < offset || committed > WIRE_CHUNK_DATA)
            break; /* damaged; look_at_chunk() will find it, too */
        bytes += committed - offset;
        offset = 0;
    }
    return bytes;
}

void drain_set_goals(struct collector *collector)
{
    uint32_t state;
    for (struct process *process = collector->processes->first_live; process; process = process->next_live) {
        SOURCES_CALL(set_goal, process);
        for (uint32_t i = 0, taken = slots_taken(process); i < taken; i++) {
            struct process_reader *reader = enter_slot(process, i, &state);
            for (int j = 0; reader && j < WIRE_LANES; j++) {
                struct process_lane *lane = &reader->lanes[j];
                enter_lane(process, reader, j);
                lane->goal_bytes = lane->read_bytes + unread_bytes(process, lane);
            }
        }
    }
    drain_schedule(collector, 0);
}

static int reached_goals(const struct process *process)
{
    for (size_t i = 0; i < process->reader_count; i++) {
        const struct process_reader *reader = &process->readers[i];
        for (int lane = 0; reader->active && !reader->damaged && lane < WIRE_LANES; lane++)
            if (reader->lanes[lane].read_bytes < reader->lanes[lane].goal_bytes)
                return 0;
    }
    for (int i = 0; i < COLLECT_SOURCE_COUNT; i++)
        if (collect_sources[i]->has_reached_goal && !collect_sources[i]->has_reached_goal(process))
            return 0;
    return 1;
}

int drain_reached_goals(const struct collector *collector)
{
    for (const struct process *process = collector->processes->first_live; process; process = process->next_live)
        if (!reached_goals(process))
            return 0;
    return 1;
}

void drain_settle_goals(struct collector *collector)
{
    for (struct process *process = collector->processes->first_live; process; process = process->next_live)
        SOURCES_CALL(settle_goal, process);
}

void drain_report_counts(struct collector *collector)
{
    for (struct process *process = collector->processes->first_live; process; process = process->next_live) {
        drain_counts(process);
        process_report_counts(process);
    }
}

static void report_new_names(const struct process *process)
{
    for (size_t i = 0; i < process->reader_count; i++) {
        struct process_reader *reader = &process->readers[i];
        if (!reader->active || reader->is_agents)
            continue;
        SOURCES_CALL(thread_name, process, reader);
        if (reader->name_id != reader->row_name_id)
            drain_thread_row(process, reader);
    }
}

void drain_report_names(struct collector *collector)
{
    for (struct process *process = collector->processes->first_live; process; process = process->next_live)
        report_new_names(process);
}

int drain_write_down(struct collector *collector)
{
    drain_report_counts(collector);
    SOURCES_CALL(write_down, collector);
    return writer_flush(collector->writer, NULL);
}

void drain_finish(struct process *process, int64_t end_ns)
{
    if (!process->arena || process->finished)
        return;
    process->finished = 1;
    recording_finish_switches(process->collector, process);
    uint32_t taken = slots_taken(process);
    /* The arena has this many chunks and nobody adds any now; a longer chain would be a cycle. */
    for (uint32_t i = 0; i < taken; i++)
        drain_slot(process, i, (int)(process->chunk_count + WIRE_NOTE_CHUNKS) + 1);
    if (end_ns != PROCESS_NO_TIME && process->exec_ns != PROCESS_NO_TIME && !process->exit_seen)
        end_ns = process->exec_ns; /* another program has run in the process since then */
    for (uint32_t i = 0; i < taken; i++) {
        if (i < process->reader_count && process->readers[i].active) {
            const struct collect_origin origin = { process->collector, process, &process->readers[i] };
            SOURCES_CALL(thread_cut, &origin, &wire_threads(process->arena)[i], end_ns);
            drain_take_counts(process, &process->readers[i], &wire_threads(process->arena)[i]);
            if (end_ns != PROCESS_NO_TIME) /* else the thread keeps running */
                count_waiting_handlers(process, &process->readers[i]);
            drain_end_thread(process, &process->readers[i], end_ns);
        }
    }
    drain_counts(process);
}
