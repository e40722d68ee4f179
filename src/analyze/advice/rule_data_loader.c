/* The rule data_loader: the loop waits for its next batch.
 *
 * PyTorch marks the time in which a DataLoader makes a batch, or waits for one of its workers. Bound: that takes no
 * time. Estimate: without workers, a batch of a worker still takes a twentieth of the time to be received; with
 * workers, each takes as long as the fastest one did. The thread that pins batches hands them over: the loop then waits
 * for that thread no more. */
#include <string.h>

#include "advice_groups.h"
#include "advice_operators.h"
#include "analyze/registry.h"
#include "base/human.h"

enum { LOADS_ITSELF, WAITS_FOR_WORKERS, LOADER_KINDS };
enum { RECEIVES_PART = 20 };
enum { LEAST_PART = 10 }; /* of the step: profilers make workers slower, too */

static const struct loader_kind {
    const char *what, *advice;
} kinds[LOADER_KINDS] = {
    { "the DataLoader has no workers",
      "Set num_workers (4 to begin with), persistent_workers=True and pin_memory=True, "
      "so that batches are made in other processes." },
    { "the loop waits for workers of the DataLoader",
      "Raise num_workers, up to the number of CPUs, or make the transforms and the collation faster." },
};

struct loaders {
    struct adviser *adviser;
    struct advice_groups groups;
    struct advice_operators operators;
    int64_t shortest_ns; /* of a wait for workers */
};

static int kind_of(const struct loaders *loaders, const struct thread_span *span)
{
    return strstr(report_string(loaders->adviser->report, span->name, NULL), "MultiProcessing") ? WAITS_FOR_WORKERS
                                                                                                : LOADS_ITSELF;
}

/* The calls of a thread, or NULL: threads that make no CUDA call wait for nobody here. */
static const struct replay_thread *thread_of(const struct replay_events *events, int64_t thread)
{
    for (uint32_t i = 0; i < events->thread_count; i++)
        if (events->threads[i].id == thread)
            return &events->threads[i];
    return NULL;
}

/* A batch counts if a call at its start would. */
static int counts(const struct loaders *loaders, const struct replay_thread *thread, const struct thread_span *span)
{
    const struct replay_events *events = &loaders->adviser->replay.events;
    struct replay_call call = { .start_ns = span->end_ns, .thread = (uint32_t)(thread - events->threads) };

    return adviser_counts(loaders->adviser, &call);
}

/* The edge over which another thread handed the batch over, or REPLAY_NO_EDGE. It leads to the first call behind it. */
static uint32_t handover_of(const struct replay *replay, const struct replay_thread *thread,
                            const struct thread_span *span, uint32_t *call)
{
    const struct replay_events *events = &replay->events;

    for (*call = thread->first; *call < thread->end && events->calls[*call].start_ns < span->end_ns;)
        ++*call;
    if (*call == thread->end)
        return REPLAY_NO_EDGE;
    uint32_t edge = replay_edge_to(replay, replay_call_start(*call), REPLAY_HANDOVER);
    int is_in_span = edge != REPLAY_NO_EDGE && replay_edge_start(replay, edge) >= span->start_ns &&
                     replay_edge_start(replay, edge) <= span->end_ns;
    return is_in_span ? edge : REPLAY_NO_EDGE;
}

/* Leaves so much of the time of a batch. */
static int cut_batch(const struct replay *replay, struct replay_edits *edits, const struct replay_thread *thread,
                     const struct thread_span *span, int64_t stays)
{
    uint32_t call, edge = handover_of(replay, thread, span, &call);

    if (edge == REPLAY_NO_EDGE)
        return advice_cut_time(replay, edits, thread, saturating_add(span->start_ns, stays), span->end_ns, 1);
    if (replay_edit_drop(edits, edge) != 0)
        return ERR_NO_MEMORY;
    return replay_edit_cut(edits, replay_edge_to(replay, replay_call_start(call), REPLAY_HOST), -stays);
}

static int add_batch(struct loaders *loaders, const struct replay_thread *thread, const struct thread_span *span)
{
    const struct replay *replay = &loaders->adviser->replay;
    int64_t length = saturating_duration(span->start_ns, span->end_ns);
    struct advice_event event = { .kind = kind_of(loaders, span),
                                  .place = places_at(loaders->groups.places, span->thread, span->start_ns,
                                                     span->end_ns),
                                  .thread = span->thread,
                                  .start_ns = span->start_ns,
                                  .end_ns = span->end_ns };
    int64_t stays = event.kind == LOADS_ITSELF ? length / RECEIVES_PART : loaders->shortest_ns;
    uint32_t group = advice_group(&loaders->groups, event.kind, 0);

    if (group == NO_KEY || advice_group_note(&loaders->groups, group, &event) != 0)
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &loaders->groups.list[group].cause;
    return cut_batch(replay, &cause->bound, thread, span, 0) != 0 ||
                   cut_batch(replay, &cause->estimate, thread, span, stays) != 0
               ? ERR_NO_MEMORY
               : 0;
}

