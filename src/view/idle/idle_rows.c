/* Rows that show when a GPU had no work, one for each GPU, and how busy it was. Gaps are those of gpu_idle_sum, with
 * the same start and end. At first each has the name "Idle": to know its cause takes the whole analysis, which runs
 * after the first picture (idle_causes.h) and then names the gaps. */
#include "idle_rows.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/gpu_busy.h"
#include "view/load/derived.h"
#include "view/load/event_search.h"

/* By the table of the work that ended the gap, in the order of gpu_busy_tables. The events themselves are in none. */
enum { TABLES = 4 };
static const struct view_source gap_sources[TABLES] = {
    { .start = "start", .type = ROW_IDLE, .work = WORK_NONE },
    { .start = "start", .type = ROW_IDLE, .work = WORK_NONE },
    { .start = "start", .type = ROW_IDLE, .work = WORK_NONE },
    { .start = "start", .type = ROW_IDLE, .work = WORK_NONE },
};
static const struct view_family gaps_family = { gap_sources, TABLES };

static uint32_t table_number(const char *table)
{
    uint32_t number = 0;

    while (number + 1 < TABLES && gpu_busy_tables[number] != table)
        number++;
    return number;
}

const char *idle_rows_table(const struct view_events *events, uint32_t event)
{
    return gpu_busy_tables[event_source(events, event)];
}

/* ---- gaps ------------------------------------------------------------------------------------------------------ */

/* Whether all events of a gap's time are in the report: `tacho export --max-size` leaves some out. */
static int idle_rows_is_known(const struct report_columns *detail, const struct gpu_busy_gap *gap)
{
    int64_t end_ns = saturating_add(gap->start_ns, gap->length_ns);

    for (size_t row = 0; row < detail->rows; row++)
        if (detail->values[0][row] <= gap->start_ns && end_ns <= detail->values[1][row])
            return 1;
    return !detail->rows;
}

static int idle_rows_add_gaps(struct gather *gather, const struct gpu_busy *busy, const struct report_columns *detail)
{
    uint32_t name = derived_state_name(gather->view, STATE_IDLE);

    for (size_t i = 0; i < busy->gap_count; i++) {
        const struct gpu_busy_gap *gap = &busy->gaps[i];
        const struct view_taken event = {
            .start_ns = gap->start_ns,
            .end_ns = saturating_add(gap->start_ns, gap->length_ns),
            .name = name,
            .key = { ROW_IDLE, gap->gpu },
            .table_row = gap->row,
        };
        if (idle_rows_is_known(detail, gap) && gather_add(gather, table_number(gap->table), &event) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Names that gaps get later. */
static void idle_rows_add_names(struct view *view)
{
    for (int cause = 0; cause < GAP_CAUSES; cause++)
        view_own_name(view, gap_cause_names[cause]);
}

/* ---- use ------------------------------------------------------------------------------------------------------- */

/* From the first CUDA call or GPU work to the last: what the replay takes for the run. */
static struct report_span span_of_run(const struct view *view)
{
    struct report_span span = { INT64_MAX, INT64_MIN };

    for (size_t i = 0; i < view->leaf_count; i++) {
        const struct view_events *events = &view->leaves[i].events;
        int64_t type = keys_get(&view->row_keys, view->leaves[i].key)[KEY_TYPE];
        for (uint32_t lane = 0; (type == ROW_CUDA_API || type == ROW_STREAM) && lane < events->lane_count; lane++) {
            int64_t from = events->start_ns[events->lanes[lane]], to = event_end(events, events->lanes[lane + 1] - 1);
            span.from_ns = from < span.from_ns ? from : span.from_ns;
            span.to_ns = to > span.to_ns ? to : span.to_ns;
        }
    }
    return span;
}

static int add_uses(struct view *view, const struct gpu_busy *busy)
{
    int has_steps = view->steady.from_ns < view->steady.to_ns;
    const struct report_span span = has_steps ? view->steady : span_of_run(view);

    view->gpu_uses = calloc(busy->device_count + 1, sizeof *view->gpu_uses);
    if (!view->gpu_uses)
        return ERR_NO_MEMORY;
    view->gpu_use_span = has_steps ? "the steps without their warm-up"
                                   : "from the first CUDA call or GPU work to the last";
    for (size_t i = 0; i < busy->device_count && span.from_ns < span.to_ns; i++) {
        struct gpu_busy_use use = gpu_busy_use(busy, &busy->devices[i], &span);
        view->gpu_uses[view->gpu_use_count++] = (struct view_gpu_use){ busy->devices[i].gpu, use.busy_ns,
                                                                       use.whole_ns };
    }
    return 0;
}

int idle_rows(struct view *view, struct error *err)
{
    static const char *const names[] = { "start", "end" };
    const struct analysis_request everything = { 0 };
    struct report_columns detail = { 0 };
    struct gpu_busy busy = { 0 };
    struct gather gather = { 0 };
    int code = gpu_busy_read_gaps(&busy, view->report, &everything, 1, err);

    if (code != 0)
        return code;
    if ((code = columns_read(view->report, "TACHO_DETAIL", names, 2, &detail, err)) != 0 || !busy.device_count)
        goto done;
    idle_rows_add_names(view);
    if ((code = gather_open(&gather, view, &gaps_family, err)) != 0)
        goto done;
    if ((idle_rows_add_gaps(&gather, &busy, &detail) != 0 || (!detail.rows && add_uses(view, &busy) != 0)) &&
        (code = error_short_memory(err, "for the gaps of the GPUs")) != 0)
        goto done;
    code = gather_finish(&gather, err);
done:
    gather_close(&gather);
    report_columns_free(&detail);
    gpu_busy_free(&busy);
    return code;
}
