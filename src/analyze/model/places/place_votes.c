/* Places from samples, which are rarer than the calls of a program: at 1 kHz, most calls have none.
 *
 * A program repeats itself. Each span of a thread's time between two events has a signature: the names of the ranges,
 * operators and calls around it, and those of the last operators before it. A sample votes for its place in all spans
 * with the same signature, and the place with at least half of the votes wins. If a signature has too few votes, one
 * with fewer operators before it is asked. Where no place wins, the sample next in time decides.
 *
 * A CUDA program has no operators, and all its launches have one name: there the name of a launch is its kernel's. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/row_cursor.h"
#include "base/array.h"
#include "base/hash.h"
#include "places_state.h"

/* How many operators before a span are part of its signature, the most specific first. */
enum { LEVELS = 3, MOST_BEFORE = 3 };
static const int before_of_level[LEVELS] = { MOST_BEFORE, 1, 0 };
enum { FEWEST_VOTES = 2 };       /* on all but the last level */
enum { MOST_KERNELS = 1000000 }; /* with more of them, launches have one name */

struct vote {
    uint64_t signature;
    uint32_t line, place;
};

struct winner {
    uint32_t place, votes;
};

struct votes {
    struct places *places;
    struct place_layer *layer;
    struct place_stacks stacks;
    size_t sample;                  /* the next one */
    int64_t thread;                 /* that the walk is in */
    uint64_t acts[MOST_BEFORE + 1]; /* the last operators and calls in no other, the current one first */
    struct keys launches;           /* processes and correlation ids of kernels */
    int64_t *kernels;               /* owned; by launch: the kernel's name */
    size_t kernel_room;
    struct keys names;              /* strings of the report */
    uint64_t *hashes;               /* owned, as all below; by name */
    size_t hash_room;
    struct vote *list;
    size_t count, room;
    struct keys signatures;
    struct winner *winners; /* by signature */
    size_t winner_room;
    int failed;
};

/* ---- launches ------------------------------------------------------------------------------------------------- */

