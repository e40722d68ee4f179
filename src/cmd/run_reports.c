/* Runs reports and rules, and delivers their tables: the common part of `stats` and `analyze`. */
#include "run_reports.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/advice/advice_thresholds.h"
#include "analyze/findings/findings.h"
#include "analyze/model/metrics/gpu_metrics.h"
#include "analyze/registry.h"
#include "analyze/rules/rule.h"
#include "analyze/rules/rule_state.h"
#include "cmd/print/display.h"
#include "cmd/print/reference.h"
#include "open_report.h"
#include "run_human.h"

/* How to print a table. */
struct run_reports_style {
    const struct print_format *format;
    struct print_request request;
    int quiet;      /* tables only */
    int by_default; /* not requested by name: its first rows are enough */
};

/* Names the file, the report and the destination. */
static void add_processing(struct text *out, const char *path, const struct analysis *analysis, const char *where)
{
    text_add(out, "Processing [");
    display_add(out, path, strlen(path), 0);
    text_addf(out, "] with [%s]", analysis->name);
    if (where) {
        text_add(out, " to [");
        display_add(out, where, strlen(where), 0);
        text_add(out, "]");
    }
    text_add(out, "... \n");
}

/* A table that the report needs is missing, or has no rows for it. */
static void add_skipped(struct text *out, const char *path, const struct analysis *analysis, struct report *report,
                        const struct error *why)
{
    const struct analysis_need *missing = analysis_missing(analysis, report);

    text_add(out, "SKIPPED: ");
    display_add(out, path, strlen(path), 0);
    if (missing)
        text_addf(out, " does not contain %s.\n\n", missing->data);
    else
        text_addf(out, ": %s.\n\n", why->text);
}

static void run_reports_add_table(struct text *out, const struct table *table, const struct analysis *analysis,
                                  const struct run_reports_style *style)
{
    struct print_request request = style->request;

    request.title = analysis->title;
    request.name = analysis->name;
    style->format->table(out, table, &request);
}

/* Adds one report's table to out, or the reason why there is none; for a rule, its advice too. Only a failure of the
 * analysis itself is an error. */
static int print_report(struct text *out, struct report *report, const char *path, const struct analysis *analysis,
                        const struct analysis_request *request, const struct run_by *by,
                        const struct run_reports_style *style, struct error *err)
{
    struct table *table = NULL;
    int code = run_by_analysis(by, analysis, report, request, &table, err);

    if (code != 0 && code != ERR_NO_DATA)
        return code;
    if (!style->quiet)
        add_processing(out, path, analysis, NULL);
    if (code == ERR_NO_DATA) {
        if (!style->quiet)
            add_skipped(out, path, analysis, report, err);
        return 0;
    }
    if (!style->quiet && style->format->title)
        style->format->title(out, analysis->title, analysis->name, &style->request);
    size_t rows = table_row_count(table), shown = style->by_default && !style->quiet ? analysis->default_rows : 0;
    if (shown)
        table_limit(table, shown);
    if (rows || style->quiet)
        run_reports_add_table(out, table, analysis, style);
    else
        display_add_wrapped(out,
                            analysis->rule ? analysis->rule->praise
                                           : "Report was successfully run, but no data was returned.",
                            0, 0, DISPLAY_LINE);
    if (shown && rows > shown)
        text_addf(out, "\n… %zu more row%s: -r %s\n", rows - shown, rows - shown == 1 ? "" : "s", analysis->name);
    if (!style->quiet && *table_note(table)) {
        text_add_char(out, '\n');
        display_add_wrapped(out, table_note(table), 0, 0, DISPLAY_LINE);
    }
    if (!style->quiet && analysis->rule && rows) {
        struct text advice = { 0 };
        rule_add_advice(&advice, analysis, table);
        text_add_char(out, '\n');
        display_add_wrapped(out, text_string(&advice), 0, 0, DISPLAY_LINE);
        text_free(&advice);
    }
    if (!style->quiet)
        text_add_char(out, '\n');
    table_delete(table);
    return 0;
}

/* One report of one file, on its way to one destination. */
struct run_reports_job {
    struct report *report;
    const char *path;
    const struct selection_item *wanted;
    const struct selection_part_settings *part;
    struct analysis_request request;
    const struct output_delivery *delivery;
    const struct output_destination *destination;
    struct run_human *human; /* tables for people */
    int by_default;
};

