/* The steps of a capture that only timed some: those that were recorded. Only traced steps count. Detailed ones and
 * those beside a change of phase are there, so that each traced step has its neighbour before it. */
#include <stdio.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/timed_rounds.h"
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

static size_t steps_timed_count(const struct timed_steps *timed, enum step_phase phase)
{
    size_t count = 0;

    for (size_t i = 0; i < timed->count; i++)
        count += timed->list[i].phase == phase;
    return count;
}

/* Probes leave out a few steps, --advise most of them. */
static void steps_timed_name(struct steps *steps, const struct timed_steps *timed, struct report *report)
{
    const char *name = report_string(report, timed->list[0].name, NULL);
    int length = (int)strcspn(name, "#");
    uint32_t marks = timed->list[0].marks;

    if (steps_timed_count(timed, STEP_TIMED) >=
        steps_timed_count(timed, STEP_TRACED) + steps_timed_count(timed, STEP_LOWERED))
        snprintf(steps->source, sizeof steps->source, "steps that --advise recorded");
    else if (marks > 1)
        snprintf(steps->source, sizeof steps->source, "steps by %u calls of %.*s", marks, length, name);
    else
        snprintf(steps->source, sizeof steps->source, "steps by %.*s", length, name);
}

int steps_timed_read(struct steps *steps, struct report *report, struct error *err)
{
    struct timed_steps timed = { 0 };
    size_t room = 0;
    int code;

    if ((code = timed_steps_read(&timed, report, err)) != 0)
        return code;
    if ((code = timed_rounds_settle(&timed, report, err)) != 0)
        goto free_timed;
    if (!steps_timed_count(
            &timed, STEP_TRACED)) /* it ended early, or its loop makes no marks: it is a capture like any other */
        goto free_timed;
    for (size_t i = 0; i < timed.count; i++)
        if (timed.list[i].phase != STEP_TIMED && steps_timed_add(steps, &room, &timed.list[i]) != 0 &&
            (code = error_short_memory(err, "for the steps")) != 0)
            goto free_timed;
    steps_timed_name(steps, &timed, report);
    code = steps_arrange(steps, report, err);
free_timed:
    timed_steps_free(&timed);
    return code;
}
