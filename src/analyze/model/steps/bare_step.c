/* The means of steps that were only timed, and of those that were recorded: see bare_step.h. */
#include "bare_step.h"

#include <stdlib.h>

#include "analyze/model/timed_rounds.h"
#include "base/array.h"
#include "base/saturating.h"
#include "step_launches.h"

enum {
    STRETCH_MAX = 16,
    SETTLING_STEPS = 2,    /* before timed steps, the first of them recorded: step_schedule.c */
    IDLE_LEAD_NS = 100000, /* a kernel starts this soon after its launch if the GPU has nothing else to do */
    SMALL_LEAD = 20,       /* a lead of a twentieth of the time does not count */
};

/* Consecutive steps of a phase. */
struct bare_step_stretch {
    double mean_ns;
    size_t steps;
};

static int by_mean(const void *a, const void *b)
{
    const struct bare_step_stretch *x = a, *y = b;

    return (x->mean_ns > y->mean_ns) - (x->mean_ns < y->mean_ns);
}

/* All steps of a thread, with their first launches. */
struct bare_step_run {
    const struct timed_step *steps;
    const struct step_launch *launches;
    size_t count;
    double gpu_ns; /* the step of a GPU that always had work while steps were traced; 0: it had not, or not known */
};

/* Steps from `first` on that are alike. The time of a block counts from the end of the step before it, because the time
 * between two ranges belongs to the period, too. */
struct bare_step_block {
    size_t first, end;
};

static size_t block_end(const struct bare_step_run *run, size_t first)
{
    size_t end = first;
    while (end < run->count && run->steps[end].phase == run->steps[first].phase)
        end++;
    return end;
}

static double by_marks(const struct bare_step_run *run, struct bare_step_block block)
{
    return (double)saturating_duration(run->steps[block.first - 1].end_ns, run->steps[block.end - 1].end_ns) /
           (double)(block.end - block.first);
}

/* How long the first kernel of a step waits for the GPU; -1: not known. */
static double lead_of(const struct bare_step_run *run, size_t step)
{
    const struct step_launch *launch = step < run->count ? &run->launches[step] : NULL;

    return launch && launch->start_ns != NO_LAUNCH ? (double)saturating_duration(launch->call_ns, launch->start_ns)
                                                   : -1;
}

/* Marks are made by the host, which may be many steps ahead of the GPU. So a step lasts from its first kernel to that
 * of the next. Returns 0 if these are not known, or if the host sets the pace: then marks are right. */
static double recorded_pace(const struct bare_step_run *run, struct bare_step_block block)
{
    if (lead_of(run, block.first) < 0 || lead_of(run, block.end) < 0)
        return 0;
    double pace = (double)saturating_duration(run->launches[block.first].start_ns, run->launches[block.end].start_ns) /
                  (double)(block.end - block.first);
    return pace > by_marks(run, block) ? pace : 0;
}

/* Timed steps have no kernels in the report, but the steps around them have: the last one but one before them and the
 * first one after them. If that finds an idle GPU, the host sets the pace, and marks are right (0). Else the GPU is
 * behind. The time that it falls behind during the timed steps is added to the time between marks; time that a change
 * of phase took is not part of that. If the GPU is a whole step behind, and was when the timed steps began, because the
 * two settling steps were no slower than it is, its time from the one kernel to the other is that of all steps between.
 * Without one of these kernels (the program ended, or the capture was cut), the step of the GPU in traced steps counts,
 * if it is longer. */
static double timed_pace(const struct bare_step_run *run, struct bare_step_block block)
{
    size_t before = block.first < SETTLING_STEPS ? run->count : block.first - SETTLING_STEPS;
    double lead_before = lead_of(run, before), lead_behind = lead_of(run, block.end), marks = by_marks(run, block);

    if (lead_before < 0 || lead_behind < 0)
        return run->gpu_ns > marks ? run->gpu_ns : 0;
    if (lead_behind <= IDLE_LEAD_NS)
        return 0;
    size_t count = block.end - block.first;
    const struct step_launch *first = &run->launches[before], *last = &run->launches[block.end];
    double settling = (double)saturating_duration(run->steps[before].start_ns, run->steps[block.first].start_ns);
    double pace = (double)saturating_duration(first->start_ns, last->start_ns) / (double)(count + SETTLING_STEPS);
    if (lead_behind < pace || SETTLING_STEPS * pace < settling) {
        double until_launch = (double)saturating_duration(run->steps[before].start_ns, first->call_ns),
               behind = (double)saturating_duration(run->steps[block.end - 1].end_ns, last->start_ns) - until_launch;
        pace = marks + (behind - lead_before) / (double)count;
    }
    return pace > marks ? pace : 0;
}

/* The step of the GPU in the last traced steps that ended with the GPU a whole step behind the host. */
static double gpu_pace(const struct bare_step_run *run)
{
    double pace = 0;

    for (size_t first = 1, end; first < run->count; first = end) {
        end = block_end(run, first);
        double traced = run->steps[first].phase == STEP_TRACED
                            ? recorded_pace(run, (struct bare_step_block){ first, end })
                            : 0;
        if (traced > 0 && lead_of(run, end) >= traced)
            pace = traced;
    }
    return pace;
}

/* Steps of several marks, few of which lie between two changes of phase. The first step after timed ones was recorded
 * in part; if its first kernel waits for longer than a small part of the timed steps, or if that is not known, marks of
 * the host say nothing of them, and 0 is returned. */
