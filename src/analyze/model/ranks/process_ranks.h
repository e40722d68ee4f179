/* The rank of each process of a job, in a report of one rank, of several, or in a set of reports.
 *
 * In sets, and in reports of several ranks, every table of events has the column `rank` as well; this is for analyses
 * that have a process and no row of it, and for reports of one rank, whose tables lack the column. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_PROCESS_RANKS_H
#define TACHO_ANALYZE_MODEL_RANKS_PROCESS_RANKS_H

#include "analyze/engine/event_columns.h"
#include "base/map.h"
#include "report/reader/reader.h"

struct process_rank {
    uint64_t process; /* packed id without a thread, + 1: it may be 0 */
    int64_t rank;     /* in the job; -1: unknown */
    int64_t host;     /* string id; 0: unknown */
};
MAP(process_rank_map, struct process_rank, uint64_t, process, process, hash_number, map_is_same_number)

struct process_ranks {
    struct process_rank_map map;
};

/* Free with process_ranks_free(), also after an error. */
int process_ranks_read(struct process_ranks *ranks, struct report *report, struct error *err);
void process_ranks_free(struct process_ranks *ranks);

/* NULL: the process is not known. global_id is a packed id of the process or of any of its threads. */
static inline const struct process_rank *process_rank_find(const struct process_ranks *ranks, int64_t global_id)
{
    return process_rank_map_find(&ranks->map, (uint64_t)global_process(global_id) + 1);
}

/* -1: unknown. */
static inline int64_t process_rank_of(const struct process_ranks *ranks, int64_t global_id)
{
    const struct process_rank *found = process_rank_find(ranks, global_id);

    return found ? found->rank : -1;
}

#endif
