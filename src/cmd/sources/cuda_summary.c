/* GPUs in the last lines: how busy they were, copies, gaps, and limits of the report. */
#include "cuda_summary.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/analysis.h"
#include "analyze/idle/gap_causes.h"
#include "analyze/model/gpu_busy.h"
#include "analyze/registry.h"
#include "analyze/reports/gpu_idle_sum.h"
#include "base/human.h"
#include "base/saturating.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"
#include "cmd/small_table.h"
#include "wire/wire.h"

enum { MOST_GAPS = 3, MOST_KINDS = 3 };

/* Columns of cuda_gpu_mem_time_sum and cuda_gpu_mem_size_sum; what it is about stands last. */
enum { TIME_TOTAL = 1, SIZE_TOTAL = 0 };

struct gpu_work {
    struct gpu_busy busy;
    struct table *kernels, *times, *sizes; /* cuda_gpu_kern_sum, …mem_time_sum, …mem_size_sum;
                                            * NULL where there is no data */
    struct table *idle;                    /* gpu_idle_sum */
};

static struct table *cuda_summary_run(struct report *report, const char *name, const struct analysis_request *request)
{
    struct table *table = NULL;
    struct error err;

    if (analysis_run(analysis_find(name), report, request, &table, &err) != 0)
        return NULL;
    if (table_row_count(table))
        return table;
    table_delete(table);
    return NULL;
}

/* Why GPUs were idle, from the adviser's replay. A report that is too large for that has no answer here either. */
static struct table *read_idle(struct summary *summary)
{
    const struct analysis_request all = { 0 };
    struct adviser *adviser = &summary->adviser;
    struct places *places;
    struct table *table = NULL;
    struct error err;

    if (!adviser->report || adviser_places(adviser, &places, &err) != 0 ||
        gpu_idle_sum_of(adviser->report, &all, &adviser->replay.events, places, &table, &err) != 0)
        return NULL;
    return table;
}

static void free_work(void *finding)
{
    struct gpu_work *work = finding;

    gpu_busy_free(&work->busy);
    table_delete(work->kernels);
    table_delete(work->times);
    table_delete(work->sizes);
    table_delete(work->idle);
    free(work);
}

/* Unreadable data is left out: a capture must end with the rest. */
static void *cuda_summary_find_work(struct summary *summary)
{
    static const struct analysis_option base = { "base", NULL };
    struct analysis_request all = { 0 }, by_short_name = { .options = &base, .option_count = 1 };
    struct report *report = summary->shown;
    struct gpu_work *work = calloc(1, sizeof *work);
    struct error err;

    if (!work || gpu_busy_read(&work->busy, report, &all, MOST_GAPS, &err) != 0 || !work->busy.device_count) {
        if (work)
            free_work(work);
        return NULL;
    }
    work->kernels = cuda_summary_run(report, "cuda_gpu_kern_sum", &by_short_name);
    work->times = cuda_summary_run(report, "cuda_gpu_mem_time_sum", &all);
    work->sizes = cuda_summary_run(report, "cuda_gpu_mem_size_sum", &all);
    work->idle = work->busy.gap_count ? read_idle(summary) : NULL;
    summary->has_gpu_work = 1;
    return work;
}

/* All GPUs together, over the time from the first work on any to the last; the one that did least beside it. */
static void add_several(struct text *out, const struct gpu_busy *busy, int64_t span_ns, int64_t sum_ns)
{
    const struct gpu_busy_device *least = &busy->devices[0];

    for (size_t i = 1; i < busy->device_count; i++)
        least = busy->devices[i].busy_ns < least->busy_ns ? &busy->devices[i] : least;
    text_addf(out, "  %zu GPUs busy ", busy->device_count);
    summary_add_share(out, (double)sum_ns, (double)span_ns * (double)busy->device_count);
    text_addf(out, " on average, least GPU %lld with ", (long long)least->gpu);
    summary_add_share(out, (double)least->busy_ns, (double)span_ns);
    text_add(out, ", of the ");
    human_time(out, span_ns);
    text_add(out, " from their first work to their last");
}

