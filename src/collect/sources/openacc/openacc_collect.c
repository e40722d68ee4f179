/* OpenACC as a source: its row. */
#include <stdlib.h>
#include <string.h>

#include "base/text.h"
#include "collect/core/collector.h"
#include "collect/core/record.h"
#include "collect/core/variables.h"
#include "collect/process/process.h"
#include "collect/sources/stacks/stack_rows.h"
#include "openacc_rows.h"
#include "wire/wire_openacc.h"

#define VARIABLE "ACC_PROFLIB"

static struct openacc_rows *openacc_collect_rows_of(const struct collector *collector)
{
    return collector->state[COLLECT_SOURCE_OPENACC];
}

/* ---- The library that OpenACC runtimes load -------------------------------------------------------------------- */

/* A tool that the user has named stays. A runtime splits the variable at semicolons. */
static int openacc_collect_refuse(struct text *why, const struct collect_options *options, const char *path)
{
    const char *other = variables_value(options, VARIABLE);
    if (other && *other)
        text_addf(why, VARIABLE " names another tool (%.256s), which stays. Unset " VARIABLE " to record OpenACC.",
                  other);
    else if (strchr(path, ';'))
        text_add(why, "the path of " WIRE_OPENACC_FILE " has a semicolon.");
    return why->length != 0;
}

/* ---- Records --------------------------------------------------------------------------------------------------- */

/* A thread: the events that it is in, and the stack of the outermost one. */
struct openacc_collect_thread {
    uint64_t stack_ticks;
    uint32_t stack;
    uint32_t depth;
    struct {
        uint64_t ticks, stack_ticks;
        uint32_t number;
    } open[WIRE_OPENACC_DEPTH];
};

static struct openacc_collect_thread *openacc_collect_thread_of(struct process_reader *reader)
{
    if (!reader->state[COLLECT_SOURCE_OPENACC])
        reader->state[COLLECT_SOURCE_OPENACC] = calloc(1, sizeof(struct openacc_collect_thread));
    return reader->state[COLLECT_SOURCE_OPENACC];
}

static void openacc_collect_take_chains(const struct collect_origin *origin, const struct wire_record *record,
                                        struct call_chains chains)
{
    struct openacc_collect_thread *thread = openacc_collect_thread_of(origin->reader);
    if (!thread)
        return;
    thread->stack = (uint32_t)chains.native;
    thread->stack_ticks = record->ticks;
}

static uint32_t stack_at(const struct openacc_collect_thread *thread, uint64_t ticks)
{
    return thread && ticks && thread->stack_ticks == ticks ? thread->stack : SYMBOLS_NO_STACK;
}

static void begun(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct openacc_collect_thread *thread = openacc_collect_thread_of(origin->reader);
    if (words < WIRE_HEAD_WORDS + 1 || !openacc_is_event(record->a) || record->b >= WIRE_OPENACC_DEPTH) {
        origin->process->counts[WIRE_SOURCE_OPENACC].damaged++;
        return;
    }
    if (!thread || record->b > thread->depth) /* the begin of an event around it was lost */
        return;
    thread->open[record->b].ticks = record->ticks;
    thread->open[record->b].stack_ticks = record->body[0];
    thread->open[record->b].number = record->a;
    thread->depth = record->b + 1u;
}

/* The texts of the record, as ids in the string pool; 0: empty. */
static void openacc_collect_take_texts(const struct collect_origin *origin, const struct wire_record *record,
                                       uint32_t words, struct openacc_row *row)
{
    int64_t *const ids[] = { &row->file, &row->function, &row->object };
    uint32_t at = WIRE_OPENACC_BODY_WORDS;
    for (size_t i = 0; i < COUNT_OF(ids); i++) {
        size_t length;
        const char *text = record_text(record, words, at, &length);
        *ids[i] = length ? writer_string(origin->collector->writer, text, length) : 0;
        at += (uint32_t)length / 8 + 1;
    }
}

