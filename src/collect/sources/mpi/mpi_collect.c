/* MPI as a source: its row. */
#include <stdlib.h>

#include "abi/models/models.h"
#include "collect/core/chain_row.h"
#include "collect/core/collector.h"
#include "collect/core/record.h"
#include "collect/process/process.h"
#include "mpi_records.h"

struct mpi {
    struct mpi_names names;
    uint32_t processes; /* that called MPI */
};

static struct mpi *mpi_collect_of(const struct collector *collector)
{
    return collector->state[COLLECT_SOURCE_MPI];
}

static void mpi_collect_arena(const struct collector *collector, struct collect_arena_texts *texts)
{
    wire_mpi(texts->arena)->chosen = collector->options->mpi_flavour;
}

static struct mpi_process *mpi_collect_process_of(struct process *process)
{
    struct mpi_process *state = process->state[COLLECT_SOURCE_MPI];
    if (state || !(state = calloc(1, sizeof *state)))
        return state;
    state->process = process;
    state->writer = process->collector->writer;
    state->clock = &process->collector->clock;
    state->names = &mpi_collect_of(process->collector)->names;
    state->global_pid = process->global_pid;
    state->rank = WIRE_MPI_NO_RANK;
    process->state[COLLECT_SOURCE_MPI] = state;
    mpi_collect_of(process->collector)->processes++;
    return state;
}

static void write_rank(const struct collect_origin *origin, int64_t rank)
{
    struct row_MPI_RANKS row = { 0 };
    ROW_SET(&row, MPI_RANKS, globalTid, process_global_tid(origin->process, origin->reader->tid));
    ROW_SET(&row, MPI_RANKS, rank, rank);
    writer_append(origin->collector->writer, TABLE_MPI_RANKS, &row);
}

/* Each thread that calls MPI has a row with its rank. */
static void note_thread(const struct collect_origin *origin, const struct mpi_process *state)
{
    static char is_told;
    if (state->rank == WIRE_MPI_NO_RANK || origin->reader->state[COLLECT_SOURCE_MPI])
        return;
    origin->reader->state[COLLECT_SOURCE_MPI] = &is_told;
    write_rank(origin, state->rank);
}

static int was_left(const struct wire_record *record)
{
    return record->type == WIRE_MPI_OTHER && record->flags & WIRE_MPI_WAS_LEFT && record->a < MPI_FUNCTION_COUNT;
}

static void mpi_collect_call(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct mpi_process *state = mpi_collect_process_of(origin->process);
    struct process_counts *counts = &origin->process->counts[WIRE_SOURCE_MPI];
    uint32_t rows = 0;
    if (state && was_left(record)) {
        const struct mpi_open left = { record->a, WIRE_MPI_NO_RANK, record->ticks, 0, WIRE_MPI_NO_SIZE };
        mpi_incomplete(state, process_global_tid(origin->process, origin->reader->tid), &left);
        rows = 1;
    } else if (!state || mpi_record_call(state, process_global_tid(origin->process, origin->reader->tid), record, words,
                                         &rows) != 0) {
        counts->damaged++;
        return;
    }
    counts->recorded += rows;
    note_thread(origin, state);
}

static void communicator(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct mpi_process *state = mpi_collect_process_of(origin->process);
    if (!state || mpi_record_communicator(state, record, words) != 0)
        origin->process->counts[WIRE_SOURCE_MPI].damaged++;
}

/* The numbers of communicators are not reused. */
static void freed(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
}

static void check_flavour(const struct collect_origin *origin, uint32_t found)
{
    static const char *const names[] = {
#define FLAVOUR_TEXT(id, text) [WIRE_MPI_##id] = text,
        WIRE_MPI_FLAVOURS(FLAVOUR_TEXT)
#undef FLAVOUR_TEXT
    };
    const struct process *process = origin->process;
    uint32_t chosen = origin->collector->options->mpi_flavour;
    if (found == WIRE_MPI_UNKNOWN)
        collector_warn(origin->collector, process->global_pid,
                       "%s (pid %d): its MPI library is not known: calls are recorded without sizes and ranks; "
                       "--mpi-impl names the library it is like.",
                       process->name, (int)process->pid);
    else if (chosen != WIRE_MPI_UNKNOWN && found != chosen && found < WIRE_MPI_FLAVOUR_COUNT)
        collector_warn(origin->collector, process->global_pid,
                       "%s (pid %d): its MPI library is %s, so that --mpi-impl, which names %s, does not count.",
                       process->name, (int)process->pid, names[found], names[chosen]);
}

static void ranked(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct mpi_process *state = mpi_collect_process_of(origin->process);
    if (!state || words < WIRE_HEAD_WORDS + 1) {
        origin->process->counts[WIRE_SOURCE_MPI].damaged++;
        return;
    }
    check_flavour(origin, record->a);
    int32_t rank = wire_mpi_upper(record->body[0]);
    if (rank < 0)
        return;
    state->rank = rank;
    note_thread(origin, state);
}

static void mpi_collect_module_begin(struct process *process, const struct symbols_mapping *mapping)
{
    if (process->state[COLLECT_SOURCE_MPI])
        mpi_forget_places(process->state[COLLECT_SOURCE_MPI], mapping->address, mapping->bytes);
}

