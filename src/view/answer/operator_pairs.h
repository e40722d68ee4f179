/* Operators of PyTorch among the events, and pairs of a forward and a backward operator, which have the same sequence
 * number. They come from PyTorch's own tables or from the NVTX ranges of emit_nvtx. */
#ifndef TACHO_VIEW_ANSWER_OPERATOR_PAIRS_H
#define TACHO_VIEW_ANSWER_OPERATOR_PAIRS_H

#include "view/links/event_list.h"

struct operator_facts {
    int is_operator;  /* 0: a range, an annotation, or an event that is not of PyTorch */
    int is_backward;  /* a node of the backward graph */
    int64_t sequence; /* -1: none */
    int64_t process, thread, start_ns, end_ns;
    int64_t stack;    /* the string of its Python frames, or -1 */
};

int operator_facts(struct operator_facts *out, struct view *view, struct view_place place, struct error *err);

/* Adds the backward operators of a forward one, or the forward operators of a backward one: the one that belongs to it,
 * and those around that one with the same sequence number, outermost first. Adds nothing for other events. */
int operator_pairs_find(struct event_list *places, struct view *view, const struct operator_facts *facts,
                        struct view_place self, struct error *err);

#endif
