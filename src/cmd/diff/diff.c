/* tacho diff: what changed between two reports, two sets of runs, or two ranges of one report. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/table_diff.h"
#include "analyze/registry.h"
#include "analyze/reports/run_sum.h"
#include "base/path.h"
#include "cmd/command.h"
#include "cmd/open_report.h"
#include "cmd/output.h"
#include "cmd/print/display.h"
#include "cmd/print/print_human.h"
#include "cmd/selection.h"
#include "diff_advice.h"
#include "diff_condition.h"

enum { MOST_RUNS = 64, MOST_CONDITIONS = 64 };

struct diff_settings {
    struct option_list reports, ranges, conditions;
    const char *column;
    int all, advice;
    struct output_settings deliver;
    struct selection_part_settings part;
    struct foreign_rep_settings input;
};

static const char *const *diff_report_names(void)
{
    static const char *names[WANTED_MOST];

    for (size_t i = 0; analyses[i] && i + 1 < WANTED_MOST; i++)
        names[i] = analyses[i]->name;
    return names;
}

#define FIELD(name) offsetof(struct diff_settings, name)
/* clang-format off */
static const struct option diff_options[] = {
    { .name = "report", .letter = 'r', .kind = OPTION_LIST, .offset = FIELD(reports), .value = "NAME[:OPTION…]",
      .choices = diff_report_names,
      .help = "Report to compare; separate several with commas. Default: run_sum, and the reports that stats "
              "prints on a terminal." },
    { .name = "column", .letter = 'c', .kind = OPTION_TEXT, .offset = FIELD(column), .value = "COLUMN",
      .words = OPTION_WORDS("total", "count", "avg", "med", "min", "max", "stddev", "share"),
      .help = "Column to compare: total, count, avg, med, min, max, stddev, share, or the name of a column. Default: "
              "total." },
    { .name = "range", .kind = OPTION_LIST, .offset = FIELD(ranges), .value = "RANGE[@DOMAIN][/N]",
      .help = "Give it twice, with one FILE: compare the events that overlap the first NVTX range with those that "
              "overlap the second." },
    { .name = "fail-if", .kind = OPTION_LIST, .offset = FIELD(conditions), .value = "CONDITION",
      .help = "Exit with status 1 if a change beyond the noise exceeds the limit: 'wall>+5%', 'cpu>+5%' or 'gpu>+5%' "
              "(time of the run), 'total>+5%' (all rows of a report), 'any total>+5%' (one row), or with a unit: "
              "'any avg>+20us'." },
    { .name = "advice", .kind = OPTION_FLAG, .offset = FIELD(advice),
      .help = "Compare the advice on two runs: which findings are gone, what they promised, what the step takes less, "
              "what remains, and what to change next." },
    { .name = "all", .kind = OPTION_FLAG, .offset = FIELD(all),
      .help = "Also list the rows that did not change." },
    DELIVER_OPTIONS(struct diff_settings, deliver),
    PART_OPTIONS(struct diff_settings, part),
    SET_OPTIONS(struct diff_settings, input),
    { 0 },
};
/* clang-format on */

/* ---- one report ------------------------------------------------------------------------------------------------ */

struct diff_run {
    const char *path;
    struct report *report;
    struct selection_part part;
    const char *program; /* base name of its file; "": not known */
    struct table *table; /* the table of the report that is compared now */
};

struct diff_job {
    const struct command *command;
    const struct diff_settings *settings;
    struct diff_run runs[2 * MOST_RUNS]; /* the runs before the change come first */
    size_t before, after;
    struct diff_condition conditions[MOST_CONDITIONS];
    size_t condition_count;
    const struct output_delivery *delivery;
    int is_renamed;       /* the programs of the runs have different names */
    int is_told;          /* a note has said so */
    size_t shown;         /* reports that were compared */
    struct error refused; /* why the last report that was left out was not compared */
    int failed;           /* a condition was met */
};

static void forget_tables(struct diff_job *job)
{
    for (size_t i = 0; i < job->before + job->after; i++) {
        table_delete(job->runs[i].table);
        job->runs[i].table = NULL;
    }
}

