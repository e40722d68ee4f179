/* The rule garbage_collection: Python looks for unreachable objects in the loop, and launches nothing meanwhile. Bound
 * and estimate: without these collections. */

#include "advice_groups.h"
#include "analyze/model/stacks/thread_spans.h"
#include "analyze/registry.h"

static const char mark[] = "gc ";

static int add_collection(struct advice_groups *groups, const struct thread_span *span)
{
    const struct replay *replay = &groups->adviser->replay;
    const struct replay_thread *thread = advice_thread(groups->adviser, span->thread, span->start_ns);
    struct advice_event event = { .thread = span->thread, .start_ns = span->start_ns, .end_ns = span->end_ns };
    uint32_t group;

    if (!thread || !text_begins_with(report_string(groups->adviser->report, span->name, NULL), mark))
        return 0;
    event.place = places_line(groups->places, places_at(groups->places, span->thread, span->start_ns, span->end_ns));
    group = advice_group(groups, 0, 0);
    if (group == NO_KEY || advice_group_note(groups, group, &event) != 0)
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &groups->list[group].cause;
    if (advice_cut_time(replay, &cause->bound, thread, span->start_ns, span->end_ns, 1) != 0)
        return ERR_NO_MEMORY;
    return advice_cut_time(replay, &cause->estimate, thread, span->start_ns, span->end_ns, 1);
}

/* "garbage collection: 2.10 ms in each step (3 in each step)" */
static int garbage_describe(struct advice_groups *groups, uint32_t group)
{
    struct advice_cause *cause = &groups->list[group].cause;
    uint32_t place;
    int64_t kind;

    advice_group_most(groups, group, &place, &kind);
    text_add(&cause->what, "garbage collection: ");
    advice_cause_figure(cause, FIGURE_TIME);
    text_add(&cause->what, groups->adviser->steps->count ? " in each step" : "");
    advice_cause_figure(cause, FIGURE_TIMES);
    place_text(&cause->where, groups->places, place);
    cause->advice =
        "Remove gc.collect() from the loop, or call gc.freeze() before it; or gc.disable(), and collect every "
        "few hundred steps.";
    return 1;
}

static int find_garbage_collection(struct adviser *adviser, struct error *err)
{
    static const struct thread_span_source source = { "TACHO_PYTHON_EVENT", "nameId", NULL, NULL, NULL, NULL, 0 };
    static const struct filter all;
    struct advice_groups groups;
    struct thread_spans spans = { 0 };
    int code;

    if ((code = advice_groups_open(&groups, adviser, err)) != 0 ||
        (code = thread_spans_read(&spans, adviser->report, &source, &all, err)) != 0)
        goto done;
    for (size_t i = 0; i < spans.count; i++)
        if (add_collection(&groups, &spans.list[i]) != 0 &&
            (code = error_short_memory(err, "for the garbage collections")) != 0)
            goto done;
    code = advice_groups_add(&groups, advice_least(adviser), garbage_describe, err);
done:
    thread_spans_free(&spans);
    advice_groups_free(&groups);
    return code;
}

const struct analysis rule_garbage_collection = {
    .name = "garbage_collection",
    .title = "Garbage Collections",
    .help =
        "Collections of Python's garbage collector in threads that launch work, while the GPU waits for it. The saving "
        "is that of a replay without them. Without --advise or --python-events=true they are those that the sampler of "
        "Python stacks has seen: sums are right, short ones are not counted.",
    .needs = { { "CUDA trace data", advice_call_tables },
               { "GPU trace data", advice_work_tables },
               { "events of Python", TABLES("TACHO_PYTHON_EVENT") } },
    ADVICE_RULE(garbage_collection, .advice = "Remove gc.collect() from the loop, or call gc.freeze() before it.",
                .praise = "The GPU does not wait for Python's garbage collector."),
};
