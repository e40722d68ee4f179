/* The rule data_loader: the loop waits for its next batch.
 *
 * PyTorch marks the time in which a DataLoader makes a batch, or waits for one of its workers. Bound: that takes no
 * time. Estimate: with enough workers, each takes as long as the fastest one that a worker made; without workers that
 * is not known, and the estimate is the bound. The thread that pins batches hands them over: the loop then waits for
 * that thread no more. If workers wait for orders, the loop does not wait because they are too slow. */
#include <stdlib.h>
#include <string.h>

#include "advice_groups.h"
#include "advice_operators.h"
#include "advice_workers.h"
#include "analyze/registry.h"
#include "base/human.h"
#include "base/saturating.h"

enum { LOADS_ITSELF, LOADS_ON_GPU, WAITS_FOR_WORKERS, LOADER_KINDS };

static const struct loader_kind {
    const char *what, *advice;
} data_loader_kinds[LOADER_KINDS] = {
    { "the DataLoader has no workers",
      "Set num_workers (4 to begin with), persistent_workers=True and pin_memory=True, so that batches are made in "
      "other "
      "processes. An IterableDataset must share its data out among them (torch.utils.data.get_worker_info())." },
    { "the data set uses the GPU",
      "Workers that are forked cannot use CUDA. Leave samples on the CPU in the data set, and copy or compute whole "
      "batches in the loop; then set num_workers." },
    { "the loop waits for workers of the DataLoader",
      "Raise num_workers, up to the number of CPUs, or make the transforms and the collation faster." },
};

struct loaders {
    struct adviser *adviser;
    struct advice_groups groups;
    struct advice_operators operators;
    struct advice_workers workers;
    uint8_t *launches; /* owned; by call: whether it gives the GPU work */
};

/* Whether the GPU gets work in this time. */
static int uses_gpu(const struct loaders *loaders, const struct thread_span *span)
{
    const struct replay_events *events = &loaders->adviser->replay.events;
    const struct replay_thread *thread = replay_thread_of(events, span->thread);

    if (!thread)
        return 0;
    for (uint32_t call = replay_call_from(events, thread, span->start_ns);
         call < thread->end && events->calls[call].start_ns < span->end_ns; call++)
        if (loaders->launches[call])
            return 1;
    return 0;
}

static int data_loader_kind_of(const struct loaders *loaders, const struct thread_span *span)
{
    if (strstr(report_string(loaders->adviser->report, span->name, NULL), "MultiProcessing"))
        return WAITS_FOR_WORKERS;
    return uses_gpu(loaders, span) ? LOADS_ON_GPU : LOADS_ITSELF;
}

static int find_launches(struct loaders *loaders)
{
    const struct replay_events *events = &loaders->adviser->replay.events;

    loaders->launches = calloc(events->call_count + 1u, 1);
    for (uint32_t i = 0; loaders->launches && i < events->work_count; i++)
        if (events->works[i].call != NO_CALL)
            loaders->launches[events->works[i].call] = 1;
    return loaders->launches ? 0 : ERR_NO_MEMORY;
}

/* The edge over which another thread handed the batch over, or REPLAY_NO_EDGE. It leads to the first call after it. */
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

/* Leaves nothing of the time of a batch. */
static int cut_batch(const struct replay *replay, struct replay_edits *edits, const struct replay_thread *thread,
                     const struct thread_span *span)
{
    uint32_t call, edge = handover_of(replay, thread, span, &call);

    if (edge == REPLAY_NO_EDGE)
        return advice_cut_time(replay, edits, thread, span->start_ns, span->end_ns, 1);
    return replay_edit_drop(edits, edge);
}

static int data_loader_add_batch(struct loaders *loaders, const struct replay_thread *thread,
                                 const struct thread_span *span)
{
    const struct replay *replay = &loaders->adviser->replay;
    struct advice_event event = { .kind = data_loader_kind_of(loaders, span),
                                  .place = places_at(loaders->groups.places, span->thread, span->start_ns,
                                                     span->end_ns),
                                  .thread = span->thread,
                                  .start_ns = span->start_ns,
                                  .end_ns = span->end_ns };
    uint32_t group = advice_group(&loaders->groups, event.kind, loaders->workers.count);

    if (group == NO_KEY || advice_group_note(&loaders->groups, group, &event) != 0)
        return ERR_NO_MEMORY;
    struct advice_cause *cause = &loaders->groups.list[group].cause;
    if (cut_batch(replay, &cause->bound, thread, span) != 0)
        return ERR_NO_MEMORY;
    return cut_batch(replay, &cause->estimate, thread, span);
}

