/* Changes as data: see replay_edits.h. */
#include "replay_edits.h"

#include <stdlib.h>

#include "base/array.h"

void replay_edits_free(struct replay_edits *edits)
{
    free(edits->list);
    *edits = (struct replay_edits){ 0 };
}

int replay_edit_cut(struct replay_edits *edits, uint32_t edge, int64_t cut_ns)
{
    if (edge == REPLAY_NO_EDGE || !cut_ns)
        return 0;
    if (array_reserve(&edits->list, &edits->room, edits->count + 1, sizeof *edits->list) != 0)
        return ERR_NO_MEMORY;
    edits->list[edits->count++] = (struct replay_edit){ edge, cut_ns };
    return 0;
}

int replay_edit_drop(struct replay_edits *edits, uint32_t edge)
{
    return replay_edit_cut(edits, edge, REPLAY_DROPPED);
}

int replay_edits_add(struct replay_edits *edits, const struct replay_edits *more)
{
    for (size_t i = 0; i < more->count; i++)
        if (replay_edit_cut(edits, more->list[i].edge, more->list[i].cut_ns) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

int replay_apply(struct replay *replay, const struct replay_edits *edits, struct error *err)
{
    int code = replay_open_lags(replay, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < edits->count; i++) {
        const struct replay_edit *edit = &edits->list[i];
        int64_t *lag = &replay->lags[edit->edge];
        if (edit->cut_ns == REPLAY_DROPPED)
            *lag = REPLAY_DROPPED;
        else if (*lag != REPLAY_DROPPED)
            *lag = *lag > edit->cut_ns ? saturating_subtract(*lag, edit->cut_ns) : 0;
    }
    return 0;
}

uint32_t replay_edge_to(const struct replay *replay, uint32_t point, enum replay_kind kind)
{
    const struct replay_graph *graph = &replay->graph;

    for (uint32_t edge = graph->first[point]; edge < graph->first[point + 1]; edge++)
        if (graph->kind[edge] == kind)
            return edge;
    return REPLAY_NO_EDGE;
}
