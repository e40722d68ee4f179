/* mpi_sum, nccl_sum and file_access_sum: the time of calls by name. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/keys.h"
#include "analyze/model/ranges.h"
#include "analyze/registry.h"
#include "analyze/reports/event_sum.h"
#include "base/array.h"
#include "base/intern.h"
#include "base/saturating.h"

static const struct summary_shape shape = { "Num Calls", { "Name" }, event_label_name, 0, NULL };

/* ---- MPI --------------------------------------------------------------------------------------------------------*/

/* ---- NCCL -------------------------------------------------------------------------------------------------------*/

static int is_of_nccl(struct report *report, const struct range *range)
{
    return range->domain != NVTX_NO_NAME && strcmp(report_string(report, range->domain, NULL), "NCCL") == 0;
}

static int call_sums_group_ranges(struct groups *groups, struct report *report, const struct ranges *ranges)
{
    for (size_t i = 0; i < ranges->count; i++) {
        const struct range *range = &ranges->list[i];
        struct group_key key = { { [KEY_NAME] = range->name } };
        if (is_of_nccl(report, range) &&
            groups_add(groups, 0, &key, saturating_duration(range->start_ns, range->end_ns)) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int nccl_sum(struct report *report, const struct analysis_request *request, struct table **out,
                    struct error *err)
{
    struct groups *groups = groups_new(1);
    struct filter filter = { 0 };
    struct ranges ranges = { 0 };
    struct group *list;
    size_t count;
    int code;

    if ((code = filter_open(&filter, report, request, err)) != 0)
        goto done;
    if ((code = ranges_read(&ranges, report, RANGE_PUSHPOP | RANGE_STARTEND | RANGE_CROSSING, &filter, err)) != 0)
        goto done;
    if ((!groups || call_sums_group_ranges(groups, report, &ranges) != 0) &&
        (code = error_short_memory(err, "to group the ranges")) != 0)
        goto done;
    if ((code = groups_finish(groups, NULL, NULL, &list, &count, err)) != 0)
        goto done;
    code = summary_table(&shape, list, count, report, out, err);
done:
    filter_close(&filter);
    ranges_free(&ranges);
    groups_delete(groups);
    return code;
}

/* ---- files ------------------------------------------------------------------------------------------------------*/

/* Functions of libc that work on files. MOVES: the result is how many bytes were moved. */
enum { NO_FILE, ON_FILE, MOVES };
static const struct {
    const char *name;
    int class;
} file_calls[] = {
    { "open", ON_FILE },        { "open64", ON_FILE },    { "openat", ON_FILE },
    { "openat64", ON_FILE },    { "creat", ON_FILE },     { "creat64", ON_FILE },
    { "close", ON_FILE },       { "fopen", ON_FILE },     { "fopen64", ON_FILE },
    { "freopen", ON_FILE },     { "fclose", ON_FILE },    { "fflush", ON_FILE },
    { "fsync", ON_FILE },       { "fdatasync", ON_FILE }, { "msync", ON_FILE },
    { "sync", ON_FILE },        { "syncfs", ON_FILE },    { "ftruncate", ON_FILE },
    { "ftruncate64", ON_FILE }, { "fallocate", ON_FILE }, { "posix_fallocate", ON_FILE },
    { "fread", ON_FILE },       { "fwrite", ON_FILE },    { "fgets", ON_FILE },
    { "fgetc", ON_FILE },       { "fputs", ON_FILE },     { "fputc", ON_FILE },
    { "getline", MOVES },       { "getdelim", MOVES },    { "read", MOVES },
    { "readv", MOVES },         { "pread", MOVES },       { "pread64", MOVES },
    { "preadv", MOVES },        { "preadv64", MOVES },    { "preadv2", MOVES },
    { "preadv64v2", MOVES },    { "write", MOVES },       { "writev", MOVES },
    { "pwrite", MOVES },        { "pwrite64", MOVES },    { "pwritev", MOVES },
    { "pwritev64", MOVES },     { "pwritev2", MOVES },    { "pwritev64v2", MOVES },
    { "sendfile", MOVES },      { "sendfile64", MOVES },  { "copy_file_range", MOVES },
    { "splice", MOVES },        { "tee", MOVES },         { "vmsplice", MOVES },
};

static int class_of_name(struct report *report, int64_t id)
{
    const char *name = report_string(report, id, NULL);

    for (size_t i = 0; i < COUNT_OF(file_calls); i++)
        if (strcmp(name, file_calls[i].name) == 0)
            return file_calls[i].class;
    return NO_FILE;
}

enum { START, END, THREAD, NAME_ID, RESULT, CLASS, COLUMNS };
enum { SHARE, TIME, COUNT, MEAN, MEDIAN, LEAST, GREATEST, DEVIATION, BYTES, NAME, CELLS };
static const struct table_column cells_of_files[CELLS] = {
    { "Time", CELL_REAL, UNIT_PERCENT, 1 },    { "Total Time", CELL_INT, UNIT_NS, 0 },
    { "Num Calls", CELL_INT, UNIT_NONE, 0 },   { "Avg", CELL_REAL, UNIT_NS, 1 },
    { "Med", CELL_REAL, UNIT_NS, 1 },          { "Min", CELL_INT, UNIT_NS, 0 },
    { "Max", CELL_INT, UNIT_NS, 0 },           { "StdDev", CELL_REAL, UNIT_NS, 1 },
    { "Total", CELL_REAL, UNIT_MEGABYTES, 3 }, { "Name", CELL_TEXT, UNIT_NAME, 0 },
};

struct file_sums {
    struct report *report;
    struct filter filter;
    struct report_columns calls;
    struct intern names;
    int64_t *bytes;   /* owned; by name; -1: the function does not report it */
    size_t byte_room;
    uint32_t *groups; /* owned; by call */
    int64_t *values;  /* owned; durations */
};

static int call_sums_add_call(struct file_sums *sums, size_t row)
{
    int64_t *const *values = sums->calls.values;
    int class = class_of_name(sums->report, values[NAME_ID][row]);
    size_t length;

    sums->groups[row] = NO_KEY;
    if (class == NO_FILE || values[CLASS][row] != EVENT_CLASS_OSRT ||
        !filter_thread(&sums->filter, values[THREAD][row], values[START][row], values[END][row]))
        return 0;
    const char *name = report_string(sums->report, values[NAME_ID][row], &length);
    int64_t number = intern_add(&sums->names, name, length);
    if (number < 0 ||
        array_reserve_zeroed(&sums->bytes, &sums->byte_room, (size_t)number + 1, sizeof *sums->bytes) != 0)
        return ERR_NO_MEMORY;
    sums->groups[row] = (uint32_t)number;
    sums->values[row] = saturating_duration(values[START][row], values[END][row]);
    if (class != MOVES)
        sums->bytes[number] = -1;
    else if (!columns_is_null(&sums->calls, RESULT, row) && values[RESULT][row] > 0)
        sums->bytes[number] = saturating_add(sums->bytes[number], values[RESULT][row]);
    return 0;
}

static int add_file_row(struct table *table, const struct file_sums *sums, size_t name,
                        const struct keys_figures *figures, double whole_ns)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    if (whole_ns > 0)
        cell_set_real(&row[SHARE], 100.0 * (double)figures->figures.total / whole_ns);
    cell_set_int(&row[TIME], (int64_t)figures->figures.total);
    cell_set_int(&row[COUNT], (int64_t)figures->figures.count);
    cell_set_real(&row[MEAN], statistics_mean(&figures->figures));
    cell_set_real(&row[MEDIAN], figures->median);
    cell_set_int(&row[LEAST], figures->figures.min);
    cell_set_int(&row[GREATEST], figures->figures.max);
    cell_set_real(&row[DEVIATION], statistics_deviation(&figures->figures));
    if (sums->bytes[name] >= 0)
        cell_set_real(&row[BYTES], (double)sums->bytes[name] / 1e6);
    return cell_set_text(table, &row[NAME], sums->names.strings[name].bytes, sums->names.strings[name].length);
}

static int fill_files(struct table *table, struct file_sums *sums)
{
    size_t rows = sums->calls.rows;
    struct keys_figures *figures = NULL;
    double whole_ns = 0;
    int code = ERR_NO_MEMORY;

    sums->groups = malloc((rows + 1) * sizeof *sums->groups);
    sums->values = calloc(rows + 1, sizeof *sums->values);
    if (!sums->groups || !sums->values)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < rows; row++)
        if (call_sums_add_call(sums, row) != 0)
            return ERR_NO_MEMORY;
    figures = calloc(sums->names.count + 1, sizeof *figures);
    if (!figures || keys_summarize(figures, sums->names.count, sums->groups, sums->values, rows) != 0)
        goto done;
    for (size_t i = 0; i < sums->names.count; i++)
        whole_ns += (double)figures[i].figures.total;
    for (size_t i = 0; i < sums->names.count; i++)
        if (add_file_row(table, sums, i, &figures[i], whole_ns) != 0)
            goto done;
    code = 0;
    table_sort_by(table, BY(DOWN(TIME), NAME));
done:
    free(figures);
    return code;
}

static int file_access_sum(struct report *report, const struct analysis_request *request, struct table **out,
                           struct error *err)
{
    static const char *const names[COLUMNS] = { "start", "end", "globalTid", "nameId", "returnValue", "eventClass" };
    struct table *table = table_new(cells_of_files, CELLS);
    struct file_sums sums = { .report = report };
    int code;

    if ((code = filter_open(&sums.filter, report, request, err)) != 0)
        goto done;
    if ((code = columns_read(report, "OSRT_API", names, COLUMNS, &sums.calls, err)) != 0)
        goto done;
    if (sums.calls.rows) {
        columns_fill_nulls(&sums.calls, THREAD, 0);
        columns_fill_nulls(&sums.calls, CLASS, EVENT_CLASS_OSRT);
    }
    code = table ? fill_files(table, &sums) : ERR_NO_MEMORY;
done:
    filter_close(&sums.filter);
    report_columns_free(&sums.calls);
    intern_free(&sums.names);
    free(sums.bytes);
    free(sums.groups);
    free(sums.values);
    return table_hand_over(table, code, out, err);
}

/* ---- */

const struct analysis analysis_mpi_sum = {
    .name = "mpi_sum",
    .title = "MPI Summary",
    .help = "MPI time by function. mpi_event_sum also has the kind of the call.",
    .needs = { { "MPI event data",
                 TABLES("MPI_P2P_EVENTS", "MPI_COLLECTIVES_EVENTS", "MPI_START_WAIT_EVENTS", "MPI_OTHER_EVENTS") } },
    EVENT_SUM(&shape, { .table = "MPI_P2P_EVENTS", .name = "textId" },
              { .table = "MPI_COLLECTIVES_EVENTS", .name = "textId" },
              { .table = "MPI_START_WAIT_EVENTS", .name = "textId" },
              { .table = "MPI_OTHER_EVENTS", .name = "textId" }),
};

const struct analysis analysis_nccl_sum = {
    .name = "nccl_sum",
    .title = "NCCL Summary",
    .help = "Time in calls of NCCL by function, from the NVTX ranges that NCCL makes of them (domain NCCL). It is time "
            "of the CPU; nccl_gpu_proj_sum has that of the GPU.",
    .needs = { { "NV Tools Extension (NVTX) data", TABLES("NVTX_EVENTS") } },
    .overlap = "ranges contain each other",
    .run = nccl_sum,
};

const struct analysis analysis_file_access_sum = {
    .name = "file_access_sum",
    .title = "File Access Summary",
    .help = "Time in calls of libc that open, read, write and sync files, by function, and the bytes of those that "
            "return them. Sockets and pipes count too where the functions are the same. The names of the files are not "
            "recorded.",
    .needs = { { "OS Runtime trace data", TABLES("OSRT_API") } },
    .run = file_access_sum,
};
