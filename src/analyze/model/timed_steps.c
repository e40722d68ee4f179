/* Steps that were only timed, and those that were recorded: see timed_steps.h. */
#include "timed_steps.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/saturating.h"

static const char *const phase_names[STEP_PHASES] = {
    [STEP_TIMED] = "timed",       [STEP_TRACED] = "traced",     [STEP_LOWERED] = "lowered",
    [STEP_DETAILED] = "detailed", [STEP_SETTLING] = "settling",
};

static enum step_phase phase_of(struct report *report, int64_t text)
{
    const char *name = report_string(report, text, NULL);

    for (enum step_phase phase = STEP_TIMED; phase < STEP_PHASES; phase++)
        if (strcmp(phase_names[phase], name) == 0)
            return phase;
    return STEP_SETTLING;
}

static int timed_steps_by_thread(const void *a, const void *b)
{
    const struct timed_step *x = a, *y = b;

    return COMPARE(x->thread, y->thread) ?: COMPARE(x->start_ns, y->start_ns);
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
        if (ARRAY_PUSH(steps->list, steps->room, steps->count,
                       (struct timed_step){
                           .thread = row_int_or(&rows, THREAD, 0),
                           .start_ns = row_int(&rows, START),
                           .end_ns = row_int(&rows, END),
                           .number = row_int_or(&rows, NUMBER, 0),
                           .name = row_int_or(&rows, NAME, 0),
                           .phase = phase_of(report, row_int_or(&rows, PHASE, 0)),
                       }) != 0 &&
            (code = error_short_memory(err, "for the steps")) != 0)
            goto close_rows;
    }
    if (steps->count)
        qsort(steps->list, steps->count, sizeof *steps->list, timed_steps_by_thread);
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
        qsort(lengths, count, sizeof *lengths, array_by_int64);
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
        return error_short_memory(err, "for the steps");
    for (size_t i = 0; i < steps->count; i++) {
        struct timed_step *step = &steps->list[i];
        if (step->phase == STEP_TRACED && saturating_duration(step->start_ns, step->end_ns) / STEP_FAR_OFF > median_ns)
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

static int timed_steps_add_pause(struct step_pauses *pauses, const struct timed_step *first,
                                 const struct timed_step *last)
{
    return ARRAY_PUSH(pauses->list, pauses->room, pauses->count, (struct report_span){ first->start_ns, last->end_ns });
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
        if (step->phase == STEP_TIMED && timed_steps_add_pause(pauses, step, &steps.list[end - 1]) != 0 &&
            (code = error_short_memory(err, "for the steps")) != 0)
            goto free_steps;
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
