/* Copies to GPUs and the code around them: see advice_copies.h. */
#include "advice_copies.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"

/* ---- operators ------------------------------------------------------------------------------------------------- */

/* The outermost operator around a moment that copies, or NULL. */
static const struct thread_span *copy_operator(const struct advice_operators *operators)
{
    static const char *const names[] = { "aten::to", "aten::_to_copy", "aten::copy_", NULL };

    for (size_t i = 0; i < operators->depth; i++)
        if (text_begins_with_one(report_string(operators->report, operators->open[i]->name, NULL), names))
            return operators->open[i];
    return NULL;
}

static int is_maker(struct report *report, const struct thread_span *span)
{
    static const char *const makers[] = { "aten::zero",  "aten::one",      "aten::full",        "aten::arange",
                                          "aten::range", "aten::linspace", "aten::logspace",    "aten::eye",
                                          "aten::rand",  "aten::normal",   "aten::uniform_",    "aten::bernoulli",
                                          "aten::fill_", "aten::tril_",    "aten::triu_",       "aten::scalar_tensor",
                                          "aten::new_",  "aten::poisson",  "aten::exponential", NULL };

    return text_begins_with_one(report_string(report, span->name, NULL), makers);
}

/* The start of the operator that made a tensor since the last CUDA call, right before the operator that copies it; else
 * the start of that one. */
static int64_t made_at(const struct advice_operators *operators, const struct thread_span *copy, int64_t since_ns)
{
    enum { LOOK_BACK = 32, NEAR_NS = 100000 };
    const struct thread_span *first = operators->spans.list, *span = copy;
    int64_t made_ns = copy->start_ns, next_ns = copy->start_ns;

    for (int i = 0; i < LOOK_BACK && span > first; i++) {
        span--;
        if (span->thread != copy->thread || span->start_ns < since_ns)
            break;
        if (span->end_ns > copy->start_ns || !is_maker(operators->report, span))
            continue;
        if (made_ns == copy->start_ns && saturating_duration(span->end_ns, next_ns) > NEAR_NS)
            break;
        made_ns = span->start_ns;
    }
    return made_ns;
}

/* Whether a tensor was split since the last CUDA call before the operator that makes the first copy of a run, in as
 * many parts, each of which is a view of its own. The parts lie one after the other in memory. */
static int is_split_before(const struct advice_operators *operators, const struct thread_span *copy, int64_t since_ns,
                           uint32_t run)
{
    enum { LOOK_BACK = 4096 };
    static const char *const splits[] = {
        "aten::unbind",       "aten::split",        "aten::chunk", "aten::tensor_split",
        "aten::unsafe_split", "aten::unsafe_chunk", NULL
    };
    const struct thread_span *first = operators->spans.list;
    uint32_t views = 0;

    for (int i = 1; i <= LOOK_BACK && copy - i >= first; i++) {
        const struct thread_span *span = copy - i;
        const char *name = report_string(operators->report, span->name, NULL);
        if (span->thread != copy->thread || span->start_ns < since_ns)
            return 0;
        views += strcmp(name, "aten::as_strided") == 0;
        if (text_begins_with_one(name, splits))
            return views >= run;
    }
    return 0;
}

int advice_waits_for_copy(const struct replay_events *events, const struct advice_operators *operators, uint32_t at)
{
    const struct replay_call *call = &events->calls[at];
    const struct replay_work *work = call->waits_for == NO_WORK ? NULL : &events->works[call->waits_for];

    return work && replay_engine_of(events, work) == REPLAY_TO_GPU &&
           (work->call == at || copy_operator(operators) != NULL);
}

/* ---- copies ---------------------------------------------------------------------------------------------------- */

static int advice_copies_by_call(const void *a, const void *b)
{
    const struct advice_copy *x = a, *y = b;

    return (x->call > y->call) - (x->call < y->call);
}

static int list_copies(struct advice_copies *copies, struct adviser *adviser, const struct report_columns *bytes)
{
    const struct replay_events *events = &adviser->replay.events;

    for (uint32_t i = 0; i < events->work_count; i++) {
        const struct replay_work *work = &events->works[i];
        if (work->call == NO_CALL || replay_engine_of(events, work) != REPLAY_TO_GPU ||
            !adviser_changes(adviser, &events->calls[work->call]))
            continue;
        if (ARRAY_PUSH(copies->list, copies->room, copies->count,
                       (struct advice_copy){
                           .work = i, .call = work->call, .bytes = advice_bytes_of(events, bytes, work) }) != 0)
            return ERR_NO_MEMORY;
    }
    if (copies->count)
        qsort(copies->list, copies->count, sizeof *copies->list, advice_copies_by_call);
    return 0;
}

