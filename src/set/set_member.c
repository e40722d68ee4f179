/* Reads rank, host, clocks and GPUs of a report. Files of other profilers lack some of it. */
#include "set_member.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/gpu_busy.h"
#include "base/array.h"
#include "base/text.h"

/* More are the work of a broken or hostile writer: reports of whole jobs have some ten thousand. */
#define MOST_RANKS 100000
#define MOST_RANK_ROWS ((size_t)1 << 20) /* processes of all ranks */

static char *set_member_copy_text(struct report *report, const struct row_cursor *rows, size_t column)
{
    return strdup(report_string(report, row_int_or(rows, column, 0), NULL));
}

/* The second row of a process repeats its rank. */
static int set_member_add_rank(struct set_member *member, int64_t process, int64_t rank, const char *host,
                               struct error *err)
{
    const struct report_rank *last = member->rank_count ? &member->ranks[member->rank_count - 1] : NULL;

    member->rank = member->rank == RANK_UNKNOWN || member->rank == rank ? rank : RANK_SEVERAL;
    if (last && last->process == process && last->rank == rank)
        return 0;
    if (member->rank_count == MOST_RANK_ROWS) {
        member->has_too_many_ranks |= member->rank == RANK_SEVERAL;
        return 0;
    }
    if (array_reserve(&member->ranks, &member->rank_room, member->rank_count + 1, sizeof *member->ranks) != 0)
        return error_no_memory(err);
    int64_t id = intern_add(&member->rank_hosts, host, strlen(host));
    if (id < 0)
        return error_no_memory(err);
    member->ranks[member->rank_count++] = (struct report_rank){ process, rank,
                                                                *host ? member->rank_hosts.strings[id].bytes : NULL };
    return 0;
}

/* The last rows of a table of processes are the valid ones, but ranks do not change. */
static int set_member_find_ranks(struct set_member *member, const char *table, struct error *err)
{
    static const char *const names[] = { "rank", "worldSize", "host", "globalPid", "globalTid", NULL };
    enum { RANK, WORLD_SIZE, HOST, PROCESS, THREAD };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, member->report, table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t rank = row_int_or(&rows, RANK, RANK_UNKNOWN);
        if (!member->host && !row_is_null(&rows, HOST))
            member->host = set_member_copy_text(member->report, &rows, HOST);
        if (rank < 0 || rank > INT32_MAX) /* no launcher sets these */
            continue;
        int64_t process = row_int_or(&rows, PROCESS, row_int_or(&rows, THREAD, 0));
        const char *host = report_string(member->report, row_int_or(&rows, HOST, 0), NULL);
        if ((code = set_member_add_rank(member, global_process(process), rank, host, err)) != 0)
            break;
        if (row_int_or(&rows, WORLD_SIZE, 0) > member->world_size)
            member->world_size = row_int(&rows, WORLD_SIZE);
    }
    row_cursor_close(&rows);
    return code;
}

/* Which process is of which rank matters if there are several. */
static int settle_ranks(struct set_member *member, struct error *err)
{
    size_t count;
    int64_t *ranks = set_member_ranks(member, &count);

    if (!ranks)
        return error_no_memory(err);
    free(ranks);
    member->has_too_many_ranks |= count > MOST_RANKS;
    if (member->has_too_many_ranks)
        member->rank = RANK_UNKNOWN;
    if (member->rank != RANK_SEVERAL) {
        free(member->ranks);
        member->ranks = NULL;
        member->rank_count = member->rank_room = 0;
    }
    report_ranks_sort(member->ranks, member->rank_count);
    member->first_rank = member->rank;
    for (size_t i = 0; i < member->rank_count; i++)
        if (!i || member->ranks[i].rank < member->first_rank)
            member->first_rank = member->ranks[i].rank;
    return 0;
}

