/* The list of places, the layers, and the lookups in them: see places.h. */
#include "places.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/analysis.h"
#include "analyze/engine/event_columns.h"
#include "base/array.h"
#include "base/path.h"
#include "base/saturating.h"
#include "places_state.h"

/* ---- places ---------------------------------------------------------------------------------------------------- */

const char place_loads[] = "DataLoader.__next__";

enum { KEY_KIND, KEY_FILE, KEY_LINE, KEY_FUNCTION, KEY_ACT, KEY_ACT_OWNER, KEY_SLOW, KEY_LOOP, KEY_PARTS };

uint32_t places_add_text(struct places *places, const char *bytes, size_t length)
{
    int64_t id = intern_add(&places->texts, bytes, length);

    return id < 0 || id >= UINT32_MAX ? UINT32_MAX : (uint32_t)id;
}

uint32_t places_add(struct places *places, const struct place *place)
{
    int64_t key[KEY_PARTS] = { place->kind,   place->file,    place->line,  place->function,
                               NO_PLACE_TEXT, PYTHON_PROGRAM, NO_SLOW_CALL, NO_PLACE };

    /* the place without its act is there too: places_line() */
    uint32_t number = keys_add(&places->keys, key);
    if (number == NO_KEY)
        return NO_KEY;
    if (place->act != NO_PLACE_TEXT) {
        key[KEY_ACT] = place->act;
        key[KEY_ACT_OWNER] = place->act_owner;
        key[KEY_SLOW] = place->slow;
    }
    key[KEY_LOOP] = place->loop;
    return keys_add(&places->keys, key);
}

struct place places_get(const struct places *places, uint32_t place)
{
    const int64_t *key = keys_get(&places->keys, place);

    return (struct place){
        .kind = (enum place_kind)key[KEY_KIND],
        .file = (uint32_t)key[KEY_FILE],
        .function = (uint32_t)key[KEY_FUNCTION],
        .act = (uint32_t)key[KEY_ACT],
        .act_owner = (enum python_owner)key[KEY_ACT_OWNER],
        .slow = (int)key[KEY_SLOW],
        .line = key[KEY_LINE],
        .loop = (uint32_t)key[KEY_LOOP],
    };
}

uint32_t places_line(const struct places *places, uint32_t place)
{
    int64_t key[KEY_PARTS];

    if (place == NO_PLACE)
        return NO_PLACE;
    memcpy(key, keys_get(&places->keys, place), sizeof key);
    key[KEY_ACT] = NO_PLACE_TEXT;
    key[KEY_ACT_OWNER] = PYTHON_PROGRAM;
    key[KEY_SLOW] = NO_SLOW_CALL;
    key[KEY_LOOP] = NO_PLACE;
    return keys_find(&places->keys, key);
}

static void places_add_line(struct text *out, const struct places *places, const struct place *place)
{
    text_add(out, path_base_name(places_string(places, place->file)));
    if (place->line > 0)
        text_addf(out, ":%lld", (long long)place->line);
}

void place_text(struct text *out, const struct places *places, uint32_t number)
{
    if (number == NO_PLACE)
        return;
    struct place place = places_get(places, number);
    const char *function = places_string(places, place.function);
    switch (place.kind) {
    case PLACE_PYTHON:
        places_add_line(out, places, &place);
        if (strcmp(function, "<module>") != 0)
            text_addf(out, " %s", function);
        return;
    case PLACE_NATIVE:
        text_add(out, function);
        if (place.file == NO_PLACE_TEXT)
            return;
        text_add(out, " (");
        places_add_line(out, places, &place);
        text_add_char(out, ')');
        return;
    case PLACE_RANGE: text_addf(out, "range %s", function); return;
    }
}

/* ---- layers ---------------------------------------------------------------------------------------------------- */

