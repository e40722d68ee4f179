/* From the events of a report to a graph: see replay.h. */
#include <stdlib.h>

#include "analyze/engine/order.h"
#include "base/array.h"
#include "replay.h"

/* Work that starts LAUNCHED_NS after its call, or QUEUED_NS after the work before it in the queue, waited for something
 * else. Work that starts LATE_NS after all its known causes, and within CLOSE_NS of other work of its device, waited
 * for that work. The last MOST_BRANCHES branches of a stream that forks count. Work has at most 6 causes of other
 * kinds. */
enum {
    LAUNCHED_NS = 50000,
    QUEUED_NS = 20000,
    LATE_NS = 10000,
    CLOSE_NS = 8000,
    LOOK_BACK = 16,
    MOST_BRANCHES = 4,
    MOST_EVENTS = 12,
    MOST_CAUSES = 6 + MOST_BRANCHES + MOST_EVENTS,
};

/* A cause that work may have waited for. */
struct replay_build_cause {
    uint32_t from;
    int64_t time_ns, typical_ns;
    enum replay_kind kind;
};
struct causes {
    struct replay_build_cause list[MOST_CAUSES];
    int count;
};

struct replay_building {
    struct replay *replay;
    uint32_t *previous; /* owned, as all below; by work: the last of its stream to end before it starts, or NO_WORK */
    uint32_t *engine;   /* by work: the copy before it on its engine, or NO_WORK; NULL: no copy waits for one */
    uint32_t *by_end;   /* the works, by GPU and then by end; NULL: no GPU has several streams */
    uint32_t *first_of; /* by GPU, and one more: its first place there */
    uint32_t *ended;    /* by work: place after the works of its GPU that ended before it starts */
    int code[2];        /* of replay_build_prepare() */
};

/* ---- typical lags ---------------------------------------------------------------------------------------------- */

/* Work of a stream comes by its start, and nearly always the last one is the last to end. But kernels of a graph run
 * side by side on the stream of the graph, and one that starts may follow the longest of them. */
static uint32_t previous_of(const struct replay_work *works, uint32_t at, uint32_t last)
{
    const struct replay_work *work = &works[at];
    uint32_t found = NO_WORK;

    if (works[last].end_ns <= work->start_ns)
        return last;
    for (uint32_t i = 1; i <= LOOK_BACK && i <= at && works[at - i].stream == work->stream; i++)
        if (works[at - i].end_ns <= work->start_ns && (found == NO_WORK || works[at - i].end_ns > works[found].end_ns))
            found = at - i;
    return found;
}

static int find_previous(struct replay_building *build)
{
    const struct replay_events *events = &build->replay->events;
    const struct replay_work *works = events->works;
    uint32_t last = 0; /* the last to end of the stream's works so far */

    build->previous = array_alloc(events->work_count + 1u, sizeof *build->previous);
    if (!build->previous)
        return ERR_NO_MEMORY;
    for (uint32_t at = 0; at < events->work_count; at++) {
        int is_first = !at || works[at - 1].stream != works[at].stream;
        build->previous[at] = is_first ? NO_WORK : previous_of(works, at, last);
        last = is_first || works[at].end_ns >= works[last].end_ns ? at : last;
    }
    return 0;
}

/* Work that found its stream empty shows how long a launch takes. Work that was on the GPU before its turn came shows
 * the gap between two works: the one before it ended later than a launch takes after the call. Where launches follow
 * each other faster than one of them reaches the GPU, a pause between two works is not that gap. */
static uint32_t lag_of(const struct replay_building *build, int typical, uint32_t at, int64_t *lag)
{
    const struct replay *replay = build->replay;
    const struct replay_events *events = &replay->events;
    const struct replay_work *work = &events->works[at];
    const struct replay_work *before = build->previous[at] == NO_WORK ? NULL : &events->works[build->previous[at]];
    uint32_t table = (uint32_t)replay_table_of(events, work->at);

    if (work->call == NO_CALL || work->events != NO_LINK)
        return NO_KEY;
    int64_t launched = events->calls[work->call].start_ns;
    if (typical == TYPICAL_LAUNCH) {
        *lag = saturating_duration(launched, work->start_ns);
        return (!before || before->end_ns < launched) && *lag < LAUNCHED_NS ? table : NO_KEY;
    }
    if (!before || before->end_ns < saturating_add(launched, replay->typical_ns[TYPICAL_LAUNCH][table]))
        return NO_KEY;
    *lag = saturating_duration(before->end_ns, work->start_ns);
    return *lag < QUEUED_NS ? table : NO_KEY;
}

