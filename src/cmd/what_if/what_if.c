/* tacho what-if: how long a run would have taken with a faster kernel, without a wait, without some time on the CPU. */
#include <stdio.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "base/saturating.h"
#include "cmd/command.h"
#include "cmd/open_report.h"
#include "cmd/output.h"
#include "what_if_model.h"

#define FIELD(name) offsetof(struct what_if_settings, name)
/* clang-format off */
static const struct option what_if_options[] = {
    { .name = "kernel", .letter = 'k', .kind = OPTION_LIST, .offset = FIELD(changes[WHAT_IF_KERNEL]),
      .value = "REGEX=FACTORx",
      .help = "Kernels whose names match the extended regular expression take FACTOR times as long: 'gemm=0.5x'. "
              "0x removes them." },
    { .name = "function", .letter = 'F', .kind = OPTION_LIST, .offset = FIELD(changes[WHAT_IF_FUNCTION]),
      .value = "PLACE=FACTORx",
      .help = "Of a program without a GPU: threads take FACTOR times as long in PLACE, with what it calls: "
              "'solve=0.5x'. PLACE is part of the name of a function or of an NVTX range, or FILE:LINE." },
    { .name = "no-wait", .letter = 'w', .kind = OPTION_LIST, .offset = FIELD(changes[WHAT_IF_NO_WAIT]),
      .value = "PLACE|all",
      .help = "CUDA calls in PLACE do not wait for the GPU. PLACE is part of the name of a CUDA call, an NVTX range, "
              "an operator or a function, or FILE:LINE. Of a program without a GPU: its threads do not wait there "
              "for locks, files, sockets or sleep; PLACE may be part of the name of the call, too." },
    { .name = "no-host", .letter = 'c', .kind = OPTION_LIST, .offset = FIELD(changes[WHAT_IF_NO_HOST]),
      .value = "PLACE|all",
      .help = "Threads take no time in PLACE between their CUDA calls; of a program without a GPU, between their "
              "waits." },
    { .name = "step-range", .kind = OPTION_TEXT, .offset = FIELD(step_range), .value = "PATTERN",
      .help = "Take the ranges that match this basic regular expression as the steps. Default: ProfilerStep#N, "
              "else 'iteration N' or 'step N', else what repeats." },
    { .name = "step-op", .kind = OPTION_TEXT, .offset = FIELD(step_operator), .value = "NAME",
      .help = "Start a step at each call of this operator." },
    { .name = "format", .letter = 'f', .kind = OPTION_CHOICE, .offset = FIELD(format), .value = "FORMAT",
      .words = OPTION_WORDS("human", "csv", "json"),
      .help = "human, csv or json; csv and json have times in ns. Default: human." },
    { 0 },
};
/* clang-format on */

/* ---- changes -------------------------------------------------------------------------------------------------- */

static int take_changes(struct what_if_job *job, const struct what_if_settings *settings, struct error *err)
{
    for (int kind = 0; kind < WHAT_IF_KINDS; kind++)
        for (size_t i = 0; i < settings->changes[kind].count; i++) {
            struct what_if_change *change = &job->changes[job->count++];
            *change = (struct what_if_change){ .kind = (enum what_if_kind)kind,
                                               .text = settings->changes[kind].values[i] };
            if (what_if_check(change, err) != 0)
                return err->code;
        }
    return 0;
}

enum { SAVES, PART, TIME, STEP_SAVES, STEP_TIME, CHANGE, CHANGE_COLUMNS };
static const struct table_column change_columns[CHANGE_COLUMNS] = {
    [SAVES] = { "Saves", CELL_INT, UNIT_NS, 0 },    [PART] = { "Part of Run", CELL_REAL, UNIT_PERCENT, 1 },
    [TIME] = { "Run", CELL_INT, UNIT_NS, 0 },       [STEP_SAVES] = { "Saves per Step", CELL_INT, UNIT_NS, 0 },
    [STEP_TIME] = { "Step", CELL_INT, UNIT_NS, 0 }, [CHANGE] = { "What If", CELL_TEXT, UNIT_NONE, 0 },
};

