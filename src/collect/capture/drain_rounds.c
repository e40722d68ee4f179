/* Rounds of reading: see drain_rounds.h. */
#include "drain_rounds.h"

#include <event2/event.h>
#include <stdlib.h>
#include <sys/mman.h>

#include "capture.h"
#include "drain.h"
#include "ending.h"
#include "process_end.h"
#include "session.h"
#include "wire/wire_chunks.h"

#define INTERVAL_MIN_US 1000
#define INTERVAL_MAX_US 20000
#define BUSY_BYTES (256u << 10) /* per round: from here on, poll at the highest rate */
#define FEW_BYTES (64u << 10)   /* per round, as much as a chunk holds: fewer are no reason to poll often */
#define IDLE_ROUNDS 150         /* without a record (3 s at the lowest rate): unused memory is released */
#define PAGE 4096u
#define READY_FROM 4            /* unused chunks taken in one round that count as a burst */
#define READY_MAX 128u          /* chunks prepared ahead: 8 MiB */

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23
#endif

/* ---- Releasing memory of an idle process ----------------------------------------------------------------------- */

/* Takes chunks off the free list so that nobody writes to them, releases their pages, and puts the chunks back. The
 * first page stays, since it has the chunk's links. The program may wake up meanwhile and need chunks, so at most half
 * of all are held at a time. */
static void drain_rounds_trim(struct process *process)
{
    struct wire_header *arena = process->arena;
    uint32_t taken = atomic_load_explicit(&arena->chunks_taken, memory_order_relaxed);
    uint32_t limit = taken <= process->chunk_count / 2 ? process->chunk_count / 2 : process->chunk_count / 4;
    uint32_t *held = malloc(limit * sizeof *held);
    uint32_t count = 0;
    while (held && count < limit) {
        /* The limit is ours, not the count in the arena: the program may have overwritten that. */
        uint32_t index = wire_list_pop_free(&arena->free_chunks, process->chunk_count,
                                            &wire_chunks(arena)[WIRE_NOTE_CHUNKS].next_free, sizeof(struct wire_chunk));
        if (index == WIRE_NONE)
            break;
        held[count++] = WIRE_NOTE_CHUNKS + index;
        madvise((char *)&wire_chunks(arena)[WIRE_NOTE_CHUNKS + index] + PAGE, WIRE_CHUNK_BYTES - PAGE, MADV_REMOVE);
    }
    while (count > 0)
        drain_recycle_chunk(process, held[--count]);
    free(held);
}

static void note_activity(struct process *process, size_t bytes)
{
    if (bytes) {
        process->idle_rounds = 0;
        process->trimmed = 0;
    } else if (!process->trimmed && ++process->idle_rounds > IDLE_ROUNDS) {
        process->trimmed = 1;
        drain_rounds_trim(process);
        SOURCES_CALL(trim, process);
    }
}

/* ---- Preparing memory for a busy process ----------------------------------------------------------------------- */

/* A program that outruns the collector takes chunks that were never used. The kernel would then allocate and clear
 * their pages in the program's thread, which costs 18 ns a range. Done ahead from here it costs the program nothing.
 * Kernels before 5.14 refuse; then the program pays for it. */
static void make_ready(struct process *process)
{
    struct wire_header *arena = process->arena;
    uint32_t taken = atomic_load_explicit(&arena->chunks_taken, memory_order_relaxed);
    uint32_t used = taken - process->chunks_seen;
    process->chunks_seen = taken;
    if (used < READY_FROM || taken > process->chunk_count)
        return;
    uint32_t ahead = used < READY_MAX / 2 ? used * 2 : READY_MAX;
    uint32_t from = process->chunks_ready > taken ? process->chunks_ready : taken;
    uint32_t to = ahead < process->chunk_count - taken ? taken + ahead : process->chunk_count;
    if (to <= from)
        return;
    madvise(&wire_chunks(arena)[WIRE_NOTE_CHUNKS + from], (size_t)(to - from) * WIRE_CHUNK_BYTES, MADV_POPULATE_WRITE);
    process->chunks_ready = to;
}

/* ---- Rounds ---------------------------------------------------------------------------------------------------- */

void drain_rounds_end_next(struct collector *collector)
{
    struct process *process = collector->processes->over ? collector->processes->first_live : NULL;
    while (process && !process->is_over)
        process = process->next_live;
    if (process && !drain_slice(process)) {
        process_end(process, process->over_ending, process->over_status, process->over_ns);
        ending_check(collector);
    }
}

int64_t drain_rounds_interval(int64_t interval_us, size_t bytes)
{
    if (bytes >= BUSY_BYTES)
        return INTERVAL_MIN_US;
    if (bytes < FEW_BYTES && interval_us < INTERVAL_MAX_US)
        return interval_us + interval_us / 4; /* slowly, since bursts often follow each other */
    return bytes >= FEW_BYTES && interval_us > INTERVAL_MIN_US ? interval_us - interval_us / 4 : interval_us;
}

static void round_once(evutil_socket_t unused, short what, void *argument)
{
    struct collector *collector = argument;
    struct capture_drain *drain = &capture_of(collector)->drain;
    struct process_table *processes = collector->processes;
    size_t total = 0;
    struct process *process = processes->next_round ? processes->next_round : processes->first_live;
    struct process *stop = process;
    while (process && total < DRAIN_ROUND_BYTES) {
        make_ready(process);
        size_t bytes = drain_process(process, DRAIN_ROUND_BYTES - total);
        note_activity(process, bytes);
        total += bytes;
        process = process->next_live ? process->next_live : processes->first_live;
        if (process == stop)
            break;
    }
    processes->next_round = process;
    drain->interval_us = drain_rounds_interval(drain->interval_us, total);
    drain_schedule(collector, total >= DRAIN_ROUND_BYTES ? 0 : drain->interval_us);
    drain_rounds_end_next(collector);
    session_answer_flushes(collector);
}

int drain_rounds_init(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    capture->drain.interval_us = INTERVAL_MIN_US;
    capture->drain.timer = evtimer_new(collector->base, round_once, collector);
    return capture->drain.timer ? 0 : -1;
}

void drain_rounds_start(struct collector *collector)
{
    drain_schedule(collector, capture_of(collector)->drain.interval_us);
}

void drain_rounds_free(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    if (capture->drain.timer)
        event_free(capture->drain.timer);
}