/* With the options for people: ranges that have a new name in each run could not be compared. */
static int diff_make_tables(struct diff_job *job, const struct selection_item *wanted, struct error *err)
{
    struct analysis_option given[WANTED_MOST_OPTIONS + 1];
    size_t option_count = selection_options(wanted, given);

    for (size_t i = 0; i < job->before + job->after; i++) {
        struct analysis_request request = selection_part_request(&job->runs[i].part, wanted);
        request.options = given;
        request.option_count = option_count;
        int code = analysis_run(wanted->analysis, job->runs[i].report, &request, &job->runs[i].table, err);
        if (code != 0 && code != ERR_NO_DATA)
            return code;
    }
    *err = (struct error){ 0 }; /* runs without that data are no error */
    return 0;
}

static int diff_compare(const struct diff_job *job, const struct analysis *analysis, const char *column,
                        int with_unchanged, struct table_diff *out, struct error *err)
{
    struct table *tables[2 * MOST_RUNS];
    const char *programs[2 * MOST_RUNS];
    const struct table_diff_request request = { .report = analysis->name,
                                                .column = column,
                                                .rows_overlap = analysis->overlap != NULL,
                                                .with_unchanged = with_unchanged,
                                                .is_overview = analysis == &analysis_run_sum,
                                                .programs = job->is_renamed ? programs : NULL };

    for (size_t i = 0; i < job->before + job->after; i++) {
        tables[i] = job->runs[i].table;
        programs[i] = job->runs[i].program;
    }
    return table_diff_make(tables, job->before, job->after, &request, out, err);
}

/* When a row counts as unchanged, apart from equal figures. */
static const char *unchanged_means(const struct table_diff *diff, const struct diff_job *job)
{
    if (job->before + job->after > 2)
        return " by more than the noise";
    return diff->is_estimate ? " by more than the sampling error" : "";
}

/* Adds a note, once: rows of the program are compared although it has two names. */
static void tell_renamed(struct text *out, const struct table_diff *diff, struct diff_job *job)
{
    if (!diff->has_program || job->is_told)
        return;
    job->is_told = 1;
    text_add(out, "Rows of the program, ");
    display_add(out, job->runs[0].program, strlen(job->runs[0].program), 0);
    text_add(out, " before and ");
    display_add(out, job->runs[job->before].program, strlen(job->runs[job->before].program), 0);
    text_add(out, " after, are compared with each other.\n");
}

/* The lines under a table: the sum of all rows, and the rows that it lacks. */
static void diff_add_notes(struct text *out, const struct table_diff *diff, struct diff_job *job, int is_overview,
                           const struct print_time_unit *time)
{
    const struct table_diff_change *all = &diff->overall;
    size_t runs = job->before + job->after;

    if (diff->has_overall) {
        text_addf(out, "%s of all rows: ", diff->column);
        diff_add_figure(out, diff, all->before, time);
        text_add(out, " before, ");
        diff_add_figure(out, diff, all->after, time);
        text_add(out, " after");
        if (all->before != 0)
            text_addf(out, ": %+.1f %%", 100 * all->change / fabs(all->before));
        if (all->before != 0 && runs > 2)
            text_addf(out, " (%+.1f … %+.1f %%)", 100 * all->low / fabs(all->before),
                      100 * all->high / fabs(all->before));
        text_add(out, "\n");
    } else if (!is_overview) {
        text_addf(out, "%s is compared.\n", diff->column);
    }
    if (diff->unchanged)
        text_addf(out, "%zu %s not change%s and %s not listed; --all lists all rows.\n", diff->unchanged,
                  diff->unchanged == 1 ? "row did" : "rows did", unchanged_means(diff, job),
                  diff->unchanged == 1 ? "is" : "are");
    if (diff->is_shift)
        text_add(out, "Change is the median of the differences between each run after and each run before "
                      "(Hodges–Lehmann), not After - Before.\n");
    tell_renamed(out, diff, job);
    if (runs > 2)
        text_addf(out,
                  "Medians of %zu and %zu runs; each interval contains the true change with %.0f %% confidence%s.\n",
                  job->before, job->after, 100 * diff->confidence,
                  diff->confidence < 0.95 ? ", the most that so few runs allow" : "");
}

