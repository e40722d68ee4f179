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
                           .marks = 1,
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
