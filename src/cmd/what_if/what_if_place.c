/* Finds a place in the ranges, operators, functions and call stacks of a report: see what_if_place.h. */
#include "what_if_place.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/model/places/places.h"
#include "analyze/model/ranges.h"
#include "base/array.h"

/* ---- names ----------------------------------------------------------------------------------------------------- */

/* torch.profiler writes FILE(LINE) for FILE:LINE, so that is searched for too. */
struct what_if_place_wanted {
    struct report *report;
    const char *text;
    struct text torch; /* owned, as all below */
    struct keys names; /* names that were searched before, as string ids */
    uint8_t *found;    /* by name */
    size_t found_room;
    int has_failed;    /* memory was short */
};

static int what_if_place_is_line(const char *text)
{
    const char *colon = strrchr(text, ':');

    return colon && colon[1] && !colon[1 + strspn(colon + 1, "0123456789")];
}

static void spell(struct what_if_place_wanted *wanted)
{
    const char *colon = strrchr(wanted->text, ':');

    if (!what_if_place_is_line(wanted->text))
        return;
    text_add_bytes(&wanted->torch, wanted->text, (size_t)(colon - wanted->text));
    text_addf(&wanted->torch, "(%s)", colon + 1);
}

/* A file and line are whole: train.py:5 is not in train.py:57, nor in my_train.py:5. */
static int what_if_place_is_whole(const char *bytes, size_t length, const char *found, size_t found_length)
{
    const char *behind = found + found_length;

    return (found == bytes || strchr("/ (", found[-1])) && (behind == bytes + length || *behind < '0' || *behind > '9');
}

static int what_if_place_contains(const char *bytes, size_t length, const char *text, size_t text_length, int is_place)
{
    const char *at = bytes, *found;

    while ((found = memmem(at, (size_t)(bytes + length - at), text, text_length)) != NULL) {
        if (!is_place || what_if_place_is_whole(bytes, length, found, text_length))
            return 1;
        at = found + 1;
    }
    return 0;
}

int what_if_place_matches(const char *text, const char *name)
{
    return what_if_place_contains(name, strlen(name), text, strlen(text), what_if_place_is_line(text));
}

static int what_if_place_is_in(const struct what_if_place_wanted *wanted, const char *bytes, size_t length)
{
    int is_place = wanted->torch.length != 0;

    return what_if_place_contains(bytes, length, wanted->text, strlen(wanted->text), is_place) ||
           (is_place &&
            what_if_place_contains(bytes, length, text_string(&wanted->torch), wanted->torch.length, is_place));
}

/* Each name is searched once, however many events have it. */
static int what_if_place_is_named(struct what_if_place_wanted *wanted, int64_t name)
{
    size_t known = wanted->names.count, length;
    uint32_t number = keys_add(&wanted->names, &name);

    if (number < known)
        return wanted->found[number];
    if (number == NO_KEY || array_reserve(&wanted->found, &wanted->found_room, number + 1u, 1) != 0) {
        wanted->has_failed = 1;
        return 0;
    }
    const char *bytes = report_string(wanted->report, name, &length);
    return wanted->found[number] = (uint8_t)what_if_place_is_in(wanted, bytes, length);
}

/* ---- stretches of time ----------------------------------------------------------------------------------------- */

static int is_wanted_range(void *context, int64_t name)
{
    return name != NVTX_NO_NAME && what_if_place_is_named(context, name);
}

static int what_if_place_find_ranges(struct what_if_place *place, struct what_if_place_wanted *wanted,
                                     struct error *err)
{
    static const struct filter all;
    const struct range_names names = { is_wanted_range, wanted };
    struct ranges ranges = { 0 };
    int code = ranges_read_named(&ranges, wanted->report, RANGE_PUSHPOP | RANGE_STARTEND, &all, &names, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < ranges.count; i++) {
        const struct range *range = &ranges.list[i];
        struct thread_span span = { range->thread, range->start_ns, range->end_ns, range->name, 0, 0, 0 };
        if (thread_spans_add(&place->spans, &span) != 0 && (code = error_short_memory(err, "for the ranges")) != 0)
            goto free_ranges;
    }
free_ranges:
    ranges_free(&ranges);
    return code;
}

/* Operators, annotations and functions that PyTorch recorded. */
static int find_torch(struct what_if_place *place, struct what_if_place_wanted *wanted, const char *table,
                      struct error *err)
{
    static const struct filter all;
    const struct thread_span_source source = { table, "nameId", NULL, NULL, NULL, NULL, 0 };
    size_t kept = place->spans.count;
    int code = thread_spans_read(&place->spans, wanted->report, &source, &all, err);

    if (code != 0)
        return code;
    for (size_t i = kept; i < place->spans.count; i++)
        if (what_if_place_is_named(wanted, place->spans.list[i].name))
            place->spans.list[kept++] = place->spans.list[i];
    place->spans.count = kept;
    return 0;
}

/* ---- call stacks ----------------------------------------------------------------------------------------------- */

