/* The causes of what threads do on their way to a launch: see gap_causes.h. */
#include "gap_causes.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/advice/advice_operators.h"
#include "analyze/advice/sampled_compilations.h"
#include "analyze/replay/call_uses.h"
#include "base/array.h"

const char *const gap_cause_names[GAP_CAUSES] = {
    [GAP_LAUNCH] = "launch-bound",
    [GAP_PYTHON] = "Python between launches",
    [GAP_NATIVE] = "CPU code between launches",
    [GAP_WAIT] = "wait for results",
    [GAP_LOADING] = "data loading",
    [GAP_COPY] = "copy calls",
    [GAP_ALLOCATION] = "memory allocation",
    [GAP_CODE] = "code loading",
    [GAP_GC] = "garbage collection",
    [GAP_COMPILE] = "compilation",
    [GAP_GIL] = "GIL held by another thread",
    [GAP_BLOCKED] = "thread blocked",
    [GAP_PREEMPTED] = "preempted",
    [GAP_LATENCY] = "launch latency",
    [GAP_PROFILER] = "profiler overhead",
    [GAP_UNKNOWN] = "unknown",
};

/* As in the rules python_between and launch_bound: shorter code is the way from one launch to the next, and longer code
 * is not, whichever thread runs it. */
enum { SHORT_NS = 100000, LONG_NS = 2000000 };

/* ---- calls ----------------------------------------------------------------------------------------------------- */

static const enum gap_cause causes_of_uses[CALL_USES] = {
    [USE_MEMORY] = GAP_ALLOCATION, [USE_COPY] = GAP_COPY,    [USE_CODE] = GAP_CODE,
    [USE_WAIT] = GAP_WAIT,         [USE_OTHER] = GAP_LAUNCH,
};

static int has_waited(const struct replay_call *call)
{
    return call->wait == REPLAY_WAITED && call->waits_for != NO_WORK;
}

/* The cause of time in a call. A copy may be waited for. The first launch of a kernel may load it. */
static enum gap_cause cause_of_call(const struct gap_causes *causes, const struct replay_call *call,
                                    const struct gap *gap)
{
    enum gap_cause cause = (enum gap_cause)causes->call_causes[call->name];

    if (cause == GAP_LAUNCH && saturating_duration(call->start_ns, call->end_ns) > LONG_NS)
        return GAP_CODE;
    if (cause != GAP_COPY || !has_waited(call))
        return cause;
    return causes->events->works[call->waits_for].end_ns <= gap->start_ns ? GAP_WAIT : cause;
}

/* ---- pieces ---------------------------------------------------------------------------------------------------- */

/* A gap while its pieces are visited. */
struct explanation {
    struct gap_causes *causes;
    const struct gap *gap;
    gap_visit *visit;
    void *context;
    const struct gap_link *link;     /* the pieces are of this one */
    enum gap_cause cause;            /* of the pieces that a place is looked for */
    int64_t waited_until, caught_up; /* without the wait that drained the queue, the thread were further */
    enum gap_cause wait_cause;
    uint32_t wait_place;
    int has_launch;
};

static int visit_piece(const struct explanation *of, enum gap_cause cause, uint32_t place, int64_t from, int64_t to)
{
    const struct gap_piece piece = { cause, place, of->link->thread, from, to };

    return from < to ? of->visit(of->context, &piece) : 0;
}

/* Cuts a piece to the gap, and charges the wait for the time that it delayed. */
static int gap_causes_add(const struct explanation *of, enum gap_cause cause, uint32_t place, int64_t from, int64_t to)
{
    int64_t start = from > of->gap->start_ns ? from : of->gap->start_ns,
            end = to < of->gap->end_ns ? to : of->gap->end_ns;
    int code;

    if (start >= end)
        return 0;
    int64_t first = start > of->waited_until ? start : of->waited_until,
            last = end < of->caught_up ? end : of->caught_up;
    if (first >= last || cause == GAP_PROFILER)
        return visit_piece(of, cause, place, start, end);
    if ((code = visit_piece(of, cause, place, start, first)) != 0 ||
        (code = visit_piece(of, of->wait_cause, of->wait_place, first, last)) != 0)
        return code;
    return visit_piece(of, cause, place, last, end);
}

static uint32_t line_at(const struct explanation *of, int64_t from, int64_t to)
{
    struct places *places = of->causes->places;

    return places_line(places, places_at(places, of->link->thread, from, to));
}

/* ---- time between calls ---------------------------------------------------------------------------------------- */

