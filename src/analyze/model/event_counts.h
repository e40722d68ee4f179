/* The fate of the events of each source: recorded, counted only, or lost; and how far a loss makes figures wrong.
 *
 * A loss is reported in proportion, and only where it matters: loss_concerns() says whether a table is made of the
 * events that are missing, loss_add() writes "250 of 1,000 OS calls lost (buffer full): counts up to 25.0 % low". */
#ifndef TACHO_ANALYZE_MODEL_EVENT_COUNTS_H
#define TACHO_ANALYZE_MODEL_EVENT_COUNTS_H

#include "base/text.h"
#include "report/reader/reader.h"

enum { COUNTED_SOURCES_MAX = 40, LOSSES_MAX = 40, LOSS_CAUSES_MAX = 16, LOSS_BOUNDS_MAX = 2 };

struct counted_source {
    const char *name; /* in TACHO_COUNT: a string of the report */
    uint64_t recorded, below_threshold, untimed, left_out, lost, empty_polls;
    /* `recorded` includes these: from memory that a process left behind; without the outermost frames of their stack */
    uint64_t recovered, incomplete;
};

/* All losses of a source; of processes that were not recorded, those that are worth a warning and the others apart.
 * Also, as a note, its events with a truncated stack, if there are more than one of a hundred. */
struct loss {
    const struct loss_words *words;
    const char *source;
    uint64_t lost, total; /* events or processes, with those that were recorded */
    int is_note;          /* no event is missing that anybody would look for */
    /* The largest error of the figures of one kind: `lost` of `total` events. */
    struct loss_bound {
        const char *figures; /* "sample counts" */
        uint64_t total;
    } bounds[LOSS_BOUNDS_MAX];
    size_t bound_count, cause_count;
    struct loss_cause {
        const char *name; /* a string of the report */
        uint64_t count;
    } causes[LOSS_CAUSES_MAX];
};

struct event_counts {
    struct counted_source sources[COUNTED_SOURCES_MAX];
    size_t source_count;
    struct loss losses[LOSSES_MAX];
    size_t loss_count;
};

/* A report without TACHO_COUNT has no counts and no losses. */
int event_counts_read(struct event_counts *counts, struct report *report, struct error *err);

/* The source's counts, or NULL. */
const struct counted_source *event_counts_find(const struct event_counts *counts, const char *source);

/* Whether figures from this table are wrong for the loss. */
int loss_concerns(const struct loss *loss, const char *table);

/* Whether a table is made of the events of a source of TACHO_COUNT. */
int counted_source_concerns(const char *source, const char *table);

/* The sources under which stacks are counted, and frames of stacks that a full disk took. */
#define COUNTED_STACKS "callchains"
#define COUNTED_STACK_FRAMES "stack frames"

/* Whether it is about processes that no agent was in; the capture warns of them itself. */
int loss_is_of_processes(const struct loss *loss);

/* Whether the loss is so small that figures can be used as they are. */
int loss_is_small(const struct loss *loss);

/* Adds a clause without an end: what was lost, of how many, why, and the size of the error. */
void loss_add(struct text *out, const struct loss *loss);

#endif