/* By stack: whether it or a stack around it has a frame with the name. Callers come before those that they call. */
static uint8_t *what_if_place_find_frames(const struct stacks *stacks, const struct what_if_place_wanted *wanted)
{
    uint8_t *frames = malloc(stacks->frames.count + 1), *nodes = malloc(stacks->nodes.count + 1), *found = NULL;
    struct text label = { 0 };

    if (!frames || !nodes)
        goto free_frames;
    for (uint32_t i = 0; i < stacks->frames.count; i++) {
        text_clear(&label);
        stack_frame_label(&label, stacks, i);
        frames[i] = (uint8_t)what_if_place_is_in(wanted, text_string(&label), label.length);
    }
    if (text_failed(&label))
        goto free_frames;
    nodes[STACK_EMPTY] = 0;
    for (uint32_t i = STACK_EMPTY + 1; i < stacks->nodes.count; i++)
        nodes[i] = nodes[stack_parent(stacks, i)] | frames[stack_innermost(stacks, i)];
    found = nodes;
    nodes = NULL;
free_frames:
    free(frames);
    free(nodes);
    text_free(&label);
    return found;
}

/* Marks the calls whose chain of this column has the name. */
static int find_callers(struct what_if_place *place, const struct what_if_place_wanted *wanted, const char *column,
                        const char *table, struct error *err)
{
    const struct replay_events *events = &place->replay->events;
    struct report_columns rows = { 0 };
    struct stacks stacks = { 0 };
    struct stack_chains chains = { 0 };
    uint8_t *found = NULL;
    size_t hint = 0;
    int code;

    if ((code = columns_read(wanted->report, "CUPTI_ACTIVITY_KIND_RUNTIME", &column, 1, &rows, err)) != 0 ||
        (code = stacks_open(&stacks, wanted->report, err)) != 0 ||
        (code = stack_chains_read(&chains, &stacks, table, STACKS_WITH_LINES, err)) != 0)
        goto done;
    found = what_if_place_find_frames(&stacks, wanted);
    if (!found && (code = error_short_memory(err, "for the call stacks")) != 0)
        goto done;
    for (uint32_t i = 0; i < events->call_count; i++) {
        uint32_t row = events->calls[i].row;
        if (row < rows.rows && !columns_is_null(&rows, 0, row))
            place->is_caller[i] |= found[stack_chains_find(&chains, rows.values[0][row], &hint)];
    }
done:
    free(found);
    stack_chains_free(&chains);
    stacks_free(&stacks);
    report_columns_free(&rows);
    return code;
}

/* Marks the calls that come from a line, as advice places them: where only some steps have stacks (--advise), samples
 * and the steps with stacks place the calls of the others. */
static int what_if_place_find_lines(struct what_if_place *place, const struct what_if_place_wanted *wanted,
                                    struct error *err)
{
    const struct replay_events *events = &place->replay->events;
    struct places places = { 0 };
    struct text words = { 0 };
    int code = wanted->torch.length ? places_open(&places, wanted->report, err) : 0;

    if (code != 0 || !wanted->torch.length)
        goto close_places;
    for (uint32_t i = 0; i < events->call_count; i++) {
        const struct replay_call *call = &events->calls[i];
        text_clear(&words);
        place_text(&words, &places, places_at(&places, events->threads[call->thread].id, call->start_ns, call->end_ns));
        place->is_caller[i] |= (uint8_t)what_if_place_is_in(wanted, text_string(&words), words.length);
    }
    if (text_failed(&words))
        code = error_short_memory(err, "for the lines");
close_places:
    text_free(&words);
    places_close(&places);
    return code;
}

/* Adds the spans around samples whose stacks have the name. Samples place a call only roughly, so they come last. */
static int find_samples(struct what_if_place *place, const struct what_if_place_wanted *wanted,
                        enum stack_source source, struct error *err)
{
    static const struct filter all;
    struct stacks stacks = { 0 };
    uint8_t *found = NULL;
    size_t kept = place->spans.count;
    int code;

    if ((code = stacks_open(&stacks, wanted->report, err)) != 0 ||
        (code = stacks_read_samples(&stacks, source, STACKS_WITH_LINES, &all, err)) != 0)
        goto done;
    found = what_if_place_find_frames(&stacks, wanted);
    if ((!found || thread_spans_samples(&place->spans, &stacks) != 0) &&
        (code = error_short_memory(err, "for the samples")) != 0)
        goto done;
    for (size_t i = kept; i < place->spans.count; i++)
        if (found[place->spans.list[i].chain])
            place->spans.list[kept++] = place->spans.list[i];
    place->spans.count = kept;
done:
    free(found);
    stacks_free(&stacks);
    return code;
}

/* ---- the place ------------------------------------------------------------------------------------------------- */

static int is_empty(const struct what_if_place *place)
{
    uint32_t calls = place->replay->events.call_count;

    return !place->spans.count && !memchr(place->is_caller, 1, calls);
}

