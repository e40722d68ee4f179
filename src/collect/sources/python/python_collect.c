/* Python sampling as a source: the stacks of all Python threads of the program, read from outside at a fixed rate.
 *
 * A thread of the collector reads them (python_sampler.c); the main thread, in this file, writes rows. The program is
 * never stopped, does not notice, and its GIL is not touched. Automatic sampling gives no warnings: a program that is
 * not Python, or whose memory must not be read, is recorded without it. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "collect/core/collector.h"
#include "collect/core/machine.h"
#include "collect/process/process.h"
#include "python_calls.h"
#include "python_sampler.h"

struct python {
    struct python_sampler *sampler;
    struct python_batch batch; /* being written, or empty */
    struct {
        int64_t name, file;
    } *codes;                  /* by number: ids of their texts */
    struct python_place *places;
    int64_t *chain_ids;        /* by chain */
    int noted_collections;     /* the parameter is in the report */
    size_t code_count, code_room, place_count, place_room, chain_count, chain_room;
};

/* In META_DATA_CAPTURE: rules then know that a report without collections had none that a round saw. */
static const char collections_parameter[] = "PYTHON_COLLECTIONS";

static const char source[] = "python-sampling"; /* its name in TACHO_COUNT */

/* NULL: Python stacks are not sampled. */
static struct python *python_of(const struct collector *collector)
{
    struct python *python = collector->state[COLLECT_SOURCE_PYTHON_SAMPLING];
    return python->sampler ? python : NULL;
}

static void python_collect_begin(struct collector *collector, pid_t pid)
{
    struct python *python = collector->state[COLLECT_SOURCE_PYTHON_SAMPLING];
    if (!collector->options->python_frequency)
        return;
    python->sampler = python_sampler_start(collector->options->python_frequency,
                                           collector->options->python_is_automatic);
    if (!python->sampler && !collector->options->python_is_automatic)
        collector_warn(collector, 0, "Python is not sampled: the sampling thread could not be started (%s).",
                       strerror(errno));
}

static void python_collect_switching(struct collector *collector, int on)
{
    if (python_of(collector))
        python_sampler_switch(python_of(collector)->sampler, on);
}

/* ---- Processes ------------------------------------------------------------------------------------------------- */

static void process_begin(struct process *process)
{
    struct python *python = python_of(process->collector);
    if (python)
        python_sampler_add(python->sampler, process, process->pid);
}

static void note_collections(struct collector *collector, struct python *python)
{
    if (!python->noted_collections)
        machine_parameter(collector, collections_parameter, "sampled");
    python->noted_collections = 1;
}

