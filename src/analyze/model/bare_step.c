/* Steps that were only timed, and those that were recorded: see bare_step.h. */
#include "bare_step.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/saturating.h"

enum { FAR_OFF = 2 }; /* what takes so many times as long as the median does not count */

static const char *const phase_names[STEP_PHASES] = {
    [STEP_TIMED] = "timed",
    [STEP_TRACED] = "traced",
    [STEP_DETAILED] = "detailed",
    [STEP_SETTLING] = "settling",
};

static enum step_phase phase_of(struct report *report, int64_t text)
{
    const char *name = report_string(report, text, NULL);

    for (enum step_phase phase = STEP_TIMED; phase < STEP_PHASES; phase++)
        if (strcmp(phase_names[phase], name) == 0)
            return phase;
    return STEP_SETTLING;
}

static int by_thread(const void *a, const void *b)
{
    const struct timed_step *x = a, *y = b;

    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    return (x->start_ns > y->start_ns) - (x->start_ns < y->start_ns);
}

int timed_steps_read(struct timed_steps *steps, struct report *report, struct error *err)
{
    enum { START, END, THREAD, NUMBER, PHASE, NAME };
    static const char *const names[] = { "start", "end", "globalTid", "number", "phase", "nameId", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_STEP_TIME", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        if (array_reserve(&steps->list, &steps->room, steps->count + 1, sizeof *steps->list) != 0) {
            code = error_set(err, ERR_NO_MEMORY, "not enough memory for the steps");
            goto close_rows;
        }
        steps->list[steps->count++] = (struct timed_step){
            .thread = row_int_or(&rows, THREAD, 0),
            .start_ns = row_int(&rows, START),
            .end_ns = row_int(&rows, END),
            .number = row_int_or(&rows, NUMBER, 0),
            .name = row_int_or(&rows, NAME, 0),
            .phase = phase_of(report, row_int_or(&rows, PHASE, 0)),
        };
    }
    if (steps->count)
        qsort(steps->list, steps->count, sizeof *steps->list, by_thread);
close_rows:
    row_cursor_close(&rows);
    if (code != 0)
        timed_steps_free(steps);
    return code;
}

/* The last step of the thread whose steps begin here. */
static size_t last_of_thread(const struct timed_steps *steps, size_t first)
{
    while (first + 1 < steps->count && steps->list[first + 1].thread == steps->list[first].thread)
        first++;
    return first;
}

static int by_length(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;

    return (x > y) - (x < y);
}

/* The median length of traced steps, or 0. */
static int median_traced(const struct timed_steps *steps, int64_t *out)
{
    int64_t *lengths = malloc((steps->count + 1) * sizeof *lengths);
    size_t count = 0;

    if (!lengths)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < steps->count; i++)
        if (steps->list[i].phase == STEP_TRACED)
            lengths[count++] = saturating_duration(steps->list[i].start_ns, steps->list[i].end_ns);
    if (count)
        qsort(lengths, count, sizeof *lengths, by_length);
    *out = count ? lengths[count / 2] : 0;
    free(lengths);
    return 0;
}

int timed_steps_settle(struct timed_steps *steps, struct error *err)
{
    size_t kept = 0, last = 0;
    int64_t median_ns;

    for (size_t i = 0; i < steps->count; i++) {
        if (!i || steps->list[i].thread != steps->list[i - 1].thread)
            last = last_of_thread(steps, i);
        if (steps->list[i].name == steps->list[last].name)
            steps->list[kept++] = steps->list[i];
    }
    steps->count = kept;
    if (median_traced(steps, &median_ns) != 0)
        return error_set(err, ERR_NO_MEMORY, "not enough memory for the steps");
    for (size_t i = 0; i < steps->count; i++) {
        struct timed_step *step = &steps->list[i];
        if (step->phase == STEP_TRACED && saturating_duration(step->start_ns, step->end_ns) / FAR_OFF > median_ns)
            step->phase = STEP_SETTLING;
    }
    return 0;
}

void timed_steps_free(struct timed_steps *steps)
{
    free(steps->list);
    *steps = (struct timed_steps){ 0 };
}

/* ---- pauses ---------------------------------------------------------------------------------------------------- */

static int add_pause(struct step_pauses *pauses, const struct timed_step *first, const struct timed_step *last)
{
    if (array_reserve(&pauses->list, &pauses->room, pauses->count + 1, sizeof *pauses->list) != 0)
        return ERR_NO_MEMORY;
    pauses->list[pauses->count++] = (struct report_span){ first->start_ns, last->end_ns };
    return 0;
}

