/* Changes as data: see replay_edits.h. */
#include "replay_edits.h"

#include <float.h>
#include <stdlib.h>

#include "base/array.h"
#include "base/error.h"
#include "base/saturating.h"

void replay_edits_free(struct replay_edits *edits)
{
    free(edits->list);
    *edits = (struct replay_edits){ 0 };
}

static int replay_edits_append(struct replay_edits *edits, struct replay_edit edit)
{
    if (edit.edge == REPLAY_NO_EDGE)
        return 0;
    return ARRAY_PUSH(edits->list, edits->room, edits->count, edit);
}

int replay_edit_cut(struct replay_edits *edits, uint32_t edge, int64_t cut_ns)
{
    return cut_ns ? replay_edits_append(edits, (struct replay_edit){ edge, 1, cut_ns }) : 0;
}

int replay_edit_scale(struct replay_edits *edits, uint32_t edge, double factor)
{
    return replay_edits_append(edits, (struct replay_edit){ edge, factor < FLT_MAX ? (float)factor : FLT_MAX, 0 });
}

int replay_edit_drop(struct replay_edits *edits, uint32_t edge)
{
    return replay_edit_cut(edits, edge, REPLAY_DROPPED);
}

int replay_edits_add(struct replay_edits *edits, const struct replay_edits *more)
{
    for (size_t i = 0; i < more->count; i++)
        if (replay_edits_append(edits, more->list[i]) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

/* ---- in a graph ------------------------------------------------------------------------------------------------ */

static int64_t edited(int64_t lag, const struct replay_edit *edit)
{
    if (lag == REPLAY_DROPPED || edit->cut_ns == REPLAY_DROPPED)
        return REPLAY_DROPPED;
    if (edit->factor != 1)
        lag = saturating_from_double((double)lag * (double)edit->factor + 0.5);
    return lag > edit->cut_ns ? saturating_subtract(lag, edit->cut_ns) : 0;
}

static size_t count_edits(const struct replay_edits *const *lists)
{
    size_t count = 0;

    for (; *lists; lists++)
        count += (*lists)->count;
    return count;
}

int replay_edits_make(struct replay_graph *graph, const struct replay_edits *const *lists, int64_t **undo)
{
    size_t made = 0;

    *undo = array_alloc(count_edits(lists) + 1, sizeof **undo);
    if (!*undo)
        return ERR_NO_MEMORY;
    for (; *lists; lists++)
        for (size_t i = 0; i < (*lists)->count; i++) {
            const struct replay_edit *edit = &(*lists)->list[i];
            (*undo)[made++] = graph->lag[edit->edge];
            graph->lag[edit->edge] = edited(graph->lag[edit->edge], edit);
        }
    return 0;
}

void replay_edits_take_back(struct replay_graph *graph, const struct replay_edits *const *lists, const int64_t *undo)
{
    size_t left = count_edits(lists);
    const struct replay_edits *const *end = lists;

    while (*end)
        end++;
    while (end-- > lists)
        for (size_t i = (*end)->count; i-- > 0;)
            graph->lag[(*end)->list[i].edge] = undo[--left];
}
