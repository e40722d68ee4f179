/* Finds the steps in a report: tries the sources in turn, and gives the steps their order, numbers and warm-up. */
#include "steps_read.h"

#include <ctype.h>
#include <stdlib.h>

#include "analyze/model/names/operator_text.h"
#include "base/array.h"
#include "base/saturating.h"
#include "steps_read_state.h"

const char *const steps_tables[] = { "TACHO_TORCH_STEP",
                                     "TACHO_TORCH_OP",
                                     "NVTX_EVENTS",
                                     "CUPTI_ACTIVITY_KIND_KERNEL",
                                     "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
                                     NULL };

/* ---- numbers --------------------------------------------------------------------------------------------------- */

/* The number at the end of its name, or -1. */
static int64_t named_number(struct report *report, int64_t name)
{
    size_t length;
    const char *bytes = report_string(report, name, &length);
    length = operator_name_length(bytes, length);
    size_t at = length;

    while (at > 0 && isdigit((unsigned char)bytes[at - 1]))
        at--;
    return at == length || length - at > 17 ? -1 : strtoll(bytes + at, NULL, 10);
}

static int all_are_named(const struct steps *steps, struct report *report)
{
    for (size_t i = 0; i < steps->count; i++)
        if (steps->list[i].name < 0 || named_number(report, steps->list[i].name) < 0)
            return 0;
    return 1;
}

static int64_t last_moment(struct report *report)
{
    static const char *const tables[] = { "TACHO_TORCH_OP", "NVTX_EVENTS", "CUPTI_ACTIVITY_KIND_RUNTIME" };
    int64_t last = INT64_MIN;

    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        const struct report_table *table = report_table(report, tables[i]);
        if (table && table->rows && table->last_ns > last)
            last = table->last_ns;
    }
    return last;
}

/* Extends each step of an operator to the next call, and the last one to the end of the capture. */
static void extend_to_next_call(struct steps *steps, struct report *report)
{
    int64_t last = last_moment(report);

    for (size_t i = 0; i < steps->count; i++) {
        struct step *step = &steps->list[i];
        int has_next = i + 1 < steps->count && step[1].process == step->process;
        int64_t end = has_next ? step[1].start_ns : last;
        step->end_ns = end > step->end_ns || has_next ? end : step->end_ns;
    }
}

/* Gives the steps, which are in order, their numbers. */
static void number_steps(struct steps *steps, struct report *report, const struct steps_request *request)
{
    if (!steps->count || steps->list[0].name == STEP_OF_PROFILER)
        return;
    int named = !request->op && all_are_named(steps, report);
    for (size_t i = 0; i < steps->count; i++) {
        struct step *step = &steps->list[i];
        if (named)
            step->number = named_number(report, step->name);
        else
            step->number = i > 0 && step[-1].process == step->process ? step[-1].number + 1 : 0;
    }
    if (request->op)
        extend_to_next_call(steps, report);
}

/* ---- sources --------------------------------------------------------------------------------------------------- */

static const struct steps_read_source {
    int (*find)(struct steps_search *search, struct error *err);
    int is_guess;
} steps_read_sources[] = {
    { steps_find_named, 0 },  { steps_find_marked, 1 },  { steps_find_looped, 1 },
    { steps_find_graphs, 1 }, { steps_find_in_turn, 1 },
};

int steps_add(struct steps_search *search, const struct step *step, struct error *err)
{
    struct steps *steps = search->steps;

    if (array_reserve(&steps->list, &search->room, steps->count + 1, sizeof *step) != 0)
        return error_short_memory(err, "for the steps");
    steps->list[steps->count] = *step;
    steps->list[steps->count++].is_chosen = 1;
    return 0;
}

static int complain_of_none(const struct steps_request *request, struct error *err)
{
    if (request->op)
        return error_set(err, ERR_NO_DATA, "the report has no steps: the operator '%s' was never called", request->op);
    if (request->range)
        return error_set(err, ERR_NO_DATA, "the report has no steps: no range or annotation matches '%s'",
                         request->range);
    if (request->may_guess)
        return error_set(
            err, ERR_NO_DATA,
            "the report has no steps: none are named 'iteration N' or 'step N', and nothing in it repeats; "
            "define steps with --step-range or --step-op");
    return error_set(err, ERR_NO_DATA,
                     "the report has no steps: neither a ProfilerStep of PyTorch nor ranges named 'iteration N' or "
                     "'step N'; define steps with --step-range or --step-op");
}

/* Drops guessed steps whose calls make less than half of the GPU's work: they are the warm-up of a program whose loop
 * has none of these calls, such as one that replays a graph. */
static void drop_warm_up(struct steps_search *search)
{
    struct steps *steps = search->steps;
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN, within_ns = 0, all_ns = 0;

    for (size_t i = 0; i < steps->count; i++) {
        const struct step *step = &steps->list[i];
        first_ns = step->start_ns < first_ns ? step->start_ns : first_ns;
        last_ns = step->end_ns > last_ns ? step->end_ns : last_ns;
    }
    for (size_t i = 0; i < search->sequences.count; i++) {
        const struct gpu_sequence *of = &search->sequences.list[i];
        for (size_t place = 0; place < of->sequence.count; place++) {
            int is_within = of->start_ns[place] >= first_ns && of->start_ns[place] < last_ns;
            all_ns = saturating_add(all_ns, of->work_ns[place]);
            within_ns = saturating_add(within_ns, is_within ? of->work_ns[place] : 0);
        }
    }
    if (within_ns < all_ns / 2)
        steps->count = 0;
}

static int try_sources(struct steps_search *search, int are_guesses, struct error *err)
{
    int code;

    for (size_t i = 0; i < COUNT_OF(steps_read_sources) && !search->steps->count; i++) {
        if (steps_read_sources[i].is_guess != are_guesses)
            continue;
        if ((code = steps_read_sources[i].find(search, err)) != 0)
            return code;
        if (are_guesses && search->steps->count)
            drop_warm_up(search);
    }
    return 0;
}

static int steps_read_find_steps(struct steps_search *search, struct error *err)
{
    const struct steps_request *request = search->request;
    int code = try_sources(search, 0, err);

    if (code != 0 || search->steps->count)
        return code;
    if (!request->may_guess || request->range || request->op)
        return complain_of_none(request, err);
    if ((code = gpu_launches_open(&search->launches, search->report, err)) != 0)
        return code;
    if ((code = gpu_sequences_make(&search->sequences, search->launches, SEQUENCE_GRIDS, err)) != 0)
        goto close_launches;
    code = try_sources(search, 1, err);
    gpu_sequences_free(&search->sequences);
close_launches:
    gpu_launches_close(search->launches);
    return code != 0 || search->steps->count ? code : complain_of_none(request, err);
}

int steps_read(struct steps *steps, struct report *report, const struct steps_request *request, struct error *err)
{
    struct steps_search search = { .steps = steps, .report = report, .request = request };
    int code;

    *steps = (struct steps){ 0 };
    if (!request->range && !request->op && ((code = steps_timed_read(steps, report, err)) != 0 || steps->count)) {
        if (code != 0)
            steps_free(steps);
        return code;
    }
    if ((code = steps_read_find_steps(&search, err)) != 0 || (code = steps_arrange(steps, report, err)) != 0)
        goto free_steps;
    number_steps(steps, report, request);
    if ((code = steps_mark_warm_up(steps, err)) == 0)
        return 0;
free_steps:
    steps_free(steps);
    return code;
}