static int gap_causes_add_place(void *context, uint32_t place, int64_t from, int64_t to)
{
    const struct explanation *of = context;

    return gap_causes_add(of, of->cause, places_line(of->causes->places, place), from, to);
}

/* Time of one cause, by line. Only the part in the gap is looked at. */
static int add_by_line(struct explanation *of, enum gap_cause cause, int64_t from, int64_t to)
{
    from = from > of->gap->start_ns ? from : of->gap->start_ns;
    to = to < of->gap->end_ns ? to : of->gap->end_ns;
    of->cause = cause;
    return from < to ? places_each(of->causes->places, of->link->thread, from, to, gap_causes_add_place, of) : 0;
}

/* Code between two calls that is neither in an operator nor anything else that is known. The rule python_between says
 * the same of it: code of PyTorch itself is the way from one launch to the next. */
static int gap_causes_add_code(void *context, uint32_t number, int64_t from, int64_t to)
{
    struct explanation *of = context;
    const struct places *places = of->causes->places;
    enum gap_cause cause = of->has_launch ? GAP_NATIVE : GAP_UNKNOWN;

    if (number != NO_PLACE) {
        struct place place = places_get(places, number);
        int is_way = place.act != NO_PLACE_TEXT && place.act_owner == PYTHON_LIBRARY &&
                     saturating_duration(from, to) <= LONG_NS;
        cause = is_way ? GAP_LAUNCH : place.kind == PLACE_PYTHON ? GAP_PYTHON : GAP_NATIVE;
    }
    return gap_causes_add(of, cause, places_line(places, number), from, to);
}

static int gap_causes_add_rest(struct explanation *of, int64_t from, int64_t to)
{
    if (of->has_launch && saturating_duration(from, to) < SHORT_NS)
        return add_by_line(of, GAP_LAUNCH, from, to);
    from = from > of->gap->start_ns ? from : of->gap->start_ns;
    to = to < of->gap->end_ns ? to : of->gap->end_ns;
    return from < to ? places_each(of->causes->places, of->link->thread, from, to, gap_causes_add_code, of) : 0;
}

static enum gap_cause cause_of_span(enum gap_layer layer, const struct thread_span *span)
{
    static const enum gap_cause layers[GAP_LAYERS] = {
        [LAYER_PROFILER] = GAP_PROFILER, [LAYER_GC] = GAP_GC,           [LAYER_COMPILE] = GAP_COMPILE,
        [LAYER_CODE] = GAP_CODE,         [LAYER_LOADER] = GAP_LOADING,  [LAYER_GIL] = GAP_GIL,
        [LAYER_OS] = GAP_BLOCKED,        [LAYER_OFF_CPU] = GAP_BLOCKED, [LAYER_OPERATOR] = GAP_LAUNCH,
    };

    return layer == LAYER_OFF_CPU && span->name == OFF_CPU_PREEMPTED ? GAP_PREEMPTED : layers[layer];
}

/* At the line of the thread that holds the GIL, or of the thread itself. */
static int gap_causes_add_span(struct explanation *of, enum gap_layer layer, const struct thread_span *span,
                               int64_t from, int64_t to)
{
    struct places *places = of->causes->places;
    enum gap_cause cause = cause_of_span(layer, span);

    if (cause == GAP_LAUNCH && saturating_duration(from, to) > LONG_NS)
        cause = GAP_NATIVE; /* the operator computes on the CPU */
    if (layer != LAYER_GIL)
        return add_by_line(of, cause, from, to);
    return gap_causes_add(of, cause, places_line(places, places_at(places, span->other, from, to)), from, to);
}

/* The first layer that covers a moment explains it; what none covers is the rest. */
static int add_between(struct explanation *of, int layer, int64_t from, int64_t to)
{
    int code;

    if (from >= to || from >= of->gap->end_ns || to <= of->gap->start_ns)
        return 0;
    if (layer == GAP_LAYERS)
        return gap_causes_add_rest(of, from, to);
    const struct thread_spans *spans = &of->causes->layers[layer];
    size_t behind, i = thread_spans_from(spans, of->link->thread, from, &behind);
    for (; i < behind && spans->list[i].start_ns < to && from < to; i++) {
        const struct thread_span *span = &spans->list[i];
        int64_t start = span->start_ns > from ? span->start_ns : from, end = span->end_ns < to ? span->end_ns : to;
        if ((code = add_between(of, layer + 1, from, start)) != 0 ||
            (code = gap_causes_add_span(of, (enum gap_layer)layer, span, start, end)) != 0)
            return code;
        from = end;
    }
    return add_between(of, layer + 1, from, to);
}

