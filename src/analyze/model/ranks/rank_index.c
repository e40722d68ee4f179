/* Ranks come from processes, and in sets from the reports, of which some know no process. */
#include "rank_index.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "report/reader/unite.h"

static int rank_index_add_rank(struct rank_index *index, int64_t rank)
{
    if (rank < 0)
        return 0;
    if (array_reserve(&index->ranks, &index->room, index->count + 2, sizeof *index->ranks) != 0)
        return ERR_NO_MEMORY;
    index->ranks[index->count++] = rank;
    return 0;
}

static int rank_index_add_parts(struct rank_index *index, const struct report *report)
{
    for (size_t i = 0; i < report_part_count(report); i++) {
        const struct report_part *part = report_part_at(report, i);
        if (rank_index_add_rank(index, part->rank) != 0)
            return ERR_NO_MEMORY;
        for (size_t r = 0; r < part->rank_count; r++)
            if (report_part_keeps(part, part->ranks[r].rank) && rank_index_add_rank(index, part->ranks[r].rank) != 0)
                return ERR_NO_MEMORY;
    }
    return 0;
}

static int rank_index_add_processes(struct rank_index *index)
{
    const struct process_rank_map *map = &index->processes.map;

    for (const struct process_rank *at = process_rank_map_next(map, NULL); at; at = process_rank_map_next(map, at))
        if (rank_index_add_rank(index, at->rank) != 0)
            return ERR_NO_MEMORY;
    return 0;
}

static void sort_ranks(struct rank_index *index)
{
    size_t kept = 0;

    qsort(index->ranks, index->count, sizeof *index->ranks, array_by_int64);
    for (size_t i = 0; i < index->count; i++)
        if (!kept || index->ranks[i] != index->ranks[kept - 1])
            index->ranks[kept++] = index->ranks[i];
    index->count = kept;
}

static void set_host(struct rank_index *index, int64_t rank, const char *host)
{
    uint32_t at = rank_index_find(index, rank);

    if (at != NO_RANK && host && !*index->hosts[at])
        index->hosts[at] = host;
}

static int rank_index_find_hosts(struct rank_index *index, struct report *report)
{
    const struct process_rank_map *map = &index->processes.map;

    index->hosts = array_alloc(index->count + 1, sizeof *index->hosts);
    if (!index->hosts)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < index->count; i++)
        index->hosts[i] = "";
    for (const struct process_rank *at = process_rank_map_next(map, NULL); at; at = process_rank_map_next(map, at))
        if (at->host)
            set_host(index, at->rank, report_string(report, at->host, NULL));
    for (size_t i = 0; i < report_part_count(report); i++)
        set_host(index, report_part_at(report, i)->rank, report_part_at(report, i)->host);
    return 0;
}

int rank_index_read(struct rank_index *index, struct report *report, struct error *err)
{
    *index = (struct rank_index){ 0 };
    int code = process_ranks_read(&index->processes, report, err);

    if (code != 0)
        return code;
    if (rank_index_add_parts(index, report) != 0 || rank_index_add_processes(index) != 0 ||
        array_reserve(&index->ranks, &index->room, 1, sizeof *index->ranks) != 0)
        return error_no_memory(err);
    if (!index->count)
        index->ranks[index->count++] = -1;
    sort_ranks(index);
    return rank_index_find_hosts(index, report) != 0 ? error_no_memory(err) : 0;
}

void rank_index_free(struct rank_index *index)
{
    process_ranks_free(&index->processes);
    free(index->ranks);
    free(index->hosts);
    *index = (struct rank_index){ 0 };
}

uint32_t rank_index_find(const struct rank_index *index, int64_t rank)
{
    const int64_t *found = index->count ? bsearch(&rank, index->ranks, index->count, sizeof rank, array_by_int64)
                                        : NULL;

    return found ? (uint32_t)(found - index->ranks) : NO_RANK;
}

/* In a report of one rank, all is of that rank. */
uint32_t rank_index_of(const struct rank_index *index, int64_t rank, int64_t global_id)
{
    if (index->count == 1)
        return 0;
    return rank_index_find(index, rank >= 0 ? rank : process_rank_of(&index->processes, global_id));
}