static void add_one(struct text *out, const struct gpu_busy_device *device, struct report *report, int64_t span_ns)
{
    size_t length;
    const char *name = gpu_name(report, device->gpu, &length);

    text_addf(out, "  GPU %lld ", (long long)device->gpu);
    if (length) {
        text_add_char(out, '(');
        display_add(out, name, length, 40);
        text_add(out, ") ");
    }
    text_add(out, "busy ");
    summary_add_share(out, (double)device->busy_ns, (double)span_ns);
    text_add(out, " of the ");
    human_time(out, span_ns);
    text_add(out, " from its first work to its last");
}

/* "GPU 0 (NVIDIA H200) busy 82.1 % of the 31.7 ms from its first work to its last; 4.0 % of the 652 ms recorded" */
static void cuda_summary_add_busy(struct text *out, const struct gpu_work *work, struct report *report,
                                  int64_t recorded_ns)
{
    const struct gpu_busy *busy = &work->busy;
    int64_t first = busy->devices[0].first_ns, last = busy->devices[0].last_ns, sum = 0;
    int64_t paused = busy->devices[0].paused_ns;

    for (size_t i = 0; i < busy->device_count; i++) {
        first = busy->devices[i].first_ns < first ? busy->devices[i].first_ns : first;
        last = busy->devices[i].last_ns > last ? busy->devices[i].last_ns : last;
        sum = saturating_add(sum, busy->devices[i].busy_ns);
    }
    int64_t span = saturating_subtract(saturating_duration(first, last), paused);
    recorded_ns = saturating_subtract(recorded_ns, paused);
    if (busy->device_count > 1)
        add_several(out, busy, span, sum);
    else
        add_one(out, &busy->devices[0], report, span);
    if (recorded_ns > span) {
        text_add(out, "; ");
        summary_add_share(out, (double)sum, (double)recorded_ns * (double)busy->device_count);
        text_add(out, " of the ");
        human_time(out, recorded_ns);
        text_add(out, " recorded");
    }
    text_add_char(out, '\n');
}

/* "Host-to-Device" of "[CUDA memcpy Host-to-Device]", "fills" of "[CUDA memset]". */
static void cuda_summary_add_kind(struct text *out, const struct table_cell *name)
{
    static const char copy[] = "[CUDA memcpy ";
    size_t skipped = sizeof copy - 1;

    if (name->text.length > skipped + 1 && memcmp(name->text.bytes, copy, skipped) == 0)
        text_add_bytes(out, name->text.bytes + skipped, name->text.length - skipped - 1);
    else
        text_add(out, "fills");
}

/* Bytes of the same kind; -1 if they are not known. */
static double megabytes_of(const struct table *sizes, const struct table_cell *name)
{
    for (size_t i = 0; sizes && i < table_row_count(sizes); i++) {
        const struct table_cell *row = table_row(sizes, i), *other = &row[table_column_count(sizes) - 1];
        if (cell_compare_text(name, other) == 0)
            return row[SIZE_TOTAL].real;
    }
    return -1;
}

/* Time and bytes of copies and fills, the longest kinds first. */
static void cuda_summary_add_copies(struct text *out, const struct gpu_work *work)
{
    size_t count = table_row_count(work->times), name = table_column_count(work->times) - 1;
    int64_t sum = 0;

    for (size_t i = 0; i < count; i++)
        sum = saturating_add(sum, table_row(work->times, i)[TIME_TOTAL].integer);
    text_add(out, "  copies and fills ");
    human_time(out, sum);
    for (size_t i = 0; i < count && i < MOST_KINDS; i++) {
        const struct table_cell *row = table_row(work->times, i);
        double megabytes = megabytes_of(work->sizes, &row[name]);
        text_add(out, i ? "; " : ": ");
        cuda_summary_add_kind(out, &row[name]);
        text_add_char(out, ' ');
        human_time(out, row[TIME_TOTAL].integer);
        if (megabytes >= 0) {
            text_add(out, ", ");
            human_bytes(out, (uint64_t)saturating_from_double(megabytes * 1e6 + 0.5));
        }
    }
    text_add(out, count > MOST_KINDS ? "; …\n" : "\n");
}