static int add_batches(struct loaders *loaders)
{
    const struct replay_events *events = &loaders->adviser->replay.events;
    const struct thread_spans *spans = &loaders->operators.spans;

    for (size_t i = 0; i < spans->count; i++) {
        const struct thread_span *span = &spans->list[i];
        const struct replay_thread *thread = thread_of(events, span->thread);
        if (thread && counts(loaders, thread, span) && add_batch(loaders, thread, span) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static void keep_loaders(struct loaders *loaders)
{
    struct thread_spans *spans = &loaders->operators.spans;
    size_t kept = 0;

    loaders->shortest_ns = INT64_MAX;
    for (size_t i = 0; i < spans->count; i++) {
        const struct thread_span *span = &spans->list[i];
        int64_t length = saturating_duration(span->start_ns, span->end_ns);
        if (strncmp(report_string(loaders->adviser->report, span->name, NULL), advice_loader_mark,
                    strlen(advice_loader_mark)) != 0)
            continue;
        loaders->shortest_ns = length < loaders->shortest_ns ? length : loaders->shortest_ns;
        spans->list[kept++] = *span;
    }
    spans->count = kept;
}

/* Whether the loop waits for workers so long that it would without a profiler. */
static int waits_long(struct adviser *adviser, const struct advice_cause *cause)
{
    struct error err;
    int64_t step_ns;

    return adviser_replay(adviser, &cause->bound, &step_ns, &err) == 0 &&
           saturating_subtract(adviser->step_ns, step_ns) >= adviser->step_ns / LEAST_PART;
}

/* "the DataLoader has no workers: 12.1 ms for a batch, mostly data.py:31 __getitem__", at the line of the loop */
static int describe(struct advice_groups *groups, uint32_t group)
{
    struct advice_cause *cause = &groups->list[group].cause;
    uint32_t place;
    int64_t kind;

    advice_group_most(groups, group, &place, &kind);
    if (kind == WAITS_FOR_WORKERS && !waits_long(groups->adviser, cause))
        return 0;
    text_add(&cause->what, kinds[kind].what);
    text_add(&cause->what, ": ");
    human_time(&cause->what, groups->list[group].total_ns / cause->count);
    text_add(&cause->what, " for a batch");
    uint32_t loop = place == NO_PLACE ? NO_PLACE : places_get(groups->places, place).loop;
    if (loop != NO_PLACE && places_line(groups->places, loop) != places_line(groups->places, place)) {
        text_add(&cause->what, ", mostly in ");
        place_text(&cause->what, groups->places, place);
    }
    place_text(&cause->where, groups->places, loop == NO_PLACE ? place : loop);
    cause->advice = kinds[kind].advice;
    return 1;
}

static int find_data_loader(struct adviser *adviser, struct error *err)
{
    struct loaders loaders = { .adviser = adviser };
    int code;

    if ((code = advice_groups_open(&loaders.groups, adviser, err)) != 0 ||
        (code = advice_operators_open(&loaders.operators, adviser->report, err)) != 0)
        goto done;
    keep_loaders(&loaders);
    if (add_batches(&loaders) != 0) {
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the batches");
        goto done;
    }
    code = advice_groups_add(&loaders.groups, advice_least(adviser), describe, err);
done:
    advice_operators_free(&loaders.operators);
    advice_groups_free(&loaders.groups);
    return code;
}

ADVICE_RUN(data_loader)

const struct analysis rule_data_loader = {
    .name = "data_loader",
    .title = "DataLoader",
    .usage = "",
    .help = "Whether the GPU waits for the next batch of a DataLoader of PyTorch: one without workers makes it in the "
            "loop, one with workers may wait for them. The saving is that of a replay in which the batch is there. The "
            "estimate leaves a twentieth of the time, or with workers the time of the fastest batch. Waits "
            "for workers that cost less than a tenth of the step are not listed.",
    .needs = ADVICE_NEEDS,
    .advice = "Make batches in other processes: num_workers, persistent_workers=True, pin_memory=True.",
    .praise = "The GPU does not wait for batches of a DataLoader.",
    ADVICE_RULE(data_loader),
};