/* Adds --rows to the options of the report, which have the last word. */
static void limit_rows(struct run_reports_job *job, struct analysis_option options[WANTED_MOST_OPTIONS + 1])
{
    size_t count = job->request.option_count;

    if (!job->delivery->rows_option)
        return;
    options[0] = (struct analysis_option){ "rows", job->delivery->rows_option };
    memcpy(options + 1, job->request.options, count * sizeof *options);
    job->request.options = options;
    job->request.option_count = count + 1;
    job->by_default = 0;
}

static void note_part(const struct output_delivery *delivery, const struct selection_part *part)
{
    struct text notes = { 0 };

    selection_part_note(&notes, part);
    output_note(delivery, &notes);
    text_free(&notes);
}

/* The table goes to a file or a command; the notes about it stay on the terminal. */
static int send_away(const struct run_reports_job *job, struct error *err)
{
    const struct analysis *analysis = job->wanted->analysis;
    struct run_reports_style style = { .format = job->destination->format,
                                       .request = job->destination->request,
                                       .quiet = 1 };
    struct text what = { 0 }, file = { 0 }, out = { 0 }, notes = { 0 };
    struct table *table = NULL;
    int code = run_by_analysis(&job->human->by, analysis, job->report, &job->request, &table, err);

    selection_name(&what, job->wanted, job->part);
    if (job->destination->output[0] == '@')
        text_add(&file, job->destination->output);
    else
        output_file(&file, job->destination, job->path, text_string(&what));
    add_processing(&notes, job->path, analysis, code != 0 ? NULL : text_string(&file));
    if (code == ERR_NO_DATA)
        add_skipped(&notes, job->path, analysis, job->report, err);
    output_note(job->delivery, &notes);
    if (code != 0)
        goto done;
    run_reports_add_table(&out, table, analysis, &style);
    code = output_deliver(job->delivery, job->destination, text_string(&file), &out, err);
    table_delete(table);
done:
    text_free(&what);
    text_free(&file);
    text_free(&out);
    text_free(&notes);
    return code == ERR_NO_DATA ? 0 : code;
}

static int print_here(const struct run_reports_job *job, struct error *err)
{
    const struct run_reports_style style = { job->destination->format, job->destination->request, job->delivery->quiet,
                                             job->by_default };
    struct text out = { 0 };
    int code = print_report(&out, job->report, job->path, job->wanted->analysis, &job->request, &job->human->by, &style,
                            err);

    if (code != 0)
        goto free_text;
    code = output_deliver(job->delivery, job->destination, NULL, &out, err);
free_text:
    text_free(&out);
    return code;
}

/* The name of a table in a document: the report with its options. */
static void add_table_name(struct text *out, const struct selection_item *wanted)
{
    static const struct selection_part_settings whole;

    selection_name(out, wanted, &whole);
}

/* The JSON of a report without data: a rule that could not be checked is null, since an empty array means that it found
 * no problem. */
static const char *empty_json(const struct run_reports_job *job)
{
    const struct analysis *analysis = job->wanted->analysis;

    return rule_find(analysis->name) == analysis && rule_state(analysis, job->report) != RULE_CLEAR ? "null\n" : "[]\n";
}

/* A table for programs. A report that was asked for and has no data is an empty array in JSON; other formats have no
 * header for it. */
static int print_data(const struct run_reports_job *job, struct error *err)
{
    const struct run_reports_style style = { .format = job->destination->format, .request = job->destination->request };
    struct print_document *document = job->delivery->document;
    struct text out = { 0 }, name = { 0 }, notes = { 0 };
    struct table *table = NULL;
    int code = run_by_analysis(&job->human->by, job->wanted->analysis, job->report, &job->request, &table, err);

    if (code == ERR_NO_DATA && !job->by_default) {
        add_skipped(&notes, job->path, job->wanted->analysis, job->report, err);
        text_cut(&notes, notes.length - 1);
        output_note(job->delivery, &notes);
    }
    if (code != 0 && (code != ERR_NO_DATA || job->by_default || style.format != &print_json))
        goto done;
    add_table_name(&name, job->wanted);
    if (!print_document_table(&out, document, text_string(&name)))
        goto done;
    if (table)
        run_reports_add_table(&out, table, job->wanted->analysis, &style);
    else
        text_add(&out, empty_json(job));
    print_document_end_table(&out, document);
    code = output_deliver(job->delivery, job->destination, NULL, &out, err);
done:
    table_delete(table);
    text_free(&out);
    text_free(&name);
    text_free(&notes);
    return code == ERR_NO_DATA ? 0 : code;
}

