/* OpenSHMEM as a source: its row, and its records as rows of TACHO_OSHMEM. */
#include "base/text.h"
#include "collect/core/collector.h"
#include "collect/core/record.h"
#include "collect/process/process.h"
#include "wire/wire_oshmem.h"

static const char *const oshmem_collect_names[] = {
#define OSHMEM(name, ...) #name,
#include "wire/oshmem_calls.def"
#undef OSHMEM
};

static void oshmem_collect_called(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct collector *collector = origin->collector;
    struct process *process = origin->process;
    int has_more = record->flags & (WIRE_OSHMEM_HAS_BYTES | WIRE_OSHMEM_HAS_PE);
    if (record->a >= OSHMEM_FUNCTION_COUNT || words < WIRE_HEAD_WORDS + (has_more ? 3 : 1)) {
        process->counts[WIRE_SOURCE_OSHMEM].damaged++;
        return;
    }
    int64_t start_ns = record_time(origin, record), end_ns = clock_map_time(&collector->clock, record->body[0]);
    struct row_TACHO_OSHMEM row = { 0 };
    ROW_SET(&row, TACHO_OSHMEM, start, start_ns);
    ROW_SET(&row, TACHO_OSHMEM, end, end_ns < start_ns ? start_ns : end_ns);
    ROW_SET(&row, TACHO_OSHMEM, globalTid, process_global_tid(process, origin->reader->tid));
    ROW_SET(&row, TACHO_OSHMEM, nameId, collector_string(collector, oshmem_collect_names[record->a]));
    if (record->flags & WIRE_OSHMEM_HAS_BYTES)
        ROW_SET(&row, TACHO_OSHMEM, bytes, (int64_t)record->body[1]);
    if (record->flags & WIRE_OSHMEM_HAS_PE)
        ROW_SET(&row, TACHO_OSHMEM, pe, (int64_t)record->body[2]);
    writer_append(collector->writer, TABLE_TACHO_OSHMEM, &row);
    process->counts[WIRE_SOURCE_OSHMEM].recorded++;
}

static const struct collect_records oshmem_collect_records[] = {
    { WIRE_OSHMEM_CALL, WIRE_OSHMEM_CALL, oshmem_collect_called }, { 0 }
};
static const struct collect_table oshmem_collect_tables[] = {
    { TABLE_TACHO_OSHMEM, "oshmem", COLLECT_RECORDED_OF(OSHMEM) }, { 0 }
};

const struct collect_source collect_source_oshmem = {
    .records = oshmem_collect_records,
    .tables = oshmem_collect_tables,
    .file = { .name = WIRE_OSHMEM_FILE, .without = "Calls into OpenSHMEM are not recorded" },
    .cost = { .recorded_reads = 2, .recorded_ns = 40, .counted_reads = 2, .counted_ns = 30 },
};
