/* The rule data_loader: the loop waits for its next batch.
 *
 * PyTorch marks the time in which a DataLoader makes a batch, or waits for one of its workers. Bound: that takes no
 * time. Estimate: without workers, a batch of a worker still takes a twentieth of the time to be received; with
 * workers, each takes as long as the fastest one did. */
#include <string.h>

#include "advice_groups.h"
#include "advice_operators.h"
#include "analyze/registry.h"
#include "base/human.h"

enum { LOADS_ITSELF, WAITS_FOR_WORKERS, LOADER_KINDS };
enum { RECEIVES_PART = 20 };

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
    if (advice_cut_time(replay, &cause->bound, thread, span->start_ns, span->end_ns, 1) != 0)
        return ERR_NO_MEMORY;
    return advice_cut_time(replay, &cause->estimate, thread, saturating_add(span->start_ns, stays), span->end_ns, 1);
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

/* "the DataLoader has no workers: 12.1 ms for a batch, mostly data.py:31 __getitem__", at the line of the loop */
static int describe(struct advice_groups *groups, uint32_t group)
{
    struct advice_cause *cause = &groups->list[group].cause;
    int64_t total_ns = 0, kind;
    uint32_t place;

    for (size_t i = 0; i < cause->bound.count; i++)
        total_ns = saturating_add(total_ns, cause->bound.list[i].cut_ns);
    advice_group_most(groups, group, &place, &kind);
    text_add(&cause->what, kinds[kind].what);
    text_add(&cause->what, ": ");
    human_time(&cause->what, total_ns / cause->count);
    text_add(&cause->what, " for a batch");
    uint32_t loop = place == NO_PLACE ? NO_PLACE : places_get(groups->places, place).loop;
    if (loop != NO_PLACE) {
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
            "estimate leaves a twentieth of the time, or with workers the time of the fastest batch.",
    .needs = ADVICE_NEEDS,
    .advice = "Make batches in other processes: num_workers, persistent_workers=True, pin_memory=True.",
    .praise = "The GPU does not wait for batches of a DataLoader.",
    ADVICE_RULE(data_loader),
};
