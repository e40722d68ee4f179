/* Which line of the program allocated a block. */
#ifndef TACHO_ANALYZE_MODEL_HEAP_HEAP_ORIGINS_H
#define TACHO_ANALYZE_MODEL_HEAP_HEAP_ORIGINS_H

#include "analyze/model/places/places_state.h"
#include "heap_life.h"

/* Starts from {0}. */
struct heap_origins {
    struct places places;
    struct stacks native, python;
    struct stack_chains native_chains, python_chains;
    struct place_stacks native_places, python_places;
    size_t hints[2]; /* of the last lookups */
};

/* Needs heap_origins_close() after an error too. */
int heap_origins_open(struct heap_origins *origins, struct report *report, struct error *err);
void heap_origins_close(struct heap_origins *origins);

/* The place of the user's code, of Python if the block has such a stack; where there is none, the frame of `native`
 * that called the allocator. NO_PLACE, NO_KEY: not known. */
struct heap_origin {
    uint32_t place, frame;
};
struct heap_origin heap_origin_of(struct heap_origins *origins, const struct heap_block *block);

/* Appends "file.py:12 function" or "function (file.c:12)". */
void heap_origin_text(struct text *out, const struct heap_origins *origins, struct heap_origin origin);

/* Whether memory was too short for an origin. */
static inline int heap_origins_failed(const struct heap_origins *origins)
{
    return origins->native_places.failed || origins->python_places.failed;
}

#endif