static double joined_pace(const struct bare_step_run *run, struct bare_step_block block)
{
    double marks = by_marks(run, block), lead = lead_of(run, block.end);
    int is_right = run->steps[block.first].phase != STEP_TIMED ||
                   (lead >= 0 && lead * SMALL_LEAD <= marks * (double)(block.end - block.first));

    return is_right ? marks : 0;
}

/* Splits the steps of a phase into stretches and returns their number. Where the GPU sets the pace, a block is one
 * stretch. */
static size_t find_stretches(const struct bare_step_run *run, enum step_phase phase, struct bare_step_stretch *out)
{
    size_t found = 0;

    for (size_t first = 1, end; first < run->count; first = end) {
        end = block_end(run, first);
        if (run->steps[first].phase != phase)
            continue;
        struct bare_step_block block = { first, end };
        if (run->steps->marks > 1) {
            double joined = joined_pace(run, block);
            if (joined > 0)
                out[found++] = (struct bare_step_stretch){ joined, end - first };
            continue;
        }
        double pace = phase == STEP_TIMED ? timed_pace(run, block) : recorded_pace(run, block);
        if (pace > 0)
            out[found++] = (struct bare_step_stretch){ pace, end - first };
        for (size_t i = first, next; pace <= 0 && i < end; i = next) {
            next = end - i < STRETCH_MAX ? end : i + STRETCH_MAX;
            out[found++] = (struct bare_step_stretch){ by_marks(run, (struct bare_step_block){ i, next }), next - i };
        }
    }
    return found;
}

static int64_t bare_step_mean_of(struct bare_step_stretch *stretches, size_t count, size_t *steps)
{
    double sum = 0, kept = 0;

    *steps = 0;
    if (count)
        qsort(stretches, count, sizeof *stretches, by_mean);
    for (size_t i = 0; i < count; i++) {
        *steps += stretches[i].steps;
        if (stretches[i].mean_ns > STEP_FAR_OFF * stretches[count / 2].mean_ns)
            continue;
        sum += stretches[i].mean_ns * (double)stretches[i].steps;
        kept += (double)stretches[i].steps;
    }
    return kept > 0 ? saturating_from_double(sum / kept) : 0;
}

/* The step that nine of ten do not exceed, of those that were only timed and are not far off. */
static int64_t slow_of(const struct bare_step_run *run, int64_t *lengths)
{
    size_t found = 0;

    for (size_t i = 1; i < run->count; i++)
        if (run->steps[i].phase == STEP_TIMED)
            lengths[found++] = saturating_duration(run->steps[i - 1].end_ns, run->steps[i].end_ns);
    if (!found)
        return 0;
    qsort(lengths, found, sizeof *lengths, array_by_int64);
    int64_t median_ns = lengths[found / 2];
    while (lengths[found - 1] / STEP_FAR_OFF > median_ns)
        found--;
    return lengths[found * 9 / 10];
}

/* The steps of the thread that has most of them. */
static const struct timed_step *longest_run(const struct timed_steps *steps, size_t *length)
{
    const struct timed_step *best = steps->list;

    *length = 0;
    for (size_t first = 0, end; first < steps->count; first = end) {
        for (end = first + 1; end < steps->count && steps->list[end].thread == steps->list[first].thread;)
            end++;
        if (end - first > *length) {
            *length = end - first;
            best = &steps->list[first];
        }
    }
    return best;
}

static int read_means(struct bare_step *out, struct bare_step_run *run, struct bare_step_stretch *stretches,
                      struct report *report, struct error *err)
{
    struct step_launch *launches = malloc(run->count * sizeof *launches);
    int64_t *lengths = malloc(run->count * sizeof *lengths);
    int code = launches && lengths ? step_launches_read(launches, run->steps, run->count, report, err)
                                   : error_short_memory(err, "for the steps");

    if (code != 0)
        goto free_both;
    run->launches = launches;
    run->gpu_ns = gpu_pace(run);
    out->bare_ns = bare_step_mean_of(stretches, find_stretches(run, STEP_TIMED, stretches), &out->timed);
    out->traced_ns = bare_step_mean_of(stretches, find_stretches(run, STEP_TRACED, stretches), &out->traced);
    out->lowered_ns = bare_step_mean_of(stretches, find_stretches(run, STEP_LOWERED, stretches), &out->lowered);
    bare_step_mean_of(stretches, find_stretches(run, STEP_DETAILED, stretches), &out->detailed);
    out->slow_ns = slow_of(run, lengths);
free_both:
    free(lengths);
    free(launches);
    return code;
}

int bare_step_read(struct bare_step *out, struct report *report, struct error *err)
{
    struct timed_steps steps = { 0 };
    struct bare_step_run run = { 0 };
    int code = timed_steps_read(&steps, report, err);

    *out = (struct bare_step){ 0 };
    if (code != 0)
        return code;
    if ((code = timed_rounds_settle(&steps, report, err)) != 0 || !steps.count)
        goto free_steps;
    run.steps = longest_run(&steps, &run.count);
    struct bare_step_stretch *stretches = malloc(run.count * sizeof *stretches);
    code = stretches ? read_means(out, &run, stretches, report, err) : error_short_memory(err, "for the steps");
    free(stretches);
free_steps:
    timed_steps_free(&steps);
    return code;
}
