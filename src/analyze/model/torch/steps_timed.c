/* The steps of a capture with --advise: those that were recorded. Only traced steps count. Detailed ones and those
 * beside a change of phase are there, so that each traced step has its neighbour before it. */
#include <stdio.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/timed_steps.h"
#include "base/array.h"
#include "steps_read.h"

static int steps_timed_add(struct steps *steps, size_t *room, const struct timed_step *from)
{
    if (array_reserve(&steps->list, room, steps->count + 1, sizeof *steps->list) != 0)
        return ERR_NO_MEMORY;
    steps->list[steps->count++] = (struct step){
        .process = global_process(from->thread),
        .start_ns = from->start_ns,
        .end_ns = from->end_ns,
        .number = from->number,
        .name = from->name,
        .is_chosen = from->phase == STEP_TRACED,
        .is_warm_up = from->phase != STEP_TRACED,
    };
    return 0;
}

static int has_traced(const struct timed_steps *timed)
{
    for (size_t i = 0; i < timed->count; i++)
        if (timed->list[i].phase == STEP_TRACED)
            return 1;
    return 0;
}

int steps_timed_read(struct steps *steps, struct report *report, struct error *err)
{
    struct timed_steps timed = { 0 };
    size_t room = 0;
    int code;

    if ((code = timed_steps_read(&timed, report, err)) != 0)
        return code;
    if ((code = timed_steps_settle(&timed, err)) != 0)
        goto free_timed;
    if (!has_traced(&timed)) /* it ended early, or its loop makes no marks: it is a capture like any other */
        goto free_timed;
    for (size_t i = 0; i < timed.count; i++)
        if (timed.list[i].phase != STEP_TIMED && steps_timed_add(steps, &room, &timed.list[i]) != 0 &&
            (code = error_short_memory(err, "for the steps")) != 0)
            goto free_timed;
    snprintf(steps->source, sizeof steps->source, "steps that --advise recorded");
    code = steps_arrange(steps, report, err);
free_timed:
    timed_steps_free(&timed);
    return code;
}