static int what_if_add_row(struct table *table, const struct what_if_times *before, const struct what_if_times *after,
                           const char *label, struct error *err)
{
    struct table_cell *cells = table_add_row(table);

    if (!cells || cell_set_string(table, &cells[CHANGE], label) != 0)
        return error_no_memory(err);
    int64_t saves = saturating_subtract(before->run_ns, after->run_ns);
    cell_set_int(&cells[SAVES], saves);
    if (before->run_ns > 0)
        cell_set_real(&cells[PART], 100 * (double)saves / (double)before->run_ns);
    cell_set_int(&cells[TIME], after->run_ns);
    if (after->steps) {
        cell_set_int(&cells[STEP_SAVES], saturating_subtract(before->step_ns, after->step_ns));
        cell_set_int(&cells[STEP_TIME], after->step_ns);
    }
    return 0;
}

/* The run as it was recorded; and without the profiler, if the capture has its cost. Changes are compared with the last
 * of these, as in advice. */
static int add_unchanged(struct table *table, struct what_if_job *job, struct what_if_times *before, struct error *err)
{
    const struct what_if_change *none = job->changes;
    struct what_if_times recorded;
    int code;

    if ((code = job->model->replay(job, 0, none, none, &recorded, err)) != 0 ||
        (code = what_if_add_row(table, &recorded, &recorded, "unchanged", err)) != 0)
        return code;
    *before = recorded;
    if (!job->model->has_base(job))
        return 0;
    if ((code = job->model->replay(job, 1, none, none, before, err)) != 0)
        return code;
    return what_if_add_row(table, &recorded, before, "without the profiler", err);
}

/* With the changes from first to behind. */
static int what_if_add_result(struct table *table, struct what_if_job *job, const struct what_if_times *before,
                              const struct what_if_change *first, const struct what_if_change *behind,
                              struct error *err)
{
    struct what_if_times after;
    struct text label = { 0 };
    int code = job->model->replay(job, 1, first, behind, &after, err);

    if (code != 0)
        return code;
    if (behind - first == 1)
        text_addf(&label, "--%s %s", what_if_option(first->kind), first->text);
    else
        text_add(&label, "all of these");
    code = what_if_add_row(table, before, &after, text_string(&label), err);
    text_free(&label);
    return code;
}

/* A row for each change alone, and one for all of them. */
static int what_if_add_changes(struct table *table, struct what_if_job *job, struct error *err)
{
    struct what_if_change *changes = job->changes;
    struct what_if_times before;
    int code;

    if ((code = add_unchanged(table, job, &before, err)) != 0)
        return code;
    for (size_t i = 0; i < job->count; i++)
        if ((code = job->model->find(job, &changes[i], err)) != 0 ||
            (code = what_if_add_result(table, job, &before, &changes[i], &changes[i + 1], err)) != 0)
            return code;
    return job->count == 1 ? 0 : what_if_add_result(table, job, &before, changes, &changes[job->count], err);
}

/* ---- the critical path ----------------------------------------------------------------------------------------- */

enum { SHARE, PATH_TIME, SPENT, PATH_COLUMNS };
static const struct table_column path_columns[PATH_COLUMNS] = {
    [SHARE] = { "Share", CELL_REAL, UNIT_PERCENT, 1 },
    [PATH_TIME] = { "Total Time", CELL_INT, UNIT_NS, 0 },
    [SPENT] = { "Critical Path", CELL_TEXT, UNIT_NONE, 0 },
};

int what_if_add_part(const struct what_if_parts *parts, const char *name, int64_t part_ns, struct error *err)
{
    if (!part_ns)
        return 0;
    struct table_cell *cells = table_add_row(parts->table);
    if (!cells || cell_set_string(parts->table, &cells[SPENT], name) != 0)
        return error_no_memory(err);
    cell_set_int(&cells[PATH_TIME], part_ns);
    cell_set_real(&cells[SHARE], 100 * (double)part_ns / (double)parts->whole_ns);
    return 0;
}