static void mpi_collect_module_end(struct process *process, uint64_t address, uint64_t bytes)
{
    if (process->state[COLLECT_SOURCE_MPI])
        mpi_forget_places(process->state[COLLECT_SOURCE_MPI], address, bytes);
}

static void mpi_collect_chain_row(struct writer *writer, const struct chain_row *from)
{
    struct row_TACHO_MPI_CALLCHAINS row = { 0 };
    CHAIN_ROW_SET(TACHO_MPI_CALLCHAINS, &row, from);
    writer_append(writer, TABLE_TACHO_MPI_CALLCHAINS, &row);
}

/* The call that a thread is in when it is read for the last time gets a row, too. */
static void mpi_collect_thread_cut(const struct collect_origin *origin, struct wire_thread *slot, int64_t end_ns)
{
    const struct wire_open_call *open = &slot->open_call;
    uint64_t ticks = atomic_load_explicit(&open->ticks, memory_order_acquire);
    uint32_t function = atomic_load_explicit(&open->function, memory_order_relaxed);
    struct mpi_process *state = ticks && function < MPI_FUNCTION_COUNT ? mpi_collect_process_of(origin->process) : NULL;
    if (!state)
        return;
    const struct mpi_open call = { function, atomic_load_explicit(&open->peer, memory_order_relaxed), ticks,
                                   atomic_load_explicit(&open->group, memory_order_relaxed),
                                   atomic_load_explicit(&open->bytes, memory_order_relaxed) };
    mpi_incomplete(state, process_global_tid(origin->process, origin->reader->tid), &call);
    origin->process->counts[WIRE_SOURCE_MPI].recorded++;
}

static void mpi_collect_thread_end(struct process *process, struct process_reader *reader, int64_t end_ns)
{
    reader->state[COLLECT_SOURCE_MPI] = NULL;
}

/* Counts requests only if some were lost; otherwise their calls report them. */
static void count_requests(const struct process *process, const struct mpi_process *state)
{
    uint64_t lost = state->requests[0] + (process->arena ? atomic_load(&wire_mpi(process->arena)->unfollowed) : 0);
    if (!lost)
        return;
    process_count_row(process, "mpi-requests", "recorded", "", (int64_t)state->requests[1]);
    process_count_row(process, "mpi-requests", "lost", "too-many-requests", (int64_t)lost);
}

static void mpi_collect_process_end(struct process *process)
{
    struct mpi_process *state = process->state[COLLECT_SOURCE_MPI];
    if (!state)
        return;
    mpi_process_finish(state);
    count_requests(process, state);
    free(state);
    process->state[COLLECT_SOURCE_MPI] = NULL;
}

static void mpi_collect_finish(struct collector *collector)
{
    if ((collector->options->sources & ~collector->options->if_used & WIRE_BIT(MPI)) &&
        !collector->options->no_preload && !mpi_collect_of(collector)->processes && collector->recorded_ns > 0)
        collector_warn(collector, 0,
                       "No call to MPI was recorded: the program made none, or is linked statically with its MPI "
                       "library, whose calls cannot be traced.");
}

static const struct collect_records mpi_collect_records[] = {
    { WIRE_MPI_OTHER, WIRE_MPI_DONE, mpi_collect_call },
    { WIRE_MPI_COMMUNICATOR, WIRE_MPI_COMMUNICATOR, communicator },
    { WIRE_MPI_COMMUNICATOR_FREED, WIRE_MPI_COMMUNICATOR_FREED, freed },
    { WIRE_MPI_RANK, WIRE_MPI_RANK, ranked },
    { 0 },
};
static const struct collect_table mpi_collect_tables[] = {
    { TABLE_MPI_P2P_EVENTS, "mpi", COLLECT_RECORDED_OF(MPI) },
    { TABLE_MPI_COLLECTIVES_EVENTS, "mpi", COLLECT_RECORDED_OF(MPI) },
    { TABLE_MPI_START_WAIT_EVENTS, "mpi", COLLECT_RECORDED_OF(MPI) },
    { TABLE_MPI_OTHER_EVENTS, "mpi", COLLECT_RECORDED_OF(MPI) },
    { 0 },
};

const struct collect_source collect_source_mpi = {
    .state_bytes = sizeof(struct mpi),
    .records = mpi_collect_records,
    .tables = mpi_collect_tables,
    .file = { .name = WIRE_MPI_FILE, .without = "MPI calls are not recorded", .models = MODEL_BIT(MODEL_MPI) },
    .cost = { .recorded_reads = 2, .recorded_ns = 40, .counted_reads = 1, .counted_ns = 15 },
    .arena = mpi_collect_arena,
    .finish = mpi_collect_finish,
    .process_end = mpi_collect_process_end,
    .process_free = mpi_collect_process_end,
    .module_begin = mpi_collect_module_begin,
    .module_end = mpi_collect_module_end,
    .chain_row = mpi_collect_chain_row,
    .thread_cut = mpi_collect_thread_cut,
    .thread_end = mpi_collect_thread_end,
};