static void process_gone(struct process *process)
{
    struct collector *collector = process->collector;
    struct collect_python_result *result = &collector->result->python;
    struct python_outcome outcome;
    if (!python_of(collector) || !python_sampler_remove(python_of(collector)->sampler, process, &outcome))
        return;
    if (outcome.saw_collector && !collector->options->python_events)
        note_collections(collector, python_of(collector));
    result->processes += outcome.is_python != 0;
    result->samples += outcome.counts.samples;
    result->torn += outcome.counts.torn;
    result->cut += outcome.counts.cut;
    process_count_row(process, source, "recorded", "", (int64_t)(outcome.counts.samples - outcome.counts.cut));
    process_count_row(process, source, "recorded", "cut", (int64_t)outcome.counts.cut);
    process_count_row(process, source, "lost", "torn", (int64_t)outcome.counts.torn);
    if (outcome.refusal && result->refused++ == 0 && !collector->options->python_is_automatic)
        collector_warn(collector, process->global_pid, "Python was not sampled in process %d (%s): %s.",
                       (int)process->pid, process->name, outcome.refusal);
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

static int take_names(struct collector *collector, struct python *python)
{
    const struct python_batch *batch = &python->batch;
    for (size_t at = 0; at < batch->codes.length;) {
        const char *name = batch->codes.bytes + at, *file = name + strlen(name) + 1;
        at = (size_t)(file - batch->codes.bytes) + strlen(file) + 1;
        if (array_reserve(&python->codes, &python->code_room, python->code_count + 1, sizeof *python->codes) != 0)
            return -1;
        python->codes[python->code_count].name = collector_string(collector, name);
        python->codes[python->code_count++].file = collector_string(collector, file);
    }
    if (array_reserve(&python->places, &python->place_room, python->place_count + batch->place_count,
                      sizeof *python->places) != 0)
        return -1;
    if (batch->place_count)
        memcpy(python->places + python->place_count, batch->places, batch->place_count * sizeof *batch->places);
    python->place_count += batch->place_count;
    return 0;
}

/* The ids of consecutive chains may have gaps, since stacks of calls get ids too. */
static int write_chain(struct collector *collector, struct python *python, const uint32_t *places, uint32_t count)
{
    if (array_reserve(&python->chain_ids, &python->chain_room, python->chain_count + 1, sizeof *python->chain_ids) != 0)
        return -1;
    int64_t id = python->chain_ids[python->chain_count++] = python_next_chain(collector);
    for (uint32_t depth = 0; depth < count; depth++) {
        const struct python_place *place = &python->places[places[depth] & ~PYTHON_ENTRY];
        struct python_chain_row row = {
            .id = id,
            .symbol = python->codes[place->code].name,
            .module = python->codes[place->code].file,
            .line = place->line,
            .depth = depth,
            .is_entry = (places[depth] & PYTHON_ENTRY) != 0,
        };
        python_write_chain_row(collector, &row);
    }
    return 0;
}

static int write_chains(struct collector *collector, struct python *python)
{
    const struct python_batch *batch = &python->batch;
    for (size_t at = 0; at < batch->chain_words; at += 1 + batch->chains[at])
        if (write_chain(collector, python, batch->chains + at + 1, batch->chains[at]) != 0)
            return -1;
    return 0;
}

static void write_samples(struct collector *collector, const struct python *python)
{
    const struct python_batch *batch = &python->batch;
    for (size_t i = 0; i < batch->sample_count; i++) {
        const struct python_sample *sample = &batch->samples[i];
        struct row_TACHO_PYTHON_SAMPLE row = { 0 };
        ROW_SET(&row, TACHO_PYTHON_SAMPLE, start, clock_map_monotonic(&collector->clock, sample->monotonic_ns));
        ROW_SET(&row, TACHO_PYTHON_SAMPLE, globalTid, process_global_tid(sample->process, sample->tid));
        ROW_SET(&row, TACHO_PYTHON_SAMPLE, threadState, sample->state);
        ROW_SET(&row, TACHO_PYTHON_SAMPLE, gil, sample->gil);
        ROW_SET(&row, TACHO_PYTHON_SAMPLE, callchainId, python->chain_ids[sample->chain]);
        writer_append(collector->writer, TABLE_TACHO_PYTHON_SAMPLE, &row);
    }
}

/* As those that the Python package reports (python_events.c of PyTorch). If it does, these are not written: they would
 * be in the report twice. */
static void write_collections(struct collector *collector, const struct python *python)
{
    const struct python_batch *batch = &python->batch;
    for (size_t i = 0; i < batch->collection_count && !collector->options->python_events; i++) {
        const struct python_collection *collection = &batch->collections[i];
        struct row_TACHO_PYTHON_EVENT row = { 0 };
        char name[] = "gc generation ?";
        ROW_SET(&row, TACHO_PYTHON_EVENT, start, clock_map_monotonic(&collector->clock, collection->start_ns));
        ROW_SET(&row, TACHO_PYTHON_EVENT, end, clock_map_monotonic(&collector->clock, collection->end_ns));
        ROW_SET(&row, TACHO_PYTHON_EVENT, globalTid, process_global_tid(collection->process, collection->tid));
        if (collection->generation >= 0) {
            name[sizeof name - 2] = (char)('0' + collection->generation);
            ROW_SET(&row, TACHO_PYTHON_EVENT, generation, collection->generation);
            ROW_SET(&row, TACHO_PYTHON_EVENT, collected, collection->collected);
            ROW_SET(&row, TACHO_PYTHON_EVENT, uncollectable, collection->uncollectable);
        }
        ROW_SET(&row, TACHO_PYTHON_EVENT, kind, collector_string(collector, "gc"));
        ROW_SET(&row, TACHO_PYTHON_EVENT, nameId, collector_string(collector, name));
        writer_append(collector->writer, TABLE_TACHO_PYTHON_EVENT, &row);
    }
}

static struct process_reader *python_collect_reader_of(struct process *process, uint32_t tid)
{
    for (size_t i = 0; i < process->reader_count; i++)
        if (process->readers[i].active && process->readers[i].tid == tid)
            return &process->readers[i];
    return NULL;
}

/* A thread has the kernel's name of the thread that started it, unless the program named it: that name stays. */
static void name_threads(struct collector *collector, const struct python_batch *batch)
{
    for (size_t i = 0; i < batch->named_count; i++) {
        const struct python_named *named = &batch->named[i];
        struct process_reader *reader = python_collect_reader_of(named->process, named->tid);
        const struct process_reader *first = python_collect_reader_of(named->process, (uint32_t)named->process->pid);
        if (reader && first && reader != first && reader->name_id == first->name_id)
            reader->name_id = collector_string(collector, named->name);
    }
}

static void python_collect_write_rows(struct collector *collector)
{
    struct python *python = python_of(collector);
    uint64_t late;
    if (!python)
        return;
    python_batch_clear(&python->batch);
    python_sampler_take(python->sampler, &python->batch, &late);
    const struct python_batch *batch = &python->batch;
    /* After a failure numbers would no longer match their names. */
    if (batch->failed || take_names(collector, python) != 0 || write_chains(collector, python) != 0) {
        collector_warn(collector, 0, "Python sampling ended early: out of memory.");
        python_sampler_switch(python->sampler, 0);
        return;
    }
    write_samples(collector, python);
    write_collections(collector, python);
    name_threads(collector, batch);
    collector->result->python.late += late;
    process_count_row(collector->primary, source, "late", "", (int64_t)late);
}

static void python_collect_stop(struct collector *collector)
{
    struct python *python = python_of(collector);
    struct collect_python_result *result = &collector->result->python;
    if (!python)
        return;
    python_sampler_stop(python->sampler, &result->cpu_ns);
    python_batch_free(&python->batch);
    free(python->codes);
    free(python->places);
    free(python->chain_ids);
    *python = (struct python){ 0 };
    if (!result->processes && !result->refused && !collector->options->python_is_automatic &&
        collector->recorded_ns > 0)
        collector_warn(collector, 0, "Python was not sampled: the program does not run Python.");
}

static const struct collect_table python_collect_tables[] = {
    { TABLE_TACHO_PYTHON_SAMPLE, source, COLLECT_RECORDED(python.samples) },
    { 0 },
};

const struct collect_source collect_source_python_sampling = {
    .state_bytes = sizeof(struct python),
    .tables = python_collect_tables,
    .begin = python_collect_begin,
    .switching = python_collect_switching,
    .tick = python_collect_write_rows,
    .write_down = python_collect_write_rows,
    .finish = python_collect_write_rows,
    .stop = python_collect_stop,
    .process_begin = process_begin,
    .process_gone = process_gone,
};
