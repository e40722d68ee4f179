/* For the files that fill the layers of places.h. */
#ifndef TACHO_ANALYZE_MODEL_PLACES_PLACES_STATE_H
#define TACHO_ANALYZE_MODEL_PLACES_PLACES_STATE_H

#include "analyze/model/stacks/thread_spans.h"
#include "places.h"

/* ---- places and layers: places.c ------------------------------------------------------------------------------- */

/* The number of a text or a place; UINT32_MAX when memory is short. */
uint32_t places_add_text(struct places *places, const char *bytes, size_t length);
uint32_t places_add(struct places *places, const struct place *place);

/* Adds a span after all others of its thread; threads follow each other in the order of their ids. NO_PLACE adds
 * nothing. ERR_NO_MEMORY or 0. */
int place_layer_add(struct place_layer *layer, int64_t thread, const struct place_span *span);

/* ---- nested events: place_nest.c -------------------------------------------------------------------------------- */

/* Walks through lists of nested spans, each in order, as one: thread by thread, and at each time with the innermost
 * span. A span has a value that open() makes of the value of the span around it (0: none is around it). emit() gets
 * the value at each time from a thread's first span to its last, 0 where it has none. */
enum { NEST_LISTS = 3 };
struct place_nest {
    const struct thread_spans *lists[NEST_LISTS]; /* NULL: none */
    uint64_t (*open)(void *context, uint64_t around, int list, const struct thread_span *span);
    int (*emit)(void *context, int64_t thread, int64_t from_ns, int64_t to_ns, uint64_t value);
    void *context;
};
/* ERR_NO_MEMORY, or the first value of emit() that is not 0. */
int place_nest_walk(const struct place_nest *nest);

/* ---- stacks: place_stacks.c ------------------------------------------------------------------------------------- */

/* The places of stacks; each is searched for once. */
struct place_stacks {
    struct places *places;
    const struct stacks *stacks;
    uint32_t *known;                                                  /* owned; by stack; 0: not determined yet */
    size_t room;
    int failed;                                                       /* memory was too short */
};
uint32_t place_of_stack(struct place_stacks *places, uint32_t stack); /* NO_PLACE: no frame is the user's */

/* ---- the sources ------------------------------------------------------------------------------------------------- */

/* The events of threads, each list in order. */
struct place_events {
    struct thread_spans calls;     /* of the CUDA API, that lie in no other call; other: its correlation id */
    struct thread_spans operators; /* and annotations; chain: the string of the Python stack, or 0 */
    struct thread_spans ranges;    /* of NVTX */
    struct thread_spans functions; /* of Python, that torch.profiler recorded */
};

int place_calls_read(struct places *places, const struct place_events *events, struct error *err);
int place_operators_read(struct places *places, const struct place_events *events, struct error *err);
int place_functions_read(struct places *places, const struct place_events *events, struct error *err);
int place_ranges_read(struct places *places, const struct place_events *events, struct error *err);
int place_votes_read(struct places *places, const struct place_events *events, struct error *err);

#endif
