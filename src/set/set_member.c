/* Reads rank, host, clocks and GPUs of a report. Files of other profilers lack some of it. */
#include "set_member.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/saturating.h"
#include "base/text.h"

/* Two hosts of the same name whose kernels started within this time of each other are one. */
#define SAME_START_NS INT64_C(1000000000)

static char *copy_text(struct report *report, const struct row_cursor *rows, size_t column)
{
    return strdup(report_string(report, row_int_or(rows, column, 0), NULL));
}

/* The last rows of a table of processes are the valid ones, but ranks do not change. */
static int read_ranks(struct set_member *member, const char *table, struct error *err)
{
    static const char *const names[] = { "rank", "worldSize", "host", NULL };
    enum { RANK, WORLD_SIZE, HOST };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, member->report, table, names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        int64_t rank = row_int_or(&rows, RANK, RANK_UNKNOWN);
        if (!member->host && !row_is_null(&rows, HOST))
            member->host = copy_text(member->report, &rows, HOST);
        if (rank < 0)
            continue;
        member->rank = member->rank == RANK_UNKNOWN || member->rank == rank ? rank : RANK_SEVERAL;
        if (row_int_or(&rows, WORLD_SIZE, 0) > member->world_size)
            member->world_size = row_int(&rows, WORLD_SIZE);
    }
    row_cursor_close(&rows);
    return 0;
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
        for (size_t i = 0; i < sizeof known / sizeof *known; i++)
            if (!*known[i].into &&
                strcmp(report_string(member->report, row_int_or(&rows, 0, 0), NULL), known[i].name) == 0)
                *known[i].into = copy_text(member->report, &rows, 1);
    row_cursor_close(&rows);
    return 0;
}

static int read_clock(struct set_member *member, struct error *err)
{
    static const char *const names[] = { "timestamp", "ticks", "monotonicNs", "utcNs", "errorNs", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, member->report, "TACHO_CLOCK", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        struct set_moment moment = { row_int_or(&rows, 0, 0), row_int_or(&rows, 1, 0), row_int_or(&rows, 2, 0),
                                     row_int_or(&rows, 3, 0) };
        if (!member->has_counter)
            member->first = moment;
        member->last = moment;
        int64_t error = row_int_or(&rows, 4, 0);
        if (error > member->clock_reading_error_ns)
            member->clock_reading_error_ns = error;
        member->has_counter = member->has_utc = 1;
    }
    row_cursor_close(&rows);
    return 0;
}

/* The start of the session, for files without a table of clocks. */
static int read_start(struct set_member *member, struct error *err)
{
    static const char *const names[] = { "utcEpochNs", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, member->report, "TARGET_INFO_SESSION_START_TIME", names, err);

    if (code != 0)
        return code;
    if (row_cursor_next(&rows) && !row_is_null(&rows, 0) && !member->has_utc) {
        member->first = member->last = (struct set_moment){ .utc_ns = row_int(&rows, 0) };
        member->has_utc = 1;
    }
    row_cursor_close(&rows);
    return 0;
}

static int read_gpus(struct set_member *member, struct error *err)
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
        if (id >= member->gpu_count && id < INT32_MAX)
            member->gpu_count = id + 1;
    }
    row_cursor_close(&rows);
    member->gpus = text_take(&gpus);
    return member->gpus ? 0 : error_set(err, ERR_NO_MEMORY, "out of memory");
}

int set_member_read(struct set_member *member, struct error *err)
{
    int code;

    member->rank = RANK_UNKNOWN;
    if ((code = read_ranks(member, "TACHO_PROCESS", err)) != 0)
        return code;
    if (member->rank == RANK_UNKNOWN && (code = read_ranks(member, "MPI_RANKS", err)) != 0)
        return code;
    if ((code = read_facts(member, "TARGET_INFO_SYSTEM_ENV", err)) != 0)
        return code;
    if ((code = read_facts(member, "META_DATA_CAPTURE", err)) != 0)
        return code;
    if ((code = read_clock(member, err)) != 0)
        return code;
    if ((code = read_start(member, err)) != 0)
        return code;
    return read_gpus(member, err);
}

void set_member_free(struct set_member *member)
{
    free(member->host);
    free(member->boot);
    free(member->pid_namespace);
    free(member->job);
    free(member->gpus);
    free(member->knots);
}

int set_members_share_clock(const struct set_member *a, const struct set_member *b)
{
    if (!a->has_counter || !b->has_counter)
        return 0;
    if (a->boot && b->boot)
        return strcmp(a->boot, b->boot) == 0;
    int64_t start_a = saturating_subtract(a->first.utc_ns, a->first.monotonic_ns),
            start_b = saturating_subtract(b->first.utc_ns, b->first.monotonic_ns),
            apart = saturating_subtract(start_a, start_b);
    return a->host && b->host && strcmp(a->host, b->host) == 0 && apart < SAME_START_NS && apart > -SAME_START_NS;
}

int set_members_share_pids(const struct set_member *a, const struct set_member *b)
{
    if (!set_members_share_clock(a, b))
        return 0;
    return !a->pid_namespace || !b->pid_namespace || strcmp(a->pid_namespace, b->pid_namespace) == 0;
}
