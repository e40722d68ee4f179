/* Reads a report through the public API: the NVTX ranges of every name, how many and how long.
 *
 *     cc -o read_report read_report.c $(pkg-config --cflags --libs tacho)
 *     ./read_report report1.tacho */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <tacho/report.h>

enum { NAMES_MAX = 64, PUSH_POP = 59, START_END = 60 }; /* values of eventType */

struct range {
    int64_t name, count, total_ns;
};

/* A whole column; free() it. NULLs are 0. */
static int64_t *read_column(struct tacho_report *report, int table, const char *name, uint64_t rows)
{
    int column = tacho_report_find_column(report, table, name);
    int64_t *values = calloc(rows + 1, sizeof *values);

    if (values && column >= 0 && tacho_report_read(report, table, column, 0, rows, values, NULL) != TACHO_REPORT_OK) {
        free(values);
        values = NULL;
    }
    return values;
}

static struct range *find(struct range *ranges, size_t *count, int64_t name)
{
    for (size_t i = 0; i < *count; i++)
        if (ranges[i].name == name)
            return &ranges[i];
    if (*count == NAMES_MAX)
        return NULL;
    ranges[*count].name = name;
    return &ranges[(*count)++];
}

static int print_ranges(struct tacho_report *report, int table)
{
    uint64_t rows = tacho_report_row_count(report, table);
    int64_t *start = read_column(report, table, "start", rows), *end = read_column(report, table, "end", rows);
    int64_t *type = read_column(report, table, "eventType", rows);
    int64_t *text = read_column(report, table, "text", rows), *text_id = read_column(report, table, "textId", rows);
    struct range ranges[NAMES_MAX] = { { 0 } };
    size_t count = 0;

    for (uint64_t i = 0; start && end && type && text && text_id && i < rows; i++) {
        struct range *range = type[i] == PUSH_POP || type[i] == START_END
                                  ? find(ranges, &count, text[i] ? text[i] : text_id[i])
                                  : NULL;
        if (range && end[i]) {
            range->count++;
            range->total_ns += end[i] - start[i];
        }
    }
    for (size_t i = 0; i < count; i++)
        printf("%8" PRId64 " x %12" PRId64 " ns  %s\n", ranges[i].count, ranges[i].total_ns,
               tacho_report_string(report, ranges[i].name, NULL));
    free(start);
    free(end);
    free(type);
    free(text);
    free(text_id);
    return 0;
}

int main(int argc, char **argv)
{
    struct tacho_report *report = NULL;
    int status = 1;

    if (argc != 2) {
        fprintf(stderr, "usage: read_report FILE\n");
        return 2;
    }
    if (tacho_report_open(argv[1], &report) != TACHO_REPORT_OK) {
        fprintf(stderr, "%s\n", tacho_report_error(report));
    } else {
        int table = tacho_report_find_table(report, "NVTX_EVENTS");
        status = table < 0 ? 0 : print_ranges(report, table);
    }
    tacho_report_close(report);
    return status;
}
