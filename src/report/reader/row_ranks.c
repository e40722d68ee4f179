/* The ranks of the rows of a report of several: each row says by its own rank, or by its process, whose it is. Rows of
 * ranks that are not asked for are left out. */
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "reader_state.h"

#define PID_SHIFT 24
#define PID_MASK INT64_C(0xffffff)
#define SYSTEM_SHIFT 48

/* ---- of processes ---------------------------------------------------------------------------------------------- */

/* By pid first, so that a bare pid is found, too. */
static uint64_t row_ranks_order_of(int64_t process)
{
    return (uint64_t)(process >> PID_SHIFT & PID_MASK) << 16 | ((uint64_t)process >> SYSTEM_SHIFT);
}

static int row_ranks_compare_ranks(const void *a, const void *b)
{
    const struct report_rank *x = a, *y = b;
    uint64_t order_x = row_ranks_order_of(x->process), order_y = row_ranks_order_of(y->process);

    return COMPARE(order_x, order_y) ?: COMPARE(x->rank, y->rank);
}

void report_ranks_sort(struct report_rank *ranks, size_t count)
{
    if (count)
        qsort(ranks, count, sizeof *ranks, row_ranks_compare_ranks);
}

/* The first that is not before; -1 if there is none of this process. */
static int64_t row_ranks_find_rank(const struct report_part *part, uint64_t from, uint64_t to)
{
    size_t at = BISECT(0, part->rank_count, i, row_ranks_order_of(part->ranks[i].process) < from);

    return at < part->rank_count && row_ranks_order_of(part->ranks[at].process) <= to ? part->ranks[at].rank : -1;
}

static int64_t row_rank_of(const struct reader_part_table *map, int64_t value)
{
    const struct report_part *part = &map->part->public;
    uint64_t order = row_ranks_order_of(value), pid = (uint64_t)(value & PID_MASK) << 16;

    switch (map->rank_source) {
    case ROW_RANK_OWN: return value;
    case ROW_RANK_PROCESS: return row_ranks_find_rank(part, order, order);
    case ROW_RANK_PID: return row_ranks_find_rank(part, pid, pid | 0xffff);
    case ROW_RANK_NOWHERE: break;
    }
    return -1;
}

/* ---- of rows --------------------------------------------------------------------------------------------------- */

static int int_column(const struct report_table *table, const char *name)
{
    int column = report_column(table, name);

    return column >= 0 && table->columns[column].type == COLUMN_INT ? column : -1;
}

void row_ranks_find(struct reader_part_table *map, const struct report_table *from)
{
    static const struct {
        const char *name;
        enum row_rank_source source;
    } known[] = {
        { "rank", ROW_RANK_OWN },      { "globalTid", ROW_RANK_PROCESS }, { "globalPid", ROW_RANK_PROCESS },
        { "processId", ROW_RANK_PID }, { "pid", ROW_RANK_PID },
    };

    map->rank_source = ROW_RANK_NOWHERE;
    map->rank_column = -1;
    map->is_of_processes = 0;
    for (size_t i = 0; i < COUNT_OF(known); i++) {
        int column = int_column(from, known[i].name);
        if (column < 0)
            continue;
        map->is_of_processes |= known[i].source != ROW_RANK_OWN;
        if (map->rank_source != ROW_RANK_NOWHERE)
            continue;
        map->rank_source = known[i].source;
        map->rank_column = column;
    }
}

void row_ranks_map(const struct reader_part_table *map, int64_t *values, uint64_t *nulls, int has_nulls, size_t rows)
{
    int64_t process = 0, rank = -1;
    int is_known = 0;

    if (!has_nulls)
        memset(nulls, 0, (rows + 63) / 64 * sizeof *nulls);
    for (size_t r = 0; r < rows; r++) {
        if (nulls[r / 64] >> (r % 64) & 1)
            continue;
        if (!is_known || values[r] != process) { /* rows in sequence are mostly of one thread */
            process = values[r];
            rank = row_rank_of(map, process);
            is_known = 1;
        }
        values[r] = rank < 0 ? 0 : rank;
        if (rank < 0)
            nulls[r / 64] |= UINT64_C(1) << (r % 64);
    }
}

int row_ranks_filter(const struct reader_part_table *map)
{
    return map->part->public.kept_ranks && map->rank_source != ROW_RANK_NOWHERE;
}

int report_part_keeps(const struct report_part *part, int64_t rank)
{
    return !part->kept_ranks || (part->kept_rank_count && bsearch(&rank, part->kept_ranks, part->kept_rank_count,
                                                                  sizeof rank, array_by_int64) != NULL);
}

static int row_ranks_is_kept(const struct reader_part_table *map, const int64_t *ranks, const uint64_t *nulls,
                             size_t row)
{
    const struct report_part *part = &map->part->public;

    if (nulls[row / 64] >> (row % 64) & 1)
        return !map->is_of_processes;
    return report_part_keeps(part, ranks[row]);
}

size_t row_ranks_choose(const struct reader_part_table *map, const int64_t *ranks, uint64_t *nulls_to_kept, size_t rows)
{
    size_t kept = 0;

    for (size_t r = 0; r < rows; r++) {
        uint64_t bit = UINT64_C(1) << (r % 64);
        int is_one = row_ranks_is_kept(map, ranks, nulls_to_kept, r);
        nulls_to_kept[r / 64] = is_one ? nulls_to_kept[r / 64] | bit : nulls_to_kept[r / 64] & ~bit;
        kept += (size_t)is_one;
    }
    return kept;
}

void row_ranks_keep(const uint64_t *kept, size_t rows, int64_t *values, uint64_t *nulls)
{
    size_t count = 0;

    for (size_t r = 0; r < rows; r++) {
        if (!(kept[r / 64] >> (r % 64) & 1))
            continue;
        values[count] = values[r];
        if (nulls) {
            uint64_t bit = nulls[r / 64] >> (r % 64) & 1;
            nulls[count / 64] = (nulls[count / 64] & ~(UINT64_C(1) << (count % 64))) | bit << (count % 64);
        }
        count++;
    }
    for (size_t r = count; nulls && r < rows; r++) /* bits after the last row are 0 */
        nulls[r / 64] &= ~(UINT64_C(1) << (r % 64));
}
