/* Places of CUDA calls from the call stacks that were recorded with them. */
#include <stdlib.h>

#include "places_state.h"

/* Between two calls at the same line, a thread is at that line too, if no other call lies between them. */
static int place_calls_add_calls(struct place_layer *layer, const struct thread_spans *calls, const uint32_t *place)
{
    for (size_t i = 0; i < calls->count; i++) {
        const struct thread_span *call = &calls->list[i];
        struct place_span span = { call->start_ns, call->end_ns, place[i] };
        if (i && call[-1].thread == call->thread && place[i - 1] == place[i] && call[-1].end_ns < span.start_ns)
            span.start_ns = call[-1].end_ns;
        if (place_layer_add(layer, call->thread, &span) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Adds the calls whose chains are in this table. */
static int add_chains(struct places *places, const struct thread_spans *calls, const char *table, int is_python,
                      struct error *err)
{
    struct stacks stacks = { 0 };
    struct stack_chains chains = { 0 };
    struct place_stacks known = { .places = places, .stacks = &stacks };
    uint32_t *place = malloc((calls->count + 1) * sizeof *place);
    size_t hint = 0;
    int code;

    if ((code = stacks_open(&stacks, places->report, err)) != 0 ||
        (code = stack_chains_read(&chains, &stacks, table, STACKS_WITH_LINES, err)) != 0)
        goto done;
    for (size_t i = 0; i < calls->count && place; i++) {
        int64_t chain = is_python ? calls->list[i].python : calls->list[i].chain;
        place[i] = chain ? place_of_stack(&known, stack_chains_find(&chains, chain, &hint)) : NO_PLACE;
    }
    struct place_layer *layer = &places->layers[is_python ? PLACES_OF_CALLS : PLACES_OF_NATIVE_CALLS];
    if (!place || known.failed || place_calls_add_calls(layer, calls, place) != 0)
        code = error_short_memory(err, "for the call stacks");
done:
    free(place);
    free(known.known);
    stack_chains_free(&chains);
    stacks_free(&stacks);
    return code;
}

int place_calls_read(struct places *places, const struct place_events *events, struct error *err)
{
    static const struct {
        const char *table;
        int is_python;
    } chains[] = { { "TACHO_PYTHON_CALLCHAINS", 1 }, { "CUDA_CALLCHAINS", 0 } };
    int code = 0;

    for (size_t i = 0; i < COUNT_OF(chains); i++)
        if (report_rows(places->report, chains[i].table) &&
            (code = add_chains(places, &events->calls, chains[i].table, chains[i].is_python, err)) != 0)
            return code;
    return 0;
}