/* The medians of one kind of lags; room for a group and a lag of each work. */
static int find_typical_lag(const struct replay_building *build, int typical, uint32_t *group, int64_t *lag)
{
    static const int64_t unknown[TYPICALS] = { [TYPICAL_LAUNCH] = 5000, [TYPICAL_GAP] = 1000 };
    struct replay *replay = build->replay;
    struct keys_figures figures[REPLAY_TABLES];
    uint32_t count = replay->events.work_count;
    int code;

    for (uint32_t i = 0; i < count; i++)
        group[i] = lag_of(build, typical, i, &lag[i]);
    if ((code = keys_summarize(figures, REPLAY_TABLES, group, lag, count)) != 0)
        return code;
    for (int table = 0; table < REPLAY_TABLES; table++)
        replay->typical_ns[typical][table] = figures[table].figures.count
                                                 ? saturating_from_double(figures[table].median)
                                                 : unknown[typical];
    return 0;
}

/* What is a gap depends on how long a launch takes. */
static int find_typical_lags(const struct replay_building *build)
{
    size_t count = build->replay->events.work_count;
    uint32_t *group = array_alloc(count + 1, sizeof *group);
    int64_t *lag = array_alloc(count + 1, sizeof *lag);
    int code = ERR_NO_MEMORY;

    if (!group || !lag || (code = find_typical_lag(build, TYPICAL_LAUNCH, group, lag)) != 0)
        goto done;
    code = find_typical_lag(build, TYPICAL_GAP, group, lag);
done:
    free(group);
    free(lag);
    return code;
}

/* ---- what work waits for --------------------------------------------------------------------------------------- */

/* Adds a cause unless it came later than the work. */
static void replay_build_add_cause(struct causes *causes, const struct replay_work *work,
                                   struct replay_build_cause cause)
{
    if (cause.time_ns <= work->start_ns)
        causes->list[causes->count++] = cause;
}

static void replay_build_add_launch(const struct replay *replay, struct causes *causes, const struct replay_work *work,
                                    int table)
{
    if (work->call != NO_CALL)
        replay_build_add_cause(causes, work,
                               (struct replay_build_cause){ replay_call_start(work->call),
                                                            replay->events.calls[work->call].start_ns,
                                                            replay->typical_ns[TYPICAL_LAUNCH][table], REPLAY_LAUNCH });
}

static void replay_build_add_end(const struct replay *replay, struct causes *causes, const struct replay_work *work,
                                 uint32_t before, int64_t gap_ns, enum replay_kind kind)
{
    replay_build_add_cause(causes, work,
                           (struct replay_build_cause){ replay_work_end(replay, before),
                                                        replay->events.works[before].end_ns, gap_ns, kind });
}

/* Work of a stream runs in order. Nodes of a graph, and kernels that may start early, overlap the work before them:
 * they start after its start, and after the last of the others to end. Those that ran beside that one were waited for
 * as well, and count once it is shorter. */
static void replay_build_add_stream(const struct replay_building *build, struct causes *causes, uint32_t at,
                                    int64_t gap_ns)
{
    const struct replay *replay = build->replay;
    const struct replay_work *works = replay->events.works, *work = &works[at];
    uint32_t previous = build->previous[at];

    if (at && works[at - 1].stream == work->stream && works[at - 1].end_ns > work->start_ns)
        replay_build_add_cause(causes, work,
                               (struct replay_build_cause){ replay_work_start(replay, at - 1), works[at - 1].start_ns,
                                                            0, REPLAY_STREAM });
    if (previous == NO_WORK)
        return;
    replay_build_add_end(replay, causes, work, previous, gap_ns, REPLAY_STREAM);
    for (uint32_t i = 1; i <= MOST_BRANCHES && at - i > previous; i++)
        replay_build_add_end(replay, causes, work, at - i, gap_ns, REPLAY_STREAM);
}

/* A copy starts after the one before it on the same engine, whatever its stream. */
static void add_engine(const struct replay_building *build, struct causes *causes, uint32_t at, int64_t gap_ns)
{
    const struct replay_work *works = build->replay->events.works;
    uint32_t before = build->engine ? build->engine[at] : NO_WORK;

    if (before != NO_WORK && works[before].stream != works[at].stream)
        replay_build_add_end(build->replay, causes, &works[at], before, gap_ns, REPLAY_EVENT);
}