static int what_if_add_path(struct table *table, struct what_if_job *job, struct error *err)
{
    int code = job->model->add_path(table, job, err);

    if (code != 0)
        return code;
    table_sort_by(table, BY(DOWN(PATH_TIME)));
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------------------------- */

static void print(struct text *out, const struct table *table, const struct what_if_settings *settings)
{
    const struct print_format *format = print_format_find(settings->format);
    struct print_request request = output_human_request();

    if (format != &print_human) {
        request.time = &time_unit_ns;
        request.null_is_null = 1;
    }
    format->table(out, table, &request);
}

/* A program that made CUDA calls is one that uses a GPU, and so is one that nothing is known of. */
static const struct what_if_model *what_if_choose(struct report *report)
{
    int is_gpu = advice_has_gpu_work(report) || report_rows(report, "CUPTI_ACTIVITY_KIND_RUNTIME") ||
                 !report_rows(report, "TACHO_THREAD");

    return is_gpu ? &what_if_gpu : &what_if_cpu;
}

static int replay_report(struct text *out, struct what_if_job *job, const struct what_if_settings *settings,
                         struct error *err)
{
    struct table *table = job->count ? table_new(change_columns, CHANGE_COLUMNS)
                                     : table_new(path_columns, PATH_COLUMNS);
    int code;

    if (!table)
        return error_no_memory(err);
    job->model = what_if_choose(job->report);
    if ((code = job->model->open(job, settings, err)) != 0 ||
        (code = job->count ? what_if_add_changes(table, job, err) : what_if_add_path(table, job, err)) != 0)
        goto close_model;
    print(out, table, settings);
close_model:
    job->model->close(job);
    table_delete(table);
    return code;
}

static int what_if_run(const struct command *self, int argc, char **argv)
{
    struct what_if_settings settings = { .format = "human" };
    struct what_if_job job = { 0 };
    struct text out = { 0 }, found = { 0 };
    struct error err = { 0 };
    const char *files[argc];
    size_t file_count;
    int status;

    if (!command_options(self, argc, argv, &settings, files, &file_count, &status))
        return status;
    if (!file_count) {
        error_set(&err, ERR_BAD_ARGUMENT,
                  "takes a FILE: a .tacho report, an SQLite export of nsys or a trace of torch.profiler");
        return command_fail(self, &err);
    }
    if (take_changes(&job, &settings, &err) != 0 ||
        open_input((struct input){ files, file_count }, NULL, &found, &job.report, &err) != 0) {
        text_free(&found);
        return command_fail(self, &err);
    }
    status = replay_report(&out, &job, &settings, &err) != 0 ? command_fail(self, &err) : command_write(self, &out);
    for (size_t i = 0; i < job.count; i++)
        what_if_change_free(&job.changes[i]);
    close_report(job.report, text_string(&found));
    text_free(&found);
    text_free(&out);
    return status;
}

static const struct entry what_if_examples[] = {
    { "tacho what-if report1.tacho", "Print what the critical path consists of." },
    { "tacho what-if --kernel 'gemm=0.5x' report1.tacho", "Print what kernels of half the length would save." },
    { "tacho what-if --no-wait train.py:57 --no-host forward report1.tacho",
      "Print what one wait less, less time on the CPU, and both would save." },
    { "tacho what-if --function solve=0.5x --no-wait fsync report1.tacho",
      "Print what a faster function and no waits for a disk would save a program without a GPU." },
    { 0 },
};

const struct command command_what_if = {
    .name = "what-if",
    .arguments = "FILE …",
    .summary = "Print what a change would save, by replaying the run",
    .about =
        "Replay the CUDA calls and the GPU work of a report with changes, or the threads of a program without a GPU, "
        "and print what each change would save, alone and all together. Without a change, print the critical path of "
        "the run. FILE is a .tacho report, a "
        "trace of torch.profiler or an SQLite export of nsys.",
    .examples = what_if_examples,
    .options = what_if_options,
    .files = "tacho,sqlite,json,gz,zst",
    .run = what_if_run,
};
