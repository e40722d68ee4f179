/* Each profiler leaves a row of name and value behind that no other writes. See recorder.h. */
#include "recorder.h"

#include <string.h>

#include "analyze/engine/row_cursor.h"

/* The first that is found counts: a report that was exported and imported has the marks of both. */
static const struct {
    const char *table, *name, *recorder;
} marks[] = {
    { "META_DATA_CAPTURE", "TACHO_VERSION", RECORDER_TACHO },
    { "TACHO_TORCH_METADATA", "traceName", "PyTorch's profiler" },
    { "META_DATA_EXPORT", "EXPORT_SCHEMA_VERSION", "Nsight Systems" },
};

static int recorder_has_row(struct report *report, const char *table, const char *name, int *found, struct error *err)
{
    static const char *const names[] = { "name", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, table, names, err);

    if (code != 0)
        return code;
    while (!*found && row_cursor_next(&rows))
        *found = strcmp(report_string(report, row_int_or(&rows, 0, -1), NULL), name) == 0;
    row_cursor_close(&rows);
    return 0;
}

int recorder_read(const char **recorder, struct report *report, struct error *err)
{
    struct report_health health = report_health(report);
    int is_whole = health.complete && !health.recovered && !health.damaged_chunks, found = 0, code;

    *recorder = is_whole ? "another profiler" : NULL;
    for (size_t i = 0; i < COUNT_OF(marks) && !found; i++) {
        if ((code = recorder_has_row(report, marks[i].table, marks[i].name, &found, err)) != 0)
            return code;
        if (found && (is_whole || i == 0))
            *recorder = marks[i].recorder;
    }
    return 0;
}

int import_losses_add(struct text *out, struct report *report)
{
    static const char *const names[] = { "reason", NULL };
    static const struct {
        const char *reason, *one, *more;
    } words[] = {
        { "damaged", "damaged table", "damaged tables" },
        { "truncated", "truncated list of events", "truncated lists of events" },
        { "too-many", "argument list that is too long", "argument lists that are too long" },
        { "wrong-type", "column with values of a wrong type", "columns with values of a wrong type" },
        { "no-such-string", "column with missing names", "columns with missing names" },
        { "journal-not-read", "journal that could not be read", "journals that could not be read" },
    };
    enum { WORDS = COUNT_OF(words) };
    size_t counts[WORDS] = { 0 };
    struct row_cursor rows;
    int told = 0;

    if (row_cursor_open(&rows, report, "TACHO_IMPORT", names, NULL) != 0)
        return 0;
    while (row_cursor_next(&rows))
        for (size_t i = 0; i < WORDS; i++)
            counts[i] += strcmp(report_string(report, row_int_or(&rows, 0, -1), NULL), words[i].reason) == 0;
    row_cursor_close(&rows);
    for (size_t i = 0; i < WORDS; i++)
        if (counts[i])
            text_addf(out, "%s%zu %s", told++ ? ", " : "", counts[i], counts[i] == 1 ? words[i].one : words[i].more);
    return told > 0;
}
