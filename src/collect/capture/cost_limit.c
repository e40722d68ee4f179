/* --cost-limit: see cost_limit.h. */
#include "cost_limit.h"

#include <event2/event.h>
#include <stdio.h>

#include "capture.h"
#include "collect/core/overhead.h"
#include "drain.h"

#define LOOK_US 100000

static const char *const cost_limit_in_full = "all of it was recorded again";

static int cost_limit_lowest(const struct collect_levels *levels)
{
    int count = 0;
    while (levels->words && levels->words[count])
        count++;
    return count;
}

/* ---- What is left out ------------------------------------------------------------------------------------------ */

static void cost_limit_tell_process(struct process *process, uint32_t was)
{
    struct wire_header *arena = process->arena;
    uint32_t now = process->collector->left_out, before = atomic_load(&arena->recording);
    uint32_t marks_steps = atomic_load_explicit(&arena->marks_steps, memory_order_relaxed);
    atomic_store_explicit(&arena->left_out, now, memory_order_relaxed);
    /* If recording is off or paused, whoever switches it on will look at left_out. */
    while (
        before != 0 && !(before & WIRE_PAUSED) &&
        !atomic_compare_exchange_weak(&arena->recording, &before, wire_recording_after(before, was, now, marks_steps)))
        ;
}

static uint32_t cost_limit_left_out(const struct collector *collector)
{
    uint32_t left_out = 0;
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++) {
        const struct collect_source *source = collect_counted_sources[i];
        int level = collector->levels[i];
        if (!source || !level)
            continue;
        if ((source->levels.off && level >= source->levels.off) ||
            (level == source->levels.windows && !capture_of(collector)->cost_limit.is_in_window))
            left_out |= 1u << i;
        left_out |= source->levels.counted && level == source->levels.counted ? WIRE_ONLY_COUNTED : 0;
    }
    return left_out;
}

static void cost_limit_tell(struct collector *collector)
{
    uint32_t was = collector->left_out;
    collector->left_out = cost_limit_left_out(collector);
    if (was == collector->left_out)
        return;
    for (struct process *process = collector->processes->first_live; process; process = process->next_live)
        cost_limit_tell_process(process, was);
}

/* ---- The row --------------------------------------------------------------------------------------------------- */

static void cost_limit_write_row(struct collector *collector, int source, int64_t time_ns)
{
    const struct cost_control *control = &capture_of(collector)->cost_limit.control;
    int level = control->sources[source].level;
    struct row_TACHO_COST_LIMIT row = { 0 };
    ROW_SET(&row, TACHO_COST_LIMIT, timestamp, time_ns);
    ROW_SET(&row, TACHO_COST_LIMIT, source, collector_string(collector, wire_source_name(source)));
    ROW_SET(&row, TACHO_COST_LIMIT, level, level);
    ROW_SET(&row, TACHO_COST_LIMIT, text,
            collector_string(collector,
                             level ? collect_counted_sources[source]->levels.words[level - 1] : cost_limit_in_full));
    ROW_SET(&row, TACHO_COST_LIMIT, share, control->share);
    ROW_SET(&row, TACHO_COST_LIMIT, limitShare, control->limit);
    writer_append(collector->writer, TABLE_TACHO_COST_LIMIT, &row);
}

/* ---- Looks ----------------------------------------------------------------------------------------------------- */

/* Events so far, of processes that have ended and of those that live. */
static struct collect_counts cost_limit_counts(const struct collector *collector, int source)
{
    struct collect_counts sum = collector->result->counts[source];
    for (const struct process *process = collector->processes->first_live; process; process = process->next_live) {
        sum.recorded += process->counts[source].recorded + process->counts[source].recovered;
        for (int fate = 0; fate < WIRE_FATE_COUNT; fate++)
            sum.fates[fate] += process->counts[source].fates[fate];
    }
    return sum;
}

static double cost_limit_cpu_ns(const struct process *process)
{
    return process->cpu_ns > process->cpu_before_ns ? (double)(process->cpu_ns - process->cpu_before_ns) : 0;
}