static int read_kernels(struct votes *votes, struct report *report, struct error *err)
{
    enum { PROCESS, CORRELATION, NAME };
    static const char *const names[] = { "globalPid", "correlationId", "demangledName", NULL };
    struct row_cursor rows;
    int code = 0;

    if (report_rows(report, "CUPTI_ACTIVITY_KIND_KERNEL") > MOST_KERNELS)
        return 0;
    if ((code = row_cursor_open(&rows, report, "CUPTI_ACTIVITY_KIND_KERNEL", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        const int64_t key[] = { global_process(row_int_or(&rows, PROCESS, 0)), row_int_or(&rows, CORRELATION, 0) };
        uint32_t launch = keys_add(&votes->launches, key);
        if (launch == NO_KEY ||
            array_reserve(&votes->kernels, &votes->kernel_room, launch + 1u, sizeof *votes->kernels) != 0) {
            code = error_short_memory(err, "for the kernels");
            break;
        }
        votes->kernels[launch] = row_int_or(&rows, NAME, 0);
    }
    row_cursor_close(&rows);
    return code;
}

/* The name of a call: of the kernel that it launches, or its own. */
static int64_t call_name(const struct votes *votes, const struct thread_span *call)
{
    uint32_t launch = keys_find(&votes->launches, (const int64_t[]){ global_process(call->thread), call->other });

    return launch == NO_KEY ? call->name : votes->kernels[launch];
}

/* ---- signatures ------------------------------------------------------------------------------------------------ */

/* The hash of a name: bit 0 is set if it is of an operator. Ranges are often numbered ("step 17"): the number after
 * their name does not count. */
static uint64_t hash_name(struct report *report, int64_t name, int is_call)
{
    size_t length;
    const char *bytes = report_string(report, name, &length);
    int is_act = is_call || memmem(bytes, length, "::", 2) != NULL;

    while (!is_act && length && bytes[length - 1] >= '0' && bytes[length - 1] <= '9')
        length--;
    return (hash_bytes(bytes, length) & ~UINT64_C(1)) | (uint64_t)is_act;
}

static uint64_t place_votes_hash_of(struct votes *votes, int64_t name, int is_call)
{
    size_t before = votes->names.count;
    uint32_t key = NO_KEY;

    /* room comes first: every name must have an entry */
    if (array_reserve(&votes->hashes, &votes->hash_room, before + 1, sizeof *votes->hashes) == 0)
        key = keys_add(&votes->names, &name);
    votes->failed |= key == NO_KEY;
    if (key == NO_KEY)
        return 0;
    if (key == before)
        votes->hashes[key] = hash_name(votes->places->report, name, is_call);
    return votes->hashes[key];
}

/* The value of a span is the hash of the names around it and its own. Bit 0: an operator or call is among them. */
static uint64_t place_votes_open_span(void *context, uint64_t around, int list, const struct thread_span *span)
{
    struct votes *votes = context;
    uint64_t hash = place_votes_hash_of(votes, list == 0 ? call_name(votes, span) : span->name, list == 0),
             chain = hash_number((around >> 1) * 31 + (hash >> 1)) | 2;

    if (span->thread != votes->thread) {
        votes->thread = span->thread;
        memset(votes->acts, 0, sizeof votes->acts);
    }
    if (hash & 1 && !(around & 1)) {
        memmove(votes->acts + 1, votes->acts, MOST_BEFORE * sizeof *votes->acts);
        votes->acts[0] = hash;
    }
    return (chain & ~UINT64_C(1)) | (around & 1) | (hash & 1);
}

static int64_t signature(const struct votes *votes, uint64_t value, int level)
{
    const uint64_t *before = votes->acts + (value & 1); /* the current one is in the value */
    uint64_t hash = hash_number(value + (uint64_t)level);

    for (int i = 0; i < before_of_level[level]; i++)
        hash = hash_number(hash * 31 + before[i]);
    return (int64_t)hash;
}

/* ---- the poll -------------------------------------------------------------------------------------------------- */

static int add_vote(struct votes *votes, uint64_t value, uint32_t place)
{
    for (int level = 0; level < LEVELS; level++) {
        if (ARRAY_PUSH(votes->list, votes->room, votes->count,
                       (struct vote){ (uint64_t)signature(votes, value, level), places_line(votes->places, place),
                                      place }) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Each sample in the span votes. Samples are by thread, then by time, as the walk is. */
static int poll(void *context, int64_t thread, int64_t from_ns, int64_t to_ns, uint64_t value)
{
    struct votes *votes = context;
    const struct stacks *stacks = votes->stacks.stacks;

    for (; votes->sample < stacks->sample_count; votes->sample++) {
        const struct stack_sample *sample = &stacks->samples[votes->sample];
        if (sample->thread > thread || (sample->thread == thread && sample->time_ns >= to_ns))
            break;
        if (sample->thread < thread || sample->time_ns < from_ns)
            continue;
        uint32_t place = place_of_stack(&votes->stacks, sample->stack);
        if (place != NO_PLACE && add_vote(votes, value, place) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int by_signature(const void *a, const void *b)
{
    const struct vote *x = a, *y = b;

    return COMPARE(x->signature, y->signature) ?: COMPARE(x->line, y->line) ?: COMPARE(x->place, y->place);
}

/* The number of votes from the first one on that agree with it in this much. */
enum agreement { SAME_SIGNATURE, SAME_LINE, SAME_PLACE };
static size_t agreeing(const struct votes *votes, size_t first, size_t end, enum agreement agreement)
{
    const struct vote *vote = &votes->list[first];
    size_t i = first + 1;

    while (i < end && votes->list[i].signature == vote->signature &&
           (agreement < SAME_LINE || votes->list[i].line == vote->line) &&
           (agreement < SAME_PLACE || votes->list[i].place == vote->place))
        i++;
    return i - first;
}

/* The first of the votes from first to end of those that agree most often. */
static size_t most_frequent(const struct votes *votes, size_t first, size_t end, enum agreement agreement, size_t *most)
{
    size_t best = first;

    *most = 0;
    for (size_t i = first, length; i < end; i += length) {
        length = agreeing(votes, i, end, agreement);
        if (length > *most) {
            *most = length;
            best = i;
        }
    }
    return best;
}

static int add_winner(struct votes *votes, size_t first, size_t end)
{
    size_t of_line, of_place, line = most_frequent(votes, first, end, SAME_LINE, &of_line),
                              place = most_frequent(votes, line, line + of_line, SAME_PLACE, &of_place);
    uint32_t key = keys_add(&votes->signatures, &(int64_t){ (int64_t)votes->list[first].signature });

    if (key == NO_KEY || array_reserve(&votes->winners, &votes->winner_room, key + 1u, sizeof *votes->winners) != 0)
        return ERR_NO_MEMORY;
    int has_won = 2 * of_line >= end - first;
    votes->winners[key] = (struct winner){ has_won ? votes->list[place].place : NO_PLACE, (uint32_t)(end - first) };
    return 0;
}

static int count_votes(struct votes *votes)
{
    if (votes->count)
        qsort(votes->list, votes->count, sizeof *votes->list, by_signature);
    for (size_t first = 0, length; first < votes->count; first += length) {
        length = agreeing(votes, first, votes->count, SAME_SIGNATURE);
        if (add_winner(votes, first, first + length) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* ---- the layers ------------------------------------------------------------------------------------------------ */

static int place_stretch(void *context, int64_t thread, int64_t from_ns, int64_t to_ns, uint64_t value)
{
    struct votes *votes = context;

    for (int level = 0; level < LEVELS; level++) {
        uint32_t key = keys_find(&votes->signatures, &(int64_t){ signature(votes, value, level) });
        if (key == NO_KEY || (level < LEVELS - 1 && votes->winners[key].votes < FEWEST_VOTES))
            continue;
        return place_layer_add(votes->layer, thread, &(struct place_span){ from_ns, to_ns, votes->winners[key].place });
    }
    return 0;
}

static int vote(struct votes *votes, const struct place_events *events)
{
    struct place_nest nest = {
        { &events->calls, &events->operators, &events->ranges }, place_votes_open_span, poll, votes
    };
    int code;

    votes->thread = INT64_MIN;
    if ((code = place_nest_walk(&nest)) != 0 || (code = count_votes(votes)) != 0)
        return code;
    votes->thread = INT64_MIN;
    nest.emit = place_stretch;
    if (votes->count && (code = place_nest_walk(&nest)) != 0)
        return code;
    return votes->failed || votes->stacks.failed ? ERR_NO_MEMORY : 0;
}

/* The spans around the samples themselves. */
static int place_votes_add_samples(struct votes *votes, struct place_layer *layer)
{
    struct thread_spans spans = { 0 };
    int code;

    if ((code = thread_spans_samples(&spans, votes->stacks.stacks)) != 0)
        goto free_spans;
    for (size_t i = 0; i < spans.count; i++) {
        const struct thread_span *span = &spans.list[i];
        uint32_t place = place_of_stack(&votes->stacks, (uint32_t)span->chain);
        if ((code = place_layer_add(layer, span->thread,
                                    &(struct place_span){ span->start_ns, span->end_ns, place })) != 0)
            goto free_spans;
    }
    code = votes->stacks.failed ? ERR_NO_MEMORY : 0;
free_spans:
    thread_spans_free(&spans);
    return code;
}

static int place_votes_read_samples(struct places *places, const struct place_events *events, enum stack_source source,
                                    enum place_source layer, struct error *err)
{
    static const struct filter all;
    struct stacks stacks = { 0 };
    struct votes votes = { .places = places,
                           .layer = &places->layers[layer],
                           .stacks = { .places = places, .stacks = &stacks },
                           .launches.width = 2,
                           .names.width = 1,
                           .signatures.width = 1 };
    int code;

    if ((code = stacks_open(&stacks, places->report, err)) != 0 ||
        (code = stacks_read_samples(&stacks, source, STACKS_WITH_LINES, &all, err)) != 0)
        goto done;
    if (stacks.sample_count && source == STACKS_CPU && (code = read_kernels(&votes, places->report, err)) != 0)
        goto done;
    if (stacks.sample_count &&
        (vote(&votes, events) != 0 || place_votes_add_samples(&votes, &places->layers[layer + 1]) != 0))
        code = error_short_memory(err, "for the samples");
done:
    keys_free(&votes.launches);
    keys_free(&votes.names);
    keys_free(&votes.signatures);
    free(votes.kernels);
    free(votes.hashes);
    free(votes.list);
    free(votes.winners);
    free(votes.stacks.known);
    stacks_free(&stacks);
    return code;
}

int place_votes_read(struct places *places, const struct place_events *events, struct error *err)
{
    int code = place_votes_read_samples(places, events, STACKS_PYTHON, PLACES_OF_VOTES, err);

    /* the native stacks of a Python program end in the interpreter and in PyTorch */
    return code != 0 || places->layers[PLACES_OF_SAMPLES].count
               ? code
               : place_votes_read_samples(places, events, STACKS_CPU, PLACES_OF_NATIVE_VOTES, err);
}
