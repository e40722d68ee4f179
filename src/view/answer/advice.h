/* What the rules and the largest gaps of GPUs say of places in the timeline: parts of the answer to advice. */
#ifndef TACHO_VIEW_ANSWER_ADVICE_H
#define TACHO_VIEW_ANSWER_ADVICE_H

#include "advice_list.h"
#include "event_list.h"

enum { ADVICE_MOST = 200, ADVICE_NO_EVENT = -1 }; /* of one rule */

struct advice {
    struct view *view;
    struct advice_list *items, *rules;
};

/* One that was found; row and event are -1 for a stretch of time alone. text is a few sentences. */
struct advice_item {
    const char *rule, *title;
    int row;
    int64_t event;
    int64_t from_ns, to_ns;
    int64_t impact_ns; /* that could be gained there */
    const struct text *text;
};
void advice_add(struct advice *advice, const struct advice_item *item);
/* A rule that was looked at, with how much it found and what that could gain. */
struct advice_rule {
    const char *name, *title, *words;
    size_t count;
    int64_t impact_ns;
};
void advice_add_rule(struct advice *advice, const struct advice_rule *rule);

/* The row of a GPU, by its id; VIEW_NO_ROW if there is none. */
int advice_gpu_row(const struct view *view, int64_t gpu);

/* The longest times in which a GPU had nothing to do, and what the thread did that launched the next work. */
int advice_add_gaps(struct advice *advice, struct error *err);

#endif