/* Keeps the events that happened last, if there are many. */
static void replay_build_add_events(const struct replay *replay, struct causes *causes, const struct replay_work *work,
                                    int64_t gap_ns)
{
    const struct replay_link *links = replay->events.links;
    int first = causes->count;

    for (uint32_t link = work->events; link != NO_LINK; link = links[link].next) {
        replay_build_add_end(replay, causes, work, links[link].work, gap_ns, REPLAY_EVENT);
        if (causes->count - first <= MOST_EVENTS)
            continue;
        int earliest = first;
        for (int i = first + 1; i < causes->count; i++)
            earliest = causes->list[i].time_ns < causes->list[earliest].time_ns ? i : earliest;
        causes->list[earliest] = causes->list[--causes->count];
    }
}

/* The cause that came last, with its typical lag; NULL: there is none. */
static const struct replay_build_cause *last_cause(const struct causes *causes)
{
    const struct replay_build_cause *last = NULL;

    for (int i = 0; i < causes->count; i++) {
        const struct replay_build_cause *cause = &causes->list[i];
        if (!last ||
            saturating_add(cause->time_ns, cause->typical_ns) > saturating_add(last->time_ns, last->typical_ns))
            last = cause;
    }
    return last;
}

/* Whether two works of a GPU compete for it: each has enough blocks for all of it. */
static int compete(const struct replay_events *events, const struct replay_work *a, const struct replay_work *b)
{
    return a->stream != b->stream && replay_fills_device(events, a) && replay_fills_device(events, b);
}

/* Work that fills the device starts after other such work, also where that was not in its way: a replay must not
 * promise that both run at the same time. Work that started late, right after any other work, waited for that: on the
 * default stream, or in a graph. */
static void add_ended(const struct replay_building *build, struct causes *causes, const struct replay_work *work,
                      size_t ended, int64_t gap_ns, int is_late)
{
    const struct replay_events *events = &build->replay->events;
    size_t first = build->first_of[events->gpu_of[work->stream]];

    if (!is_late && !replay_fills_device(events, work))
        return;
    for (size_t i = ended; i > first && ended - i < LOOK_BACK; i--) {
        uint32_t at = build->by_end[i - 1];
        const struct replay_work *other = &events->works[at];
        int is_close = saturating_duration(other->end_ns, work->start_ns) <= CLOSE_NS;
        if (other->stream != work->stream && ((is_late && is_close) || compete(events, work, other))) {
            replay_build_add_end(build->replay, causes, work, at, gap_ns, REPLAY_EVENT);
            return;
        }
    }
}

/* Work that started late, while other work filled the device, started when the last blocks of that were running. */
static void replay_build_add_running(const struct replay_building *build, struct causes *causes,
                                     const struct replay_work *work, size_t ended)
{
    const struct replay_events *events = &build->replay->events;
    size_t end = build->first_of[events->gpu_of[work->stream] + 1];

    for (size_t i = ended; i < end && i - ended < LOOK_BACK; i++) {
        uint32_t at = build->by_end[i];
        const struct replay_work *other = &events->works[at];
        if (other->start_ns < work->start_ns && compete(events, work, other)) {
            replay_build_add_cause(causes, work,
                                   (struct replay_build_cause){ replay_work_start(build->replay, at), other->start_ns,
                                                                saturating_duration(other->start_ns, work->start_ns),
                                                                REPLAY_DEVICE });
            return;
        }
    }
}

/* On a GPU with several streams. */
static void replay_build_add_others(const struct replay_building *build, struct causes *causes, uint32_t at,
                                    int64_t gap_ns)
{
    const struct replay_events *events = &build->replay->events;
    const struct replay_work *work = &events->works[at];
    const struct replay_build_cause *last = last_cause(causes);
    int is_late = last &&
                  saturating_duration(saturating_add(last->time_ns, last->typical_ns), work->start_ns) > LATE_NS;
    size_t ended = build->ended[at], end = build->first_of[events->gpu_of[work->stream] + 1];

    while (ended < end && events->works[build->by_end[ended]].end_ns <= work->start_ns) /* at the same time */
        ended++;
    add_ended(build, causes, work, ended, gap_ns, is_late);
    if (is_late)
        replay_build_add_running(build, causes, work, ended);
}

static void replay_build_find_causes(const struct replay_building *build, uint32_t at, struct causes *causes)
{
    const struct replay *replay = build->replay;
    const struct replay_work *work = &replay->events.works[at];
    int table = replay_table_of(&replay->events, work->at);
    int64_t gap_ns = replay->typical_ns[TYPICAL_GAP][table];

    causes->count = 0;
    replay_build_add_launch(replay, causes, work, table);
    replay_build_add_stream(build, causes, at, gap_ns);
    replay_build_add_events(replay, causes, work, gap_ns);
    add_engine(build, causes, at, gap_ns);
    if (replay->events.streams_of[replay->events.gpu_of[work->stream]] > 1)
        replay_build_add_others(build, causes, at, gap_ns);
}

