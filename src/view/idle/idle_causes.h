/* Why GPUs were idle: the causes of all gaps of the rows "Why idle", by the analysis that gpu_idle_sum uses.
 *
 * They are found once, at the first request for them, which takes as long as `tacho stats -r gpu_idle_sum`. Then each
 * gap is named after the cause that took most of it. Only the parts of each gap, by cause and line, are kept; the
 * analysis, which is much larger, is freed. */
#ifndef TACHO_VIEW_IDLE_IDLE_CAUSES_H
#define TACHO_VIEW_IDLE_IDLE_CAUSES_H

#include <pthread.h>

#include "analyze/idle/gap_causes.h"
#include "view/load/view_state.h"

/* The time of a gap that one cause and one line of the program took. */
struct idle_part {
    enum gap_cause cause;
    uint32_t line;                    /* a text, see idle_causes_line() */
    int64_t total_ns;
    int64_t thread, start_ns, end_ns; /* its longest span */
};

struct idle_causes {
    pthread_mutex_t lock;
    int is_known;            /* the members below are complete and do not change */
    struct idle_row {
        int row;
        size_t *firsts;      /* owned; by event, and one more: the first of its parts */
    } *rows;                 /* owned; the rows of gaps, in their order */
    size_t row_count;
    struct idle_part *parts; /* owned; gap by gap, the largest first */
    size_t part_count, part_room;
    struct intern lines;
};

void idle_causes_init(struct idle_causes *causes);
void idle_causes_free(struct idle_causes *causes);

/* Finds the causes and names the gaps, unless that is done. A thread waits while another one does it. */
int idle_causes_find(struct idle_causes *causes, struct view *view, struct error *err);

/* Whether they are found; does not wait for a thread that does it. */
int idle_causes_are_known(struct idle_causes *causes);

/* The parts of a gap, the largest first; none for an event of another row. Only after idle_causes_find(). */
const struct idle_part *idle_causes_of(const struct idle_causes *causes, int row, uint32_t event, size_t *count);
/* "train.py:41 forward", or "" */
const char *idle_causes_line(const struct idle_causes *causes, const struct idle_part *part);

/* Adds {"rows": [{"row", "causes": [{"cause", "state", "time", "gaps"}]}]}, the most time first. */
void idle_causes_add(const struct idle_causes *causes, const struct view *view, struct text *out);

#endif
