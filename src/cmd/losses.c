/* Adding up TACHO_COUNT: it has rows for each process. */
#include "losses.h"

#include <string.h>

#include "rows.h"

static void add(struct losses *losses, const char *source, const char *cause, uint64_t count)
{
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
    static const char *const names[] = { "source", "fate", "cause", "count", NULL };
    struct rows rows;
    int code = rows_read(&rows, report, "TACHO_COUNT", names, err);

    *losses = (struct losses){0};
    for (size_t i = 0; code == 0 && i < rows.columns.rows; i++) {
        int64_t count = rows_number(&rows, i, 3, 0);
        if (count > 0 && strcmp(rows_text(&rows, i, 1, NULL), "lost") == 0)
            add(losses, rows_text(&rows, i, 0, NULL), rows_text(&rows, i, 2, NULL), (uint64_t)count);
    }
    rows_free(&rows);
    return code;
}