static int check_condition(struct diff_job *job, const struct analysis *analysis, struct diff_condition *condition,
                           int asked_for, struct error *err)
{
    struct table_diff diff = { 0 };
    struct text line = { 0 };
    int code, is_met;

    if ((code = diff_compare(job, analysis, condition->row ? NULL : condition->is.name, 1, &diff, err)) != 0)
        goto done;
    if ((code = diff_condition_check(condition, analysis, &diff, err)) != 0)
        goto done;
    condition->checked++;
    is_met = diff_condition_is_met(condition, analysis, &diff, &line);
    job->failed |= is_met;
    if (is_met || !job->delivery->quiet)
        fputs(text_string(&line), stderr);
done:
    text_free(&line);
    table_diff_free(&diff);
    if (code == ERR_BAD_ARGUMENT && !asked_for) { /* another report may suit it */
        condition->refused = *err;
        *err = (struct error){ 0 };
        return 0;
    }
    return code;
}

/* Checks the conditions on the run as a whole, or all others. */
static int diff_check_conditions(struct diff_job *job, const struct analysis *analysis, int of_run, int asked_for,
                                 struct error *err)
{
    for (size_t i = 0; i < job->condition_count; i++)
        if ((job->conditions[i].row != NULL) == of_run &&
            check_condition(job, analysis, &job->conditions[i], asked_for, err) != 0)
            return err->code;
    return 0;
}

/* Checks the conditions on the run as a whole, which apply to any choice of reports. */
static int check_conditions_of_run(struct diff_job *job, struct error *err)
{
    const struct selection_item run = { .analysis = &analysis_run_sum };
    int code, of_run = 0;

    for (size_t i = 0; i < job->condition_count; i++)
        of_run |= job->conditions[i].row != NULL;
    if (!of_run)
        return 0;
    if ((code = diff_make_tables(job, &run, err)) != 0)
        goto free_tables;
    code = diff_check_conditions(job, &analysis_run_sum, 1, 1, err);
free_tables:
    forget_tables(job);
    return code;
}

static void diff_add_line(struct text *out, const char *line, size_t columns)
{
    struct text copy = { 0 };

    text_add_bytes(&copy, line, strcspn(line, "\n"));
    display_add_wrapped(out, text_string(&copy), 0, 0, columns);
    text_free(&copy);
}

/* A table on its way out. */
struct diff_shown {
    const char *title, *name, *file; /* name: in a document; file: appended to the base name of files */
    struct table *table;
    struct text notes;               /* owned; lines below the table on a terminal */
};

/* The table, on a terminal with a title and notes. */
static void diff_add_shown(struct text *out, const struct diff_job *job, const struct output_destination *destination,
                           const struct diff_shown *shown)
{
    struct print_request request = destination->request;
    int for_people = output_is_human(destination);
    int with_notes = output_is_console(destination) && !job->delivery->quiet && destination->format->title;

    request.title = shown->title;
    request.name = shown->name;
    request.null_is_null = 1;
    if (with_notes)
        destination->format->title(out, request.title, request.name, &request);
    size_t hidden = output_limit_rows(job->delivery, destination, shown->table);
    if (table_row_count(shown->table) || !for_people)
        destination->format->table(out, shown->table, &request);
    if (!with_notes)
        return;
    if (hidden)
        text_addf(out, "  … %zu more row%s: --rows=all\n", hidden, hidden == 1 ? "" : "s");
    text_add(out, for_people ? "" : "\n");
    for (const char *line = text_string(&shown->notes); *line; line += strcspn(line, "\n") + 1)
        diff_add_line(out, line, for_people ? print_human_columns(&request) : SIZE_MAX);
    text_add(out, for_people ? "\n" : "");
}

static int diff_deliver(const struct diff_job *job, const struct output_destination *destination,
                        const struct diff_shown *shown, struct error *err)
{
    struct print_document *document = output_is_console(destination) ? job->delivery->document : NULL;
    struct text out = { 0 }, file = { 0 };
    int code = 0;

    if (document && !print_document_table(&out, document, shown->name))
        goto done;
    diff_add_shown(&out, job, destination, shown);
    if (document)
        print_document_end_table(&out, document);
    output_file(&file, destination, job->runs[0].path, shown->file);
    code = output_deliver(job->delivery, destination, text_string(&file), &out, err);
done:
    text_free(&out);
    text_free(&file);
    return code;
}