static void cost_limit_look(struct collector *collector, struct cost_look *look)
{
    struct capture_cost_limit *limit = &capture_of(collector)->cost_limit;
    *look = (struct cost_look){ .now_ns = collector_now(collector), .cpu_ns = limit->cpu_ns };
    for (struct process *process = collector->processes->first_live; process; process = process->next_live) {
        drain_counts(process);
        if (!process->is_over)
            process_sample_cpu(process);
        look->cpu_ns += cost_limit_cpu_ns(process);
    }
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++) {
        const struct collect_source *source = collect_counted_sources[i];
        struct collect_counts counts = cost_limit_counts(collector, i);
        look->cost_ns[i] = overhead_of_counts(i, &counts, limit->read_ns);
        double left_out = (double)counts.fates[WIRE_LEFT_OUT];
        counts.recorded = counts.fates[WIRE_LEFT_OUT] = 0;
        look->kept_ns[i] = overhead_of_counts(i, &counts, limit->read_ns);
        if (source)
            look->saved_ns[i] = left_out * (source->cost.counted_reads * limit->read_ns + source->cost.counted_ns -
                                            source->cost.left_out_ns);
        if (source && source->levels.uncounted_ns)
            look->cost_ns[i] += source->levels.uncounted_ns(collector);
    }
}

static void cost_limit_note_excess(struct capture_cost_limit *limit, const struct cost_look *look)
{
    double most = -1;
    if (!limit->control.is_exceeded || limit->control.share <= limit->worst_share)
        return;
    limit->worst_share = limit->control.share;
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++) {
        double share = cost_control_share(&limit->control, look, i);
        if (share > most)
            limit->worst_source = i;
        most = share > most ? share : most;
    }
}

static void cost_limit_take_look(evutil_socket_t unused, short what, void *argument)
{
    struct collector *collector = argument;
    struct capture_cost_limit *limit = &capture_of(collector)->cost_limit;
    struct cost_look look;
    if (!collector->is_recording)
        return;
    cost_limit_look(collector, &look);
    int source = cost_control_look(&limit->control, &look);
    if (source >= 0) {
        int level = collector->levels[source] = limit->control.sources[source].level;
        const struct collect_levels *levels = &collect_counted_sources[source]->levels;
        if (levels->set)
            levels->set(collector, level);
        cost_limit_write_row(collector, source, look.now_ns);
    } else {
        cost_limit_note_excess(limit, &look);
    }
    limit->is_in_window = look.now_ns / COST_WINDOW_NS % COST_WINDOWS == 0;
    cost_limit_tell(collector);
}

/* ---- Begin and end --------------------------------------------------------------------------------------------- */

int cost_limit_start(struct collector *collector)
{
    struct capture_cost_limit *limit = &capture_of(collector)->cost_limit;
    struct timeval often = { 0, LOOK_US };
    if (collector->options->cost_limit <= 0)
        return 0;
    limit->control.limit = collector->options->cost_limit;
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++) {
        const struct collect_source *source = collect_counted_sources[i];
        if (!source || !source->levels.words || (source->levels.is_possible && !source->levels.is_possible(collector)))
            continue;
        limit->control.sources[i].lowest = cost_limit_lowest(&source->levels);
        limit->control.sources[i].windows = source->levels.windows;
        limit->control.sources[i].counted = source->levels.counted;
    }
    limit->read_ns = overhead_read_ns();
    limit->timer = event_new(collector->base, -1, EV_PERSIST, cost_limit_take_look, collector);
    if (!limit->timer)
        return -1;
    event_add(limit->timer, &often);
    return 0;
}

void cost_limit_free(struct collector *collector)
{
    if (capture_of(collector)->cost_limit.timer)
        event_free(capture_of(collector)->cost_limit.timer);
}

void cost_limit_process_ends(const struct process *process)
{
    capture_of(process->collector)->cost_limit.cpu_ns += cost_limit_cpu_ns(process);
}

void cost_limit_finish(struct collector *collector)
{
    const struct capture_cost_limit *limit = &capture_of(collector)->cost_limit;
    if (limit->worst_share <= limit->control.limit)
        return;
    const struct collect_source *source = collect_counted_sources[limit->worst_source];
    collector_warn(
        collector, 0,
        "--cost-limit=%g was not kept: recording took up to %.*f %% of the program's CPU time, most of it %s, "
        "%s.",
        limit->control.limit * 100, limit->worst_share < 0.1, limit->worst_share * 100,
        wire_source_name(limit->worst_source),
        source && source->levels.words ? "which is recorded as little as possible already"
                                       : "which is always recorded (-t leaves it out)");
}