/* ---- edges ----------------------------------------------------------------------------------------------------- */

_Static_assert((int)MOST_CAUSES <= (int)REPLAY_MOST_EDGES, "all causes of work are edges");

/* The last cause has the lag that was measured, so that an unchanged replay is exact. The others have the typical one,
 * so that they count once the last one comes earlier. */
static size_t edges_to_work_start(const struct replay_building *build, uint32_t at, struct replay_edge *out)
{
    const struct replay_work *work = &build->replay->events.works[at];
    struct causes causes;

    replay_build_find_causes(build, at, &causes);
    const struct replay_build_cause *last = last_cause(&causes);
    for (int i = 0; i < causes.count; i++) {
        const struct replay_build_cause *cause = &causes.list[i];
        int64_t lag = saturating_duration(cause->time_ns, work->start_ns);
        lag = cause != last && cause->typical_ns < lag ? cause->typical_ns : lag;
        out[i] = (struct replay_edge){ cause->from, cause->kind, lag };
    }
    return (size_t)causes.count;
}

static size_t edges_to_work_end(const struct replay_building *build, uint32_t at, struct replay_edge *out)
{
    const struct replay_work *work = &build->replay->events.works[at];

    out[0] = (struct replay_edge){ replay_work_start(build->replay, at), REPLAY_RUN,
                                   saturating_duration(work->start_ns, work->end_ns) };
    return 1;
}

static size_t edges_to_call_start(const struct replay_building *build, uint32_t at, struct replay_edge *out)
{
    const struct replay_events *events = &build->replay->events;
    const struct replay_call *call = &events->calls[at];
    const struct replay_handover *handover = call->handover == NO_HANDOVER ? NULL : &events->handovers[call->handover];
    size_t count = 0;

    if (at > events->threads[call->thread].first)
        out[count++] = (struct replay_edge){ replay_call_end(at - 1), REPLAY_HOST,
                                             handover ? handover->own_ns
                                                      : saturating_duration(call[-1].end_ns, call->start_ns) };
    if (handover)
        out[count++] = (struct replay_edge){ replay_call_end(handover->after), REPLAY_HANDOVER,
                                             saturating_duration(events->calls[handover->after].end_ns,
                                                                 call->start_ns) };
    return count;
}

/* The edge from the work that a call waits for. A call that waited for a copy that ended after it waited since the
 * start of the copy (replay_waits.c). */
static struct replay_edge edge_of_wait(const struct replay *replay, const struct replay_call *call)
{
    const struct replay_work *work = &replay->events.works[call->waits_for];
    int has_ended = work->end_ns <= call->end_ns;
    int64_t lag = saturating_duration(has_ended ? work->end_ns : work->start_ns, call->end_ns),
            most = call->wait == REPLAY_READY ? replay->events.return_ns : INT64_MAX;
    uint32_t from = has_ended ? replay_work_end(replay, call->waits_for) : replay_work_start(replay, call->waits_for);

    return (struct replay_edge){ from, call->wait == REPLAY_QUEUED ? REPLAY_QUEUE : REPLAY_WAIT,
                                 lag < most ? lag : most };
}

/* The time that a call takes apart from its wait. A cudaFree() or a copy still does its work after the wait. */
static int64_t own_time(const struct replay_events *events, const struct replay_call *call)
{
    int64_t took = saturating_duration(call->start_ns, call->end_ns), own = events->call_ns[call->name];

    if (call->wait != REPLAY_WAITED && call->wait != REPLAY_QUEUED)
        return took;
    if (call->wait == REPLAY_WAITED && events->has_work[call->name]) {
        int64_t after = saturating_subtract(saturating_duration(events->works[call->waits_for].end_ns, call->end_ns),
                                            events->return_ns);
        own = after > own ? after : own;
    }
    return own < took ? own : took;
}

static size_t edges_to_call_end(const struct replay_building *build, uint32_t at, struct replay_edge *out)
{
    const struct replay_events *events = &build->replay->events;
    const struct replay_call *call = &events->calls[at];

    out[0] = (struct replay_edge){ replay_call_start(at), REPLAY_CALL, own_time(events, call) };
    if (call->wait == REPLAY_NO_WAIT)
        return 1;
    out[1] = edge_of_wait(build->replay, call);
    return 2;
}