static int show(struct diff_job *job, const struct selection_item *wanted, const struct output_destination *destination,
                struct error *err)
{
    static const struct selection_part_settings whole;
    struct text what = { 0 }, name = { 0 };
    struct table_diff diff;
    int code = diff_compare(job, wanted->analysis, job->settings->column, job->settings->all, &diff, err);

    if (code != 0)
        return code;
    selection_name(&name, wanted, &whole);
    text_add(&what, "diff_");
    selection_name(&what, wanted, &job->settings->part);
    struct diff_shown shown = { wanted->analysis->title, text_string(&name), text_string(&what), diff.table, { 0 } };
    diff_add_notes(&shown.notes, &diff, job, wanted->analysis == &analysis_run_sum, destination->request.time);
    code = diff_deliver(job, destination, &shown, err);
    table_diff_free(&diff);
    text_free(&shown.notes);
    text_free(&what);
    text_free(&name);
    return code;
}

/* A report that was not selected by name is left out if no run has its data, or if it lacks the column. */
static int compare_report(struct diff_job *job, const struct selection_item *wanted,
                          const struct output_destination *destination, int asked_for, struct error *err)
{
    int code, found = 0;

    if ((code = diff_make_tables(job, wanted, err)) != 0)
        goto free_tables;
    for (size_t i = 0; i < job->before + job->after; i++)
        found |= job->runs[i].table && table_row_count(job->runs[i].table);
    if (!found && !asked_for)
        goto free_tables;
    if ((code = show(job, wanted, destination, err)) != 0)
        goto free_tables;
    job->shown++;
    code = diff_check_conditions(job, wanted->analysis, 0, asked_for, err);
free_tables:
    forget_tables(job);
    if (code != ERR_BAD_ARGUMENT || asked_for)
        return code;
    job->refused = *err;
    *err = (struct error){ 0 };
    return 0;
}

/* ---- advice ---------------------------------------------------------------------------------------------------- */

static int show_advice(const struct diff_job *job, const struct diff_advice *diff, struct error *err)
{
    struct diff_shown step = { "Step, and What Was Promised", "advice_step", "diff_advice_step", diff->steps, { 0 } },
                      changes = { "Findings", "advice", "diff_advice", diff->changes, { 0 } };
    int code = diff_deliver(job, output_delivery_at(job->delivery, 0), &step, err);

    if (code != 0)
        return code;
    diff_advice_notes(&changes.notes, diff);
    code = diff_deliver(job, output_delivery_at(job->delivery, 1), &changes, err);
    text_free(&changes.notes);
    return code;
}

static int compare_advice(struct diff_job *job, struct error *err)
{
    static const struct selection_item none;
    struct diff_advice_side sides[2] = { 0 };
    struct diff_advice diff = { 0 };
    int code = 0;

    for (size_t i = 0; i < 2; i++) {
        const struct analysis_request part = selection_part_request(&job->runs[i].part, &none);
        if ((code = diff_advice_side_read(&sides[i], job->runs[i].report, &part, err)) != 0)
            goto free_sides;
    }
    if ((code = diff_advice_make(&diff, &sides[0], &sides[1], err)) != 0)
        goto free_diff;
    code = show_advice(job, &diff, err);
free_diff:
    diff_advice_free(&diff);
free_sides:
    for (size_t i = 0; i < 2; i++)
        diff_advice_side_free(&sides[i]);
    return code;
}

/* Rejects options that --advice excludes. */
static int check_advice(const struct diff_job *job, struct error *err)
{
    const struct diff_settings *settings = job->settings;

    if (!settings->advice)
        return 0;
    if (job->before != 1 || job->after != 1)
        return error_set(err, ERR_BAD_ARGUMENT, "--advice compares two runs, not %zu and %zu", job->before, job->after);
    if (settings->reports.count || settings->column || settings->conditions.count || settings->all)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--advice has tables of its own: use it without --report, --column, "
                         "--fail-if and --all");
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------------------------- */

static int diff_find_program(struct diff_run *run, struct error *err)
{
    struct run_times times;
    int code = run_times_read(&times, run->report, err);

    if (code != 0)
        return code;
    run->program = path_base_name(times.program);
    return 0;
}

/* Whether the programs' names differ, and all are known. */
static int is_renamed(const struct diff_job *job)
{
    int differ = 0;

    for (size_t i = 0; i < job->before + job->after; i++) {
        if (!*job->runs[i].program)
            return 0;
        differ |= strcmp(job->runs[i].program, job->runs[0].program) != 0;
    }
    return differ;
}

