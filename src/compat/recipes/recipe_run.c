/* Runs a recipe: opens the reports, makes the tables of its shape, and writes them when all are made. */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "analyze/engine/table_diff.h"
#include "analyze/registry.h"
#include "analyze/reports/lanes/pace.h"
#include "cmd/open_report.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"
#include "export/outfile.h"
#include "map_svg.h"
#include "parquet_table.h"
#include "recipe_tables.h"
#include "recipes.h"

enum { MOST_FILES = 32, MOST_FOLDERS = 100000 };

/* A file to write: a table, or a picture. */
struct recipe_file {
    char name[64];
    struct text text; /* owned */
};

struct recipe_job {
    const struct recipe *recipe;
    const struct recipe_settings *settings;
    struct selection_item item;
    struct recipe_set set;
    struct recipe_file files[MOST_FILES];
    size_t file_count;
};

/* ---- files ------------------------------------------------------------------------------------------------------*/

static struct recipe_file *recipe_run_add_file(struct recipe_job *job, const char *name, const char *extension)
{
    struct recipe_file *file = &job->files[job->file_count++];

    snprintf(file->name, sizeof file->name, "%s.%s", name, extension);
    return file;
}

/* Takes the table. */
static int recipe_run_add_table(struct recipe_job *job, const char *name, struct table *table, struct error *err)
{
    const struct print_request request = { .time = &time_unit_ns };

    int failed = !table || parquet_table(&recipe_run_add_file(job, name, "parquet")->text, table) != 0;
    if (table && job->settings->csv) {
        struct recipe_file *file = recipe_run_add_file(job, name, "csv");
        print_csv.table(&file->text, table, &request);
        failed |= text_failed(&file->text);
    }
    table_delete(table);
    return failed ? error_no_memory(err) : 0;
}

static int recipe_run_write_file(const char *folder, const struct recipe_file *file, struct error *err)
{
    struct text path = { 0 };
    int code = 0;

    text_addf(&path, "%s/%s", folder, file->name);
    FILE *out = outfile_open(text_string(&path));
    int is_written = out && fwrite(text_string(&file->text), 1, file->text.length, out) == file->text.length;
    is_written &= !out || fclose(out) == 0;
    if (!is_written)
        code = outfile_cannot_write(err, text_string(&path));
    text_free(&path);
    return code;
}

/* Makes the folder that is asked for, or NAME-1, NAME-2, …, and puts its name into `folder`. */
static int recipe_run_make_folder(struct recipe_job *job, struct text *folder, struct error *err)
{
    const char *wanted = job->settings->output;

    if (wanted) {
        text_add(folder, wanted);
        if (mkdir(wanted, 0777) == 0 || (errno == EEXIST && job->settings->force_overwrite))
            return 0;
        if (errno == EEXIST)
            return error_set(err, ERR_EXISTS, "'%s' exists already: write into it with --force-overwrite=true", wanted);
        return error_set_errno(err, "cannot make the folder '%s'", wanted);
    }
    for (int i = 1; i < MOST_FOLDERS; i++) {
        text_clear(folder);
        text_addf(folder, "%s-%d", job->recipe->name, i);
        if (mkdir(text_string(folder), 0777) == 0)
            return 0;
        if (errno != EEXIST)
            break;
    }
    return error_set_errno(err, "cannot make the folder '%s'", text_string(folder));
}

static int write_files(struct recipe_job *job, struct text *said, struct error *err)
{
    struct text folder = { 0 };
    int code;

    if ((code = recipe_run_make_folder(job, &folder, err)) != 0)
        goto free_folder;
    for (size_t i = 0; i < job->file_count; i++) {
        if ((code = recipe_run_write_file(text_string(&folder), &job->files[i], err)) != 0)
            goto free_folder;
        display_add(said, text_string(&folder), folder.length, 0);
        text_addf(said, "/%s\n", job->files[i].name);
    }
free_folder:
    text_free(&folder);
    return code;
}

/* ---- options ----------------------------------------------------------------------------------------------------*/

static void recipe_run_add_option(struct selection_item *item, const char *name, const char *value)
{
    if (value)
        item->options[item->option_count++] = (struct analysis_option){ name, value };
}

static void recipe_run_choose_report(struct selection_item *item, const struct recipe *recipe,
                                     const struct recipe_settings *settings)
{
    const struct analysis *rule = rule_find(recipe->analysis);

    item->analysis = rule ? rule : analysis_find(recipe->analysis);
    if (rule)
        recipe_run_add_option(item, "rows", settings->rows ? settings->rows : "-1");
    else
        recipe_run_add_option(item, "rows", settings->rows);
    recipe_run_add_option(item, "name", settings->name);
    recipe_run_add_option(item, "bins", settings->bins);
    recipe_run_add_option(item, "gap", settings->gap);
    recipe_run_add_option(item, "chunks", settings->chunks);
    recipe_run_add_option(item, "threshold", settings->threshold);
}