int place_layer_add(struct place_layer *layer, int64_t thread, const struct place_span *span)
{
    struct place_thread *last = layer->thread_count ? &layer->threads[layer->thread_count - 1] : NULL;

    if (span->place == NO_PLACE || span->start_ns >= span->end_ns)
        return 0;
    if (!last || last->id != thread) {
        if (array_reserve(&layer->threads, &layer->thread_room, layer->thread_count + 1, sizeof *last) != 0)
            return ERR_NO_MEMORY;
        last = &layer->threads[layer->thread_count++];
        *last = (struct place_thread){ thread, layer->count, layer->count };
    }
    struct place_span *before = last->end > last->first ? &layer->spans[layer->count - 1] : NULL;
    if (before && before->place == span->place && before->end_ns == span->start_ns) {
        before->end_ns = span->end_ns;
        return 0;
    }
    if (ARRAY_PUSH(layer->spans, layer->room, layer->count, *span) != 0)
        return ERR_NO_MEMORY;
    last->end = layer->count;
    return 0;
}

static const struct place_thread *places_find_thread(const struct place_layer *layer, int64_t thread)
{
    size_t first = BISECT(0, layer->thread_count, i, layer->threads[i].id < thread);

    return first < layer->thread_count && layer->threads[first].id == thread ? &layer->threads[first] : NULL;
}

/* The thread's first span that ends after this time, or the end of its spans. Lookups in the order of time go on where
 * the last one was. */
static size_t places_find_span(struct place_layer *layer, const struct place_thread *thread, int64_t time_ns)
{
    size_t low = thread->first, high = thread->end, hint = layer->hint;

    if (hint >= low && hint < high) {
        size_t step = 1;
        if (layer->spans[hint].end_ns <= time_ns)
            for (low = hint + 1; low + step < high && layer->spans[low + step].end_ns <= time_ns; step *= 2)
                low += step;
        else if (hint == low || layer->spans[hint - 1].end_ns <= time_ns)
            return hint;
    }
    return layer->hint = BISECT(low, high, i, layer->spans[i].end_ns <= time_ns);
}

/* ---- lookups --------------------------------------------------------------------------------------------------- */

/* The layers that a lookup asks, in order, each with the thread that it asks for. */
struct asks {
    struct {
        struct place_layer *layer;
        const struct place_thread *thread;
    } list[2 * PLACE_SOURCES];
    int count;
};

static void places_ask(struct asks *asks, struct places *places, int source, int64_t thread)
{
    struct place_layer *layer = &places->layers[source];
    const struct place_thread *found = places_find_thread(layer, thread);

    if (found) {
        asks->list[asks->count].layer = layer;
        asks->list[asks->count++].thread = found;
    }
}

static int64_t main_thread(const struct places *places, int64_t thread)
{
    for (size_t i = 0; i < places->main_count; i++)
        if (places->mains[i].process == global_process(thread))
            return places->mains[i].thread;
    return thread;
}

static void ask_all(struct asks *asks, struct places *places, int64_t thread)
{
    int64_t caller = main_thread(places, thread);

    asks->count = 0;
    for (int i = 0; i < PLACES_OF_NATIVE_CALLS; i++)
        places_ask(asks, places, i, thread);
    if (!asks->count && caller != thread)
        for (int i = 0; i < PLACES_OF_NATIVE_CALLS; i++)
            places_ask(asks, places, i, caller);
    for (int i = PLACES_OF_NATIVE_CALLS; i < PLACE_SOURCES; i++)
        places_ask(asks, places, i, thread);
    if (caller != thread)
        places_ask(asks, places, PLACES_OF_RANGES, caller);
}