static int diff_open_run(struct diff_run *run, const struct foreign_rep_settings *settings, struct error *err)
{
    struct text found = { 0 };
    int code = open_input((struct input){ &run->path, 1 }, settings, &found, &run->report, err);

    text_free(&found);
    return code;
}

static int open_runs(struct diff_job *job, struct error *err)
{
    const struct diff_settings *settings = job->settings;

    for (size_t i = 0; i < job->before + job->after; i++) {
        struct selection_part_settings part = settings->part;
        if (settings->ranges.count)
            part.nvtx = settings->ranges.values[i];
        if (diff_open_run(&job->runs[i], &settings->input, err) != 0 ||
            selection_part_find(&part, job->runs[i].report, &job->runs[i].part, err) != 0 ||
            diff_find_program(&job->runs[i], err) != 0)
            return err->code;
    }
    job->is_renamed = is_renamed(job);
    return 0;
}

static void diff_add_runs(struct diff_job *job, const char *const *paths, size_t count, size_t *side)
{
    for (size_t i = 0; i < count; i++)
        job->runs[job->before + job->after + i].path = paths[i];
    *side = count;
}

/* Which file is which: A B, A1 A2 -- B1 B2, or one file with two ranges. */
static int take_files(struct diff_job *job, const char *const *first, size_t first_count, char *const *second,
                      size_t second_count, struct error *err)
{
    const char *const usage = "diff needs two reports (tacho diff a.tacho b.tacho), two sets (a1 a2 a3 -- b1 b2 b3), "
                              "or one with two ranges (--range X --range Y a.tacho)";

    if (first_count > MOST_RUNS || second_count > MOST_RUNS)
        return error_set(err, ERR_BAD_ARGUMENT, "more than %d runs on a side", MOST_RUNS);
    if (job->settings->ranges.count == 2 && first_count == 1 && !second_count) {
        diff_add_runs(job, first, 1, &job->before);
        diff_add_runs(job, first, 1, &job->after);
    } else if (job->settings->ranges.count) {
        return error_set(err, ERR_BAD_ARGUMENT, "%s", usage);
    } else if (second_count && first_count) {
        diff_add_runs(job, first, first_count, &job->before);
        diff_add_runs(job, (const char *const *)second, second_count, &job->after);
    } else if (first_count == 2) {
        diff_add_runs(job, first, 1, &job->before);
        diff_add_runs(job, first + 1, 1, &job->after);
    } else {
        return error_set(err, ERR_BAD_ARGUMENT, "%s", usage);
    }
    return 0;
}

static int diff_take_conditions(struct diff_job *job, struct error *err)
{
    for (size_t i = 0; i < job->settings->conditions.count; i++)
        if (diff_condition_parse(job->settings->conditions.values[i], &job->conditions[job->condition_count++], err) !=
            0)
            return err->code;
    return 0;
}

/* Prints the text before or after the tables on stdout, if they are one document. */
static void add_to_document(const struct diff_job *job, int is_end)
{
    struct print_document *document = job->delivery->document;
    struct text out = { 0 };

    if (document && is_end) {
        print_document_end_file(&out, document);
        print_document_end(&out, document);
    } else if (document) {
        print_document_file(&out, document, "");
    }
    command_print(&out);
    text_free(&out);
}

/* Whether all conditions are on the run as a whole: the user then asks about nothing else. */
static int asks_of_run_alone(const struct diff_job *job)
{
    for (size_t i = 0; i < job->condition_count; i++)
        if (!job->conditions[i].row)
            return 0;
    return job->condition_count > 0;
}