/* ---- shapes -----------------------------------------------------------------------------------------------------*/

static int add_rank_table(struct recipe_job *job, const char *name, int by_device, struct error *err)
{
    struct table *table;
    int code = recipe_rank_table(&job->set, &job->item, by_device, &table, err);

    return code != 0 ? code : recipe_run_add_table(job, name, table, err);
}

static int add_whole_table(struct recipe_job *job, const char *name, struct error *err)
{
    struct table *table;
    int code = recipe_whole_table(&job->set, &job->item, &table, err);

    return code != 0 ? code : recipe_run_add_table(job, name, table, err);
}

static int make_sums(struct recipe_job *job, struct error *err)
{
    int code = add_whole_table(job, "all_stats", err);

    return code != 0 ? code : add_rank_table(job, "rank_stats", 0, err);
}

static int make_sums_by_device(struct recipe_job *job, struct error *err)
{
    int code = make_sums(job, err);

    return code != 0 ? code : add_rank_table(job, "rank_stats_by_device", 1, err);
}

static int make_sums_by_gpu(struct recipe_job *job, struct error *err)
{
    int code = add_whole_table(job, "all_stats", err);

    return code != 0 ? code : add_rank_table(job, "stats_by_gpu", 0, err);
}

static int make_list(struct recipe_job *job, struct error *err)
{
    return add_rank_table(job, "analysis", 0, err);
}

static int make_trace(struct recipe_job *job, struct error *err)
{
    return add_rank_table(job, "trace", 0, err);
}

static int make_whole(struct recipe_job *job, struct error *err)
{
    return add_whole_table(job, "analysis", err);
}

static int make_overlap(struct recipe_job *job, struct error *err)
{
    int code = add_rank_table(job, "rank_trace", 0, err);

    if (code != 0)
        return code;
    job->item.options[job->item.option_count++] = (struct analysis_option){ "by-name", NULL };
    return add_whole_table(job, "grouped_trace", err);
}

static int recipe_run_make_map(struct recipe_job *job, struct error *err)
{
    struct table *table;
    int code;

    recipe_set_limit(&job->set);
    if ((code = recipe_rank_table(&job->set, &job->item, 0, &table, err)) != 0)
        return code;
    struct recipe_file *picture = recipe_run_add_file(job, "heatmap", "svg");
    map_svg(&picture->text, table, job->item.analysis->title);
    return recipe_run_add_table(job, "analysis", table, err);
}

/* All ranks pace the same name: the one with the most time over all, unless it is given. */
static int recipe_run_choose_name(struct recipe_job *job, struct text *name, struct error *err)
{
    struct table *table;
    int code = recipe_whole_table(&job->set, &job->item, &table, err);

    if (code != 0)
        return code;
    if (table_row_count(table)) {
        const struct table_cell *cell = &table_row(table, 0)[PACE_NAME];
        text_add_bytes(name, cell->text.bytes, cell->text.length);
    } else if (job->settings->name) {
        code = error_set(err, ERR_NO_DATA, "no report has the name '%s'", job->settings->name);
    } else {
        code = error_set(err, ERR_NO_DATA, "the reports have no event for a pace");
    }
    table_delete(table);
    return code;
}

static int add_pace_tables(struct recipe_job *job, const struct table *pace, struct error *err)
{
    static const struct {
        const char *file;
        size_t column;
    } quantities[] = {
        { "pace_start", PACE_START },       { "pace_end", PACE_END },
        { "pace_duration", PACE_DURATION }, { "pace_duration_accum", PACE_DURATION_ACCUM },
        { "pace_delta", PACE_DELTA },       { "pace_delta_accum", PACE_DELTA_ACCUM },
    };
    int code;

    for (size_t i = 0; i < COUNT_OF(quantities); i++) {
        struct text names = { 0 };
        code = recipe_run_add_table(job, quantities[i].file, recipe_pace_matrix(pace, quantities[i].column, &names),
                                    err);
        text_free(&names);
        if (code != 0)
            return code;
    }
    if ((code = recipe_run_add_table(job, "pace_delta_stats", recipe_pace_stats(pace, PACE_DELTA), err)) != 0)
        return code;
    return recipe_run_add_table(job, "stats", recipe_pace_sum(pace), err);
}

static int recipe_run_make_pace(struct recipe_job *job, struct error *err)
{
    struct text name = { 0 };
    struct table *pace = NULL;
    int code;

    if ((code = recipe_run_choose_name(job, &name, err)) != 0)
        goto free_name;
    if (!job->settings->name)
        recipe_run_add_option(&job->item, "name", text_string(&name));
    if ((code = recipe_rank_table(&job->set, &job->item, 0, &pace, err)) != 0)
        goto free_name;
    code = add_pace_tables(job, pace, err);
    table_delete(pace);
free_name:
    text_free(&name);
    return code;
}