/* The longest times in which a GPU had no work. */
static void cuda_summary_add_gaps(struct text *out, const struct gpu_work *work)
{
    const struct gpu_busy *busy = &work->busy;

    text_add(out, "  longest gaps without work:");
    for (size_t i = 0; i < busy->gap_count; i++) {
        text_add(out, i ? ", " : " ");
        human_time(out, busy->gaps[i].length_ns);
        text_add(out, " at ");
        human_moment(out, busy->gaps[i].start_ns, busy->gaps[i].length_ns / 10);
        if (busy->device_count > 1)
            text_addf(out, " (GPU %lld)", (long long)busy->gaps[i].gpu);
    }
    text_add_char(out, '\n');
}

static int is_unknown(const struct table_cell *row)
{
    const char *unknown = gap_cause_names[GAP_UNKNOWN];

    return row[IDLE_CAUSE].text.length == strlen(unknown) &&
           memcmp(row[IDLE_CAUSE].text.bytes, unknown, strlen(unknown)) == 0;
}

/* The largest cause that is one; NULL: there is none. */
static const struct table_cell *largest_cause(const struct table *idle)
{
    for (size_t i = 0; idle && i < table_row_count(idle) && i < 2; i++)
        if (!is_unknown(table_row(idle, i)))
            return table_row(idle, i);
    return NULL;
}

/* "main cause of idle time: data loading at train.py:12 load, 61.0 % of 1.2 s (tacho stats -r gpu_idle_sum)" */
static void cuda_summary_add_idle(struct text *out, const struct gpu_work *work)
{
    enum { WIDEST = 60 };
    const struct table_cell *row = largest_cause(work->idle);
    int64_t sum = 0;

    for (size_t i = 0; i < table_row_count(work->idle); i++)
        sum = saturating_add(sum, table_row(work->idle, i)[IDLE_TOTAL].integer);
    text_add(out, "  main cause of idle time: ");
    display_add(out, row[IDLE_CAUSE].text.bytes, row[IDLE_CAUSE].text.length, 0);
    text_add(out, row[IDLE_WHERE].text.length ? " at " : "");
    summary_add_place(out, &row[IDLE_WHERE], WIDEST);
    text_add(out, ", ");
    summary_add_share(out, row[IDLE_SHARE].real, 100);
    text_add(out, " of ");
    human_time(out, sum);
    text_add(out, " (tacho stats -r gpu_idle_sum)\n");
}

/* Whether a note of the capture says it already. */
static int is_said(const struct capture_facts *facts, const char *sentence)
{
    for (size_t i = 0; i < facts->warning_count; i++)
        if (strstr(capture_warning(facts, i), sentence))
            return 1;
    return 0;
}

/* "note: CUDA is not recorded. Another profiler has CUPTI …": the agent's own words. Returns how many processes CUPTI
 * was used in. */
static size_t add_refusal(struct text *out, const struct summary *summary)
{
    static const char *const names[] = { "refusal", NULL };
    struct small_table rows;
    struct error err;
    const char *first = NULL;
    size_t refused = 0;

    if (small_table_read(&rows, summary->request->report, "TACHO_CUPTI", names, &err) != 0)
        return 0;
    for (size_t i = 0; i < rows.columns.rows; i++)
        if (!small_table_is_null(&rows, i, 0) && refused++ == 0)
            first = small_table_text(&rows, i, 0, NULL);
    size_t used = rows.columns.rows - refused;
    if (first && !is_said(&summary->facts, first)) {
        text_add(out, "  note: ");
        display_add(out, first, strlen(first), 0);
        if (refused > 1 || used)
            text_addf(out, " (%zu process%s)", refused, refused == 1 ? "" : "es");
        text_add_char(out, '\n');
    }
    small_table_free(&rows);
    return used;
}

