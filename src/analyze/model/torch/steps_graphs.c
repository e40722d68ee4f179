/* Steps by the launches of a graph: for programs whose loop does little else, after a warm-up in which something else
 * repeats. A step begins with the call that launches the graph and ends where the next one begins. */
#include <stdio.h>
#include <stdlib.h>

#include "steps_read_state.h"

/* The graph that a process launches most often; UINT32_MAX: it launches none twice. */
static int choose_graph(const struct gpu_sequences *sequences, const struct gpu_sequence *of, uint32_t *out)
{
    size_t *launches = calloc(of->sequence.symbol_count + 1, sizeof *launches), most = 1;

    if (!launches)
        return ERR_NO_MEMORY;
    *out = UINT32_MAX;
    for (size_t i = 0; i < of->sequence.count; i++) {
        uint32_t symbol = of->symbols[i];
        if (gpu_sequence_kind(sequences, symbol) == SEQUENCE_GRAPH && ++launches[symbol] > most) {
            most = launches[symbol];
            *out = symbol;
        }
    }
    free(launches);
    return 0;
}

static int steps_graphs_add_steps(struct steps_search *search, const struct gpu_sequence *of, uint32_t graph,
                                  struct error *err)
{
    struct step step = { .process = of->process, .name = STEP_WITHOUT_NAME };
    int is_open = 0, code;

    for (size_t i = 0; i < of->sequence.count; i++) {
        if (of->symbols[i] != graph)
            continue;
        step.end_ns = of->start_ns[i];
        if (is_open && (code = steps_add(search, &step, err)) != 0)
            return code;
        step.start_ns = of->start_ns[i];
        step.end_ns = of->end_ns[i];
        is_open = 1;
    }
    return steps_add(search, &step, err);
}

int steps_find_graphs(struct steps_search *search, struct error *err)
{
    const struct gpu_sequences *sequences = &search->sequences;
    uint32_t graph;
    int code;

    for (size_t i = 0; i < sequences->count; i++) {
        if (choose_graph(sequences, &sequences->list[i], &graph) != 0)
            return error_short_memory(err, "for the steps");
        if (graph == UINT32_MAX)
            continue;
        snprintf(search->steps->source, sizeof search->steps->source, "steps by launches of a graph");
        if ((code = steps_graphs_add_steps(search, &sequences->list[i], graph, err)) != 0)
            return code;
    }
    return 0;
}
