/* Looks up the stacks of blocks: see heap_origins.h. */
#include "heap_origins.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int heap_origins_open(struct heap_origins *origins, struct report *report, struct error *err)
{
    int code;

    places_begin(&origins->places, report);
    origins->native_places = (struct place_stacks){ .places = &origins->places, .stacks = &origins->native };
    origins->python_places = (struct place_stacks){ .places = &origins->places, .stacks = &origins->python };
    if ((code = stacks_open(&origins->native, report, err)) != 0 ||
        (code = stacks_open(&origins->python, report, err)) != 0 ||
        (code = stack_chains_read(&origins->native_chains, &origins->native, "TACHO_HEAP_CALLCHAINS", STACKS_WITH_LINES,
                                  err)) != 0)
        return code;
    return stack_chains_read(&origins->python_chains, &origins->python, "TACHO_PYTHON_CALLCHAINS", STACKS_WITH_LINES,
                             err);
}

void heap_origins_close(struct heap_origins *origins)
{
    free(origins->native_places.known);
    free(origins->python_places.known);
    stack_chains_free(&origins->native_chains);
    stack_chains_free(&origins->python_chains);
    stacks_free(&origins->native);
    stacks_free(&origins->python);
    places_close(&origins->places);
}

/* Whether a function is a wrapper of malloc() or its like, by its name: xmalloc, g_realloc, _PyObject_Malloc,
 * ngx_alloc, xstrdup. Its caller is who wants the memory. */
static int heap_origins_is_wrapper(const struct stacks *stacks, uint32_t frame)
{
    static const char *const parts[] = { "malloc", "calloc", "realloc", "zalloc", "strdup", "memdup", "operator new" };
    static const char end[] = "_alloc";
    const int64_t *key = stack_frame(stacks, frame);
    const char *symbol = key[FRAME_SYMBOL] == FRAME_NO_NAME ? ""
                                                            : report_string(stacks->report, key[FRAME_SYMBOL], NULL);
    size_t length = strcspn(symbol, "(<");

    if (length >= strlen(end) && strncasecmp(symbol + length - strlen(end), end, strlen(end)) == 0)
        return 1;
    for (size_t i = 0; i < COUNT_OF(parts); i++) {
        const char *found = strcasestr(symbol, parts[i]);
        if (found && (size_t)(found - symbol) < length)
            return 1;
    }
    return 0;
}

/* The stack without the allocator's own functions; all of it, if there are no others. */
static uint32_t heap_origins_caller(const struct stacks *stacks, uint32_t stack)
{
    for (uint32_t at = stack; at != STACK_EMPTY; at = stack_parent(stacks, at))
        if (!heap_origins_is_wrapper(stacks, stack_innermost(stacks, at)))
            return at;
    return stack;
}

struct heap_origin heap_origin_of(struct heap_origins *origins, const struct heap_block *block)
{
    struct heap_origin origin = { NO_PLACE, NO_KEY };

    if (block->python)
        origin.place = place_of_stack(&origins->python_places,
                                      stack_chains_find(&origins->python_chains, block->python, &origins->hints[0]));
    if (origin.place != NO_PLACE || !block->chain)
        return origin;
    uint32_t stack = stack_chains_find(&origins->native_chains, block->chain, &origins->hints[1]);
    stack = heap_origins_caller(&origins->native, stack);
    origin.place = place_of_stack(&origins->native_places, stack);
    if (origin.place == NO_PLACE && stack != STACK_EMPTY) {
        origin.frame = stack_caller(&origins->native, stack);
        if (origin.frame == NO_KEY)
            origin.frame = stack_innermost(&origins->native, stack);
    }
    return origin;
}

void heap_origin_text(struct text *out, const struct heap_origins *origins, struct heap_origin origin)
{
    if (origin.place != NO_PLACE)
        place_text(out, &origins->places, origin.place);
    else if (origin.frame != NO_KEY)
        stack_frame_label(out, &origins->native, origin.frame);
}