/* ---- the difference of two inputs -------------------------------------------------------------------------------*/

static int recipe_run_table_of(struct recipe_job *job, const char *input, struct table **out, struct error *err)
{
    struct report *report;
    int code = open_as_set((struct input){ &input, 1 }, &job->settings->input, &report, err);

    if (code != 0)
        return code;
    if ((code = recipe_set_open(&job->set, report, &job->settings->part, err)) != 0)
        goto close_set;
    code = recipe_whole_table(&job->set, &job->item, out, err);
close_set:
    recipe_set_close(&job->set);
    close_report(report, input);
    return code;
}

static int make_diff(struct recipe_job *job, const char *const *inputs, size_t count, struct error *err)
{
    const char *name = job->settings->name ? job->settings->name : "cuda_gpu_kern_sum";
    struct table *tables[2] = { NULL, NULL };
    struct table_diff diff = { 0 };
    int code = 0;

    if (count != 2)
        return error_set(err, ERR_BAD_ARGUMENT, "diff compares two inputs: --input BEFORE AFTER");
    if (!(job->item.analysis = analysis_find(name)))
        return error_set(err, ERR_BAD_ARGUMENT, "unknown report '%s'; tacho stats --help-reports lists them", name);
    const struct table_diff_request request = { .report = name,
                                                .rows_overlap = job->item.analysis->overlap != NULL,
                                                .with_unchanged = 1 };
    for (int i = 0; i < 2; i++)
        if ((code = recipe_run_table_of(job, inputs[i], &tables[i], err)) != 0)
            goto delete_tables;
    if ((code = table_diff_make(tables, 1, 1, &request, &diff, err)) != 0)
        goto delete_tables;
    code = recipe_run_add_table(job, "all_stats", diff.table, err);
    diff.table = NULL;
    table_diff_free(&diff);
delete_tables:
    table_delete(tables[0]);
    table_delete(tables[1]);
    return code;
}

/* ---- */

static int (*const makers[])(struct recipe_job *job, struct error *err) = {
    [RECIPE_SUMS] = make_sums,
    [RECIPE_SUMS_BY_DEVICE] = make_sums_by_device,
    [RECIPE_SUMS_BY_GPU] = make_sums_by_gpu,
    [RECIPE_LIST] = make_list,
    [RECIPE_TRACE] = make_trace,
    [RECIPE_OVERLAP] = make_overlap,
    [RECIPE_MAP] = recipe_run_make_map,
    [RECIPE_PACE] = recipe_run_make_pace,
    [RECIPE_WHOLE] = make_whole,
};

static int recipe_run_make_tables(struct recipe_job *job, struct input input, struct text *said, struct error *err)
{
    struct text name = { 0 };
    struct table *files;
    struct report *report;
    int code = open_as_set(input, &job->settings->input, &report, err);

    if (code != 0)
        return code;
    if ((code = recipe_set_open(&job->set, report, &job->settings->part, err)) != 0)
        goto close_set;
    if ((code = recipe_files_table(&job->set, &files, err)) != 0 ||
        (code = recipe_run_add_table(job, "files", files, err)) != 0)
        goto close_set;
    if ((code = makers[job->recipe->shape](job, err)) != 0)
        goto close_set;
    if (job->set.is_by_place)
        text_add(said, "Not every report has a rank of its own: Rank is the place of a file in the table of files.\n");
close_set:
    recipe_set_close(&job->set);
    input_name(&name, input);
    close_report(report, text_string(&name));
    text_free(&name);
    return code;
}

static int recipe_run_job(struct recipe_job *job, const char *const *inputs, size_t count, struct text *said,
                          struct error *err)
{
    int code;

    if (job->recipe->analysis)
        recipe_run_choose_report(&job->item, job->recipe, job->settings);
    code = job->recipe->shape == RECIPE_DIFF ? make_diff(job, inputs, count, err)
                                             : recipe_run_make_tables(job, (struct input){ inputs, count }, said, err);
    return code != 0 ? code : write_files(job, said, err);
}

int recipe_run(const struct recipe *recipe, const struct recipe_settings *settings, const char *const *inputs,
               size_t count, struct text *said, struct error *err)
{
    const char *refusal = recipe_refusal(recipe);

    if (refusal) {
        text_addf(said, "SKIPPED: %s: %s.\n", recipe->name, refusal);
        return 0;
    }
    struct recipe_job *job = calloc(1, sizeof *job);
    if (!job)
        return error_no_memory(err);
    job->recipe = recipe;
    job->settings = settings;
    int code = recipe_run_job(job, inputs, count, said, err);
    for (size_t i = 0; i < job->file_count; i++)
        text_free(&job->files[i].text);
    free(job);
    if (code != ERR_NO_DATA)
        return code;
    text_addf(said, "SKIPPED: %s: %s.\n", recipe->name, err->text);
    return 0;
}
