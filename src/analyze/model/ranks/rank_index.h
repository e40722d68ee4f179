/* The ranks of a job, numbered from 0 in their order, and the rank that a row of any table is of. */
#ifndef TACHO_ANALYZE_MODEL_RANKS_RANK_INDEX_H
#define TACHO_ANALYZE_MODEL_RANKS_RANK_INDEX_H

#include "process_ranks.h"

enum { NO_RANK = UINT32_MAX };

struct rank_index {
    struct process_ranks processes;
    int64_t *ranks;     /* owned; ascending, each once */
    const char **hosts; /* owned; "": unknown */
    size_t count, room;
};

/* All ranks that the report knows; one rank that is unknown, -1, if it knows none. Freed by the caller after an error
 * too. */
int rank_index_read(struct rank_index *index, struct report *report, struct error *err);
void rank_index_free(struct rank_index *index);

/* The number of a rank, or NO_RANK. */
uint32_t rank_index_find(const struct rank_index *index, int64_t rank);

/* The number of a row's rank, by its column `rank` (-1: it has none) and its process; NO_RANK if it is of none of the
 * ranks. */
uint32_t rank_index_of(const struct rank_index *index, int64_t rank, int64_t global_id);

#endif
