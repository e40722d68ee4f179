/* CUDA in `tacho info`: GPUs, contexts, streams, the CUPTI versions that recorded them, and whether the records are
 * consistent. */
#include "cuda_info.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/human.h"
#include "cmd/print/display.h"
#include "cmd/small_table.h"

enum { WIDEST = 200 };

static void cuda_info_begin(struct text *out, int *has_heading, const char *label)
{
    if (!*has_heading)
        text_add(out, "\nCUDA\n");
    *has_heading = 1;
    text_addf(out, "%-18s", label);
}

static int cuda_info_add_gpus(struct text *out, struct report *report, int *has_heading, struct error *err)
{
    enum { ID, NAME, MEMORY, PROCESSORS, MAJOR, MINOR, BUS };
    static const char *const names[] = { "id",           "name",         "totalMemory", "smCount",
                                         "computeMajor", "computeMinor", "busLocation", NULL };
    struct small_table rows;
    size_t length;
    int code = small_table_read(&rows, report, "TARGET_INFO_GPU", names, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < rows.columns.rows; i++) {
        char label[32];
        snprintf(label, sizeof label, "GPU %lld", (long long)small_table_number(&rows, i, ID, 0));
        cuda_info_begin(out, has_heading, label);
        const char *name = small_table_text(&rows, i, NAME, &length);
        display_add(out, length ? name : "(no name)", length ? length : 9, WIDEST);
        if (small_table_number(&rows, i, MEMORY, 0) > 0) {
            text_add(out, ", ");
            human_bytes(out, (uint64_t)small_table_number(&rows, i, MEMORY, 0));
        }
        if (small_table_number(&rows, i, PROCESSORS, 0) > 0)
            text_addf(out, ", %lld multiprocessors", (long long)small_table_number(&rows, i, PROCESSORS, 0));
        if (!small_table_is_null(&rows, i, MAJOR))
            text_addf(out, ", compute capability %lld.%lld", (long long)small_table_number(&rows, i, MAJOR, 0),
                      (long long)small_table_number(&rows, i, MINOR, 0));
        const char *bus = small_table_text(&rows, i, BUS, &length);
        text_add(out, length ? ", at " : "");
        display_add(out, bus, length, WIDEST);
        text_add_char(out, '\n');
    }
    small_table_free(&rows);
    return 0;
}

/* The number of different processes in a column. */
static size_t cuda_info_count_processes(const struct small_table *rows, size_t column)
{
    size_t rows_count = rows->columns.rows, count = 0;
    int64_t *list = malloc((rows_count + 1) * sizeof *list);

    if (!list)
        return 0;
    for (size_t i = 0; i < rows_count; i++)
        list[i] = small_table_number(rows, i, column, 0);
    qsort(list, rows_count, sizeof *list, array_by_int64);
    for (size_t i = 0; i < rows_count; i++)
        count += i == 0 || list[i] != list[i - 1];
    free(list);
    return count;
}

static void cuda_info_add_number(struct text *out, uint64_t count, const char *thing, const char *plural)
{
    human_count(out, count);
    text_addf(out, " %s%s", thing, count == 1 ? "" : plural);
}

static int add_contexts(struct text *out, struct report *report, int *has_heading, struct error *err)
{
    static const char *const names[] = { "processId", NULL };
    const struct report_table *streams = report_table(report, "TARGET_INFO_CUDA_STREAM");
    struct small_table rows;
    int code = small_table_read(&rows, report, "TARGET_INFO_CUDA_CONTEXT_INFO", names, err);

    if (code != 0)
        return code;
    if (!rows.columns.rows)
        goto free_rows;
    cuda_info_begin(out, has_heading, "Contexts");
    human_count(out, rows.columns.rows);
    text_add(out, " in ");
    cuda_info_add_number(out, cuda_info_count_processes(&rows, 0), "process", "es");
    if (streams && streams->rows) {
        text_add(out, "; ");
        cuda_info_add_number(out, streams->rows, "stream", "s");
    }
    text_add_char(out, '\n');
free_rows:
    small_table_free(&rows);
    return 0;
}

void cuda_add_version(struct text *out, const char *value)
{
    long version = strtol(value, NULL, 10);

    text_addf(out, "%ld.%ld", version / 1000, version % 1000 / 10);
}

/* The CUDA release of a result of cuptiGetVersion(), which is what people know; the number itself if we do not know it.
 */
static void add_version(struct text *out, int64_t version)
{
    static const char *const releases[] = {
        [18] = "11.8", [19] = "12.0 or 12.1", [20] = "12.2", [21] = "12.3", [22] = "12.4",
        [23] = "12.5", [24] = "12.6",         [26] = "12.8", [27] = "12.9", [28] = "12.9",
    };

    if (version >= 130000)
        text_addf(out, "%lld.%lld", (long long)(version / 10000), (long long)(version / 100 % 100));
    else if (version >= 0 && (size_t)version < COUNT_OF(releases) && releases[version])
        text_add(out, releases[version]);
    else
        text_addf(out, "version %lld", (long long)version);
}

enum { CUPTI_PID, CUPTI_VERSION, CUPTI_PATH, CUPTI_CALLS, CUPTI_RESULT, CUPTI_REFUSAL };

