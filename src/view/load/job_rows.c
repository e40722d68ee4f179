/* Ranks and hosts come from the processes of the report, clocks from TACHO_CLOCK_OFFSET. */
#include "job_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/array.h"

/* ---- reading --------------------------------------------------------------------------------------------------- */

static struct row_host *find_host(const struct job_rows *ranks, int64_t name)
{
    for (size_t i = 0; i < ranks->host_count; i++)
        if (ranks->hosts[i].name == name)
            return &ranks->hosts[i];
    return NULL;
}

static int job_rows_add_host(struct job_rows *ranks, const struct process_rank *process, int is_new_rank)
{
    struct row_host *host = find_host(ranks, process->host);

    if (!host) {
        if (array_reserve(&ranks->hosts, &ranks->host_room, ranks->host_count + 1, sizeof *ranks->hosts) != 0)
            return ERR_NO_MEMORY;
        host = &ranks->hosts[ranks->host_count++];
        *host = (struct row_host){ .name = process->host, .first_rank = INT64_MAX };
    }
    if (is_new_rank) {
        host->rank_count++;
        host->first_rank = process->rank < host->first_rank ? process->rank : host->first_rank;
    }
    return 0;
}

static int by_first_rank(const void *a, const void *b)
{
    const struct row_host *x = a, *y = b;

    return COMPARE(x->first_rank, y->first_rank) ?: COMPARE(x->name, y->name);
}

/* Notes the host of a process, and its rank as one of that host and one of the job. */
static int note_process(struct job_rows *ranks, const struct process_rank *process, struct keys *of_hosts,
                        struct keys *of_job)
{
    size_t before = of_hosts->count;

    if (process->rank < 0 && !process->host)
        return 0;
    if (process->rank >= 0 && (keys_add(of_hosts, (int64_t[]){ process->host, process->rank }) == NO_KEY ||
                               keys_add(of_job, (int64_t[]){ process->rank }) == NO_KEY))
        return ERR_NO_MEMORY;
    return job_rows_add_host(ranks, process, of_hosts->count > before);
}

static int job_rows_find_hosts(struct job_rows *ranks)
{
    const struct process_rank_map *map = &ranks->processes.map;
    struct keys of_hosts = { .width = 2 }, of_job = { .width = 1 };
    int code = 0;

    for (const struct process_rank *at = process_rank_map_next(map, NULL); at; at = process_rank_map_next(map, at))
        if ((code = note_process(ranks, at, &of_hosts, &of_job)) != 0)
            break;
    ranks->rank_count = of_job.count;
    keys_free(&of_hosts);
    keys_free(&of_job);
    if (ranks->rank_count < 2)
        ranks->host_count = 0;
    if (ranks->host_count)
        qsort(ranks->hosts, ranks->host_count, sizeof *ranks->hosts, by_first_rank);
    return code;
}

static int find_systems(struct job_rows *ranks)
{
    const struct process_rank_map *map = &ranks->processes.map;

    for (const struct process_rank *at = process_rank_map_next(map, NULL); at && ranks->host_count;
         at = process_rank_map_next(map, at)) {
        const struct row_host *host = find_host(ranks, at->host);
        uint32_t number = keys_add(&ranks->systems, (int64_t[]){ job_rows_system((int64_t)(at->process - 1)) });
        if (number == NO_KEY || array_reserve(&ranks->system_hosts, &ranks->system_room, (size_t)number + 1,
                                              sizeof *ranks->system_hosts) != 0)
            return ERR_NO_MEMORY;
        ranks->system_hosts[number] = host ? (int)(host - ranks->hosts) : NO_HOST;
    }
    return 0;
}

static void job_rows_add_clock(struct row_host *host, int64_t method, int64_t error_ns)
{
    int is_worse = host->clock_error_ns >= 0 && (error_ns < 0 || error_ns > host->clock_error_ns);

    host->is_mixed |= host->has_clock && method != host->clock_method;
    if (!host->has_clock || is_worse) {
        host->clock_error_ns = error_ns;
        host->clock_method = method;
    }
    host->has_clock = 1;
}

static int read_clocks(struct job_rows *ranks, struct report *report, struct error *err)
{
    static const char *const names[] = { "host", "method", "errorNs", NULL };
    enum { HOST, METHOD, ERROR };
    struct row_cursor rows;
    int code;

    if (!ranks->host_count)
        return 0;
    if ((code = row_cursor_open(&rows, report, "TACHO_CLOCK_OFFSET", names, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        struct row_host *host = find_host(ranks, row_int_or(&rows, HOST, 0));
        int64_t error_ns = row_int_or(&rows, ERROR, -1);
        if (host)
            job_rows_add_clock(host, row_int_or(&rows, METHOD, 0), error_ns < 0 ? -1 : error_ns);
    }
    row_cursor_close(&rows);
    return 0;
}

int job_rows_read(struct job_rows *ranks, struct report *report, struct error *err)
{
    int code;

    *ranks = (struct job_rows){ .systems.width = 1, .devices.width = 1 };
    if ((code = process_ranks_read(&ranks->processes, report, err)) != 0)
        return code;
    if (job_rows_find_hosts(ranks) != 0 || find_systems(ranks) != 0)
        return error_no_memory(err);
    return read_clocks(ranks, report, err);
}

void job_rows_free(struct job_rows *ranks)
{
    process_ranks_free(&ranks->processes);
    free(ranks->hosts);
    keys_free(&ranks->systems);
    free(ranks->system_hosts);
    keys_free(&ranks->devices);
    free(ranks->device_places);
    *ranks = (struct job_rows){ 0 };
}

/* ---- places ---------------------------------------------------------------------------------------------------- */

static const struct rank_place nowhere = { NO_HOST, -1 };

struct rank_place job_rows_of_process(const struct job_rows *ranks, int64_t process)
{
    const struct process_rank *found = ranks->host_count ? process_rank_find(&ranks->processes, process) : NULL;
    const struct row_host *host = found ? find_host(ranks, found->host) : NULL;

    if (!host)
        return job_rows_of_system(ranks, job_rows_system(process));
    return (struct rank_place){ (int)(host - ranks->hosts), found->rank };
}

struct rank_place job_rows_of_system(const struct job_rows *ranks, int64_t system)
{
    uint32_t number = ranks->host_count ? keys_find(&ranks->systems, (int64_t[]){ system }) : NO_KEY;

    return number == NO_KEY ? nowhere : (struct rank_place){ ranks->system_hosts[number], -1 };
}

int job_rows_add_device(struct job_rows *ranks, int64_t device, int64_t process)
{
    size_t before = ranks->devices.count;
    struct rank_place place = job_rows_of_process(ranks, process);

    if (place.host == NO_HOST)
        return 0;
    uint32_t number = keys_add(&ranks->devices, (int64_t[]){ device });
    if (number == NO_KEY || array_reserve(&ranks->device_places, &ranks->device_room, (size_t)number + 1,
                                          sizeof *ranks->device_places) != 0)
        return ERR_NO_MEMORY;
    struct rank_place *known = &ranks->device_places[number];
    if (ranks->devices.count > before)
        *known = place;
    else if (known->host != place.host)
        *known = nowhere;
    else if (known->rank != place.rank)
        known->rank = -1;
    return 0;
}

struct rank_place job_rows_of_device(const struct job_rows *ranks, int64_t device)
{
    uint32_t number = ranks->host_count ? keys_find(&ranks->devices, (int64_t[]){ device }) : NO_KEY;

    return number == NO_KEY ? nowhere : ranks->device_places[number];
}