int64_t *set_member_ranks(const struct set_member *member, size_t *count)
{
    int64_t *list = array_alloc(member->rank_count + 1, sizeof *list);
    size_t kept = 0;

    *count = 0;
    if (!list)
        return NULL;
    if (member->rank >= 0)
        list[(*count)++] = member->rank;
    for (size_t i = 0; i < member->rank_count; i++)
        list[(*count)++] = member->ranks[i].rank;
    qsort(list, *count, sizeof *list, array_by_int64);
    for (size_t i = 0; i < *count; i++)
        if (!kept || list[i] != list[kept - 1])
            list[kept++] = list[i];
    *count = kept;
    return list;
}

/* Facts that are rows of a name and a value. */
static int read_facts(struct set_member *member, const char *table, struct error *err)
{
    static const char *const names[] = { "name", "value", NULL };
    const struct {
        const char *name;
        char **into;
    } known[] = {
        { "Hostname", &member->host },
        { "BootId", &member->boot },
        { "PidNamespace", &member->pid_namespace },
        { "JOB", &member->job },
    };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, member->report, table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        for (size_t i = 0; i < COUNT_OF(known); i++)
            if (!*known[i].into &&
                strcmp(report_string(member->report, row_int_or(&rows, 0, 0), NULL), known[i].name) == 0)
                *known[i].into = set_member_copy_text(member->report, &rows, 1);
    row_cursor_close(&rows);
    return 0;
}

enum { MOST_MOMENTS = 4096 };

/* When the list is full, every second reading is dropped, and the stride doubles. */
static int set_member_add_moment(struct set_member *member, const struct set_moment *moment, size_t number,
                                 size_t *stride)
{
    if (number % *stride)
        return 0;
    if (member->moment_count == MOST_MOMENTS) {
        for (size_t i = 0; i < MOST_MOMENTS / 2; i++)
            member->moments[i] = member->moments[2 * i];
        member->moment_count = MOST_MOMENTS / 2;
        *stride *= 2;
    }
    return ARRAY_PUSH(member->moments, member->moment_room, member->moment_count, *moment);
}

enum { TIME, TICKS, MONOTONIC, UTC, READING_ERROR, UTC_ERROR };

static struct set_moment moment_of(const struct row_cursor *rows)
{
    return (struct set_moment){ row_int_or(rows, TIME, 0), row_int_or(rows, TICKS, 0), row_int_or(rows, MONOTONIC, 0),
                                row_int_or(rows, UTC, 0) };
}

/* The largest error counts. */
static void take_errors(struct set_member *member, const struct row_cursor *rows)
{
    int64_t reading = row_int_or(rows, READING_ERROR, 0), utc = row_int_or(rows, UTC_ERROR, -1);

    if (reading > member->clock_reading_error_ns)
        member->clock_reading_error_ns = reading;
    if (utc > member->utc_error_ns)
        member->utc_error_ns = utc;
}

static int set_member_read_clock(struct set_member *member, struct error *err)
{
    static const char *const names[] = { "timestamp", "ticks", "monotonicNs", "utcNs", "errorNs", "utcErrorNs", NULL };
    struct row_cursor rows;
    struct set_moment last = { 0 };
    size_t number = 0, stride = 1;
    int code = row_cursor_open(&rows, member->report, "TACHO_CLOCK", names, err);

    member->utc_error_ns = -1;
    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        last = moment_of(&rows);
        take_errors(member, &rows);
        if ((code = set_member_add_moment(member, &last, number++, &stride)) != 0)
            goto close_rows;
    }
    member->has_counter = member->has_utc = number > 0;
    if (number && (number - 1) % stride) /* the end of the map must be there */
        code = set_member_add_moment(member, &last, 0, &stride);
close_rows:
    row_cursor_close(&rows);
    return code != 0 ? error_no_memory(err) : 0;
}

