/* The row of steps, which stands on top of the timeline. */
#include <string.h>

#include "analyze/model/torch/steps_read.h"
#include "derived.h"

static const struct view_source step_source[] = {
    { .table = NULL, .start = "start", .type = ROW_STEPS, .work = WORK_RANGE }
};
static const struct view_family steps_family = { step_source, 1 };

static int derived_steps_add_step(struct gather *gather, const struct steps *steps, size_t i)
{
    struct view *view = gather->view;
    const struct step *step = &steps->list[i];
    struct view_taken event = {
        .start_ns = step->start_ns,
        .end_ns = step->end_ns,
        .key = { ROW_STEPS, step->process },
        .table_row = (uint32_t)i,
    };

    text_clear(&view->scratch);
    step_label(&view->scratch, view->report, step);
    event.name = view_own_name(view, text_string(&view->scratch));
    return gather_add(gather, 0, &event);
}

/* From the first step that counts to the last. */
static struct report_span steady_span(const struct steps *steps)
{
    struct report_span span = { INT64_MAX, INT64_MIN };

    for (size_t i = 0; i < steps->count; i++) {
        const struct step *step = &steps->list[i];
        if (step->is_warm_up)
            continue;
        span.from_ns = step->start_ns < span.from_ns ? step->start_ns : span.from_ns;
        span.to_ns = step->end_ns > span.to_ns ? step->end_ns : span.to_ns;
    }
    return span;
}

int derived_steps(struct view *view, struct error *err)
{
    struct steps steps = { 0 };
    struct gather gather = { 0 };
    int code = steps_read(&steps, view->report, &(struct steps_request){ .may_guess = 1 }, NULL);

    if (code == ERR_NO_DATA)
        return 0;
    if (code != 0)
        return error_set(err, code, "the steps of the report cannot be read");
    if ((code = gather_open(&gather, view, &steps_family, err)) != 0)
        goto done;
    for (size_t i = 0; i < steps.count; i++)
        if (derived_steps_add_step(&gather, &steps, i) != 0 && (code = error_short_memory(err, "for the steps")) != 0)
            goto done;
    if ((code = gather_finish(&gather, err)) != 0)
        goto done;
    if (steps.count) {
        view->steady = steady_span(&steps);
        view->step_count = steps.count;
        memcpy(view->step_source, steps.source, sizeof steps.source);
    }
done:
    gather_close(&gather);
    steps_free(&steps);
    return code;
}