static size_t edges_to(const void *context, uint32_t point, struct replay_edge *out)
{
    const struct replay_building *build = context;
    int is_end = point % 2;

    if (point < 2 * build->replay->events.call_count)
        return (is_end ? edges_to_call_end : edges_to_call_start)(build, replay_call_of(point), out);
    return (is_end ? edges_to_work_end : edges_to_work_start)(build, replay_work_of(build->replay, point), out);
}

/* ---- the graph ------------------------------------------------------------------------------------------------- */

static int replay_build_set_times(struct replay *replay)
{
    const struct replay_events *events = &replay->events;

    if (replay_graph_open(&replay->graph, 2 * ((size_t)events->call_count + events->work_count)) != 0)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < events->call_count; i++) {
        replay->graph.measured[replay_call_start(i)] = events->calls[i].start_ns;
        replay->graph.measured[replay_call_end(i)] = events->calls[i].end_ns;
    }
    for (uint32_t i = 0; i < events->work_count; i++) {
        replay->graph.measured[replay_work_start(replay, i)] = events->works[i].start_ns;
        replay->graph.measured[replay_work_end(replay, i)] = events->works[i].end_ns;
    }
    return 0;
}

/* The first place of each GPU in the list of works by end, one place further than it belongs. */
static void count_by_gpu(struct replay_building *build)
{
    const struct replay_events *events = &build->replay->events;

    for (uint32_t i = 0; i < events->work_count; i++)
        build->first_of[events->gpu_of[events->works[i].stream] + 2]++;
    for (size_t gpu = 0; gpu < events->gpus.count; gpu++)
        build->first_of[gpu + 2] += build->first_of[gpu + 1];
}

/* Lists works by end: points are sorted by time already. */
static int list_by_end(struct replay_building *build)
{
    const struct replay *replay = build->replay;
    const struct replay_events *events = &replay->events;

    if (!events->has_shared_gpu)
        return 0;
    build->by_end = array_alloc(events->work_count + 1u, sizeof *build->by_end);
    build->ended = array_alloc(events->work_count + 1u, sizeof *build->ended);
    build->first_of = calloc(events->gpus.count + 2, sizeof *build->first_of);
    if (!build->by_end || !build->ended || !build->first_of)
        return ERR_NO_MEMORY;
    count_by_gpu(build);
    for (size_t i = 0; i < replay->graph.points; i++) {
        uint32_t point = replay->graph.point[i], work = replay_work_of(replay, point);
        if (point < replay_work_start(replay, 0))
            continue;
        uint32_t *next = &build->first_of[events->gpu_of[events->works[work].stream] + 1];
        if (point == replay_work_end(replay, work))
            build->by_end[(*next)++] = work;
        else
            build->ended[work] = *next;
    }
    return 0;
}

/* Edges need two things that do not depend on each other: the works before each, and the order of the points. */
static void replay_build_prepare(void *argument, int worker, size_t i)
{
    struct replay_building *build = argument;
    struct replay *replay = build->replay;

    if (i)
        build->code[i] = find_previous(build) == 0 && find_typical_lags(build) == 0
                             ? replay_engines_find(&replay->events, &build->engine)
                             : ERR_NO_MEMORY;
    else
        build->code[i] = replay_build_set_times(replay) == 0 && replay_graph_sort(&replay->graph) == 0
                             ? list_by_end(build)
                             : ERR_NO_MEMORY;
}

static int make_graph(struct replay_building *build, const struct report *report)
{
    struct replay *replay = build->replay;

    report_parallel_for(report, 2, replay_build_prepare, build);
    if (build->code[0] != 0 || build->code[1] != 0)
        return ERR_NO_MEMORY;
    return replay_graph_arrange(&replay->graph, report, edges_to, build);
}

static int build_graph(struct replay *replay, const struct report *report)
{
    struct replay_building build = { .replay = replay };
    int code = make_graph(&build, report);

    free(build.previous);
    free(build.engine);
    free(build.by_end);
    free(build.first_of);
    free(build.ended);
    return code;
}

int replay_build(struct replay *replay, const struct report *report, struct error *err)
{
    if (build_graph(replay, report) == 0)
        return 0;
    replay_free(replay);
    return error_short_memory(err, "to replay the report");
}

void replay_free(struct replay *replay)
{
    replay_events_free(&replay->events);
    replay_graph_free(&replay->graph);
    free(replay->times);
    free(replay->step_of);
    *replay = (struct replay){ 0 };
}
