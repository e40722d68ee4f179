/* Steps as a source: its row. */
#include <stdio.h>

#include "collect/core/collector.h"
#include "collect/core/record.h"
#include "collect/process/process.h"
#include "wire/wire_steps.h"

static const char *const phases[] = {
#define PHASE(name, text) [WIRE_STEP_##name] = text,
    WIRE_STEP_PHASES(PHASE)
#undef PHASE
};

/* The first step of a process without operators, because recording them made steps too long. */
static void steps_collect_lower(const struct collect_origin *origin, int64_t time_ns, uint16_t longer)
{
    struct collector *collector = origin->collector;
    struct row_TACHO_COST_LIMIT row = { 0 };
    char text[160];
    snprintf(text, sizeof text,
             "PyTorch operators were recorded in an eighth of the steps, because recording all of them made a step "
             "%u %% longer (--step-probes=false records all)",
             (longer + 5u) / 10);
    ROW_SET(&row, TACHO_COST_LIMIT, timestamp, time_ns);
    ROW_SET(&row, TACHO_COST_LIMIT, source, collector_string(collector, wire_source_name(WIRE_SOURCE_TORCH)));
    ROW_SET(&row, TACHO_COST_LIMIT, level, 1);
    ROW_SET(&row, TACHO_COST_LIMIT, text, collector_string(collector, text));
    ROW_SET(&row, TACHO_COST_LIMIT, share, longer / 1000.0);
    writer_append(collector->writer, TABLE_TACHO_COST_LIMIT, &row);
    origin->process->lowers_steps = 1;
}

static void steps_collect_take(const struct collect_origin *origin, const struct wire_record *record, uint32_t words)
{
    struct collector *collector = origin->collector;
    struct process *process = origin->process;
    if (words < WIRE_HEAD_WORDS + 3 || record->a >= WIRE_STEP_PHASE_COUNT) {
        process->counts[WIRE_SOURCE_STEPS].damaged++;
        return;
    }
    int64_t start_ns = record_time(origin, record), end_ns = clock_map_time(&collector->clock, record->body[0]);
    struct row_TACHO_STEP_TIME row = { 0 };
    ROW_SET(&row, TACHO_STEP_TIME, start, start_ns);
    ROW_SET(&row, TACHO_STEP_TIME, end, end_ns < start_ns ? start_ns : end_ns);
    ROW_SET(&row, TACHO_STEP_TIME, globalTid, process_global_tid(process, origin->reader->tid));
    ROW_SET(&row, TACHO_STEP_TIME, number, (int64_t)record->body[1]);
    ROW_SET(&row, TACHO_STEP_TIME, phase, collector_string(collector, phases[record->a]));
    ROW_SET(&row, TACHO_STEP_TIME, nameId, record_text_id(origin, record, words, 2));
    writer_append(collector->writer, TABLE_TACHO_STEP_TIME, &row);
    process->counts[WIRE_SOURCE_STEPS].recorded++;
    if (record->a == WIRE_STEP_LOWERED && record->b && !process->lowers_steps)
        steps_collect_lower(origin, start_ns, record->b);
}

static void steps_collect_finish(struct collector *collector)
{
    if ((collector->sources & WIRE_BIT(STEPS)) && !collector->options->step_probes &&
        !collector->result->counts[WIRE_SOURCE_STEPS].recorded)
        collector_warn(collector, 0,
                       "--advise found no steps, so everything was recorded as without it. It knows ProfilerStep#N, "
                       "NVTX ranges and annotations such as 'step N' or 'iteration N', Optimizer.step(), DataLoader "
                       "and calls of the outermost nn.Module.");
}

static const struct collect_records steps_collect_records[] = { { WIRE_STEP, WIRE_STEP, steps_collect_take }, { 0 } };
static const struct collect_table steps_collect_tables[] = {
    { TABLE_TACHO_STEP_TIME, "steps", COLLECT_RECORDED_OF(STEPS) }, { 0 }
};

const struct collect_source collect_source_steps = {
    .records = steps_collect_records,
    .tables = steps_collect_tables,
    .cost = { .recorded_reads = 4, .recorded_ns = 500, .counted_reads = 4, .counted_ns = 500 },
    .finish = steps_collect_finish,
};
