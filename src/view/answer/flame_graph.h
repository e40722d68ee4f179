/* A flame graph on its way to an answer: frames, and nodes whose parents come before them. */
#ifndef TACHO_VIEW_ANSWER_FLAME_GRAPH_H
#define TACHO_VIEW_ANSWER_FLAME_GRAPH_H

#include "view/load/view_state.h"

enum { FLAME_MOST_NODES = 200000 }; /* in an answer; nodes beyond are left out, and so are all nodes below them */

struct flame {
    struct text frames, nodes;      /* members of the two lists */
    size_t frame_count, node_count;
    int64_t samples;
    struct text name;               /* the name of the current frame */
};

static inline void flame_add_node(struct flame *flame, int64_t parent, int64_t frame, int64_t self, int64_t total)
{
    text_addf(&flame->nodes, "%s[%lld,%lld,%lld,%lld]", flame->node_count++ ? "," : "", (long long)parent,
              (long long)frame, (long long)self, (long long)total);
}

#endif