enum cuda_summary_check { NO_KERNEL, NO_LAUNCH, BEFORE_LAUNCH, RECOVERED, CHECKS };
static const struct {
    const char *finding; /* in TACHO_CUDA_CHECK */
    const char *one, *more;
} checks[CHECKS] = {
    [NO_KERNEL] = { "launch-without-kernel", "launch has no kernel", "launches have no kernel" },
    [NO_LAUNCH] = { "kernel-without-launch", "kernel has no launch", "kernels have no launch" },
    [BEFORE_LAUNCH] = { "kernel-before-launch",
                        "kernel started before its "
                        "launch",
                        "kernels started before their launch" },
    [RECOVERED] = { "", "record was found in memory that CUPTI had not handed over",
                    "records were found in memory that CUPTI had not handed over" },
};

static void read_checks(const struct summary *summary, uint64_t counts[CHECKS])
{
    static const char *const names[] = { "finding", "count", NULL };
    const struct counted_source *cuda = event_counts_find(&summary->facts.sources.counts,
                                                          wire_source_name(WIRE_SOURCE_CUDA));
    struct small_table rows;
    struct error err;

    counts[RECOVERED] = cuda ? cuda->recovered : 0;
    if (small_table_read(&rows, summary->request->report, "TACHO_CUDA_CHECK", names, &err) != 0)
        return;
    for (size_t i = 0; i < rows.columns.rows; i++)
        for (size_t c = 0; c < RECOVERED; c++)
            if (strcmp(checks[c].finding, small_table_text(&rows, i, 0, NULL)) == 0)
                counts[c] += (uint64_t)small_table_number(&rows, i, 1, 0);
    small_table_free(&rows);
}

/* Where the records do not fit together, and why CUDA was not traced: at most two lines, none if all is well. */
static void cuda_summary_add_notes(struct text *out, const struct summary *summary)
{
    uint64_t counts[CHECKS] = { 0 };
    const char *before = "  GPU records: ";
    size_t used = add_refusal(out, summary);

    read_checks(summary, counts);
    for (size_t i = 0; i < CHECKS; i++) {
        if (!counts[i])
            continue;
        text_add(out, before);
        human_count(out, counts[i]);
        text_addf(out, " %s", counts[i] == 1 ? checks[i].one : checks[i].more);
        before = ", ";
    }
    if (*before == ',')
        text_add_char(out, '\n');
    else if (used && !summary->has_gpu_work)
        text_add(out, "  CUDA was used, but no GPU work was recorded\n");
}

/* Work on GPUs comes first; work on the CPU gets the lines that are left. */
static void cuda_summary_lead(struct text *out, struct summary *summary, const void *finding)
{
    enum { LEAST_KERNELS = 3, MOST_KERNELS = 5 };
    const struct gpu_work *work = finding;
    size_t kernels = 0;

    summary_take_lines(summary, 1);
    cuda_summary_add_busy(out, work, summary->request->report,
                          summary->adviser.window ? -1 : summary->facts.recorded_ns);
    if (work->kernels && summary_take_lines(summary, 1 + LEAST_KERNELS))
        kernels = LEAST_KERNELS;
    int has_copies = work->times && summary_take_lines(summary, 1),
        has_gaps = work->busy.gap_count && summary_take_lines(summary, 1),
        has_idle = largest_cause(work->idle) && summary_take_lines(summary, 1);
    uint32_t briefs = summary_take_briefs(summary);
    if (kernels && summary_take_lines(summary, MOST_KERNELS - LEAST_KERNELS))
        kernels = MOST_KERNELS;
    if (kernels)
        summary_add_top(out, summary, work->kernels, "kernels by base name: tacho stats -r cuda_gpu_kern_sum:base",
                        kernels);
    summary_add_briefs(out, summary, briefs);
    if (has_copies)
        cuda_summary_add_copies(out, work);
    if (has_gaps)
        cuda_summary_add_gaps(out, work);
    if (has_idle)
        cuda_summary_add_idle(out, work);
    summary_add_table_lines(out, summary);
}

const struct source_summary cuda_summary = {
    .find = cuda_summary_find_work,
    .free = free_work,
    .lead = cuda_summary_lead,
    .add_notes = cuda_summary_add_notes,
};
