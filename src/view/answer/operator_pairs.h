/* Operators of PyTorch among the events, and which backward operator belongs to which forward one: they have the same
 * sequence number. From PyTorch's own tables and from the NVTX ranges of emit_nvtx alike. */
#ifndef TACHO_VIEW_ANSWER_OPERATOR_PAIRS_H
#define TACHO_VIEW_ANSWER_OPERATOR_PAIRS_H

#include "event_list.h"

struct operator_facts {
    int is_operator;  /* else a range, an annotation, or nothing of PyTorch's */
    int is_backward;  /* a node of the backward graph */
    int64_t sequence; /* -1: none */
    int64_t process, thread, start_ns, end_ns;
    int64_t stack;    /* the string of its Python frames, or -1 */
};

int operator_facts(struct operator_facts *out, struct view *view, struct view_place place, struct error *err);

/* Adds the backward operators of a forward one, or the forward ones of a backward one: that which torch ties to it and
 * those around that with the same number, outermost first. Nothing for what is neither. */
int pairs_find(struct event_list *places, struct view *view, const struct operator_facts *facts, struct view_place self,
               struct error *err);

#endif
