/* The answer to advice: places in the timeline where time could be gained, and the rules that found them, as two lists
 * of JSON objects that are sorted by impact, rules by their rank. */
#ifndef TACHO_VIEW_ANSWER_ADVICE_LIST_H
#define TACHO_VIEW_ANSWER_ADVICE_LIST_H

#include <stdint.h>

#include "base/text.h"

struct view;

enum { ADVICE_MOST = 200, ADVICE_NO_EVENT = -1 }; /* ADVICE_MOST: items of one rule */

/* {0} is empty. */
struct advice_list {
    struct text text;         /* the members, one after the other */
    struct advice_member {
        int64_t rank;         /* the largest comes first */
        size_t first, length; /* in the text */
    } *members;               /* owned */
    size_t count, room;
};
void advice_list_free(struct advice_list *list);
/* Adds the members to an answer in their order, with commas between them. */
void advice_list_add_to(struct advice_list *list, struct text *out);
/* Removes the members that were added after the text had that length, also after a failure to add one. */
void advice_list_cut(struct advice_list *list, size_t length);

struct advice {
    struct view *view;
    struct advice_list *items, *rules;
};

/* The texts of an item, which are used again for the next. {0} is empty. */
struct advice_words {
    struct text text, what, operator, next;
};
void advice_words_clear(struct advice_words *words);
void advice_words_free(struct advice_words *words);

/* A place where time could be gained; row and event are -1 for a span alone. `text` is a few sentences, `what` the
 * finding in a few words. */
struct advice_item {
    const char *rule, *title;
    const char *where, *confidence;       /* the line of the program, and how sure a replay is; "": not known */
    int64_t about_ns, low_ns, high_ns;    /* the saving per step in a replay, and its range; -1: not known */
    int64_t order;                        /* among the causes that a replay judged, or -1 */
    struct text *what, *operator, * next; /* the operator, and the work on a GPU that came next; may be empty */
    int row;
    int64_t event;
    int64_t from_ns, to_ns;
    int64_t impact_ns; /* the time that could be gained; 0: not known */
    const struct text *text;
};
void advice_add(struct advice *advice, const struct advice_item *item);

/* A rule that has run: how many places it found, and how much time these could gain. */
struct advice_rule {
    const char *name, *title, *words;
    size_t count;
    int64_t impact_ns, rank; /* the largest rank comes first */
};
void advice_add_rule(struct advice *advice, const struct advice_rule *rule);

#endif
