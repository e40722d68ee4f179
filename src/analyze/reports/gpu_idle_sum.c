/* gpu_idle_sum: why GPUs were idle, by cause and line (idle/gap_causes.h). */
#include "gpu_idle_sum.h"

#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_options.h"
#include "analyze/idle/gap_causes.h"
#include "analyze/registry.h"
#include "base/array.h"
#include "idle_layers.h"

enum { KEY_GPU, KEY_CAUSE, KEY_PLACE, KEY_PARTS };
enum { OTHER_LINES = -1 }; /* used as the place */

struct gpu_idle_sum_cause_sum {
    int64_t total_ns, gaps, longest_ns;
    size_t last_gap;     /* number of the last gap that counted, plus 1 */
    int64_t in_gap_ns;
    int64_t from_ns;     /* where the cause begins in that gap */
    int64_t longest_from_ns;
    int64_t lines, line; /* for the row of other lines: their number, and the last one */
    int is_folded;       /* into the row of other lines */
};

struct idle_sums {
    struct gap_causes causes;
    struct gpu_busy busy;
    struct keys keys;
    struct gpu_idle_sum_cause_sum *sums; /* owned; by key */
    size_t room;
    size_t gap;                          /* the gap that is being explained */
    int64_t whole_ns;
};

static int gpu_idle_sum_add_piece(void *context, const struct gap_piece *piece)
{
    struct idle_sums *idle = context;
    int64_t length = saturating_duration(piece->start_ns, piece->end_ns);
    uint32_t key = keys_add(&idle->keys,
                            (int64_t[]){ idle->busy.gaps[idle->gap].gpu, piece->cause, (int64_t)piece->place });

    if (key == NO_KEY || array_reserve_zeroed(&idle->sums, &idle->room, key + 1u, sizeof *idle->sums) != 0)
        return ERR_NO_MEMORY;
    struct gpu_idle_sum_cause_sum *sum = &idle->sums[key];
    if (sum->last_gap != idle->gap + 1) {
        sum->last_gap = idle->gap + 1;
        sum->gaps++;
        sum->in_gap_ns = 0;
        sum->from_ns = piece->start_ns;
    }
    sum->in_gap_ns = saturating_add(sum->in_gap_ns, length);
    sum->total_ns = saturating_add(sum->total_ns, length);
    if (sum->in_gap_ns > sum->longest_ns) {
        sum->longest_ns = sum->in_gap_ns;
        sum->longest_from_ns = sum->from_ns;
    }
    return 0;
}