int step_pauses_read(struct step_pauses *pauses, struct report *report, struct error *err)
{
    struct timed_steps steps = { 0 };
    int code = timed_steps_read(&steps, report, err);

    if (code != 0)
        return code;
    for (size_t first = 0, end; first < steps.count; first = end) {
        const struct timed_step *step = &steps.list[first];
        for (end = first + 1; end < steps.count && steps.list[end].thread == step->thread &&
                              (steps.list[end].phase == STEP_TIMED) == (step->phase == STEP_TIMED);)
            end++;
        if (step->phase == STEP_TIMED && add_pause(pauses, step, &steps.list[end - 1]) != 0) {
            code = error_set(err, ERR_NO_MEMORY, "not enough memory for the steps");
            goto free_steps;
        }
    }
free_steps:
    timed_steps_free(&steps);
    return code;
}

void step_pauses_free(struct step_pauses *pauses)
{
    free(pauses->list);
    *pauses = (struct step_pauses){ 0 };
}

int step_pauses_overlap(const struct step_pauses *pauses, int64_t from_ns, int64_t to_ns)
{
    for (size_t i = 0; i < pauses->count; i++)
        if (pauses->list[i].from_ns < to_ns && pauses->list[i].to_ns > from_ns)
            return 1;
    return 0;
}

/* ---- means ----------------------------------------------------------------------------------------------------- */

enum { STRETCH_MAX = 16 };

/* Consecutive steps of a phase. */
struct stretch {
    double mean_ns;
    size_t steps;
};

static int by_mean(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;

    return (x->mean_ns > y->mean_ns) - (x->mean_ns < y->mean_ns);
}

/* Splits the steps of a phase into stretches and returns their number. The time of a stretch counts from the end of the
 * step before it, because the time between two ranges belongs to the period, too. */
static size_t find_stretches(const struct timed_step *list, size_t count, enum step_phase phase, struct stretch *out)
{
    size_t found = 0;

    for (size_t i = 1; i < count; i++) {
        if (list[i].phase != phase)
            continue;
        size_t first = i;
        while (i + 1 < count && list[i + 1].phase == phase && i + 1 - first < STRETCH_MAX)
            i++;
        size_t steps = i + 1 - first;
        double ns = (double)saturating_duration(list[first - 1].end_ns, list[i].end_ns);
        out[found++] = (struct stretch){ ns / (double)steps, steps };
    }
    return found;
}

static int64_t mean_of(struct stretch *stretches, size_t count, size_t *steps)
{
    double sum = 0, kept = 0;

    *steps = 0;
    if (count)
        qsort(stretches, count, sizeof *stretches, by_mean);
    for (size_t i = 0; i < count; i++) {
        *steps += stretches[i].steps;
        if (stretches[i].mean_ns > FAR_OFF * stretches[count / 2].mean_ns)
            continue;
        sum += stretches[i].mean_ns * (double)stretches[i].steps;
        kept += (double)stretches[i].steps;
    }
    return kept > 0 ? saturating_from_double(sum / kept) : 0;
}

/* The step that nine of ten do not exceed, of those that were only timed and are not far off. */
static int64_t slow_of(const struct timed_step *list, size_t count, int64_t *lengths)
{
    size_t found = 0;

    for (size_t i = 1; i < count; i++)
        if (list[i].phase == STEP_TIMED)
            lengths[found++] = saturating_duration(list[i - 1].end_ns, list[i].end_ns);
    if (!found)
        return 0;
    qsort(lengths, found, sizeof *lengths, by_length);
    int64_t median_ns = lengths[found / 2];
    while (lengths[found - 1] / FAR_OFF > median_ns)
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

int bare_step_read(struct bare_step *out, struct report *report, struct error *err)
{
    struct timed_steps steps = { 0 };
    size_t count;
    int code = timed_steps_read(&steps, report, err);

    *out = (struct bare_step){ 0 };
    if (code != 0)
        return code;
    if ((code = timed_steps_settle(&steps, err)) != 0 || !steps.count)
        goto free_steps;
    const struct timed_step *list = longest_run(&steps, &count);
    struct stretch *stretches = malloc(count * sizeof *stretches);
    int64_t *lengths = malloc(count * sizeof *lengths);
    if (!stretches || !lengths) {
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the steps");
        goto free_stretches;
    }
    out->bare_ns = mean_of(stretches, find_stretches(list, count, STEP_TIMED, stretches), &out->timed);
    out->traced_ns = mean_of(stretches, find_stretches(list, count, STEP_TRACED, stretches), &out->traced);
    mean_of(stretches, find_stretches(list, count, STEP_DETAILED, stretches), &out->detailed);
    out->slow_ns = slow_of(list, count, lengths);
free_stretches:
    free(lengths);
    free(stretches);
free_steps:
    timed_steps_free(&steps);
    return code;
}