static void ended(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct process *process = origin->process;
    struct openacc_collect_thread *thread = openacc_collect_thread_of(origin->reader);
    if (words < WIRE_HEAD_WORDS + WIRE_OPENACC_BODY_WORDS || !openacc_is_event(record->a)) {
        process->counts[WIRE_SOURCE_OPENACC].damaged++;
        return;
    }
    if (thread && record->b < thread->depth) /* not an event that is a moment */
        thread->depth = record->b;
    const uint64_t *body = record->body;
    int64_t start_ns = record_time(origin, record), end_ns = clock_map_time(&origin->collector->clock, body[0]);
    struct openacc_row row = {
        .start_ns = start_ns,
        .end_ns = end_ns < start_ns ? start_ns : end_ns,
        .global_tid = process_global_tid(process, origin->reader->tid),
        .number = record->a,
        .flags = record->flags,
        .device_type = (int32_t)(body[2] >> 32),
        .device_number = (int32_t)body[2],
        .line = (uint32_t)body[3] <= INT32_MAX ? (uint32_t)body[3] : 0,
        .stack = body[3] ? SYMBOLS_NO_STACK : stack_at(thread, body[1]),
        .sizes = { (int64_t)body[4], (int64_t)body[5], (int64_t)body[6] },
    };
    char file_name[WIRE_OPENACC_TEXT_MAX + 1];
    openacc_collect_take_texts(origin, record, words, &row);
    record_copy_text(file_name, sizeof file_name, record, words, WIRE_OPENACC_BODY_WORDS);
    row.file_name = file_name; /* a row with a line does not wait */
    openacc_add(origin->collector, openacc_collect_rows_of(origin->collector), &row);
    process->counts[WIRE_SOURCE_OPENACC].recorded++;
}

/* The events that a thread is in when it is read for the last time get rows, too. */
static void openacc_collect_thread_cut(const struct collect_origin *origin, struct wire_thread *slot, int64_t end_ns)
{
    struct openacc_collect_thread *thread = origin->reader->state[COLLECT_SOURCE_OPENACC];
    if (end_ns == PROCESS_NO_TIME)
        end_ns = collector_now(origin->collector);
    for (uint32_t i = 0; thread && i < thread->depth; i++) {
        int64_t start_ns = clock_map_time(&origin->collector->clock, thread->open[i].ticks);
        openacc_add(origin->collector, openacc_collect_rows_of(origin->collector),
                    &(struct openacc_row){
                        .start_ns = start_ns,
                        .end_ns = end_ns < start_ns ? start_ns : end_ns,
                        .global_tid = process_global_tid(origin->process, origin->reader->tid),
                        .number = thread->open[i].number,
                        .stack = stack_at(thread, thread->open[i].stack_ticks),
                        .is_incomplete = 1,
                    });
        origin->process->counts[WIRE_SOURCE_OPENACC].recorded++;
    }
}

static void openacc_collect_thread_end(struct process *process, struct process_reader *reader, int64_t end_ns)
{
    free(reader->state[COLLECT_SOURCE_OPENACC]);
    reader->state[COLLECT_SOURCE_OPENACC] = NULL;
}

/* ---- The capture ----------------------------------------------------------------------------------------------- */

/* Rows wait for names: a round of naming may begin for them alone. */
static void openacc_collect_tick(struct collector *collector)
{
    struct openacc_rows *rows = openacc_collect_rows_of(collector);
    if (!rows->count)
        return;
    openacc_write(collector, rows, 0);
    if (rows->count)
        symbols_naming_begin(stacks_symbols(collector));
}

static void openacc_collect_finish(struct collector *collector)
{
    openacc_write(collector, openacc_collect_rows_of(collector), 1);
}

static void openacc_collect_free_state(struct collector *collector)
{
    free(openacc_collect_rows_of(collector)->waiting);
}

static const struct collect_records openacc_collect_records[] = {
    { WIRE_OPENACC_BEGIN, WIRE_OPENACC_BEGIN, begun },
    { WIRE_OPENACC_EVENT, WIRE_OPENACC_EVENT, ended },
    { 0 },
};
static const struct collect_table openacc_collect_tables[] = {
    { TABLE_CUPTI_ACTIVITY_KIND_OPENACC_DATA, "openacc", COLLECT_RECORDED_OF(OPENACC) },
    { TABLE_CUPTI_ACTIVITY_KIND_OPENACC_LAUNCH, "openacc", COLLECT_RECORDED_OF(OPENACC) },
    { TABLE_CUPTI_ACTIVITY_KIND_OPENACC_OTHER, "openacc", COLLECT_RECORDED_OF(OPENACC) },
    { 0 },
};

const struct collect_source collect_source_openacc = {
    .state_bytes = sizeof(struct openacc_rows),
    .records = openacc_collect_records,
    .tables = openacc_collect_tables,
    .file = { .name = WIRE_OPENACC_FILE,
              .without = "OpenACC is not recorded",
              .variable = VARIABLE,
              .refuse = openacc_collect_refuse },
    .cost = { .recorded_reads = 2, .recorded_ns = 1000, .counted_reads = 2, .counted_ns = 500 },
    .tick = openacc_collect_tick,
    .finish = openacc_collect_finish,
    .free = openacc_collect_free_state,
    .take_chains = openacc_collect_take_chains,
    .thread_cut = openacc_collect_thread_cut,
    .thread_end = openacc_collect_thread_end,
};
