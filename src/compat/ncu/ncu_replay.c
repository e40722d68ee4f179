/* See ncu_replay.h. tacho-gpu says which metrics fit into one pass; the others are asked for again, until none is left.
 * The values of all runs go into the report of the last one, whose trace is kept. */
#include "ncu_replay.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "analyze/model/counters/kernel_counters.h"
#include "base/array.h"
#include "cmd/open_report.h"
#include "collect/gpu/gpu_ask.h"
#include "collect/gpu/gpu_link.h"
#include "export/cut.h"
#include "report/writer/writer.h"

/* ---- Groups ---------------------------------------------------------------------------------------------------- */

struct ncu_replay_answer {
    struct text counted, rest, refusal;
};

static void ncu_replay_add_name(struct text *list, const char *name)
{
    text_addf(list, "%s%s", list->length ? "," : "", name);
}

static void ncu_replay_take(void *context, const struct gpu_frame *frame, const void *payload)
{
    struct ncu_replay_answer *answer = context;
    const struct gpu_missing *missing = payload;
    const struct gpu_refusal *refusal;
    const char *metric[GPU_METRIC_TEXTS], *left[GPU_MISSING_TEXTS];

    if (frame->type == GPU_FRAME_METRIC &&
        !gpu_frame_texts(frame, payload, sizeof(struct gpu_frame_metric), metric, GPU_METRIC_TEXTS) &&
        *metric[GPU_METRIC_COUNTER])
        ncu_replay_add_name(&answer->counted, metric[GPU_METRIC_NAME]);
    else if (frame->type == GPU_FRAME_MISSING &&
             !gpu_frame_texts(frame, payload, sizeof *missing, left, GPU_MISSING_TEXTS) && missing->needs_pass)
        ncu_replay_add_name(&answer->rest, left[GPU_MISSING_NAME]);
    else if (frame->type == GPU_FRAME_REFUSAL)
        text_add(&answer->refusal, gpu_frame_refusal(frame, payload, &refusal) ? "1" : "");
}

static int ncu_replay_ask(struct ncu_replay_answer *answer, const char *const *options, struct error *err)
{
    const struct gpu_question question = { "config", options, INT64_C(60000000000), "tacho-gpu was ended", NULL };

    *answer = (struct ncu_replay_answer){ 0 };
    int code = gpu_ask(&question, ncu_replay_take, answer, err);
    if (code)
        return code;
    return answer->refusal.length || !answer->counted.length
               ? error_set(err, ERR_UNSUPPORTED, "the metrics cannot be divided into passes")
               : 0;
}

/* Makes a group of the metrics that fit; returns the option for the rest, NULL if there is none. */
static char *ncu_replay_take_group(struct ncu_groups *groups, struct ncu_replay_answer *answer)
{
    struct text next = { 0 };

    groups->metrics[groups->count] = text_take(&answer->counted);
    groups->count += groups->metrics[groups->count] != NULL;
    if (answer->rest.length)
        text_addf(&next, "metrics=%s", text_string(&answer->rest));
    text_free(&answer->rest);
    text_free(&answer->refusal);
    return next.length ? text_take(&next) : NULL;
}

int ncu_replay_groups(struct ncu_groups *groups, const struct ncu_settings *settings, struct error *err)
{
    static const struct option_list basic = { { "basic" }, 1 };
    int is_default = !settings->sets.count && !settings->sections.count && !settings->metrics.count;
    char *sets = ncu_list_option("sets", is_default ? &basic : &settings->sets);
    char *sections = ncu_list_option("sections", &settings->sections);
    char *metrics = ncu_list_option("metrics", &settings->metrics);
    char device[32];
    struct ncu_replay_answer answer;
    int code = 0;

    snprintf(device, sizeof device, "device=%d", settings->devices ? atoi(settings->devices) : 0);
    *groups = (struct ncu_groups){ 0 };
    if ((!sets || !sections || !metrics) && (code = error_no_memory(err)) != 0)
        goto failed;
    for (int is_first = 1; metrics && groups->count < NCU_RUNS_MOST; is_first = 0) {
        const char *options[] = { device,  "profiler=range",       "single=1",
                                  metrics, is_first ? sets : NULL, is_first ? sections : NULL,
                                  NULL };
        code = ncu_replay_ask(&answer, options, err);
        free(metrics);
        metrics = ncu_replay_take_group(groups, &answer);
        if (code)
            goto failed;
    }
    if (metrics)
        code = error_set(err, ERR_BAD_ARGUMENT,
                         "these metrics need more than %d runs of the program: count fewer of them", NCU_RUNS_MOST);
failed:
    free(sets);
    free(sections);
    free(metrics);
    return code;
}

