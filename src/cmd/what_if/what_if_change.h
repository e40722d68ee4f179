/* The changes that `tacho what-if` makes to a replay, as the user writes them. */
#ifndef TACHO_CMD_WHAT_IF_WHAT_IF_CHANGE_H
#define TACHO_CMD_WHAT_IF_WHAT_IF_CHANGE_H

#include "analyze/model/wall/wall_replay.h"
#include "analyze/replay/replay.h"

enum what_if_kind { WHAT_IF_KERNEL, WHAT_IF_FUNCTION, WHAT_IF_NO_WAIT, WHAT_IF_NO_HOST, WHAT_IF_KINDS };

struct what_if_change {
    enum what_if_kind kind;
    const char *text;        /* the value of the option: REGEX=FACTORx, PLACE=FACTORx, or a place; "all": everywhere */
    struct replay_edits gpu; /* owned, as the next: one of them, by the program */
    struct wall_edits cpu;
};

/* The option without its dashes. */
const char *what_if_option(enum what_if_kind kind);
/* Checks the value before a report is opened: 0, or ERR_BAD_ARGUMENT with a sentence. */
int what_if_check(const struct what_if_change *change, struct error *err);
/* The length of what is before the factor in "gemm=0.5x", and the factor; 0: it has none. */
size_t what_if_factor(const char *text, double *factor);
void what_if_change_free(struct what_if_change *change);
/* Finds what the change edits in the replay of a GPU. */
int what_if_find(struct what_if_change *change, const struct replay *replay, struct report *report, struct error *err);

#endif
