/* The heap as a source: its row, and its records as rows of TACHO_HEAP_ALLOCATION and TACHO_HEAP_FREE. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/registers.h"
#include "base/array.h"
#include "collect/core/chain_row.h"
#include "collect/core/collector.h"
#include "collect/core/machine.h"
#include "collect/core/record.h"
#include "collect/process/process.h"
#include "collect/sources/stacks/stack_rows.h"
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

/* ---- Stacks that differ little --------------------------------------------------------------------------------- */

/* The last stack of a thread of which only differences are recorded. */
struct heap_collect_stack {
    uint64_t first; /* address */
    uint32_t words; /* 0: none */
    uint64_t list[WIRE_HEAP_STACK_MOST / 8];
    /* A WIRE_STACK record, with its head, three words and the registers before the stack. */
    uint64_t record[WIRE_HEAD_WORDS + 3 + WIRE_STACK_REGISTERS + WIRE_HEAP_STACK_MOST / 8];
};

static struct heap_collect_stack *heap_collect_stack_of(struct process_reader *reader)
{
    if (!reader->state[COLLECT_SOURCE_HEAP])
        reader->state[COLLECT_SOURCE_HEAP] = calloc(1, sizeof(struct heap_collect_stack));
    return reader->state[COLLECT_SOURCE_HEAP];
}

/* Puts the new words before those of the last stack that still hold: 0, or -1 if the record does not fit. */
static int heap_collect_join(struct heap_collect_stack *stack, uint64_t first, const uint64_t *words, uint64_t count,
                             uint64_t kept)
{
    uint64_t from = kept ? (first + count * 8 - stack->first) / 8 : 0;
    if (count + kept > COUNT_OF(stack->list) || from > stack->words || kept > stack->words - from)
        return -1;
    memmove(stack->list + count, stack->list + from, kept * sizeof *words);
    memcpy(stack->list, words, count * sizeof *words);
    stack->first = first;
    stack->words = (uint32_t)(count + kept);
    return 0;
}

/* Where the stack pointer is among the registers of the record; -1: it is not known. */
static int heap_collect_place_of_pointer(uint64_t known)
{
    if (!(known >> REGISTERS_STACK_POINTER & 1))
        return -1;
    return __builtin_popcountll(known & ((UINT64_C(1) << REGISTERS_STACK_POINTER) - 1));
}

/* The whole stack as a WIRE_STACK record; its words. */
static uint32_t heap_collect_whole_record(struct heap_collect_stack *stack, const struct wire_record *record,
                                          uint32_t registers)
{
    struct wire_record *made = (struct wire_record *)stack->record;
    *made = (struct wire_record){ .type = WIRE_STACK, .a = WIRE_SOURCE_HEAP, .ticks = record->ticks };
    made->body[0] = 0;
    memcpy(made->body + 1, record->body, (2 + registers) * sizeof *made->body);
    memcpy(made->body + 3 + registers, stack->list, stack->words * sizeof *made->body);
    return WIRE_HEAD_WORDS + 3 + registers + stack->words;
}

static int heap_collect_read_stack(const struct collect_origin *origin, struct heap_collect_stack *stack,
                                   const struct wire_record *record, uint32_t words)
{
    enum { KNOWN = 1, VALUES = 2 };
    uint64_t known = words > WIRE_HEAD_WORDS + KNOWN ? record->body[KNOWN] : UINT64_MAX;
    uint32_t registers = (uint32_t)__builtin_popcountll(known), head = WIRE_HEAD_WORDS + VALUES + registers + 1;
    int pointer = heap_collect_place_of_pointer(known);
    if (known >> WIRE_STACK_REGISTERS || pointer < 0 || words < head)
        return -1;
    const uint64_t *values = record->body + VALUES, *own = values + registers + 1;
    if (own[-1] > WIRE_HEAP_STACK_MOST ||
        heap_collect_join(stack, values[pointer], own, words - head, own[-1] / 8) != 0)
        return -1;
    uint32_t whole = heap_collect_whole_record(stack, record, registers);
    origin->reader->chains = stacks_unwind(origin, (const struct wire_record *)stack->record, whole);
    origin->reader->chains_ticks = record->ticks;
    return 0;
}

/* After a record that does not fit the last one, no other fits before one with a whole stack. */
static void heap_collect_take_stack(const struct collect_origin *origin, const struct wire_record *record,
                                    uint32_t words)
{
    struct heap_collect_stack *stack = heap_collect_stack_of(origin->reader);
    struct collect_counts *counts = &origin->collector->result->counts[WIRE_SOURCE_HEAP];
    if (!stack)
        return;
    counts->stacks++;
    counts->stack_bytes += words * UINT64_C(8);
    if (heap_collect_read_stack(origin, stack, record, words) != 0) {
        origin->process->counts[WIRE_SOURCE_HEAP].damaged++;
        stack->words = 0;
    }
}

static void heap_collect_end_thread(struct process *process, struct process_reader *reader, int64_t end_ns)
{
    free(reader->state[COLLECT_SOURCE_HEAP]);
    reader->state[COLLECT_SOURCE_HEAP] = NULL;
}

/* ---- Blocks ---------------------------------------------------------------------------------------------------- */

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
    { WIRE_HEAP_STACK, WIRE_HEAP_STACK, heap_collect_take_stack },
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
    .thread_end = heap_collect_end_thread,
};