/* made_by: by copy, the operator around it, or NULL. */
static int advice_copies_find_operators(struct advice_copies *copies, const struct replay_events *events,
                                        struct advice_operators *operators, const struct thread_span **made_by)
{
    for (size_t i = 0; i < copies->count; i++) {
        struct advice_copy *copy = &copies->list[i];
        const struct replay_call *call = &events->calls[copy->call];
        const struct replay_thread *thread = &events->threads[call->thread];
        if (advice_operators_at(operators, thread->id, call->start_ns) != 0)
            return ERR_NO_MEMORY;
        const struct thread_span *operator= copy_operator(operators);
        made_by[i] = operator;
        copy->from_ns = operator? operator->start_ns : call->start_ns;
        copy->to_ns = operator  ? operator->end_ns : call->end_ns;
        copy->made_ns = operator? made_at(operators, operator, copy->call> thread->first ? call[-1].end_ns : INT64_MIN)
                                : copy->from_ns;
    }
    return 0;
}

/* By call: whether it launched work. */
static uint8_t *launching_calls(const struct replay_events *events)
{
    uint8_t *launches = calloc(events->call_count + 1u, 1);

    for (uint32_t i = 0; launches && i < events->work_count; i++)
        if (events->works[i].call != NO_CALL)
            launches[events->works[i].call] = 1;
    return launches;
}

/* A run ends where other work is launched, with its thread, and with its step. */
static int is_same_run(const struct adviser *adviser, const struct advice_copy *last, const struct advice_copy *copy,
                       const uint8_t *launches)
{
    const struct replay_call *calls = adviser->replay.events.calls;

    if (calls[last->call].thread != calls[copy->call].thread ||
        adviser_step(adviser, &calls[last->call]) != adviser_step(adviser, &calls[copy->call]))
        return 0;
    for (uint32_t call = last->call + 1; call < copy->call; call++)
        if (launches[call])
            return 0;
    return 1;
}

static int find_runs(struct advice_copies *copies, const struct adviser *adviser)
{
    uint8_t *launches = launching_calls(&adviser->replay.events);
    struct advice_copy *list = copies->list;
    uint32_t first = 0;

    if (!launches)
        return ERR_NO_MEMORY;
    for (uint32_t i = 0; i < copies->count; i++) {
        if (i && !is_same_run(adviser, &list[i - 1], &list[i], launches))
            first = i;
        list[i].first = first;
        list[first].run++;
    }
    for (uint32_t i = 0; i < copies->count; i++)
        list[i].run = list[list[i].first].run;
    free(launches);
    return 0;
}

static void find_parts(struct advice_copies *copies, const struct replay_events *events,
                       const struct advice_operators *operators, const struct thread_span **made_by)
{
    struct advice_copy *list = copies->list;

    for (uint32_t i = 0; i < copies->count; i++) {
        const struct replay_call *call = &events->calls[list[i].call];
        int64_t since_ns = list[i].call > events->threads[call->thread].first ? call[-1].end_ns : INT64_MIN;
        list[i].is_part = list[i].first != i ? list[list[i].first].is_part
                                             : made_by[i] && list[i].run > 1 &&
                                                   is_split_before(operators, made_by[i], since_ns, list[i].run);
    }
}

static int describe_copies(struct advice_copies *copies, const struct adviser *adviser,
                           struct advice_operators *operators)
{
    const struct thread_span **made_by = array_alloc(copies->count + 1, sizeof *made_by);
    const struct replay_events *events = &adviser->replay.events;
    int code = ERR_NO_MEMORY;

    if (!made_by)
        return ERR_NO_MEMORY;
    if (advice_copies_find_operators(copies, events, operators, made_by) != 0 || find_runs(copies, adviser) != 0)
        goto free_made_by;
    find_parts(copies, events, operators, made_by);
    code = 0;
free_made_by:
    free(made_by);
    return code;
}