void ncu_replay_free(struct ncu_groups *groups)
{
    for (size_t i = 0; i < groups->count; i++)
        free(groups->metrics[i]);
    groups->count = 0;
}

/* ---- Merging --------------------------------------------------------------------------------------------------- */

struct ncu_replay_run {
    struct report *report;
    struct kernel_counters counters;
    uint32_t *order; /* owned; kernels by process and launch */
    uint32_t *place; /* owned; for each kernel in that order */
};

struct ncu_merge {
    struct ncu_replay_run base, *others;
    size_t count;
};

struct launch {
    int64_t global_pid, number;
    uint32_t kernel;
};

static int compare_launches(const void *a, const void *b)
{
    const struct launch *x = a, *y = b;

    return COMPARE(x->global_pid, y->global_pid) ?: COMPARE(x->number, y->number);
}

/* Kernels by process and launch, and the place of each. */
static int sort_kernels(struct ncu_replay_run *run, struct error *err)
{
    size_t count = run->counters.kernel_count;
    struct launch *launches = calloc(count + 1, sizeof *launches);

    run->order = calloc(count + 1, sizeof *run->order);
    run->place = calloc(count + 1, sizeof *run->place);
    if (!launches || !run->order || !run->place) {
        free(launches);
        return error_no_memory(err);
    }
    for (size_t i = 0; i < count; i++) {
        const struct counted_kernel *kernel = &run->counters.kernels[i];
        launches[i] = (struct launch){ kernel->global_pid, kernel->launch, (uint32_t)i };
    }
    qsort(launches, count, sizeof *launches, compare_launches);
    for (size_t i = 0; i < count; i++) {
        run->order[i] = launches[i].kernel;
        run->place[launches[i].kernel] = (uint32_t)i;
    }
    free(launches);
    return 0;
}

static int ncu_replay_open_run(struct ncu_replay_run *run, const char *path, struct error *err)
{
    int code;

    if ((code = open_report(path, &run->report, err)) != 0 ||
        (code = kernel_counters_read(&run->counters, run->report, err)) != 0)
        return code;
    return sort_kernels(run, err);
}

static void close_run(struct ncu_replay_run *run)
{
    kernel_counters_free(&run->counters);
    free(run->order);
    free(run->place);
    if (run->report)
        report_close(run->report);
}

static const char *ncu_replay_name_of(const struct ncu_replay_run *run, size_t place)
{
    size_t length;
    return report_string(run->report, run->counters.kernels[run->order[place]].name, &length);
}

static int check_launches(const struct ncu_replay_run *base, const struct ncu_replay_run *other, size_t number,
                          struct error *err)
{
    size_t count = base->counters.kernel_count, others = other->counters.kernel_count;

    for (size_t i = 0; i < count && i < others; i++) {
        const struct counted_kernel *a = &base->counters.kernels[base->order[i]],
                                    *b = &other->counters.kernels[other->order[i]];
        if (strcmp(ncu_replay_name_of(base, i), ncu_replay_name_of(other, i)) != 0 ||
            memcmp(a->grid, b->grid, sizeof a->grid) != 0 || memcmp(a->block, b->block, sizeof a->block) != 0)
            return error_set(err, ERR_UNSUPPORTED,
                             "the program launched other kernels in run %zu (launch %zu was %s, not %s): "
                             "--replay-mode application needs the same launches in each run",
                             number, i, ncu_replay_name_of(other, i), ncu_replay_name_of(base, i));
    }
    if (count != others)
        return error_set(err, ERR_UNSUPPORTED,
                         "%zu kernels were counted in run %zu, not %zu: --replay-mode application needs the same "
                         "launches in each run",
                         others, number, count);
    return 0;
}

static int64_t ncu_replay_text_id(struct writer *writer, const char *text)
{
    return writer_string(writer, text, strlen(text));
}