static int explain_gaps(struct idle_sums *idle)
{
    for (idle->gap = 0; idle->gap < idle->busy.gap_count; idle->gap++) {
        const struct gpu_busy_gap *at = &idle->busy.gaps[idle->gap];
        const struct gap gap = { .start_ns = at->start_ns,
                                 .end_ns = saturating_add(at->start_ns, at->length_ns),
                                 .table = at->table,
                                 .row = at->row };
        idle->whole_ns = saturating_add(idle->whole_ns, at->length_ns);
        if (gap_causes_explain(&idle->causes, &gap, gpu_idle_sum_add_piece, idle) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Lines of less than 1 % are one row of their cause, so that the table is short. */
static int fold_small(struct idle_sums *idle)
{
    size_t count = idle->keys.count;

    for (uint32_t i = 0; i < count; i++) {
        const int64_t *key = keys_get(&idle->keys, i);
        if (idle->sums[i].total_ns >= idle->whole_ns / 100 || key[KEY_PLACE] == NO_PLACE)
            continue;
        uint32_t other = keys_add(&idle->keys, (int64_t[]){ key[KEY_GPU], key[KEY_CAUSE], OTHER_LINES });
        if (other == NO_KEY || array_reserve_zeroed(&idle->sums, &idle->room, other + 1u, sizeof *idle->sums) != 0)
            return ERR_NO_MEMORY;
        struct gpu_idle_sum_cause_sum *into = &idle->sums[other], *from = &idle->sums[i];
        into->lines++;
        into->line = keys_get(&idle->keys, i)[KEY_PLACE];
        into->total_ns = saturating_add(into->total_ns, from->total_ns);
        into->gaps = saturating_add(into->gaps, from->gaps);
        if (from->longest_ns > into->longest_ns) {
            into->longest_ns = from->longest_ns;
            into->longest_from_ns = from->longest_from_ns;
        }
        from->is_folded = 1;
    }
    return 0;
}

static void gpu_idle_sum_add_where(struct text *out, const struct idle_sums *idle, const int64_t *key,
                                   const struct gpu_idle_sum_cause_sum *sum)
{
    text_clear(out);
    if (sum->lines > 1)
        text_addf(out, "%lld other lines", (long long)sum->lines);
    else
        place_text(out, idle->causes.places, (uint32_t)(sum->lines ? sum->line : key[KEY_PLACE]));
}

static int gpu_idle_sum_add_row(struct table *table, const struct idle_sums *idle, uint32_t number, struct text *where)
{
    const int64_t *key = keys_get(&idle->keys, number);
    const struct gpu_idle_sum_cause_sum *sum = &idle->sums[number];
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_real(&row[IDLE_SHARE], idle->whole_ns > 0 ? 100.0 * (double)sum->total_ns / (double)idle->whole_ns : 0);
    cell_set_int(&row[IDLE_TOTAL], sum->total_ns);
    cell_set_int(&row[IDLE_GAPS], sum->gaps);
    cell_set_int(&row[IDLE_MAX], sum->longest_ns);
    cell_set_int(&row[IDLE_START], sum->longest_from_ns);
    cell_set_int(&row[IDLE_GPU], key[KEY_GPU]);
    gpu_idle_sum_add_where(where, idle, key, sum);
    if (cell_set_string(table, &row[IDLE_CAUSE], gap_cause_names[key[KEY_CAUSE]]) != 0)
        return ERR_NO_MEMORY;
    return cell_set_built(table, &row[IDLE_WHERE], where);
}

static int gpu_idle_sum_fill(struct table *table, struct idle_sums *idle)
{
    struct text where = { 0 };
    int code;

    if ((code = explain_gaps(idle)) != 0 || (code = fold_small(idle)) != 0)
        return code;
    for (uint32_t i = 0; i < idle->keys.count; i++)
        if (!idle->sums[i].is_folded && (code = gpu_idle_sum_add_row(table, idle, i, &where)) != 0)
            goto free_where;
    table_sort_by(table, BY(DOWN(IDLE_TOTAL), IDLE_GPU, IDLE_CAUSE, IDLE_WHERE));
free_where:
    text_free(&where);
    return code;
}

static int sums_read(struct idle_sums *idle, struct report *report, const struct analysis_request *request,
                     struct error *err)
{
    int64_t least_us;
    int code;

    if ((code = option_number(request, "gap", 0, 0, INT64_MAX / 1000, &least_us, err)) != 0 ||
        (code = gpu_busy_read_gaps(&idle->busy, report, request, least_us > 0 ? least_us * 1000 : 1, err)) != 0)
        return code;
    if (!idle->busy.device_count)
        return error_set(err, ERR_NO_DATA,
                         "the report has no GPU work; to show what a thread did, name it: "
                         "gpu_idle_sum:thread=<number or name>");
    return 0;
}

int gpu_idle_sum_of(struct report *report, const struct analysis_request *request, const struct replay_events *events,
                    struct places *places, struct table **out, struct error *err)
{
    static const struct table_column columns[IDLE_COLUMNS] = {
        { "Time", CELL_REAL, UNIT_PERCENT, 1 }, { "Total Time", CELL_INT, UNIT_NS, 0 },
        { "Gaps", CELL_INT, UNIT_NONE, 0 },     { "Max", CELL_INT, UNIT_NS, 0 },
        { "Start", CELL_INT, UNIT_TIME, 0 },    { "GPU", CELL_INT, UNIT_ID, 0 },
        { "Cause", CELL_TEXT, UNIT_NONE, 0 },   { "Where", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct idle_sums idle = { .keys.width = KEY_PARTS };
    struct table *table = NULL;
    int code = sums_read(&idle, report, request, err);

    if (code != 0 || (idle.busy.gap_count && (code = gap_causes_open(&idle.causes, report, events, places, err)) != 0))
        goto done;
    table = table_new(columns, IDLE_COLUMNS);
    if (!table || gpu_idle_sum_fill(table, &idle) != 0)
        code = error_short_memory(err, "for the causes");
done:
    gap_causes_close(&idle.causes);
    gpu_busy_free(&idle.busy);
    keys_free(&idle.keys);
    free(idle.sums);
    return table_hand_over(table, code, out, err);
}

static int gpu_idle_sum(struct report *report, const struct analysis_request *request, struct table **out,
                        struct error *err)
{
    int is_detail = option_given(request, "detail") || option_text(request, "thread");

    return is_detail ? gpu_idle_detail(report, request, out, err)
                     : gpu_idle_sum_of(report, request, NULL, NULL, out, err);
}

static const char *const idle_tables[] = {
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    "CUPTI_ACTIVITY_KIND_GRAPH_TRACE",
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "OSRT_API",
    "SCHED_EVENTS",
    "COMPOSITE_EVENTS",
    "TACHO_PYTHON_SAMPLE",
    "NVTX_EVENTS",
    "TACHO_TORCH_OP",
    NULL,
};
const struct analysis analysis_gpu_idle_sum = {
    .name = "gpu_idle_sum",
    .title = "GPU Idle Summary",
    .usage = "[:detail][:gap=<µs>][:thread=<number or name>]",
    .help = "Why GPUs were idle: what the work that ended each gap had waited for, by cause and by line of the "
            "program; lines of less than 1 % are one row. gap: only gaps of at least that many µs (default: all). Max: "
            "the most time of a row in one gap; Start: where that begins. "
            "detail: the activity of the launching thread instead, with names and ranges; if several overlap, the "
            "first of these counts: the launch had returned; a CUDA call that waits; another CUDA call; an OS call; "
            "off CPU; a Python line; a native function; a range or operator. thread: the activities of that thread "
            "over the whole capture.",
    .needs = { { "trace data of GPUs or threads", idle_tables } },
    .is_of_gpus = 1,
    .run = gpu_idle_sum,
};
