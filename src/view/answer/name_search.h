/* Decides which names match a search. Each name is matched once, however many events have it, and the verdict is kept
 * until another search begins: counting events and stepping through them then cost one table lookup each. */
#ifndef TACHO_VIEW_ANSWER_NAME_SEARCH_H
#define TACHO_VIEW_ANSWER_NAME_SEARCH_H

#include "arguments.h"
#include "base/clock.h"
#include "view/load/view_state.h"

enum name_search_mode { SEARCH_SUBSTRING, SEARCH_REGEX, SEARCH_EXACT, SEARCH_NAME, SEARCH_MODES };

struct name_search {          /* {0}: no search */
    enum name_search_mode mode;
    int with_case;
    uint32_t name;            /* for SEARCH_NAME */
    char *text;               /* owned; without case: in lower case */
    size_t length;
    uint8_t *verdicts[2];     /* owned; by id of the pool, by name of the view's own */
    size_t verdict_room[2];
    struct regex *regex;      /* owned */
    struct text folded;       /* a long name in lower case */
    struct clock_limit limit; /* the time limit of this request */
};

/* Begins the search of the arguments text, mode, case and name; ERR_BAD_ARGUMENT, ERR_NO_MEMORY. The same search as
 * before keeps its verdicts. */
int name_search_begin(struct name_search *search, struct view *view, const struct arguments *arguments,
                      struct error *err);
/* 1: the name matches; 0: it does not; ERR_BAD_ARGUMENT: the pattern takes too long; ERR_CANCELLED, ERR_NO_MEMORY. */
int name_search_matches_slowly(struct name_search *search, struct view *view, uint32_t name, struct error *err);
enum { VERDICT_UNKNOWN, VERDICT_NO, VERDICT_YES };
static inline int name_search_matches(struct name_search *search, struct view *view, uint32_t name, struct error *err)
{
    int is_own = (name & VIEW_OWN_NAME) != 0;
    uint32_t id = name & ~(uint32_t)VIEW_OWN_NAME;

    if (id < search->verdict_room[is_own] && search->verdicts[is_own][id] != VERDICT_UNKNOWN)
        return search->verdicts[is_own][id] == VERDICT_YES;
    return name_search_matches_slowly(search, view, name, err);
}
void name_search_free(struct name_search *search);

#endif