static int print_for_people(const struct run_reports_job *job, struct error *err)
{
    struct text out = { 0 };
    int code;

    job->human->request = job->destination->request;
    if ((code = run_human_table(&out, job->human, job->report, job->wanted, &job->request, err)) != 0)
        goto free_text;
    code = output_deliver(job->delivery, job->destination, NULL, &out, err);
free_text:
    text_free(&out);
    return code;
}

static int computes_share(const struct run_reports_job *job)
{
    return job->human->by.share && job->human->by.share->phase == PHASE_COLLECT;
}

/* Computes a report on a share of the set, with the options that its table will have. */
static int compute_job(struct run_reports_job *job, struct error *err)
{
    struct analysis_option options[WANTED_MOST_OPTIONS + 2];
    struct run_share *share = job->human->by.share;
    struct table *table;

    if (job->human->by.by || !run_share_divides(share, job->wanted->analysis))
        return 0;
    if (output_is_human(job->destination)) {
        job->request.options = options;
        job->request.option_count = selection_options(job->wanted, options);
    }
    return run_share_analysis(share, job->wanted->analysis, &job->request, &table, err);
}

static int show_job(struct run_reports_job *job, struct error *err)
{
    struct analysis_option options[WANTED_MOST_OPTIONS + 1];

    if (computes_share(job))
        return compute_job(job, err);
    if (output_is_human(job->destination))
        return print_for_people(job, err);
    limit_rows(job, options);
    if (output_is_data(job->delivery, job->destination))
        return print_data(job, err);
    return output_is_console(job->destination) ? print_here(job, err) : send_away(job, err);
}

/* Runs the selected reports on an open file, one after another. */
static int run_reports_show_report(struct report *report, struct run_human *human,
                                   const struct run_reports_settings *settings, const struct selection_list *wanted,
                                   struct error *err)
{
    const struct output_delivery *delivery = human->delivery;
    struct selection_part part = { 0 };
    struct gpu_metrics_share metrics = { 0 };
    struct findings_share findings = { 0 };
    size_t jobs = wanted->count > delivery->count ? wanted->count : delivery->count;
    int code = selection_part_find(&settings->part, report, &part, err);

    if (code != 0)
        goto free_part;
    if (part.steps.count && !(human->by.share && human->by.share->phase == PHASE_COLLECT))
        note_part(delivery, &part);
    for (size_t i = 0; i < jobs; i++) {
        const struct selection_item *one = run_human_item(human, wanted, i);
        human->tables_to_come = jobs - i - 1;
        struct run_reports_job job = {
            .report = report,
            .path = human->path,
            .wanted = one,
            .part = &settings->part,
            .request = selection_part_request(&part, one),
            .delivery = delivery,
            .destination = output_delivery_at(delivery, i),
            .human = human,
            .by_default = human->by_default,
        };
        job.request.metrics = &metrics;
        job.request.findings = &findings;
        if ((code = show_job(&job, err)) != 0)
            goto free_part;
    }
free_part:
    findings_share_free(&findings);
    gpu_metrics_share_free(&metrics);
    selection_part_free(&part);
    return code;
}

/* Runs the reports that fit the file, when no name was given. */
static int show_defaults(struct report *report, struct run_human *human, const struct run_reports_settings *settings,
                         const struct run_reports_registry *registry, struct error *err)
{
    struct selection_list *defaults = calloc(1, sizeof *defaults);
    int for_people = output_is_human(output_delivery_at(human->delivery, 0)), code;

    if (!defaults)
        return error_no_memory(err);
    human->by_default = 1;
    if ((code = registry->add_defaults(defaults, report, for_people, &human->lacking, err)) != 0)
        goto free_defaults;
    code = defaults->count ? run_reports_show_report(report, human, settings, defaults, err) : 0;
free_defaults:
    selection_free(defaults);
    free(defaults);
    return code;
}

/* The lines that stand below all tables for people. */
static int end_for_people(const struct run_human *human, struct error *err)
{
    const struct output_destination console = { .output = "-" };
    struct text out = { 0 };

    run_human_end(&out, human);
    int code = output_deliver(human->delivery, &console, NULL, &out, err);
    text_free(&out);
    return code;
}

/* Adds the text before or after the tables of a file to the document on stdout. Returns 0 if it has the file. */
static int add_to_document(const struct output_delivery *delivery, const char *path, int is_end)
{
    struct text out = { 0 };
    int is_new = 1;

    if (delivery->document && is_end)
        print_document_end_file(&out, delivery->document);
    else if (delivery->document)
        is_new = print_document_file(&out, delivery->document, path);
    command_print(&out);
    text_free(&out);
    return is_new;
}

