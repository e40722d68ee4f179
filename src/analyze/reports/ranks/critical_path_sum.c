/* critical_path_sum: the chain of activities that the length of the run is made of, by rank, call and line.
 *
 * It is walked from the end of the last call backwards. On a thread it goes back to the last wait that is over; from
 * there on, the time until the other rank came is that rank's, so the walk goes on there, at the moment that ended the
 * wait. So each moment from the first call to the last belongs to one thread: the rows sum up to that span. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/keys.h"
#include "analyze/model/filter.h"
#include "analyze/model/places/places.h"
#include "analyze/model/ranks/mpi_job.h"
#include "analyze/registry.h"
#include "base/array.h"

enum { KEY_RANK, KEY_NAME, KEY_SITE, KEY_PLACE, KEY_PARTS }; /* KEY_SITE: inside calls, KEY_PLACE: outside */
enum { NAME_OUTSIDE = -1 };

struct stretch_sum {
    int64_t total_ns, count;
};

struct critical_path {
    struct report *report;
    struct mpi_job job;
    struct places places;
    struct intern names;
    struct keys keys;         /* KEY_PARTS wide */
    struct stretch_sum *sums; /* owned; by key */
    size_t sum_room;
    size_t *unwalked;         /* owned; by thread of job.calls: the index after the last wait not yet visited */
    const struct report_span *span;
    int64_t total_ns;
    /* The key of the span that is being added. */
    int64_t rank, name, site;
};

static void path_free(struct critical_path *path)
{
    mpi_job_close(&path->job);
    places_close(&path->places);
    intern_free(&path->names);
    keys_free(&path->keys);
    free(path->sums);
    free(path->unwalked);
}

/* ---- Stretches -------------------------------------------------------------------------------------------------- */

static int critical_path_add_part(void *context, uint32_t place, int64_t from_ns, int64_t to_ns)
{
    struct critical_path *path = context;
    const int64_t key[KEY_PARTS] = { path->rank, path->name, path->site, places_line(&path->places, place) };
    uint32_t number = keys_add(&path->keys, key);

    if (number == NO_KEY || array_reserve_zeroed(&path->sums, &path->sum_room, number + 1u, sizeof *path->sums) != 0)
        return ERR_NO_MEMORY;
    int64_t time_ns = saturating_duration(from_ns, to_ns);
    path->sums[number].total_ns = saturating_add(path->sums[number].total_ns, time_ns);
    path->sums[number].count++;
    path->total_ns = saturating_add(path->total_ns, time_ns);
    return 0;
}

/* Adds a span inside a call, or outside all calls if `call` is NULL. */
static int critical_path_add_stretch(struct critical_path *path, int64_t thread, const struct mpi_call *call,
                                     int64_t from_ns, int64_t to_ns)
{
    size_t length;
    const char *text = call ? report_string(path->report, call->name, &length) : NULL;

    from_ns = path->span && from_ns < path->span->from_ns ? path->span->from_ns : from_ns;
    to_ns = path->span && to_ns > path->span->to_ns ? path->span->to_ns : to_ns;
    if (from_ns >= to_ns)
        return 0;
    path->rank = mpi_job_rank(&path->job, thread);
    path->name = call ? intern_add(&path->names, text, length) : NAME_OUTSIDE;
    path->site = call ? mpi_job_site(&path->job, call) : MPI_NO_SITE;
    if (call && path->name < 0)
        return ERR_NO_MEMORY;
    if (call)
        return critical_path_add_part(path, NO_PLACE, from_ns, to_ns);
    return places_each(&path->places, thread, from_ns, to_ns, critical_path_add_part, path);
}

/* The time of a thread, divided by its calls. */
static int critical_path_add_time(struct critical_path *path, int64_t thread, int64_t from_ns, int64_t to_ns)
{
    const struct mpi_calls *calls = &path->job.calls;
    const struct mpi_thread *own = mpi_calls_thread(calls, thread);

    while (from_ns < to_ns) {
        uint32_t at = mpi_calls_at(calls, thread, to_ns - 1);
        const struct mpi_call *call = own && at != MPI_NO_CALL ? &calls->list[at] : NULL;
        int is_inside = call && call->end_ns >= to_ns;
        int64_t begin = !call ? from_ns : is_inside ? call->start_ns : call->end_ns;
        begin = begin > from_ns ? begin : from_ns;
        if (critical_path_add_stretch(path, thread, is_inside ? call : NULL, begin, to_ns) != 0)
            return ERR_NO_MEMORY;
        to_ns = begin;
    }
    return 0;
}

/* ---- The walk --------------------------------------------------------------------------------------------------- */

static int mark_waits(struct critical_path *path)
{
    const struct mpi_calls *calls = &path->job.calls;
    size_t at = 0;

    path->unwalked = array_alloc(calls->thread_count + 1, sizeof *path->unwalked);
    if (!path->unwalked)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < calls->thread_count; i++) {
        while (at < path->job.waits.count && path->job.waits.list[at].call < calls->threads[i].end)
            at++;
        path->unwalked[i] = at;
    }
    return 0;
}

/* The last wait of the thread that was over at that time and is not yet visited; NULL: there is none. */
static const struct mpi_wait *critical_path_find_wait(struct critical_path *path, const struct mpi_thread *thread,
                                                      int64_t before_ns)
{
    size_t number = (size_t)(thread - path->job.calls.threads);
    const struct mpi_wait *list = path->job.waits.list;
    size_t *behind = &path->unwalked[number];

    while (*behind && list[*behind - 1].call >= thread->first) {
        const struct mpi_wait *wait = &list[--*behind];
        if (wait->until_ns <= before_ns)
            return wait;
    }
    return NULL;
}