static int compare_all(struct diff_job *job, const struct selection_list *asked, struct error *err)
{
    const struct analysis *defaults[WANTED_MOST] = { &analysis_run_sum };
    size_t count = asked->count;

    if (!count)
        count = asks_of_run_alone(job)
                    ? 1
                    : 1 + analysis_defaults_for_people(job->runs[0].report, defaults + 1, WANTED_MOST - 1, NULL);
    for (size_t i = 0; i < count; i++) {
        const struct selection_item by_default = { .analysis = asked->count ? NULL : defaults[i] };
        if (compare_report(job, asked->count ? &asked->items[i] : &by_default, output_delivery_at(job->delivery, i),
                           asked->count != 0, err) != 0)
            return err->code;
    }
    if (!job->shown && !job->refused.code)
        error_set(&job->refused, ERR_NO_DATA,
                  "no run has data for a default report; tacho info says what is in a report");
    if (check_conditions_of_run(job, err) != 0)
        return err->code;
    if (!job->shown)
        *err = job->refused;
    for (size_t i = 0; i < job->condition_count; i++)
        if (!job->conditions[i].checked && job->shown)
            *err = job->conditions[i].refused;
    return err->code;
}

static int diff_run(const struct command *self, int argc, char **argv)
{
    struct diff_settings settings = { 0 };
    struct output_delivery delivery = { 0 };
    struct print_document document;
    struct error err = { 0 };
    const char *files[argc];
    size_t file_count;
    int status, split = 1;

    while (split < argc && strcmp(argv[split], "--") != 0)
        split++;
    size_t second_count = split < argc ? (size_t)(argc - split - 1) : 0;
    char *const *second = argv + argc - second_count;
    argv[split] = NULL; /* the parser may read one element past the last argument */
    if (!command_options(self, split, argv, &settings, files, &file_count, &status))
        return status;
    struct diff_job *job = calloc(1, sizeof *job);
    struct selection_list *wanted = calloc(1, sizeof *wanted);
    if (!job || !wanted) {
        error_no_memory(&err);
    } else {
        job->command = self;
        job->settings = &settings;
        job->delivery = &delivery;
        if (take_files(job, files, file_count, second, second_count, &err) == 0 && check_advice(job, &err) == 0 &&
            diff_take_conditions(job, &err) == 0 && output_delivery_parse(&delivery, &settings.deliver, &err) == 0 &&
            selection_parse(wanted, &settings.reports, analyses, "report", &err) == 0 && open_runs(job, &err) == 0) {
            output_begin_document(&delivery, &document, 0, wanted->count != 1);
            add_to_document(job, 0);
            if (settings.advice)
                compare_advice(job, &err);
            else
                compare_all(job, wanted, &err);
            add_to_document(job, 1);
        }
    }
    status = err.code ? command_fail(self, &err) : job->failed ? EXIT_FAILED : EXIT_OK;
    for (size_t i = 0; job && i < job->before + job->after; i++) {
        selection_part_free(&job->runs[i].part);
        if (job->runs[i].report)
            close_report(job->runs[i].report, job->runs[i].path);
    }
    if (status == EXIT_OK && wanted->unknown.code)
        status = command_fail(self, &wanted->unknown);
    if (wanted)
        selection_free(wanted);
    free(wanted);
    free(job);
    output_delivery_free(&delivery);
    return status;
}

static const struct entry diff_examples[] = {
    { "tacho diff before.tacho after.tacho", "Compare two runs." },
    { "tacho diff a1.tacho a2.tacho a3.tacho -- b1.tacho b2.tacho b3.tacho",
      "Compare the medians of three runs on each side, with confidence intervals." },
    { "tacho diff --fail-if 'wall>+5%' before.tacho after.tacho",
      "Exit with status 1 if the run takes more than 5 % longer, for CI." },
    { "tacho diff --advice before.tacho after.tacho",
      "Print which findings a change removed, what they promised, and what it delivered." },
    { "tacho diff --range warmup --range steady report1.tacho", "Compare two NVTX ranges of one run." },
    { 0 },
};

static const struct entry diff_exits[] = {
    { "0", "The reports were compared." },
    { "1", "A condition of --fail-if is met, no run has data to compare, or a file cannot be read." },
    { "2", "The command line is wrong." },
    { 0 },
};

const struct command command_diff = {
    .name = "diff",
    .arguments = "A B | A1 A2 … -- B1 B2 … | --range X --range Y FILE",
    .summary = "Compare two reports, or two sets of runs",
    .about = "Compare the times of two runs, and the tables of their reports row by row, by name, with the largest "
             "change first. With several runs on each side, compare medians and print confidence intervals. With two "
             "NVTX ranges, compare two parts of one report.",
    .examples = diff_examples,
    .exits = diff_exits,
    .options = diff_options,
    .files = "tacho,sqlite",
    .run = diff_run,
};