/* Runs the reports that were asked for, or (NULL, or none) the default ones. */
static int show_open(struct report *report, struct run_human *human, const struct run_reports_settings *settings,
                     const struct run_reports_registry *registry, const struct selection_list *wanted,
                     struct error *err)
{
    int code;

    human->request = output_delivery_at(human->delivery, 0)->request;
    if (!add_to_document(human->delivery, human->path, 0))
        return 0;
    if (wanted && wanted->count)
        code = run_reports_show_report(report, human, settings, wanted, err);
    else
        code = show_defaults(report, human, settings, registry, err);
    add_to_document(human->delivery, human->path, 1);
    return code != 0 ? code : end_for_people(human, err);
}

struct computation {
    struct report *report;
    struct run_human *human;
    const struct run_reports_settings *settings;
    const struct run_reports_registry *registry;
    const struct selection_list *wanted;
};

static int compute_reports(void *context, struct error *err)
{
    const struct computation *work = context;

    if (work->wanted && work->wanted->count)
        return run_reports_show_report(work->report, work->human, work->settings, work->wanted, err);
    int code = show_defaults(work->report, work->human, work->settings, work->registry, err);
    text_clear(&work->human->lacking); /* it is reported when they are shown */
    return code;
}

/* Runs the reports with other processes. Returns 1 if one of them prints. */
static int show_shared(const struct computation *work, const char *operand, struct error *err)
{
    struct run_share share;
    struct computation own = *work;
    int code = run_share_open(&share, &work->settings->share, work->report, operand, err);

    if (code != 0)
        goto close_share;
    work->human->by.share = &share;
    if ((code = run_share_compute(&share, compute_reports, &own, err)) != 0)
        goto close_share;
    code = show_open(work->report, work->human, work->settings, work->registry, work->wanted, err);
close_share:
    work->human->by.share = NULL;
    run_share_close(&share);
    return code;
}

static int run_reports_show_input(const struct command *self, struct input input,
                                  const struct run_reports_settings *settings,
                                  const struct run_reports_registry *registry, const struct selection_list *wanted,
                                  const struct output_delivery *delivery)
{
    struct run_human human = { .command = self,
                               .noun = registry->noun,
                               .nothing_label = registry->nothing_label,
                               .known = registry->known,
                               .part = &settings->part,
                               .delivery = delivery,
                               .by = { .by = run_by_find(settings->input.by), .part = &settings->part },
                               .input = input };
    struct report *report;
    struct error err = { 0 };
    struct text found = { 0 };
    int code;

    if ((code = open_input(input, &settings->input, &found, &report, &err)) != 0)
        goto free_name;
    human.path = text_string(&found);
    code = settings->share.what
               ? show_shared(&(struct computation){ report, &human, settings, registry, wanted }, input.paths[0], &err)
               : show_open(report, &human, settings, registry, wanted, &err);
    if (code == 1) {
        tell_damage(report, text_string(&found)); /* its share only; the process that prints reports the rest */
        report_close(report);
        code = 0;
    } else {
        close_report(report, text_string(&found));
    }
free_name:
    run_human_free(&human);
    text_free(&found);
    return code != 0 ? command_fail(self, &err) : EXIT_OK;
}

static int add_stats_defaults(struct selection_list *list, struct report *report, int for_people, struct text *lacking,
                              struct error *err)
{
    const struct analysis *defaults[WANTED_MOST];
    size_t count = for_people ? analysis_defaults_for_people(report, defaults, WANTED_MOST, lacking)
                              : analysis_defaults(report, defaults, WANTED_MOST);

    for (size_t i = 0; i < count; i++)
        if (selection_add(list, defaults[i], err) != 0)
            return err->code;
    return 0;
}

const struct run_reports_registry stats_registry = { analyses, analysis_find, "report", "No rows in",
                                                     add_stats_defaults };

int run_reports_defaults(struct report *report, const char *path, struct error *err)
{
    static const struct run_reports_settings none;
    struct output_delivery delivery = { 0 };
    struct run_human human = {
        .command = command_find("stats"),
        .path = path,
        .noun = stats_registry.noun,
        .nothing_label = stats_registry.nothing_label,
        .known = stats_registry.known,
        .part = &none.part,
        .delivery = &delivery,
    };
    int code;

    if ((code = output_delivery_parse(&delivery, &none.deliver, err)) != 0)
        goto free_delivery;
    code = show_open(report, &human, &none, &stats_registry, NULL, err);
free_delivery:
    run_human_free(&human);
    output_delivery_free(&delivery);
    return code;
}