static const struct mpi_call *find_last_call(const struct mpi_calls *calls)
{
    const struct mpi_call *last = NULL;

    for (size_t i = 0; i < calls->count; i++)
        if (!last || calls->list[i].end_ns > last->end_ns)
            last = &calls->list[i];
    return last;
}

static int64_t find_first_ns(const struct mpi_calls *calls)
{
    int64_t first = INT64_MAX;

    for (size_t i = 0; i < calls->count; i++)
        first = calls->list[i].start_ns < first ? calls->list[i].start_ns : first;
    return first;
}

static int critical_path_walk(struct critical_path *path)
{
    const struct mpi_calls *calls = &path->job.calls;
    const struct mpi_call *last = find_last_call(calls);
    int64_t first_ns = find_first_ns(calls), at_ns = last ? last->end_ns : first_ns;
    const struct mpi_thread *thread = last ? mpi_calls_thread(calls, last->thread) : NULL;

    if (mark_waits(path) != 0)
        return ERR_NO_MEMORY;
    while (thread && at_ns > first_ns) {
        const struct mpi_wait *wait = critical_path_find_wait(path, thread, at_ns);
        int64_t until_ns = wait && wait->until_ns > first_ns ? wait->until_ns : first_ns;
        if (critical_path_add_time(path, thread->id, until_ns, at_ns) != 0)
            return ERR_NO_MEMORY;
        at_ns = until_ns;
        const struct mpi_thread *cause = wait ? mpi_calls_thread(calls, wait->cause) : NULL;
        thread = cause ? cause : thread;
    }
    return 0;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------- */

enum { SHARE, TOTAL, COUNT, RANK, NAME, WHERE, CELLS };

static int critical_path_add_row(struct critical_path *path, struct table *table, uint32_t number)
{
    static const char outside[] = "(outside of MPI)";
    const int64_t *key = keys_get(&path->keys, number);
    const struct stretch_sum *sum = &path->sums[number];
    struct table_cell *cells = table_add_row(table);
    struct text where = { 0 };
    int code;

    if (!cells)
        return ERR_NO_MEMORY;
    cell_set_real(&cells[SHARE], path->total_ns > 0 ? 100.0 * (double)sum->total_ns / (double)path->total_ns : 0);
    cell_set_int(&cells[TOTAL], sum->total_ns);
    cell_set_int(&cells[COUNT], sum->count);
    if (key[KEY_RANK] != MPI_RANK_UNKNOWN)
        cell_set_int(&cells[RANK], key[KEY_RANK]);
    const struct intern_string *name = key[KEY_NAME] == NAME_OUTSIDE ? NULL : &path->names.strings[key[KEY_NAME]];
    if ((code = cell_set_text(table, &cells[NAME], name ? name->bytes : outside,
                              name ? name->length : sizeof outside - 1)) != 0)
        return code;
    if (key[KEY_SITE] != MPI_NO_SITE) {
        const struct intern_string *site = &path->job.sites.texts.strings[key[KEY_SITE]];
        return cell_set_text(table, &cells[WHERE], site->bytes, site->length);
    }
    if (key[KEY_PLACE] == NO_PLACE)
        return 0;
    place_text(&where, &path->places, (uint32_t)key[KEY_PLACE]);
    code = cell_set_built(table, &cells[WHERE], &where);
    text_free(&where);
    return code;
}

static int critical_path_fill_table(struct critical_path *path, struct table *table)
{
    for (size_t i = 0; i < path->keys.count; i++)
        if (critical_path_add_row(path, table, (uint32_t)i) != 0)
            return ERR_NO_MEMORY;
    table_sort_by(table, BY(DOWN(TOTAL), RANK, NAME, WHERE));
    return 0;
}

static int critical_path_sum(struct report *report, const struct analysis_request *request, struct table **out,
                             struct error *err)
{
    static const struct table_column columns[CELLS] = {
        [SHARE] = { "Time", CELL_REAL, UNIT_PERCENT, 1 }, [TOTAL] = { "Total Time", CELL_INT, UNIT_NS, 0 },
        [COUNT] = { "Count", CELL_INT, UNIT_NONE, 0 },    [RANK] = { "Rank", CELL_INT, UNIT_ID, 0 },
        [NAME] = { "Name", CELL_TEXT, UNIT_NAME, 0 },     [WHERE] = { "Where", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct table *table = table_new(columns, CELLS);
    struct critical_path path = { .report = report, .keys.width = KEY_PARTS, .span = request->span };
    int code = ERR_NO_MEMORY;

    if (!table)
        goto done;
    if ((code = mpi_job_open(&path.job, report, err)) != 0)
        goto done;
    if ((code = places_open(&path.places, report, err)) != 0)
        goto done;
    if ((code = critical_path_walk(&path)) != 0)
        goto done;
    code = critical_path_fill_table(&path, table);
done:
    path_free(&path);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_critical_path_sum = {
    .name = "critical_path_sum",
    .title = "Critical Path Summary",
    .help = "The critical path of an MPI job: the activities, one after the other, that its length is made of. Where a "
            "rank waited for another one, the path goes on at that one. Rows are by rank, call and line of the program "
            "(outside of calls, where samples or ranges tell it); their sum is the time from the first MPI call of any "
            "rank to the end of the last. A "
            "rank with a small share can be made slower without making the run longer.",
    .needs = { { "MPI data", mpi_call_tables } },
    .is_of_one_job = 1,
    .run = critical_path_sum,
};
