/* OpenMP as a source: its row. */
#include "abi/models/models.h"
#include "collect/core/chain_row.h"
#include "collect/core/collector.h"
#include "collect/process/process.h"
#include "openmp_pairs.h"

/* Of a wait for a lock, unless OpenMP was named: a critical section takes less. */
enum { LEAST_LOCK_WAIT_NS = 1000 };

static void openmp_collect_arena(const struct collector *collector, struct collect_arena_texts *texts)
{
    const struct collect_options *options = collector->options;
    wire_openmp(texts->arena)->details = options->openmp_details;
    if (options->if_used & WIRE_BIT(OPENMP))
        wire_openmp(texts->arena)->lock_wait_ticks = (uint64_t)clock_map_ticks_in(&collector->clock,
                                                                                  LEAST_LOCK_WAIT_NS);
}

static void openmp_collect_chain_row(struct writer *writer, const struct chain_row *from)
{
    struct row_TACHO_OPENMP_CALLCHAINS row = { 0 };
    CHAIN_ROW_SET(TACHO_OPENMP_CALLCHAINS, &row, from);
    writer_append(writer, TABLE_TACHO_OPENMP_CALLCHAINS, &row);
}

static void openmp_collect_module_begin(struct process *process, const struct symbols_mapping *mapping)
{
    openmp_forget_places(process, mapping->address, mapping->bytes);
}

static void openmp_collect_module_end(struct process *process, uint64_t address, uint64_t bytes)
{
    openmp_forget_places(process, address, bytes);
}

static void openmp_collect_thread_cut(const struct collect_origin *origin, struct wire_thread *slot, int64_t end_ns)
{
    openmp_cut(origin, end_ns);
}

static void openmp_collect_thread_end(struct process *process, struct process_reader *reader, int64_t end_ns)
{
    const struct collect_origin origin = { process->collector, process, reader };
    openmp_cut(&origin, reader->end_ns == PROCESS_NO_TIME ? end_ns : reader->end_ns);
    openmp_forget_thread(reader);
}

static const struct collect_records openmp_collect_records[] = {
    { WIRE_OPENMP_BEGIN, WIRE_OPENMP_BEGIN, openmp_read_begin },
    { WIRE_OPENMP_END, WIRE_OPENMP_END, openmp_read_end },
    { WIRE_OPENMP_POINT, WIRE_OPENMP_POINT, openmp_read_point },
    { 0 },
};

static const struct collect_table openmp_collect_tables[] = {
#define OPENMP_EVENT(id, ...) { TABLE_OPENMP_EVENT_KIND_##id, "openmp", COLLECT_RECORDED_OF(OPENMP) },
#include "wire/openmp_events.def"
#undef OPENMP_EVENT
    { 0 },
};

const struct collect_source collect_source_openmp = {
    .state_bytes = sizeof(struct openmp_names),
    .records = openmp_collect_records,
    .tables = openmp_collect_tables,
    .file = { .name = WIRE_OPENMP_FILE,
              .without = "OpenMP's events are not recorded",
              .models = MODEL_BIT(MODEL_OPENMP) },
    .cost = { .recorded_reads = 2, .recorded_ns = 20, .counted_reads = 2, .counted_ns = 20 },
    .arena = openmp_collect_arena,
    .process_end = openmp_forget_process,
    .process_free = openmp_forget_process,
    .module_begin = openmp_collect_module_begin,
    .module_end = openmp_collect_module_end,
    .chain_row = openmp_collect_chain_row,
    .thread_cut = openmp_collect_thread_cut,
    .thread_end = openmp_collect_thread_end,
};