/* ---- gaps ------------------------------------------------------------------------------------------------------ */

/* The profiler's part of a call is its own. */
static int gap_causes_add_call(struct explanation *of, int64_t from, int64_t to)
{
    const struct replay_call *call = &of->causes->events->calls[of->link->call];
    const struct thread_spans *spans = &of->causes->layers[LAYER_PROFILER];
    enum gap_cause cause = cause_of_call(of->causes, call, of->gap);
    uint32_t place = line_at(of, call->start_ns, call->end_ns);
    size_t behind, i = thread_spans_from(spans, of->link->thread, from, &behind);
    int code;

    for (; i < behind && spans->list[i].start_ns < to && from < to; i++) {
        int64_t start = spans->list[i].start_ns > from ? spans->list[i].start_ns : from,
                end = spans->list[i].end_ns < to ? spans->list[i].end_ns : to;
        if ((code = gap_causes_add(of, cause, place, from, start)) != 0 ||
            (code = gap_causes_add(of, GAP_PROFILER, place, start, end)) != 0)
            return code;
        from = end;
    }
    return gap_causes_add(of, cause, place, from, to);
}

/* A wait in which the GPU ran dry kept the thread from launching for as long as it lasted. So much of the time after it
 * is due to the wait, and not to the code on the way to the next launch. */
static void gap_causes_find_wait(struct explanation *of, int64_t launched_ns)
{
    const struct replay_events *events = of->causes->events;
    const struct gap_link *first = &of->causes->links[of->causes->link_count - 1];
    const struct replay_call *call = first->call == NO_CALL ? NULL : &events->calls[first->call];

    if (!call || !has_waited(call) || call->end_ns > launched_ns || call->end_ns <= of->gap->start_ns)
        return;
    of->link = first;
    of->waited_until = call->end_ns;
    of->caught_up = saturating_add(call->end_ns, saturating_duration(call->start_ns, call->end_ns));
    of->caught_up = of->caught_up < launched_ns ? of->caught_up : launched_ns;
    of->wait_cause = cause_of_call(of->causes, call, of->gap);
    of->wait_place = line_at(of, call->start_ns, call->end_ns);
}

/* Explains the time that no span covers: the launch has returned. */
static int add_latency(struct explanation *of, uint32_t launch, int64_t from)
{
    const struct replay_events *events = of->causes->events;
    const struct replay_call *call = launch == NO_CALL ? NULL : &events->calls[launch];
    const struct gap_link behind = { .thread = call ? events->threads[call->thread].id : of->gap->thread };

    of->link = &behind;
    return gap_causes_add(of, call ? GAP_LATENCY : GAP_UNKNOWN,
                          call ? line_at(of, call->start_ns, call->end_ns) : NO_PLACE, from, of->gap->end_ns);
}