int advice_copies_read(struct advice_copies *copies, struct adviser *adviser, struct error *err)
{
    struct advice_operators operators = { 0 };
    struct report_columns bytes = { 0 };
    int code;

    *copies = (struct advice_copies){ 0 };
    if ((code = advice_operators_open(&operators, adviser->report, err)) != 0 ||
        (code = advice_copy_bytes(adviser, &bytes, err)) != 0)
        goto done;
    if (list_copies(copies, adviser, &bytes) != 0 || describe_copies(copies, adviser, &operators) != 0)
        code = error_short_memory(err, "for the copies");
done:
    report_columns_free(&bytes);
    advice_operators_free(&operators);
    return code;
}

void advice_copies_free(struct advice_copies *copies)
{
    free(copies->list);
    *copies = (struct advice_copies){ 0 };
}

int advice_copy_bytes(struct adviser *adviser, struct report_columns *out, struct error *err)
{
    static const char *const columns[] = { "bytes" };

    return columns_read(adviser->report, "CUPTI_ACTIVITY_KIND_MEMCPY", columns, 1, out, err);
}

/* ---- rates ----------------------------------------------------------------------------------------------------- */

/* The rate that copies of pinned memory reach on the bus that GPUs of a compute capability have in servers. */
static const struct bus {
    int64_t compute_major; /* and later */
    double bytes_ns;
    const char *name;
} buses[] = {
    { 10, 55, "PCIe 5" },
    { 9, 55, "PCIe 5" },
    { 8, 25, "PCIe 4" },
    { 0, 12, "PCIe 3" },
};

static int bus_rate(struct adviser *adviser, struct advice_copy_rate *out, struct error *err)
{
    static const char *const names[] = { "computeMajor", NULL };
    const struct bus *bus = buses;
    struct row_cursor rows;
    int64_t major = 0;
    int code = row_cursor_open(&rows, adviser->report, "TARGET_INFO_GPU", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        major = row_int_or(&rows, 0, 0) > major ? row_int_or(&rows, 0, 0) : major;
    row_cursor_close(&rows);
    while (bus->compute_major > major)
        bus++;
    *out = (struct advice_copy_rate){ bus->bytes_ns, bus->name };
    return 0;
}

int advice_pinned_rate(struct adviser *adviser, const struct report_columns *bytes, enum replay_engine engine,
                       struct advice_copy_rate *out, struct error *err)
{
    enum { LEAST_BYTES = 1 << 20 }; /* the start of a copy takes a few µs */
    const struct replay_events *events = &adviser->replay.events;
    double sum = 0, ns = 0;

    for (uint32_t i = 0; i < events->work_count; i++) {
        const struct replay_work *work = &events->works[i];
        if (replay_engine_of(events, work) != engine || replay_memory_of(events, work) != REPLAY_HOST_MEMORY ||
            advice_bytes_of(events, bytes, work) < LEAST_BYTES)
            continue;
        sum += (double)advice_bytes_of(events, bytes, work);
        ns += (double)saturating_duration(work->start_ns, work->end_ns);
    }
    if (ns <= 0)
        return bus_rate(adviser, out, err);
    *out = (struct advice_copy_rate){ sum / ns, "measured" };
    return 0;
}

void advice_rate_text(struct text *out, const struct advice_copy_rate *rate)
{
    text_addf(out, "pinned memory %.0f GB/s (%s)", rate->bytes_ns, rate->source);
}

/* ---- edits ----------------------------------------------------------------------------------------------------- */

int advice_shorten_copy(const struct replay *replay, struct replay_edits *edits, uint32_t work, int64_t run_ns)
{
    uint32_t edge = replay_edge_to(replay, replay_work_end(replay, work), REPLAY_RUN);

    return edge == REPLAY_NO_EDGE || replay->graph.lag[edge] <= run_ns
               ? 0
               : replay_edit_cut(edits, edge, saturating_subtract(replay->graph.lag[edge], run_ns));
}

int advice_remove_copy(const struct replay *replay, struct replay_edits *edits, uint32_t work)
{
    uint32_t gap = replay_edge_to(replay, replay_work_start(replay, work), REPLAY_STREAM);

    if (advice_shorten_copy(replay, edits, work, 0) != 0)
        return ERR_NO_MEMORY;
    return gap == REPLAY_NO_EDGE ? 0 : replay_edit_cut(edits, gap, replay->graph.lag[gap]);
}
