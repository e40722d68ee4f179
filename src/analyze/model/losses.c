/* Adding up TACHO_COUNT: it has rows for each process. */
#include "losses.h"

#include <string.h>

#include "analyze/engine/event_columns.h"

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
    enum { SOURCE, FATE, CAUSE, COUNT, COLUMNS };
    static const char *const names[COLUMNS] = { "source", "fate", "cause", "count" };
    struct report_columns columns = { 0 };
    int code = columns_read(report, "TACHO_COUNT", names, COLUMNS, &columns, err);

    *losses = (struct losses){ 0 };
    for (size_t i = 0; code == 0 && i < columns.rows; i++) {
        int64_t count = columns_is_null(&columns, COUNT, i) ? 0 : columns.values[COUNT][i];
        if (count > 0 && strcmp(report_string(report, columns.values[FATE][i], NULL), "lost") == 0)
            add(losses, report_string(report, columns.values[SOURCE][i], NULL),
                columns_is_null(&columns, CAUSE, i) ? "" : report_string(report, columns.values[CAUSE][i], NULL),
                (uint64_t)count);
    }
    report_columns_free(&columns);
    return code;
}
