/* Members of a list of the answer to advice, which has them by impact. */
#ifndef TACHO_VIEW_ANSWER_ADVICE_LIST_H
#define TACHO_VIEW_ANSWER_ADVICE_LIST_H

#include <stdint.h>

#include "base/text.h"

/* {0} is empty. */
struct advice_list {
    struct text text; /* one behind the other */
    struct advice_member {
        int64_t impact_ns;
        size_t first, length;
    } *members; /* owned */
    size_t count, room;
};
void advice_list_free(struct advice_list *list);

/* What was added to the text from there on is a member. */
void advice_list_end_member(struct advice_list *list, size_t first, int64_t impact_ns);
/* Adds the members by impact, with commas between them. */
void advice_list_add_to(struct advice_list *list, struct text *out);
/* Forgets what was added since the text had that length. */
void advice_list_cut(struct advice_list *list, size_t length);

#endif