const char *const *run_reports_names(const char *names[SHOW_MOST_NAMES], const struct analysis *const *known,
                                     const char *first)
{
    size_t count = 0;

    if (first)
        names[count++] = first;
    for (; *known && count + 1 < SHOW_MOST_NAMES; known++)
        names[count++] = (*known)->name;
    names[count] = NULL;
    return names;
}

static int run_reports_explain(const struct run_reports_registry *registry, const char *name, struct text *out,
                               struct error *err)
{
    int all = strcmp(name, "ALL") == 0;
    const struct analysis *one = *name && !all ? registry->find(name) : NULL;

    if (*name && !all && !one)
        return selection_unknown(registry->known, registry->noun, name, err);
    for (const struct analysis *const *at = registry->known; *at; at++) {
        struct text usage = { 0 }, help = { 0 };
        if (one && *at != one)
            continue;
        text_add(&usage, analysis_usage(*at));
        advice_thresholds_usage(&usage, *at);
        text_add(&help, (*at)->help);
        advice_thresholds_help(&help, *at);
        print_reference(out, (*at)->name, text_string(&usage), (*at)->title, *name ? text_string(&help) : NULL);
        text_free(&usage);
        text_free(&help);
    }
    return 0;
}

int run_reports_help(const struct command *self, const struct run_reports_registry *registry, const char *names,
                     int formats)
{
    struct text out = { 0 };
    struct error err = { 0 };
    int status;

    if (formats)
        output_help(&out);
    if (names && run_reports_explain(registry, names, &out, &err) != 0)
        status = command_fail(self, &err);
    else
        status = command_write(self, &out);
    text_free(&out);
    return status;
}

/* Tables for people do not name their file: if there are several, a line before the first table does. */
static void run_reports_name_file(const char *path, const struct output_delivery *delivery)
{
    const struct output_destination *first = output_delivery_at(delivery, 0);
    struct text name = { 0 };

    if (!output_is_human(first) || delivery->quiet)
        return;
    text_add(&name, "==> ");
    display_add(&name, path, strlen(path), 0);
    text_add(&name, " <==\n");
    output_deliver(delivery, first, NULL, &name, NULL);
    text_free(&name);
}

static void run_reports_end_document(const struct output_delivery *delivery)
{
    struct text out = { 0 };

    if (delivery->document)
        print_document_end(&out, delivery->document);
    command_print(&out);
    text_free(&out);
}

static int select_reports(struct selection_list *wanted, const struct run_reports_settings *settings,
                          const struct run_reports_registry *registry, struct error *err)
{
    const struct analysis_option peak = { "peak", settings->peaks };
    int code = selection_parse(wanted, &settings->names, registry->known, registry->noun, err);

    return code != 0 || !settings->peaks ? code : selection_set(wanted, &peak, err);
}

int run_reports_files(const struct command *self, const struct run_reports_settings *settings,
                      const struct run_reports_registry *registry, const char *const *files, size_t file_count)
{
    struct output_delivery delivery = { 0 };
    struct print_document document;
    struct error err = { 0 };
    struct selection_list *wanted = calloc(1, sizeof *wanted);

    if (!wanted)
        error_no_memory(&err);
    else if (file_count == 0)
        error_set(&err, ERR_BAD_ARGUMENT, "no report given: tacho %s report1.tacho", self->name);
    else if (output_delivery_parse(&delivery, &settings->deliver, &err) == 0)
        select_reports(wanted, settings, registry, &err);
    int status = err.code ? command_fail(self, &err) : EXIT_OK;
    size_t input_total = input_count(file_count, settings->each);
    if (!err.code)
        output_begin_document(&delivery, &document, input_total > 1, wanted->count != 1 || delivery.count > 1);
    for (size_t i = 0; i < input_total && status == EXIT_OK; i++) {
        if (input_total > 1)
            run_reports_name_file(files[i], &delivery);
        status = run_reports_show_input(self, input_at(files, file_count, settings->each, i), settings, registry,
                                        wanted, &delivery);
    }
    run_reports_end_document(&delivery);
    if (status == EXIT_OK && wanted->unknown.code)
        status = command_fail(self, &wanted->unknown);
    if (wanted)
        selection_free(wanted);
    free(wanted);
    output_delivery_free(&delivery);
    return status;
}