static int what_if_place_search(struct what_if_place *place, struct what_if_place_wanted *wanted, struct error *err)
{
    const struct replay_events *events = &place->replay->events;
    int code;

    spell(wanted);
    place->is_caller = calloc(events->call_count + 1u, 1);
    if (!place->is_caller || text_failed(&wanted->torch))
        return error_short_memory(err, "for the calls");
    for (uint32_t i = 0; i < events->call_count; i++)
        place->is_caller[i] = (uint8_t)what_if_place_is_named(wanted, *keys_get(&events->names, events->calls[i].name));
    if ((code = what_if_place_find_ranges(place, wanted, err)) != 0 ||
        (code = find_torch(place, wanted, "TACHO_TORCH_OP", err)) != 0 ||
        (code = find_torch(place, wanted, "TACHO_TORCH_PYTHON", err)) != 0 ||
        (code = find_callers(place, wanted, "callchainId", "CUDA_CALLCHAINS", err)) != 0 ||
        (code = find_callers(place, wanted, "pythonCallchainId", "TACHO_PYTHON_CALLCHAINS", err)) != 0 ||
        (code = what_if_place_find_lines(place, wanted, err)) != 0)
        return code;
    if (is_empty(place) && ((code = find_samples(place, wanted, STACKS_PYTHON, err)) != 0 ||
                            (code = find_samples(place, wanted, STACKS_CPU, err)) != 0))
        return code;
    if (wanted->has_failed)
        return error_short_memory(err, "for the names");
    thread_spans_keep_outermost(&place->spans);
    return is_empty(place)
               ? error_set(err, ERR_NO_DATA, "no range, operator, function, line or CUDA call has the name '%s'",
                           wanted->text)
               : 0;
}

static void what_if_place_wanted_free(struct what_if_place_wanted *wanted)
{
    text_free(&wanted->torch);
    keys_free(&wanted->names);
    free(wanted->found);
}

int what_if_place_find(struct what_if_place *place, const struct replay *replay, struct report *report,
                       const char *text, struct error *err)
{
    struct what_if_place_wanted wanted = { .report = report, .text = text, .names.width = 1 };

    *place = (struct what_if_place){ .replay = replay };
    int code = what_if_place_search(place, &wanted, err);
    what_if_place_wanted_free(&wanted);
    return code;
}

/* Samples of Python come first: those of the CPU are in the interpreter then. */
static int what_if_place_search_work(struct what_if_place *place, struct what_if_place_wanted *wanted,
                                     struct error *err)
{
    int code;

    spell(wanted);
    if ((code = what_if_place_find_ranges(place, wanted, err)) != 0)
        return code;
    size_t ranges = place->spans.count;
    if ((code = find_samples(place, wanted, STACKS_PYTHON, err)) != 0)
        return code;
    if (place->spans.count == ranges && (code = find_samples(place, wanted, STACKS_CPU, err)) != 0)
        return code;
    if (wanted->has_failed || text_failed(&wanted->torch))
        return error_short_memory(err, "for the names");
    thread_spans_keep_outermost(&place->spans);
    return 0;
}

int what_if_place_find_work(struct what_if_place *place, struct report *report, const char *text, struct error *err)
{
    struct what_if_place_wanted wanted = { .report = report, .text = text, .names.width = 1 };

    *place = (struct what_if_place){ 0 };
    int code = what_if_place_search_work(place, &wanted, err);
    what_if_place_wanted_free(&wanted);
    return code;
}

void what_if_place_free(struct what_if_place *place)
{
    thread_spans_free(&place->spans);
    free(place->is_caller);
    *place = (struct what_if_place){ 0 };
}

static int64_t what_if_place_thread_of(const struct what_if_place *place, uint32_t call)
{
    const struct replay_events *events = &place->replay->events;

    return events->threads[events->calls[call].thread].id;
}

int what_if_place_has(const struct what_if_place *place, uint32_t call)
{
    int64_t start_ns = place->replay->events.calls[call].start_ns;
    size_t behind, i = thread_spans_from(&place->spans, what_if_place_thread_of(place, call), start_ns, &behind);

    return place->is_caller[call] || (i < behind && place->spans.list[i].start_ns <= start_ns);
}

static int is_called_twice(const struct what_if_place *place, uint32_t call)
{
    return call > 0 && place->is_caller[call] && place->is_caller[call - 1] &&
           what_if_place_thread_of(place, call) == what_if_place_thread_of(place, call - 1);
}

int64_t what_if_place_time(const struct what_if_place *place, uint32_t call, int64_t from_ns, int64_t to_ns)
{
    size_t behind, i = thread_spans_from(&place->spans, what_if_place_thread_of(place, call), from_ns, &behind);
    int64_t sum = 0;

    /* Stacks are known of calls alone: the time between two calls is in the place if both are. */
    if (!place->spans.count && is_called_twice(place, call))
        return saturating_duration(from_ns, to_ns);
    for (; i < behind && place->spans.list[i].start_ns < to_ns; i++) {
        const struct thread_span *span = &place->spans.list[i];
        int64_t start = span->start_ns > from_ns ? span->start_ns : from_ns,
                end = span->end_ns < to_ns ? span->end_ns : to_ns;
        sum = saturating_add(sum, saturating_duration(start, end));
    }
    return sum;
}