int gap_causes_explain(struct gap_causes *causes, const struct gap *gap, gap_visit *visit, void *context)
{
    struct explanation of = { .causes = causes,
                              .gap = gap,
                              .visit = visit,
                              .context = context,
                              .waited_until = INT64_MAX,
                              .caught_up = INT64_MIN };
    int64_t until = gap->start_ns;
    uint32_t launch;
    int code = gap_walk(causes, gap, &launch);

    if (code != 0)
        return code;
    of.has_launch = launch != NO_CALL;
    if (causes->link_count && of.has_launch)
        gap_causes_find_wait(&of, causes->events->calls[launch].end_ns);
    for (size_t i = causes->link_count; i-- > 0;) {
        of.link = &causes->links[i];
        int64_t from = of.link->start_ns > until ? of.link->start_ns : until;
        if (of.link->end_ns <= from)
            continue;
        code = of.link->call == NO_CALL ? add_between(&of, 0, from, of.link->end_ns)
                                        : gap_causes_add_call(&of, from, of.link->end_ns);
        if (code != 0)
            return code;
        until = of.link->end_ns;
    }
    return add_latency(&of, launch, until);
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* Sorts the spans of one table into layers: those that no layer wants are dropped. */
static int sort_out(struct gap_causes *causes, const struct thread_spans *spans,
                    enum gap_layer (*layer_of)(const char *name, size_t length))
{
    for (size_t i = 0; i < spans->count; i++) {
        size_t length;
        const char *name = report_string(causes->report, spans->list[i].name, &length);
        enum gap_layer layer = layer_of(name, length);
        if (layer != GAP_LAYERS && thread_spans_add(&causes->layers[layer], &spans->list[i]) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static enum gap_layer layer_of_operator(const char *name, size_t length)
{
    return text_begins_with(name, advice_loader_mark) ? LAYER_LOADER
           : memmem(name, length, "::", 2)            ? LAYER_OPERATOR
                                                      : GAP_LAYERS;
}

static enum gap_layer layer_of_event(const char *name, size_t length)
{
    (void)length;
    return text_begins_with(name, "gc ") ? LAYER_GC : LAYER_COMPILE;
}

/* CUPTI reports the driver's time for kernels that are loaded or compiled as overhead, too. */
static enum gap_layer layer_of_overhead(const char *name, size_t length)
{
    static const char *const code[] = { "Driver compiler", "Module loading", "Lazy function loading" };

    (void)length;
    for (size_t i = 0; i < COUNT_OF(code); i++)
        if (strcmp(name, code[i]) == 0)
            return LAYER_CODE;
    return strcmp(name, "Command buffer full") == 0 ? GAP_LAYERS : LAYER_PROFILER;
}

/* Spans of a table, whose names say which layer they are of. */
static int gap_causes_read_table(struct gap_causes *causes, const char *table,
                                 enum gap_layer (*layer_of)(const char *name, size_t length), struct error *err)
{
    static const struct filter all;
    const struct thread_span_source source = { table, "nameId", NULL, NULL, NULL, NULL, 0 };
    struct thread_spans spans = { 0 };
    int code = thread_spans_read(&spans, causes->report, &source, &all, err);

    if (code != 0)
        goto free_spans;
    if (sort_out(causes, &spans, layer_of) != 0)
        code = error_set(err, ERR_NO_MEMORY, "not enough memory for the rows of %s", table);
free_spans:
    thread_spans_free(&spans);
    return code;
}

static int gap_causes_read_operators(struct gap_causes *causes, struct error *err)
{
    struct advice_operators operators = { 0 };
    int code = advice_operators_open(&operators, causes->report, err);

    if (code != 0)
        goto free_operators;
    if (sort_out(causes, &operators.spans, layer_of_operator) != 0)
        code = error_short_memory(err, "for the operators");
free_operators:
    advice_operators_free(&operators);
    return code;
}

/* Whether a frame of a stack is of CUPTI or of the agent. `seen` remembers it by frame: 1 no, 2 yes. */
static int is_of_profiler(const struct stacks *stacks, uint32_t stack, unsigned char *seen)
{
    static const char *const files[] = { "libcupti.so", "libtacho", "libnvperf" };

    for (; stack != STACK_EMPTY; stack = stack_parent(stacks, stack)) {
        uint32_t frame = stack_innermost(stacks, stack);
        if (!seen[frame]) {
            struct text file = { 0 };
            stack_frame_module(&file, stacks, frame);
            seen[frame] = 1;
            for (size_t i = 0; i < COUNT_OF(files); i++)
                seen[frame] = strstr(text_string(&file), files[i]) ? 2 : seen[frame];
            text_free(&file);
        }
        if (seen[frame] == 2)
            return 1;
    }
    return 0;
}

/* Samples in the profiler's own libraries. */
static int gap_causes_read_samples(struct gap_causes *causes, struct error *err)
{
    static const struct filter all;
    struct stacks stacks = { 0 };
    struct thread_spans spans = { 0 };
    unsigned char *seen = NULL;
    int code;

    if ((code = stacks_open(&stacks, causes->report, err)) != 0 ||
        (code = stacks_read_samples(&stacks, STACKS_CPU, STACKS_WITHOUT_LINES, &all, err)) != 0)
        goto done;
    code = ERR_NO_MEMORY;
    seen = calloc(stacks.frames.count + 1, 1);
    if (!seen || thread_spans_samples(&spans, &stacks) != 0)
        goto no_memory;
    for (size_t i = 0; i < spans.count; i++)
        if (is_of_profiler(&stacks, (uint32_t)spans.list[i].chain, seen) &&
            thread_spans_add(&causes->layers[LAYER_PROFILER], &spans.list[i]) != 0)
            goto no_memory;
    code = 0;
no_memory:
    if (code != 0)
        error_short_memory(err, "for the samples");
done:
    free(seen);
    thread_spans_free(&spans);
    stacks_free(&stacks);
    return code;
}

static int gap_causes_read_gil(struct gap_causes *causes, struct error *err)
{
    struct gil_waits waits = { 0 };
    int code = gil_waits_read(&waits, causes->report, err);

    if (code != 0)
        goto free_waits;
    for (size_t i = 0; i < waits.count; i++) {
        const struct gil_wait *wait = &waits.list[i];
        const struct thread_span span = {
            .thread = wait->thread, .start_ns = wait->start_ns, .end_ns = wait->end_ns, .other = wait->holder
        };
        if (thread_spans_add(&causes->layers[LAYER_GIL], &span) != 0 &&
            (code = error_short_memory(err, "for the waits for the GIL")) != 0)
            goto free_waits;
    }
free_waits:
    gil_waits_free(&waits);
    return code;
}

/* Compilations that samples have seen. Where events of Python have them too, the longer span stays. */
static int gap_causes_read_compilations(struct gap_causes *causes, struct error *err)
{
    struct sampled_compilations sampled = { 0 };
    int code = sampled_compilations_read(&sampled, causes->report, err);

    for (size_t i = 0; code == 0 && i < sampled.count; i++) {
        const struct thread_span span = { .thread = sampled.list[i].thread,
                                          .start_ns = sampled.list[i].start_ns,
                                          .end_ns = sampled.list[i].end_ns };
        if (thread_spans_add(&causes->layers[LAYER_COMPILE], &span) != 0)
            code = error_short_memory(err, "for the compilations");
    }
    sampled_compilations_free(&sampled);
    return code;
}

static int gap_causes_read_layers(struct gap_causes *causes, struct error *err)
{
    static const struct thread_span_source os = {
        "OSRT_API", "nameId", NULL, NULL, NULL, "eventClass", EVENT_CLASS_OSRT
    };
    static const struct filter all;
    int code;

    if ((code = gap_causes_read_operators(causes, err)) != 0 ||
        (code = gap_causes_read_table(causes, "PROFILER_OVERHEAD", layer_of_overhead, err)) != 0 ||
        (code = gap_causes_read_table(causes, "TACHO_PYTHON_EVENT", layer_of_event, err)) != 0 ||
        (code = gap_causes_read_compilations(causes, err)) != 0 || (code = gap_causes_read_samples(causes, err)) != 0 ||
        (code = gap_causes_read_gil(causes, err)) != 0 ||
        (code = thread_spans_read(&causes->layers[LAYER_OS], causes->report, &os, &all, err)) != 0 ||
        (code = thread_spans_off_cpu(&causes->layers[LAYER_OFF_CPU], causes->report, &all, err)) != 0)
        return code;
    for (int layer = 0; layer < GAP_LAYERS; layer++)
        thread_spans_keep_outermost(&causes->layers[layer]);
    return 0;
}

/* Numbers the work by its rows, and finds the causes of calls by their names. */
static int index_events(struct gap_causes *causes)
{
    const struct replay_events *events = causes->events;
    size_t rows = events->first_at[REPLAY_TABLES], names = events->names.count;

    causes->work_of = malloc((rows + 1) * sizeof *causes->work_of);
    causes->call_causes = malloc(names + 1);
    if (!causes->work_of || !causes->call_causes)
        return ERR_NO_MEMORY;
    memset(causes->work_of, 0xff, (rows + 1) * sizeof *causes->work_of);
    for (uint32_t i = 0; i < events->work_count; i++)
        causes->work_of[events->works[i].at] = i;
    for (uint32_t i = 0; i < names; i++)
        causes->call_causes[i] = (unsigned char)
            causes_of_uses[call_use_of(report_string(causes->report, *keys_get(&events->names, i), NULL))];
    return 0;
}

int gap_causes_open(struct gap_causes *causes, struct report *report, const struct replay_events *events,
                    struct places *places, struct error *err)
{
    int code;

    *causes = (struct gap_causes){ .report = report };
    causes->events = events ? events : &causes->own_events;
    causes->places = places ? places : &causes->own_places;
    if ((!events && (code = replay_events_read(&causes->own_events, report, err)) != 0) ||
        (!places && (code = places_open(&causes->own_places, report, err)) != 0))
        return code;
    if (index_events(causes) != 0)
        return error_short_memory(err, "for the GPU work");
    return gap_causes_read_layers(causes, err);
}

void gap_causes_close(struct gap_causes *causes)
{
    for (int layer = 0; layer < GAP_LAYERS; layer++)
        thread_spans_free(&causes->layers[layer]);
    replay_events_free(&causes->own_events);
    places_close(&causes->own_places);
    free(causes->work_of);
    free(causes->call_causes);
    free(causes->links);
    *causes = (struct gap_causes){ 0 };
}
