/* A change to the graph of a replay as data: how much shorter some of its edges are. */
#ifndef TACHO_ANALYZE_REPLAY_REPLAY_EDITS_H
#define TACHO_ANALYZE_REPLAY_REPLAY_EDITS_H

#include "replay_graph.h"

enum { REPLAY_NO_EDGE = UINT32_MAX };

/* The lag becomes lag × factor − cut_ns, and ends at 0. Edits of the same edge are made one after the other. */
struct replay_edit {
    uint32_t edge;
    float factor;
    int64_t cut_ns; /* negative: the edge takes longer; REPLAY_DROPPED: the edge does not count */
};

/* Starts from {0}. */
struct replay_edits {
    struct replay_edit *list; /* owned */
    size_t count, room;
};
void replay_edits_free(struct replay_edits *edits);

/* Add an edit. REPLAY_NO_EDGE is none. ERR_NO_MEMORY or 0, as of all functions here. */
int replay_edit_cut(struct replay_edits *edits, uint32_t edge, int64_t cut_ns);
int replay_edit_scale(struct replay_edits *edits, uint32_t edge, double factor);
int replay_edit_drop(struct replay_edits *edits, uint32_t edge);
/* Adds all edits of another list. */
int replay_edits_add(struct replay_edits *edits, const struct replay_edits *more);

/* Lists of edits for a run, in this order. */
#define REPLAY_EDITS(...) ((const struct replay_edits *const[]){ __VA_ARGS__, NULL })

/* Makes the edits of several lists, which end with NULL, and takes them back. *undo is the caller's to free. */
int replay_edits_make(struct replay_graph *graph, const struct replay_edits *const *lists, int64_t **undo);
void replay_edits_take_back(struct replay_graph *graph, const struct replay_edits *const *lists, const int64_t *undo);

#endif