static int add_batches(struct loaders *loaders)
{
    const struct thread_spans *spans = &loaders->operators.spans;

    for (size_t i = 0; i < spans->count; i++) {
        const struct thread_span *span = &spans->list[i];
        const struct replay_thread *thread = advice_thread(loaders->adviser, span->thread, span->end_ns);
        if (thread && data_loader_add_batch(loaders, thread, span) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static void keep_loaders(struct loaders *loaders)
{
    struct thread_spans *spans = &loaders->operators.spans;
    size_t kept = 0;

    for (size_t i = 0; i < spans->count; i++) {
        const struct thread_span *span = &spans->list[i];
        if (text_begins_with(report_string(loaders->adviser->report, span->name, NULL), advice_loader_mark))
            spans->list[kept++] = *span;
    }
    spans->count = kept;
}

/* How many workers make batches as fast as the loop takes them, if each takes this long for one. */
static int64_t enough_workers(struct adviser *adviser, struct advice_cause *cause, int64_t batch_ns)
{
    struct error err;
    int64_t batches = cause->count / (int64_t)adviser->step_count;

    if (adviser_replay(adviser, &cause->bound, &cause->bound_step.usual_ns, &err) != 0)
        return 0;
    int64_t step_ns = cause->bound_step.usual_ns;
    if (step_ns <= 0)
        return 0;
    return saturating_add(saturating_multiply(batch_ns, batches > 1 ? batches : 1), step_ns - 1) / step_ns;
}

/* "the DataLoader has no workers: 12.1 ms for a batch, 5 workers keep up, mostly in data.py:31 __getitem__", at the
 * line of the loop. The time of a worker for a batch is that of a step times the number of workers, if they are always
 * busy. */
static int data_loader_describe(struct advice_groups *groups, uint32_t group)
{
    struct advice_cause *cause = &groups->list[group].cause;
    const int64_t *key = keys_get(&groups->keys, group);
    int64_t batch_ns = groups->list[group].total_ns / cause->count, kind;
    uint32_t place;

    advice_group_most(groups, group, &place, &kind);
    text_add(&cause->what, data_loader_kinds[kind].what);
    text_add(&cause->what, ": ");
    human_time(&cause->what, batch_ns);
    text_add(&cause->what, " for a batch");
    int64_t wanted = enough_workers(groups->adviser, cause,
                                    kind == LOADS_ITSELF ? batch_ns : key[1] * groups->adviser->step_ns);
    if (groups->adviser->steps->count && wanted && kind != LOADS_ON_GPU)
        text_addf(&cause->what, ", %lld would keep up", (long long)wanted);
    uint32_t loop = place == NO_PLACE ? NO_PLACE : places_get(groups->places, place).loop;
    if (loop != NO_PLACE && places_line(groups->places, loop) != places_line(groups->places, place)) {
        text_add(&cause->what, ", mostly in ");
        place_text(&cause->what, groups->places, place);
    }
    place_text(&cause->where, groups->places, loop == NO_PLACE ? place : loop);
    cause->advice = data_loader_kinds[kind].advice;
    return 1;
}

/* Reads how busy workers were while the loop took batches, and leaves out waits that are not up to them. */
static int judge_workers(struct loaders *loaders, struct error *err)
{
    struct thread_spans *spans = &loaders->operators.spans;
    int64_t start_ns = INT64_MAX, end_ns = INT64_MIN;
    size_t kept = 0;
    int code;

    for (size_t i = 0; i < spans->count; i++) {
        const struct thread_span *span = &spans->list[i];
        if (!advice_thread(loaders->adviser, span->thread, span->end_ns))
            continue;
        start_ns = span->start_ns < start_ns ? span->start_ns : start_ns;
        end_ns = span->end_ns > end_ns ? span->end_ns : end_ns;
    }
    if ((code = advice_workers_read(&loaders->workers, loaders->adviser->report, start_ns, end_ns, err)) != 0 ||
        advice_workers_are_busy(&loaders->workers))
        return code;
    for (size_t i = 0; i < spans->count; i++)
        if (data_loader_kind_of(loaders, &spans->list[i]) != WAITS_FOR_WORKERS)
            spans->list[kept++] = spans->list[i];
    spans->count = kept;
    return 0;
}

static int find_data_loader(struct adviser *adviser, struct error *err)
{
    struct loaders loaders = { .adviser = adviser };
    int code;

    if ((code = advice_groups_open(&loaders.groups, adviser, err)) != 0 ||
        (code = advice_operators_open(&loaders.operators, adviser->report, err)) != 0)
        goto done;
    keep_loaders(&loaders);
    if (find_launches(&loaders) != 0 && (code = error_short_memory(err, "for the batches")) != 0)
        goto done;
    if ((code = judge_workers(&loaders, err)) != 0)
        goto done;
    if (add_batches(&loaders) != 0 && (code = error_short_memory(err, "for the batches")) != 0)
        goto done;
    code = advice_groups_add(&loaders.groups, advice_least(adviser), data_loader_describe, err);
done:
    free(loaders.launches);
    advice_operators_free(&loaders.operators);
    advice_groups_free(&loaders.groups);
    return code;
}

const struct analysis rule_data_loader = {
    .name = "data_loader",
    .title = "DataLoader",
    .help = "Whether the GPU waits for the next batch of a DataLoader of PyTorch: one without workers makes it in the "
            "loop, one with workers may wait for them. The saving is that of a replay in which the batch is there. "
            "Waits for workers that are idle for more than a tenth of the time are not listed.",
    .needs = ADVICE_NEEDS,
    ADVICE_RULE(data_loader, .is_of_torch = 1,
                .advice = "Make batches in other processes: num_workers, persistent_workers=True, pin_memory=True.",
                .praise = "The GPU does not wait for batches of a DataLoader."),
};