static int is_same_cupti(const struct small_table *rows, size_t a, size_t b)
{
    return small_table_number(rows, a, CUPTI_VERSION, -1) == small_table_number(rows, b, CUPTI_VERSION, -1) &&
           strcmp(small_table_text(rows, a, CUPTI_PATH, NULL), small_table_text(rows, b, CUPTI_PATH, NULL)) == 0 &&
           strcmp(small_table_text(rows, a, CUPTI_CALLS, NULL), small_table_text(rows, b, CUPTI_CALLS, NULL)) == 0 &&
           strcmp(small_table_text(rows, a, CUPTI_REFUSAL, NULL), small_table_text(rows, b, CUPTI_REFUSAL, NULL)) == 0;
}

static void add_cupti_row(struct text *out, const struct small_table *rows, size_t row, size_t processes,
                          int *has_heading)
{
    size_t length;
    int is_refused = !small_table_is_null(rows, row, CUPTI_REFUSAL);

    cuda_info_begin(out, has_heading, is_refused ? "Not traced" : "CUPTI");
    if (is_refused) {
        const char *why = small_table_text(rows, row, CUPTI_REFUSAL, &length);
        display_add(out, why, length, 0);
    } else {
        const char *path = small_table_text(rows, row, CUPTI_PATH, &length),
                   *calls = small_table_text(rows, row, CUPTI_CALLS, NULL);
        add_version(out, small_table_number(rows, row, CUPTI_VERSION, 0));
        text_add(out, length ? ", " : "");
        display_add(out, path, length, WIDEST);
        if (*calls)
            text_add(out, strcmp(calls, "all") == 0 ? "; all API calls" : "; API calls that matter for performance");
    }
    if (processes > 1 || rows->columns.rows > 1) {
        text_add(out, " (");
        cuda_info_add_number(out, processes, "process", "es");
        text_add_char(out, ')');
    }
    text_add_char(out, '\n');
}

/* Processes that agree share a line. */
static int add_cupti(struct text *out, struct report *report, int *has_heading, struct error *err)
{
    static const char *const names[] = { "globalPid", "version", "path", "calls", "result", "refusal", NULL };
    struct small_table rows;
    int code = small_table_read(&rows, report, "TACHO_CUPTI", names, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < rows.columns.rows; i++) {
        size_t same = 0, before = 0;
        for (size_t other = 0; other < rows.columns.rows; other++) {
            int is_same = is_same_cupti(&rows, i, other);
            same += (size_t)is_same;
            before += is_same && other < i;
        }
        if (!before)
            add_cupti_row(out, &rows, i, same, has_heading);
    }
    small_table_free(&rows);
    return 0;
}

/* The sum of the counts in a table's rows whose text is this one. */
static int cuda_info_add_up(struct report *report, const char *table, const char *column, const char *wanted,
                            uint64_t *sum, struct error *err)
{
    const char *const names[] = { column, "count", NULL };
    struct small_table rows;
    int code = small_table_read(&rows, report, table, names, err);

    if (code != 0)
        return code;
    *sum = 0;
    for (size_t i = 0; i < rows.columns.rows; i++)
        if (strcmp(small_table_text(&rows, i, 0, NULL), wanted) == 0)
            *sum += (uint64_t)small_table_number(&rows, i, 1, 0);
    small_table_free(&rows);
    return 0;
}

static int add_checks(struct text *out, struct report *report, int *has_heading, struct error *err)
{
    static const struct {
        const char *table, *column, *value, *label;
    } findings[] = {
        { "TACHO_CUDA_CHECK", "finding", "launch-without-kernel", "launches without a kernel" },
        { "TACHO_CUDA_CHECK", "finding", "kernel-without-launch", "kernels without a launch" },
        { "TACHO_CUDA_CHECK", "finding", "kernel-before-launch", "kernels that started before their launch" },
        { "TACHO_COUNT", "cause", "recovered", "found in memory that CUPTI had not handed over" },
    };
    enum { MISMATCHES = 3 }; /* the first ones are mismatches */
    const struct report_table *cupti = report_table(report, "TACHO_CUPTI"),
                              *kernels = report_table(report, "CUPTI_ACTIVITY_KIND_KERNEL");
    int found = 0;

    for (size_t i = 0; i < COUNT_OF(findings); i++) {
        uint64_t count;
        if (cuda_info_add_up(report, findings[i].table, findings[i].column, findings[i].value, &count, err) != 0)
            return err->code;
        if (i == MISMATCHES && !found && cupti && cupti->rows && kernels && kernels->rows) {
            cuda_info_begin(out, has_heading, "Records");
            text_add(out, "every launch has a kernel, and every kernel a launch");
            found = 1;
        }
        if (!count)
            continue;
        if (!found)
            cuda_info_begin(out, has_heading, "Records");
        text_addf(out, "%s%s ", found ? "; " : "", findings[i].label);
        human_count(out, count);
        found = 1;
    }
    if (found)
        text_add_char(out, '\n');
    return 0;
}

int cuda_info(struct text *out, struct report *report, struct error *err)
{
    int has_heading = 0;

    if (cuda_info_add_gpus(out, report, &has_heading, err) != 0 || add_contexts(out, report, &has_heading, err) != 0 ||
        add_cupti(out, report, &has_heading, err) != 0)
        return err->code;
    return add_checks(out, report, &has_heading, err);
}
