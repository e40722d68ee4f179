/* Reads the ranks of processes. Captures have them in TACHO_PROCESS, files of nsys in MPI_RANKS. In a set's report of
 * one rank all processes have that rank, which its tables of processes have in their column `rank`. */
#include "process_ranks.h"

#include "analyze/engine/row_cursor.h"
#include "base/array.h"

/* The first rank and the first host that are known of a process are those that count. */
static int process_ranks_add(struct process_ranks *ranks, int64_t process, int64_t rank, int64_t host,
                             struct error *err)
{
    struct process_rank entry = { (uint64_t)global_process(process) + 1, rank, host };
    struct process_rank *found = process_rank_map_find(&ranks->map, entry.process);

    if (!found && !process_rank_map_add(&ranks->map, &entry))
        return error_no_memory(err);
    if (found && found->rank < 0)
        found->rank = rank;
    if (found && !found->host)
        found->host = host;
    return 0;
}

static int process_ranks_read_table(struct process_ranks *ranks, struct report *report, const char *table,
                                    struct error *err)
{
    static const char *const names[] = { "globalPid", "globalTid", "rank", "host", NULL };
    enum { PROCESS, THREAD, RANK, HOST };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t rank = row_int_or(&rows, RANK, -1), process = row_int_or(&rows, PROCESS, row_int_or(&rows, THREAD, -1));
        if (process == -1)
            continue;
        if ((code = process_ranks_add(ranks, process, rank < 0 ? -1 : rank, row_int_or(&rows, HOST, 0), err)) != 0)
            break;
    }
    row_cursor_close(&rows);
    return code;
}

int process_ranks_read(struct process_ranks *ranks, struct report *report, struct error *err)
{
    static const char *const tables[] = { "TACHO_PROCESS", "MPI_RANKS", "PROCESSES", "ThreadNames" };
    int code;

    *ranks = (struct process_ranks){ 0 };
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if ((code = process_ranks_read_table(ranks, report, tables[i], err)) != 0)
            return code;
    return 0;
}

void process_ranks_free(struct process_ranks *ranks)
{
    process_rank_map_free(&ranks->map);
}
