/* Reads MPI_RANKS. A process that has several rows has the rank of the first. */
#include "mpi_ranks.h"

#include "analyze/engine/row_cursor.h"

int mpi_ranks_read(struct mpi_ranks *ranks, struct report *report, struct error *err)
{
    static const char *const names[] = { "globalTid", "rank", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "MPI_RANKS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        struct mpi_process entry = { (uint64_t)global_process(row_int(&rows, 0)) + 1, row_int(&rows, 1) };
        if (mpi_ranks_find(ranks, entry.process) || mpi_ranks_add(ranks, &entry))
            continue;
        code = ERR_NO_MEMORY;
        break;
    }
    row_cursor_close(&rows);
    return code;
}
