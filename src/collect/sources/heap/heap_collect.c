/* The heap as a source: its row, and its records as rows of TACHO_HEAP_ALLOCATION and TACHO_HEAP_FREE. */
#include <math.h>
#include <stdio.h>

#include "collect/core/chain_row.h"
#include "collect/core/collector.h"
#include "collect/core/machine.h"
#include "collect/core/record.h"
#include "collect/process/process.h"
#include "wire/wire_heap.h"

static void heap_collect_describe(struct collector *collector)
{
    char number[32];
    if (!(collector->options->sources & WIRE_BIT(HEAP)))
        return;
    snprintf(number, sizeof number, "%llu", (unsigned long long)collector->options->heap_rate_bytes);
    machine_parameter(collector, "HEAP_RATE_BYTES", number);
}

static void heap_collect_arena(const struct collector *collector, struct collect_arena_texts *texts)
{
    struct wire_heap_shared *shared = wire_heap(texts->arena);
    shared->rate_bytes = collector->options->heap_rate_bytes;
    shared->most_rate_bytes = collector->options->heap_most_rate_bytes;
    shared->stack_bytes = collector->options->heap_stack_bytes;
}

static void heap_collect_take_chains(const struct collect_origin *origin, const struct wire_record *record,
                                     struct call_chains chains)
{
    origin->reader->chains = chains;
    origin->reader->chains_ticks = record->ticks;
}

static void heap_collect_chain_row(struct writer *writer, const struct chain_row *from)
{
    struct row_TACHO_HEAP_CALLCHAINS row = { 0 };
    CHAIN_ROW_SET(TACHO_HEAP_CALLCHAINS, &row, from);
    CHAIN_ROW_SET_METHOD(TACHO_HEAP_CALLCHAINS, &row, from);
    writer_append(writer, TABLE_TACHO_HEAP_CALLCHAINS, &row);
}

static struct call_chains heap_collect_chains(struct process_reader *reader, uint64_t ticks)
{
    struct call_chains none = { 0 }, chains = reader->chains_ticks == ticks ? reader->chains : none;
    reader->chains = none;
    return chains;
}

/* A block of this size is sampled with probability 1 - exp(-size / rate). */
static double blocks_it_stands_for(uint64_t bytes, uint64_t rate_bytes)
{
    return rate_bytes && bytes ? -1 / expm1(-(double)bytes / (double)rate_bytes) : 1;
}

static void heap_collect_allocated(const struct collect_origin *origin, const struct wire_record *record,
                                   uint32_t words)
{
    struct collector *collector = origin->collector;
    struct process_counts *counts = &origin->process->counts[WIRE_SOURCE_HEAP];
    if (words < WIRE_HEAD_WORDS + 4 || record->body[1] > INT64_MAX) {
        counts->damaged++;
        return;
    }
    struct call_chains chains = heap_collect_chains(origin->reader, record->ticks);
    struct row_TACHO_HEAP_ALLOCATION row = { 0 };
    ROW_SET(&row, TACHO_HEAP_ALLOCATION, start, record_time(origin, record));
    ROW_SET(&row, TACHO_HEAP_ALLOCATION, globalTid, process_global_tid(origin->process, origin->reader->tid));
    ROW_SET(&row, TACHO_HEAP_ALLOCATION, blockId, (int64_t)record->body[0]);
    ROW_SET(&row, TACHO_HEAP_ALLOCATION, bytes, (int64_t)record->body[1]);
    ROW_SET(&row, TACHO_HEAP_ALLOCATION, represents, blocks_it_stands_for(record->body[1], record->body[3]));
    ROW_SET(&row, TACHO_HEAP_ALLOCATION, threadBytes, (int64_t)record->body[2]);
    if (chains.native)
        ROW_SET(&row, TACHO_HEAP_ALLOCATION, callchainId, chains.native);
    if (chains.interpreted)
        ROW_SET(&row, TACHO_HEAP_ALLOCATION, pythonCallchainId, chains.interpreted);
    writer_append(collector->writer, TABLE_TACHO_HEAP_ALLOCATION, &row);
    counts->recorded++;
}

static void heap_collect_freed(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct process_counts *counts = &origin->process->counts[WIRE_SOURCE_HEAP];
    if (words < WIRE_HEAD_WORDS + 2) {
        counts->damaged++;
        return;
    }
    struct row_TACHO_HEAP_FREE row = { 0 };
    ROW_SET(&row, TACHO_HEAP_FREE, start, record_time(origin, record));
    ROW_SET(&row, TACHO_HEAP_FREE, globalTid, process_global_tid(origin->process, origin->reader->tid));
    ROW_SET(&row, TACHO_HEAP_FREE, blockId, (int64_t)record->body[0]);
    if (record->a)
        ROW_SET(&row, TACHO_HEAP_FREE, threadBytes, (int64_t)record->body[1]);
    writer_append(origin->collector->writer, TABLE_TACHO_HEAP_FREE, &row);
    counts->recorded++;
}

/* The copies of stacks, as of OS calls. */
static double heap_collect_cost_ns(const struct collect_result *result)
{
    enum { STACK_NS = 300, KILOBYTE_NS = 250 };
    const struct collect_counts *counts = &result->counts[WIRE_SOURCE_HEAP];
    return (double)counts->stacks * STACK_NS + (double)counts->stack_bytes / 1024 * KILOBYTE_NS;
}

static const struct collect_records heap_collect_records[] = {
    { WIRE_HEAP_ALLOCATED, WIRE_HEAP_ALLOCATED, heap_collect_allocated },
    { WIRE_HEAP_FREED, WIRE_HEAP_FREED, heap_collect_freed },
    { 0 },
};
static const struct collect_table heap_collect_tables[] = {
    { TABLE_TACHO_HEAP_ALLOCATION, "heap", COLLECT_RECORDED_OF(HEAP) },
    { TABLE_TACHO_HEAP_FREE, "heap", COLLECT_RECORDED_OF(HEAP) },
    { 0 },
};

const struct collect_source collect_source_heap = {
    .records = heap_collect_records,
    .tables = heap_collect_tables,
    .file = { .name = WIRE_HEAP_FILE, .without = "The heap is not recorded" },
    .cost = { .recorded_reads = 1, .recorded_ns = 60, .counted_ns = 20 },
    .extra_cost_ns = heap_collect_cost_ns,
    .describe = heap_collect_describe,
    .arena = heap_collect_arena,
    .take_chains = heap_collect_take_chains,
    .chain_row = heap_collect_chain_row,
};
