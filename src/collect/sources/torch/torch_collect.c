/* PyTorch as a source: its row. */
#include <stdio.h>
#include <string.h>

#include "collect/core/collector.h"
#include "collect/core/record.h"
#include "collect/process/process.h"
#include "torch_records.h"
#include "wire/wire_torch.h"

static void torch_collect_arena(const struct collector *collector, struct collect_arena_texts *texts)
{
    wire_torch(texts->arena)->flags = collector->options->torch_flags;
}

/* ---- Records --------------------------------------------------------------------------------------------------- */

static void metadata(const struct collect_origin *origin, const char *name, const char *value)
{
    struct row_TACHO_TORCH_METADATA row = { 0 };
    ROW_SET(&row, TACHO_TORCH_METADATA, name, collector_string(origin->collector, name));
    ROW_SET(&row, TACHO_TORCH_METADATA, value, collector_string(origin->collector, value));
    writer_append(origin->collector->writer, TABLE_TACHO_TORCH_METADATA, &row);
}

/* Writes the settings of the capture once, under the names in torch's own traces. */
static void torch_collect_loaded(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct collect_torch_result *result = &origin->collector->result->torch;
    char version[sizeof result->version], quoted[sizeof version + 2];
    uint32_t flags = origin->collector->options->torch_flags;
    if (origin->collector->sources & WIRE_BIT(STEPS)) /* some steps have them all, the others get theirs */
        flags |= WIRE_TORCH_SHAPES | WIRE_TORCH_STACKS |
                 (origin->collector->options->step_probes ? 0 : WIRE_TORCH_MODULES);
    if (result->processes++)
        return;
    record_copy_text(version, sizeof version, record, words, 0);
    for (char *at = version; *at; at++)
        *at = *at == '"' || *at == '\\' || (unsigned char)*at < ' ' ? '?' : *at;
    memcpy(result->version, version, sizeof version);
    snprintf(quoted, sizeof quoted, "\"%s\"", version);
    metadata(origin, "tacho.torchVersion", quoted);
    metadata(origin, "record_shapes", flags & WIRE_TORCH_SHAPES ? "1" : "0");
    metadata(origin, "profile_memory", flags & WIRE_TORCH_MEMORY ? "1" : "0");
    metadata(origin, "with_stack", flags & WIRE_TORCH_STACKS ? "1" : "0");
    metadata(origin, "with_modules", flags & WIRE_TORCH_MODULES ? "1" : "0");
}

static void torch_collect_refused(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct collect_torch_result *result = &origin->collector->result->torch;
    char text[sizeof result->refusal];
    record_copy_text(text, sizeof text, record, words, 0);
    if (result->refused++)
        return;
    memcpy(result->refusal, text, sizeof text);
    collector_warn(origin->collector, origin->process->global_pid, "%s (pid %d): %s", origin->process->name,
                   (int)origin->process->pid, text);
}

static void torch_collect_told(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct process *process = origin->process;
    struct torch_setup setup = {
        .writer = origin->collector->writer,
        .clock = &origin->collector->clock,
        .global_pid = process->global_pid,
        .as_nvtx = origin->collector->options->torch_nvtx,
    };
    if (!process->state[COLLECT_SOURCE_TORCH])
        process->state[COLLECT_SOURCE_TORCH] = torch_process_new(&setup);
    if (process->state[COLLECT_SOURCE_TORCH] && !origin->reader->state[COLLECT_SOURCE_TORCH])
        origin->reader->state[COLLECT_SOURCE_TORCH] = torch_thread_new(process->state[COLLECT_SOURCE_TORCH],
                                                                       process_global_tid(process,
                                                                                          origin->reader->tid));
    if (origin->reader->state[COLLECT_SOURCE_TORCH])
        torch_record(origin->reader->state[COLLECT_SOURCE_TORCH], record, words);
    else
        process->counts[WIRE_SOURCE_TORCH].damaged++;
}

/* ---- Processes and threads ------------------------------------------------------------------------------------- */

static void torch_collect_thread_end(struct process *process, struct process_reader *reader, int64_t end_ns)
{
    int64_t last_ns = reader->end_ns != PROCESS_NO_TIME ? reader->end_ns : end_ns;
    if (reader->state[COLLECT_SOURCE_TORCH])
        torch_thread_finish(reader->state[COLLECT_SOURCE_TORCH],
                            last_ns != PROCESS_NO_TIME ? last_ns : collector_now(process->collector));
}

/* PyTorch keeps its own counts, since an operator counts as recorded once its end is read. */
static void torch_collect_counts(struct process *process)
{
    if (!process->state[COLLECT_SOURCE_TORCH])
        return;
    const struct torch_counts *counts = torch_process_counts(process->state[COLLECT_SOURCE_TORCH]);
    process_set_counts(process, WIRE_SOURCE_TORCH,
                       &(struct process_counts){
                           .recorded = counts->recorded,
                           .damaged = counts->damaged,
                           .fates[WIRE_LOST_BUFFER_FULL] = counts->stack_lost,
                       });
}

static void torch_collect_free_process(struct process *process)
{
    if (process->state[COLLECT_SOURCE_TORCH])
        torch_process_free(process->state[COLLECT_SOURCE_TORCH]);
    process->state[COLLECT_SOURCE_TORCH] = NULL;
}

static void torch_collect_end_process(struct process *process)
{
    torch_collect_counts(process);
    torch_collect_free_process(process);
}

static const struct collect_records torch_collect_records[] = {
    { WIRE_TORCH_LOADED, WIRE_TORCH_LOADED, torch_collect_loaded },
    { WIRE_TORCH_REFUSED, WIRE_TORCH_REFUSED, torch_collect_refused },
    { WIRE_TORCH_BEGIN, WIRE_TORCH_PYTHON_EVENT, torch_collect_told },
    { 0 },
};

#define TABLE(name) { TABLE_##name, "pytorch", COLLECT_RECORDED_OF(TORCH) }
static const struct collect_table torch_collect_tables[] = {
    TABLE(TACHO_TORCH_OP), TABLE(TACHO_TORCH_MEMORY), TABLE(TACHO_TORCH_PYTHON), TABLE(TACHO_PYTHON_EVENT), { 0 },
};

/* Annotations go on at each level: they mark steps. */
static const char *const torch_levels[] = { "PyTorch operators were recorded an eighth of the time",
                                            "PyTorch operators were not recorded", NULL };

const struct collect_source collect_source_torch = {
    .records = torch_collect_records,
    .tables = torch_collect_tables,
    .levels = { .words = torch_levels, .windows = 1, .off = 2 },
    /* Most of this is PyTorch's own cost, since it does more work for an observed operator (bench/torch_live.py). */
    .cost = { .recorded_reads = 2, .recorded_ns = 340, .counted_reads = 2, .counted_ns = 320 },
    .arena = torch_collect_arena,
    .process_end = torch_collect_end_process,
    .process_free = torch_collect_free_process,
    .counts = torch_collect_counts,
    .thread_end = torch_collect_thread_end,
};