/* The start of the session, for files without a table of clocks. */
static int set_member_read_start(struct set_member *member, struct error *err)
{
    static const char *const names[] = { "utcEpochNs", NULL };
    struct row_cursor rows;
    size_t stride = 1;
    int code = row_cursor_open(&rows, member->report, "TARGET_INFO_SESSION_START_TIME", names, err);

    if (code != 0)
        return code;
    if (row_cursor_next(&rows) && !row_is_null(&rows, 0) && !member->has_utc) {
        code = set_member_add_moment(member, &(struct set_moment){ .utc_ns = row_int(&rows, 0) }, 0, &stride);
        member->has_utc = 1;
    }
    row_cursor_close(&rows);
    return code != 0 ? error_no_memory(err) : 0;
}

static void set_member_add_gpu(struct set_member *member, int64_t id)
{
    if (id >= member->gpu_count && id < INT32_MAX)
        member->gpu_count = id + 1;
}

/* Traces without properties of their devices have the GPUs that work ran on. Those of another rank are others. Ids of
 * metrics and of network adapters have numbers of GPUs in them, and only nsys writes these, which names GPUs. */
static int set_member_count_gpus(struct set_member *member, struct error *err)
{
    static const char *const names[] = { "deviceId", NULL };
    struct row_cursor rows;
    int code = 0;

    if (report_rows(member->report, "GPU_METRICS") || report_rows(member->report, "GENERIC_EVENTS"))
        return 0;
    for (const char *const *table = gpu_busy_tables; *table && !member->gpus[0]; table++) {
        if ((code = row_cursor_open(&rows, member->report, *table, names, err)) != 0)
            return code;
        while (row_cursor_next(&rows))
            set_member_add_gpu(member, row_int_or(&rows, 0, 0));
        row_cursor_close(&rows);
    }
    return code;
}

static int set_member_read_gpus(struct set_member *member, struct error *err)
{
    static const char *const names[] = { "id", "uuid", "busLocation", NULL };
    struct row_cursor rows;
    struct text gpus = { 0 };
    int code = row_cursor_open(&rows, member->report, "TARGET_INFO_GPU", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t id = row_int_or(&rows, 0, 0);
        text_addf(&gpus, "%lld ", (long long)id);
        text_add(&gpus, report_string(member->report, row_int_or(&rows, 1, 0), NULL));
        text_add_char(&gpus, ' ');
        text_add(&gpus, report_string(member->report, row_int_or(&rows, 2, 0), NULL));
        text_add_char(&gpus, '\n');
        set_member_add_gpu(member, id);
    }
    row_cursor_close(&rows);
    member->gpus = text_take(&gpus);
    return member->gpus ? set_member_count_gpus(member, err) : error_no_memory(err);
}

int set_member_read_ranks(struct set_member *member, struct error *err)
{
    int code;

    member->rank = RANK_UNKNOWN;
    if ((code = set_member_find_ranks(member, "TACHO_PROCESS", err)) != 0)
        return code;
    if (member->rank == RANK_UNKNOWN && (code = set_member_find_ranks(member, "MPI_RANKS", err)) != 0)
        return code;
    return settle_ranks(member, err);
}

int set_member_read(struct set_member *member, struct error *err)
{
    int code;

    if ((code = set_member_read_ranks(member, err)) != 0)
        return code;
    if ((code = read_facts(member, "TARGET_INFO_SYSTEM_ENV", err)) != 0)
        return code;
    if ((code = read_facts(member, "META_DATA_CAPTURE", err)) != 0)
        return code;
    if ((code = set_member_read_clock(member, err)) != 0)
        return code;
    if ((code = set_member_read_start(member, err)) != 0)
        return code;
    return set_member_read_gpus(member, err);
}

void set_member_free(struct set_member *member)
{
    free(member->host);
    free(member->boot);
    free(member->pid_namespace);
    free(member->job);
    free(member->gpus);
    free(member->knots);
    free(member->moments);
    free(member->ranks);
    free(member->kept_ranks);
    intern_free(&member->rank_hosts);
}
