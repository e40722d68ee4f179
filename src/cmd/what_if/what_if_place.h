/* A place in the program, as a user writes it: part of the name of a CUDA call, an NVTX range, an operator or a
 * function, or FILE:LINE. */
#ifndef TACHO_CMD_WHAT_IF_WHAT_IF_PLACE_H
#define TACHO_CMD_WHAT_IF_WHAT_IF_PLACE_H

#include "analyze/model/stacks/thread_spans.h"
#include "analyze/replay/replay.h"

struct what_if_place {
    const struct replay *replay;
    struct thread_spans spans; /* spans that have the name; none of a thread lies in another */
    uint8_t *is_caller;        /* owned; by call: its name or its call stack has the name */
};

/* Whether the name of a call, or of a place ("solve (nbody.c:31)"), has the place as a user writes it. */
int what_if_place_matches(const char *text, const char *name);

/* ERR_NO_DATA, with a sentence, if the report lacks the place. what_if_place_free() is safe after an error. */
int what_if_place_find(struct what_if_place *place, const struct replay *replay, struct report *report,
                       const char *text, struct error *err);
/* The same for the threads of a program without a GPU: ranges of the name, and times in which samples show a function
 * or a line of the name in the stack; none is no error. */
int what_if_place_find_work(struct what_if_place *place, struct report *report, const char *text, struct error *err);
void what_if_place_free(struct what_if_place *place);

/* Whether a call was made there. */
int what_if_place_has(const struct what_if_place *place, uint32_t call);
/* How much of the time before a call its thread spent there. */
int64_t what_if_place_time(const struct what_if_place *place, uint32_t call, int64_t from_ns, int64_t to_ns);

#endif
