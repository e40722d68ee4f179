/* The facts of a finding: the operator of PyTorch that it lies in, and the work on a GPU that came next. */
#ifndef TACHO_VIEW_ADVICE_ADVICE_FACTS_H
#define TACHO_VIEW_ADVICE_ADVICE_FACTS_H

#include "base/text.h"
#include "view/links/event_list.h"

struct advice_place {
    int64_t thread;         /* a global id, or -1: the thread that launched the work decides about the operator */
    int64_t process;        /* its pid, or -1: work of any process may come next */
    int64_t from_ns, to_ns;
    struct view_place next; /* the work, where it is known; else VIEW_NO_PLACE */
};

/* Adds both names; nothing where there is none. */
int advice_facts_find(struct text *operator_name, struct text *next, struct view *view,
                      const struct advice_place *place, struct error *err);

#endif
