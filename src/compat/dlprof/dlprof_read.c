/* Reads a report as DLProf does: operators from the first source that has them, CUDA calls, GPU work, iterations. */
#include <stdlib.h>

#include "base/array.h"
#include "base/saturating.h"
#include "dlprof_internal.h"

uint32_t dlprof_intern(struct dlprof *dlprof, const char *bytes, size_t length)
{
    int64_t id = intern_add(&dlprof->texts, bytes, length);

    return id < 0 || id >= UINT32_MAX ? UINT32_MAX : (uint32_t)id;
}

uint32_t dlprof_intern_built(struct dlprof *dlprof, struct text *built)
{
    uint32_t number = text_failed(built) ? UINT32_MAX : dlprof_intern(dlprof, text_string(built), built->length);

    text_clear(built);
    return number;
}

struct dlprof_call *dlprof_add_call(struct dlprof *dlprof)
{
    if (dlprof->call_count >= UINT32_MAX - 1 ||
        array_reserve(&dlprof->calls, &dlprof->call_room, dlprof->call_count + 1, sizeof *dlprof->calls) != 0)
        return NULL;
    struct dlprof_call *call = &dlprof->calls[dlprof->call_count++];
    *call = (struct dlprof_call){ .sequence = -1 };
    return call;
}

static int dlprof_read_by_thread(const void *left, const void *right)
{
    const struct dlprof_call *a = left, *b = right;

    return COMPARE(a->thread, b->thread) ?: COMPARE(a->start_ns, b->start_ns) ?: COMPARE(b->end_ns, a->end_ns);
}

void dlprof_sort_by_thread(struct dlprof *dlprof)
{
    if (dlprof->call_count)
        qsort(dlprof->calls, dlprof->call_count, sizeof *dlprof->calls, dlprof_read_by_thread);
}

size_t dlprof_call_at(const struct dlprof *dlprof, int64_t thread, int64_t time_ns)
{
    size_t after = BISECT(0, dlprof->call_count, i,
                          dlprof->calls[i].thread < thread ||
                              (dlprof->calls[i].thread == thread && dlprof->calls[i].start_ns <= time_ns));

    if (after == 0 || dlprof->calls[after - 1].thread != thread || dlprof->calls[after - 1].end_ns < time_ns)
        return SIZE_MAX;
    return after - 1;
}

/* In simple mode all CUDA calls and all work belong to one operator. */
static int make_simple(struct dlprof *dlprof)
{
    static const char name[] = "simple_mode_global_node_name";
    struct dlprof_call whole = { .start_ns = dlprof->begin_ns, .end_ns = dlprof->begin_ns };
    struct dlprof_interval *works = malloc((dlprof->work_count + 1) * sizeof *works);
    int64_t first_ns = INT64_MAX, last_ns = INT64_MIN, calls_ns = 0;

    if (!works)
        return ERR_NO_MEMORY;
    whole.words.name = whole.words.type = dlprof_intern(dlprof, name, sizeof name - 1);
    for (size_t i = 0; i < dlprof->call_count; i++) {
        whole.end_ns = dlprof->calls[i].end_ns > whole.end_ns ? dlprof->calls[i].end_ns : whole.end_ns;
        calls_ns = saturating_add(calls_ns, saturating_subtract(dlprof->calls[i].ns[DLPROF_CPU],
                                                                dlprof->calls[i].ns[DLPROF_OVERHEAD]));
    }
    for (size_t i = 0; i < dlprof->work_count; i++) {
        struct dlprof_work *work = &dlprof->works[i];
        works[i] = (struct dlprof_interval){ 0, work->start_ns, work->end_ns };
        first_ns = work->start_ns < first_ns ? work->start_ns : first_ns;
        last_ns = work->end_ns > last_ns ? work->end_ns : last_ns;
        work->call = 0;
    }
    dlprof_intervals_sort(works, dlprof->work_count);
    whole.ns[DLPROF_CPU] = saturating_duration(whole.start_ns, whole.end_ns);
    whole.ns[DLPROF_OVERHEAD] = saturating_subtract(whole.ns[DLPROF_CPU], calls_ns);
    whole.ns[DLPROF_GPU] = dlprof_intervals_total(works, dlprof->work_count);
    if (dlprof->work_count)
        whole.ns[DLPROF_IDLE] = saturating_subtract(saturating_duration(first_ns, last_ns), whole.ns[DLPROF_GPU]);
    free(works);
    dlprof->call_count = 0;
    struct dlprof_call *call = dlprof_add_call(dlprof);
    if (!call || whole.words.name == UINT32_MAX)
        return ERR_NO_MEMORY;
    *call = whole;
    return 0;
}

/* A capture of Tacho begins where its recording does. Times of nsys count from there; those of other traces from any
 * origin. */
static int dlprof_read_begin(struct dlprof *dlprof, struct error *err)
{
    static const char *const names[] = { "startTime" };
    const struct report_table *foreign = report_table(dlprof->report, "TACHO_TORCH_METADATA");
    struct report_columns columns = { 0 };
    int code = recorded_read(&dlprof->recorded, dlprof->report, err);

    if (code != 0)
        return code;
    if (dlprof->recorded.count)
        dlprof->begin_ns = dlprof->recorded.spans[0].from_ns;
    if (dlprof->recorded.count || !foreign || !foreign->rows)
        return 0;
    if ((code = columns_read(dlprof->report, "ANALYSIS_DETAILS", names, 1, &columns, err)) != 0)
        return code;
    if (columns.rows && !columns_is_null(&columns, 0, 0))
        dlprof->begin_ns = columns.values[0][0];
    report_columns_free(&columns);
    return 0;
}

static int dlprof_read_ops(struct dlprof *dlprof, const struct dlprof_request *request, struct error *err)
{
    int code;

    if (request->is_simple)
        return 0;
    if (request->domain)
        return dlprof_read_domain(dlprof, request->domain, err);
    if ((code = dlprof_read_markers(dlprof, err)) != 0 || (code = dlprof_read_operators(dlprof, err)) != 0)
        return code;
    return request->has_details ? dlprof_read_details(dlprof, err) : 0;
}

int dlprof_read(struct dlprof *dlprof, struct report *report, const struct dlprof_request *request, struct error *err)
{
    int code;

    *dlprof = (struct dlprof){ .report = report };
    if (dlprof_intern(dlprof, "", 0) != 0 && (code = error_no_memory(err)) != 0)
        goto free_dlprof;
    if ((code = dlprof_read_begin(dlprof, err)) != 0 || (code = dlprof_read_ops(dlprof, request, err)) != 0 ||
        (code = dlprof_read_works(dlprof, err)) != 0)
        goto free_dlprof;
    if (!dlprof->call_count) {
        code = error_set(err, ERR_NO_DATA,
                         "the report has no operators, no CUDA calls and no GPU work; record them with 'tacho profile "
                         "--trace=cuda,nvtx --pytorch=auto'");
        goto free_dlprof;
    }
    if (request->is_simple && make_simple(dlprof) != 0 && (code = error_no_memory(err)) != 0)
        goto free_dlprof;
    if ((code = dlprof_split(dlprof, request, err)) == 0)
        return 0;
free_dlprof:
    dlprof_free(dlprof);
    return code;
}

void dlprof_free(struct dlprof *dlprof)
{
    intern_free(&dlprof->texts);
    free(dlprof->calls);
    free(dlprof->ops);
    free(dlprof->works);
    free(dlprof->ends);
    recorded_free(&dlprof->recorded);
    text_free(&dlprof->key);
    *dlprof = (struct dlprof){ 0 };
}
