/* Forks of a replay: see replay_fork.h. */
#include "replay_fork.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

int replay_fork(struct replay *fork, const struct replay *replay)
{
    const struct replay_graph *graph = &replay->graph;

    *fork = *replay;
    fork->times = NULL;
    fork->graph.lag = array_alloc(graph->edges + 1, sizeof *graph->lag);
    if (!fork->graph.lag)
        return ERR_NO_MEMORY;
    if (graph->edges)
        memcpy(fork->graph.lag, graph->lag, graph->edges * sizeof *graph->lag);
    return 0;
}

void replay_fork_free(struct replay *fork)
{
    free(fork->graph.lag);
    free(fork->times);
}