/* The chip of the first metric: all runs had the same GPU. "": not known. */
static const char *chip_of(struct report *report)
{
    static const char *const names[] = { "chip", NULL };
    struct row_cursor rows;
    struct error err = { 0 };
    const char *chip = "";

    if (row_cursor_open(&rows, report, "TACHO_METRICS", names, &err) != 0)
        return chip;
    if (row_cursor_next(&rows))
        chip = report_string(report, row_int_or(&rows, 0, 0), NULL);
    row_cursor_close(&rows);
    return chip;
}

static void ncu_replay_add_metric(struct writer *writer, const struct counted_metric *metric, int64_t id,
                                  const char *chip)
{
    struct row_TACHO_METRICS row = { 0 };

    ROW_SET(&row, TACHO_METRICS, id, id);
    ROW_SET(&row, TACHO_METRICS, name, ncu_replay_text_id(writer, metric->name));
    if (*metric->unit)
        ROW_SET(&row, TACHO_METRICS, unit, ncu_replay_text_id(writer, metric->unit));
    if (*metric->section)
        ROW_SET(&row, TACHO_METRICS, section, ncu_replay_text_id(writer, metric->section));
    if (*chip)
        ROW_SET(&row, TACHO_METRICS, chip, ncu_replay_text_id(writer, chip));
    writer_append(writer, TABLE_TACHO_METRICS, &row);
}

/* Metrics that the first report has, too, are facts of the launch, which are not stored. */
static void ncu_replay_add_run(struct writer *writer, const struct ncu_replay_run *base,
                               const struct ncu_replay_run *run, int64_t first)
{
    const struct kernel_counters *counters = &run->counters;
    const char *chip = chip_of(run->report);

    for (size_t i = 0; i < counters->names.count; i++)
        if (intern_find(&base->counters.names, counters->metrics[i].name, strlen(counters->metrics[i].name)) < 0)
            ncu_replay_add_metric(writer, &counters->metrics[i], first + (int64_t)i, chip);
    for (size_t i = 0; i < counters->value_count; i++) {
        const struct counter_value *value = &counters->values[i];
        const char *name = counters->metrics[value->metric].name;
        const struct counted_kernel *kernel = &base->counters.kernels[base->order[run->place[value->kernel]]];
        struct row_TACHO_KERNEL_COUNTER_VALUES row = { 0 };
        if (intern_find(&base->counters.names, name, strlen(name)) >= 0)
            continue;
        ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, kernelId, kernel->id);
        ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, metricId, first + value->metric);
        if (value->value == value->value)
            ROW_SET(&row, TACHO_KERNEL_COUNTER_VALUES, value, value->value);
        writer_append(writer, TABLE_TACHO_KERNEL_COUNTER_VALUES, &row);
    }
}

static void ncu_replay_add_rows(struct writer *writer, void *context)
{
    const struct ncu_merge *merge = context;
    enum { IDS_OF_A_RUN = 1 << 20 }; /* more than a run can have metrics */

    for (size_t i = 0; i < merge->count; i++)
        ncu_replay_add_run(writer, &merge->base, &merge->others[i], (int64_t)(i + 1) * IDS_OF_A_RUN);
}

static int write_merged(struct ncu_merge *merge, const char *path, struct error *err)
{
    struct export_options all = { .more = ncu_replay_add_rows, .more_context = merge };
    struct text made = { 0 };

    text_addf(&made, "%s.merged", path);
    int code = cut_report(merge->base.report, text_string(&made), &all, (struct cut_size){ 0, 100 }, err);
    if (code)
        goto failed;
    if (rename(text_string(&made), path) != 0)
        code = error_set_errno(err, "cannot write '%s'", path);
failed:
    if (code)
        remove(text_string(&made));
    text_free(&made);
    return code;
}

int ncu_replay_merge(const char *path, const char *const *others, size_t count, struct error *err)
{
    struct ncu_merge merge = { .others = calloc(count + 1, sizeof *merge.others) };
    int code;

    if (!merge.others)
        return error_no_memory(err);
    if ((code = ncu_replay_open_run(&merge.base, path, err)) != 0)
        goto failed;
    for (; merge.count < count; merge.count++)
        if ((code = ncu_replay_open_run(&merge.others[merge.count], others[merge.count], err)) != 0 ||
            (code = check_launches(&merge.base, &merge.others[merge.count], merge.count + 1, err)) != 0)
            goto failed;
    code = write_merged(&merge, path, err);
failed:
    for (size_t i = 0; i < count; i++)
        close_run(&merge.others[i]);
    close_run(&merge.base);
    free(merge.others);
    return code;
}
