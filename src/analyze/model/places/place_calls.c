/* Places of CUDA calls and OS calls from the call stacks that were recorded with them. */
#include <stdlib.h>

#include "places_state.h"

/* The call stacks of a kind of calls. */
struct place_calls_source {
    const char *table;
    enum place_source layer;
    int is_python;
    int is_all; /* all calls that matter are recorded: between two of them at one line a thread is at that line too */
};

static int place_calls_add_calls(struct place_layer *layer, const struct thread_spans *calls, const uint32_t *place,
                                 int is_all)
{
    for (size_t i = 0; i < calls->count; i++) {
        const struct thread_span *call = &calls->list[i];
        struct place_span span = { call->start_ns, call->end_ns, place[i] };
        if (is_all && i && call[-1].thread == call->thread && place[i - 1] == place[i] &&
            call[-1].end_ns < span.start_ns)
            span.start_ns = call[-1].end_ns;
        if (place_layer_add(layer, call->thread, &span) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Adds the calls whose chains are in this table. */
static int add_chains(struct places *places, const struct thread_spans *calls, const struct place_calls_source *source,
                      struct error *err)
{
    struct stacks stacks = { 0 };
    struct stack_chains chains = { 0 };
    struct place_stacks known = { .places = places, .stacks = &stacks };
    uint32_t *place = malloc((calls->count + 1) * sizeof *place);
    size_t hint = 0;
    int code;

    if ((code = stacks_open(&stacks, places->report, err)) != 0 ||
        (code = stack_chains_read(&chains, &stacks, source->table, STACKS_WITH_LINES, err)) != 0)
        goto done;
    for (size_t i = 0; i < calls->count && place; i++) {
        int64_t chain = source->is_python ? calls->list[i].python : calls->list[i].chain;
        place[i] = chain ? place_of_stack(&known, stack_chains_find(&chains, chain, &hint)) : NO_PLACE;
    }
    if (!place || known.failed ||
        place_calls_add_calls(&places->layers[source->layer], calls, place, source->is_all) != 0)
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
    static const struct place_calls_source chains[] = { { "TACHO_PYTHON_CALLCHAINS", PLACES_OF_CALLS, 1, 1 },
                                                        { "CUDA_CALLCHAINS", PLACES_OF_NATIVE_CALLS, 0, 1 } };
    int code = 0;

    for (size_t i = 0; i < COUNT_OF(chains); i++)
        if (report_rows(places->report, chains[i].table) &&
            (code = add_chains(places, &events->calls, &chains[i], err)) != 0)
            return code;
    return 0;
}

int places_add_os_calls(struct places *places, struct error *err)
{
    static const struct filter all;
    static const struct thread_span_source recorded = { "OSRT_API", "nameId",     "callchainId",   NULL,
                                                        NULL,       "eventClass", EVENT_CLASS_OSRT };
    static const struct place_calls_source source = { "OSRT_CALLCHAINS", PLACES_OF_OS_CALLS, 0, 0 };
    struct thread_spans calls = { 0 };
    int code = 0;

    if (report_rows(places->report, source.table) &&
        (code = thread_spans_read(&calls, places->report, &recorded, &all, err)) == 0) {
        thread_spans_keep_outermost(&calls);
        code = add_chains(places, &calls, &source, err);
    }
    thread_spans_free(&calls);
    return code;
}