static int64_t places_later(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t earlier(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Adds the time of each place to its sum and to that of its line; with `sign` -1, takes it away. Returns the time. */
static int64_t places_add_sums(struct places *places, struct place_layer *layer, const struct place_thread *thread,
                               const struct place_span *wanted, int sign)
{
    int64_t covered = 0;

    for (size_t i = places_find_span(layer, thread, wanted->start_ns);
         i < thread->end && layer->spans[i].start_ns < wanted->end_ns; i++) {
        const struct place_span *span = &layer->spans[i];
        int64_t time = saturating_duration(places_later(span->start_ns, wanted->start_ns),
                                           earlier(span->end_ns, wanted->end_ns));
        uint32_t line = places_line(places, span->place);
        if (line == NO_PLACE)
            continue;
        if (sign < 0) {
            places->sums[line] = places->sums[span->place] = 0;
            continue;
        }
        covered = saturating_add(covered, time);
        places->sums[line] = saturating_add(places->sums[line], time);
        if (line != span->place)
            places->sums[span->place] = saturating_add(places->sums[span->place], time);
    }
    return covered;
}

/* The line with most time, and of its places the one with most. */
static uint32_t largest_sum(const struct places *places, struct place_layer *layer, const struct place_thread *thread,
                            const struct place_span *wanted)
{
    uint32_t line = NO_PLACE, best = NO_PLACE;
    size_t first = places_find_span(layer, thread, wanted->start_ns);

    for (size_t i = first; i < thread->end && layer->spans[i].start_ns < wanted->end_ns; i++) {
        uint32_t at = places_line(places, layer->spans[i].place);
        if (at != NO_PLACE && (line == NO_PLACE || places->sums[at] > places->sums[line]))
            line = at;
    }
    for (size_t i = first; i < thread->end && layer->spans[i].start_ns < wanted->end_ns; i++) {
        uint32_t at = layer->spans[i].place;
        if (places_line(places, at) == line && (best == NO_PLACE || places->sums[at] > places->sums[best]))
            best = at;
    }
    return best;
}

uint32_t places_at(struct places *places, int64_t thread, int64_t from_ns, int64_t to_ns)
{
    struct place_span wanted = { from_ns, to_ns > from_ns ? to_ns : saturating_add(from_ns, 1), NO_PLACE };
    int64_t most = 0, length = saturating_duration(wanted.start_ns, wanted.end_ns);
    struct asks asks;

    if (array_reserve_zeroed(&places->sums, &places->sum_room, places->keys.count + 1, sizeof *places->sums) != 0)
        return NO_PLACE;
    ask_all(&asks, places, thread);
    for (int i = 0; i < asks.count && most < length - length / 2; i++) {
        int64_t covered = places_add_sums(places, asks.list[i].layer, asks.list[i].thread, &wanted, 1);
        if (covered > most) {
            most = covered;
            wanted.place = largest_sum(places, asks.list[i].layer, asks.list[i].thread, &wanted);
        }
        places_add_sums(places, asks.list[i].layer, asks.list[i].thread, &wanted, -1);
    }
    return wanted.place;
}

/* ---- all spans of a time --------------------------------------------------------------------------------------- */

struct place_visit {
    struct asks asks;
    struct place_span last; /* not visited yet: the next one may have the same place */
    places_visit *visit;
    void *context;
};

static int places_emit(struct place_visit *visit, int64_t from_ns, int64_t to_ns, uint32_t place)
{
    struct place_span *last = &visit->last;
    int code = 0;

    if (from_ns >= to_ns)
        return 0;
    if (last->start_ns < last->end_ns && last->place == place) {
        last->end_ns = to_ns;
        return 0;
    }
    if (last->start_ns < last->end_ns)
        code = visit->visit(visit->context, last->place, last->start_ns, last->end_ns);
    *last = (struct place_span){ from_ns, to_ns, place };
    return code;
}

/* Visits the spans that the layers from this one on know. The number of layers limits the recursion. */
static int visit_from(struct place_visit *visit, int at, int64_t from_ns, int64_t to_ns)
{
    int code;

    if (from_ns >= to_ns)
        return 0;
    if (at == visit->asks.count)
        return places_emit(visit, from_ns, to_ns, NO_PLACE);
    struct place_layer *layer = visit->asks.list[at].layer;
    const struct place_thread *thread = visit->asks.list[at].thread;
    for (size_t i = places_find_span(layer, thread, from_ns); i < thread->end && layer->spans[i].start_ns < to_ns;
         i++) {
        const struct place_span *span = &layer->spans[i];
        int64_t start = places_later(span->start_ns, from_ns), end = earlier(span->end_ns, to_ns);
        if ((code = visit_from(visit, at + 1, from_ns, start)) != 0 ||
            (code = places_emit(visit, start, end, span->place)) != 0)
            return code;
        from_ns = end;
    }
    return visit_from(visit, at + 1, from_ns, to_ns);
}

int places_each(struct places *places, int64_t thread, int64_t from_ns, int64_t to_ns, places_visit *each,
                void *context)
{
    struct place_visit visit = { .visit = each, .context = context };
    int code;

    ask_all(&visit.asks, places, thread);
    if ((code = visit_from(&visit, 0, from_ns, to_ns)) != 0)
        return code;
    return visit.last.start_ns < visit.last.end_ns
               ? each(context, visit.last.place, visit.last.start_ns, visit.last.end_ns)
               : 0;
}

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* Finds the Python thread of each process that has most spans. */
static int find_mains(struct places *places)
{
    size_t *most = NULL, room = 0;

    for (int source = 0; source < PLACES_OF_NATIVE_CALLS; source++)
        for (size_t i = 0; i < places->layers[source].thread_count; i++) {
            const struct place_thread *thread = &places->layers[source].threads[i];
            size_t at = 0, spans = thread->end - thread->first;
            while (at < places->main_count && places->mains[at].process != global_process(thread->id))
                at++;
            if (array_reserve(&places->mains, &places->main_room, at + 1, sizeof *places->mains) != 0 ||
                array_reserve(&most, &room, at + 1, sizeof *most) != 0) {
                free(most);
                return ERR_NO_MEMORY;
            }
            if (at < places->main_count && most[at] >= spans)
                continue;
            places->mains[at] = (struct place_thread_pair){ global_process(thread->id), thread->id };
            most[at] = spans;
            places->main_count = at < places->main_count ? places->main_count : at + 1;
        }
    free(most);
    return 0;
}

/* Calls have places by their stacks and by samples: a report without any, which may have millions of calls, need not
 * read them. */
static int places_has_stacks(struct report *report)
{
    static const char *const tables[] = { "TACHO_PYTHON_CALLCHAINS", "CUDA_CALLCHAINS", "TACHO_PYTHON_SAMPLE",
                                          "COMPOSITE_EVENTS", NULL };

    return analysis_need_is_met(&(struct analysis_need){ .tables = tables }, report);
}

static int places_read_events(struct place_events *events, struct report *report, struct error *err)
{
    static const struct filter all;
    static const struct thread_span_source calls = {
        "CUPTI_ACTIVITY_KIND_RUNTIME", "nameId", "callchainId", "correlationId", "pythonCallchainId", NULL, 0
    };
    static const struct thread_span_source operators = {
        "TACHO_TORCH_OP", "nameId", "callStackId", NULL, NULL, NULL, 0
    };
    static const struct thread_span_source functions = { "TACHO_TORCH_PYTHON", "nameId", NULL, NULL, NULL, NULL, 0 };
    int code = places_has_stacks(report) ? thread_spans_read(&events->calls, report, &calls, &all, err) : 0;

    if (code != 0 || (code = thread_spans_read(&events->operators, report, &operators, &all, err)) != 0 ||
        (code = thread_spans_read(&events->functions, report, &functions, &all, err)) != 0 ||
        (code = thread_spans_ranges(&events->ranges, report, &all, err)) != 0)
        return code;
    thread_spans_keep_outermost(&events->calls);
    thread_spans_sort(&events->operators);
    thread_spans_sort(&events->functions);
    thread_spans_sort(&events->ranges);
    return 0;
}

static int places_read_layers(struct places *places, struct place_events *events, struct error *err)
{
    static int (*const sources[])(struct places *, const struct place_events *, struct error *) = {
        place_calls_read, place_operators_read, place_functions_read, place_ranges_read, place_votes_read,
    };
    int code;

    if ((code = places_read_events(events, places->report, err)) != 0)
        return code;
    for (size_t i = 0; i < COUNT_OF(sources); i++)
        if ((code = sources[i](places, events, err)) != 0)
            return code;
    return find_mains(places) == 0 ? 0 : error_short_memory(err, "for the places");
}

void places_begin(struct places *places, struct report *report)
{
    *places = (struct places){ .report = report, .keys.width = KEY_PARTS };
}

int places_open(struct places *places, struct report *report, struct error *err)
{
    struct place_events events = { 0 };

    places_begin(places, report);
    int code = places_read_layers(places, &events, err);
    thread_spans_free(&events.calls);
    thread_spans_free(&events.operators);
    thread_spans_free(&events.ranges);
    thread_spans_free(&events.functions);
    return code;
}

void places_close(struct places *places)
{
    for (int i = 0; i < PLACE_SOURCES; i++) {
        free(places->layers[i].spans);
        free(places->layers[i].threads);
    }
    free(places->mains);
    free(places->sums);
    keys_free(&places->keys);
    intern_free(&places->texts);
    *places = (struct places){ 0 };
}
