/* A change to the graph of a replay as data: how much shorter some of its edges are. */
#ifndef TACHO_ANALYZE_REPLAY_REPLAY_EDITS_H
#define TACHO_ANALYZE_REPLAY_REPLAY_EDITS_H

#include "replay.h"

enum { REPLAY_NO_EDGE = UINT32_MAX };

struct replay_edit {
    uint32_t edge;
    int64_t cut_ns; /* lags end at 0; negative: the edge takes longer; REPLAY_DROPPED: the edge does not count */
};

/* Starts from {0}. */
struct replay_edits {
    struct replay_edit *list; /* owned */
    size_t count, room;
};
void replay_edits_free(struct replay_edits *edits);

/* Add an edit. REPLAY_NO_EDGE is none. ERR_NO_MEMORY or 0. */
int replay_edit_cut(struct replay_edits *edits, uint32_t edge, int64_t cut_ns);
int replay_edit_drop(struct replay_edits *edits, uint32_t edge);
/* Adds all edits of another list. */
int replay_edits_add(struct replay_edits *edits, const struct replay_edits *more);

/* Applies edits to the lags of the next replay_run(). Several lists add up, until replay_reset(). */
int replay_apply(struct replay *replay, const struct replay_edits *edits, struct error *err);

/* The edge of this kind that leads to a point, or REPLAY_NO_EDGE. */
uint32_t replay_edge_to(const struct replay *replay, uint32_t point, enum replay_kind kind);

#endif
