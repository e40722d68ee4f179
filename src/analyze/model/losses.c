/* Sums TACHO_COUNT, which has rows for each process. */
#include "losses.h"

#include <string.h>

#include "analyze/engine/row_cursor.h"

#define PROCESSES "processes"

int loss_is_of_processes(const struct loss *loss)
{
    return strcmp(loss->source, PROCESSES) == 0;
}

static void add(struct losses *losses, const char *source, const char *cause, uint64_t count)
{
    if (strcmp(source, PROCESSES) == 0)
        losses->processes += count;
    else
        losses->total += count;
    for (size_t i = 0; i < losses->count; i++)
        if (strcmp(losses->items[i].source, source) == 0 && strcmp(losses->items[i].cause, cause) == 0) {
            losses->items[i].count += count;
            return;
        }
    if (losses->count < LOSSES_MAX)
        losses->items[losses->count++] = (struct loss){ source, cause, count };
}

int losses_read(struct losses *losses, struct report *report, struct error *err)
{
    enum { SOURCE, FATE, CAUSE, COUNT };
    static const char *const names[] = {
        [SOURCE] = "source", [FATE] = "fate", [CAUSE] = "cause", [COUNT] = "count", NULL
    };
    struct row_cursor rows;
    int code;

    *losses = (struct losses){ 0 };
    if ((code = row_cursor_open(&rows, report, "TACHO_COUNT", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t count = row_int_or(&rows, COUNT, 0);
        if (count > 0 && strcmp(report_string(report, row_int(&rows, FATE), NULL), "lost") == 0)
            add(losses, report_string(report, row_int(&rows, SOURCE), NULL),
                row_is_null(&rows, CAUSE) ? "" : report_string(report, row_int(&rows, CAUSE), NULL), (uint64_t)count);
    }
    row_cursor_close(&rows);
    return 0;
}
