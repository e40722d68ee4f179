/* Causes by the place in the program: what rules on the time of threads share. */
#ifndef TACHO_ANALYZE_ADVICE_ADVICE_GROUPS_H
#define TACHO_ANALYZE_ADVICE_ADVICE_GROUPS_H

#include "adviser.h"

/* A cause in the making. */
struct advice_group {
    struct advice_cause cause;
    int64_t total_ns; /* of its events */
    int is_taken;     /* by advice_groups_add() */
    uint32_t step;    /* of its last event, plus 1; 0: it has none */
    int is_repeated;  /* several steps have events of it, or one is in no step */
};

/* Starts from advice_groups_open(). */
struct advice_groups {
    struct adviser *adviser;
    struct places *places;
    struct keys keys;          /* of groups */
    struct advice_group *list; /* owned; by group */
    size_t room;
    struct keys tally_keys;    /* group, place, kind */
    int64_t *tally_ns;         /* owned; by tally key */
    size_t tally_room;
};

/* Needs advice_groups_free() after an error too. */
int advice_groups_open(struct advice_groups *groups, struct adviser *adviser, struct error *err);
void advice_groups_free(struct advice_groups *groups);

/* The group with this key, new or old: two numbers that the rule chooses. NO_KEY when memory is short. */
uint32_t advice_group(struct advice_groups *groups, int64_t a, int64_t b);

/* Adds an event to a group: where a thread was, and a kind that the rule chooses. ERR_NO_MEMORY or 0. */
struct advice_event {
    uint32_t place;
    int64_t kind, thread, start_ns, end_ns;
};
int advice_group_note(struct advice_groups *groups, uint32_t group, const struct advice_event *event);

/* The place and kind in which a group spent most of its time. */
void advice_group_most(const struct advice_groups *groups, uint32_t group, uint32_t *place, int64_t *kind);
/* How many places and kinds the events of a group have. */
size_t advice_group_kinds(const struct advice_groups *groups, uint32_t group);

/* The time that a cause must have in all steps to save the least share of them: the threshold of the rule that runs. */
int64_t advice_least(const struct adviser *adviser);

/* Hands the largest groups over to the adviser, at most MOST_GROUPS, each of which is replayed. A group that only one
 * of several steps has is left out: it is no habit of the loop. describe() sets the texts of a cause, which has the
 * count and the time of the events; it returns 0 if the group is no cause after all. */
enum { MOST_GROUPS = 8 };
int advice_groups_add(struct advice_groups *groups, int64_t least_ns,
                      int (*describe)(struct advice_groups *groups, uint32_t group), struct error *err);

/* The calls of a thread, if one that it made at this time would count; NULL: it would not, or it makes none. */
const struct replay_thread *advice_thread(const struct adviser *adviser, int64_t thread, int64_t time_ns);

/* Cuts the time of a thread from the edges between its calls and, with_calls, in them. ERR_NO_MEMORY or 0. */
int advice_cut_time(const struct replay *replay, struct replay_edits *edits, const struct replay_thread *thread,
                    int64_t from_ns, int64_t to_ns, int with_calls);

/* A call takes no time, and waits for nothing. ERR_NO_MEMORY or 0. */
int advice_call_vanish(const struct replay *replay, struct replay_edits *edits, uint32_t call);

#endif
