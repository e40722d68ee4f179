/* Walks nested spans of several lists: see places_state.h. */
#include <stdlib.h>

#include "base/array.h"
#include "places_state.h"

struct open_span {
    int64_t end_ns;
    uint64_t value;
};

struct nest_walk {
    const struct place_nest *nest;
    size_t at[NEST_LISTS];
    struct open_span *open; /* owned; the innermost last */
    size_t depth, room;
    int64_t thread, time_ns;
    int has_thread;
};

/* The list whose next span comes first: by thread, then by time, the longer one first; -1: all are at their end. */
static int place_nest_next_list(const struct nest_walk *walk)
{
    const struct thread_span *first = NULL;
    int list = -1;

    for (int i = 0; i < NEST_LISTS; i++) {
        const struct thread_spans *spans = walk->nest->lists[i];
        if (!spans || walk->at[i] == spans->count)
            continue;
        const struct thread_span *span = &spans->list[walk->at[i]];
        if (!first || span->thread < first->thread ||
            (span->thread == first->thread && (span->start_ns < first->start_ns ||
                                               (span->start_ns == first->start_ns && span->end_ns > first->end_ns)))) {
            first = span;
            list = i;
        }
    }
    return list;
}

/* Emits the values up to this time, and closes the spans that end before. */
static int emit_until(struct nest_walk *walk, int64_t until)
{
    int code;

    while (walk->time_ns < until) {
        const struct open_span *top = walk->depth ? &walk->open[walk->depth - 1] : NULL;
        int64_t end = top && top->end_ns < until ? top->end_ns : until;
        if (end > walk->time_ns &&
            (code = walk->nest->emit(walk->nest->context, walk->thread, walk->time_ns, end, top ? top->value : 0)) != 0)
            return code;
        walk->time_ns = end > walk->time_ns ? end : walk->time_ns;
        if (top && top->end_ns <= walk->time_ns)
            walk->depth--;
    }
    while (walk->depth && walk->open[walk->depth - 1].end_ns <= until)
        walk->depth--;
    return 0;
}

static int place_nest_end_thread(struct nest_walk *walk)
{
    int code;

    while (walk->depth)
        if ((code = emit_until(walk, walk->open[walk->depth - 1].end_ns)) != 0)
            return code;
    return 0;
}

static int place_nest_open_one(struct nest_walk *walk, int list, const struct thread_span *span)
{
    uint64_t around = walk->depth ? walk->open[walk->depth - 1].value : 0;

    return ARRAY_PUSH(walk->open, walk->room, walk->depth,
                      (struct open_span){ span->end_ns, walk->nest->open(walk->nest->context, around, list, span) });
}

/* Ends the thread before, if this span is of another one, and opens the span. */
static int place_nest_take(struct nest_walk *walk, int list)
{
    const struct thread_span *span = &walk->nest->lists[list]->list[walk->at[list]++];
    int code;

    if (!walk->has_thread || span->thread != walk->thread) {
        if ((code = place_nest_end_thread(walk)) != 0)
            return code;
        walk->thread = span->thread;
        walk->time_ns = span->start_ns;
        walk->has_thread = 1;
    }
    if ((code = emit_until(walk, span->start_ns)) != 0)
        return code;
    return place_nest_open_one(walk, list, span);
}

int place_nest_walk(const struct place_nest *nest)
{
    struct nest_walk walk = { .nest = nest };
    int list, code;

    while ((list = place_nest_next_list(&walk)) >= 0)
        if ((code = place_nest_take(&walk, list)) != 0)
            goto free_open;
    code = place_nest_end_thread(&walk);
free_open:
    free(walk.open);
    return code;
}
