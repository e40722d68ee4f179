/* tacho recipe: the recipes of nsys. */
#include <string.h>
#include <unistd.h>

#include "analyze/registry.h"
#include "base/nearest.h"
#include "cmd/command.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"
#include "recipes.h"

enum { MOST_RECIPES = 64, NAME_WIDTH = 24 };

/* ---- the recipes ------------------------------------------------------------------------------------------------*/

/* The number of a group is the line of its row; its name comes with the first recipe after it. */
const struct recipe recipes[] = {
#define GROUP(name) { name, NULL, RECIPE_SKIPPED, NULL, NULL },
#define RECIPE(name, shape, analysis, help) { NULL, #name, shape, analysis, help },
#include "recipes.def"
    { 0 },
};

static int is_end(const struct recipe *recipe)
{
    return !recipe->name && !recipe->group;
}

const struct recipe *recipe_find(const char *name)
{
    for (const struct recipe *at = recipes; !is_end(at); at++)
        if (at->name && strcmp(at->name, name) == 0)
            return at;
    return NULL;
}

const char *recipe_refusal(const struct recipe *recipe)
{
    if (recipe->shape == RECIPE_SKIPPED)
        return recipe->help;
    if (recipe->analysis && !analysis_find(recipe->analysis) && !rule_find(recipe->analysis))
        return "its report is not part of this version";
    return NULL;
}

static const char *const *recipe_names(void)
{
    static const char *names[MOST_RECIPES];
    size_t count = 0;

    for (const struct recipe *at = recipes; !is_end(at) && count + 1 < MOST_RECIPES; at++)
        if (at->name)
            names[count++] = at->name;
    return names;
}

static void recipe_add_list(struct text *out)
{
    size_t columns = print_text_columns();

    for (const struct recipe *at = recipes; !is_end(at); at++) {
        if (at->group) {
            text_addf(out, "%s%s:\n", at == recipes ? "" : "\n", at->group);
            continue;
        }
        text_addf(out, "  %-*s ", NAME_WIDTH, at->name);
        display_add_wrapped(out, at->help, NAME_WIDTH + 3, NAME_WIDTH + 3, columns);
    }
    text_add(out, "\nRun one:  tacho recipe NAME --input FOLDER\n");
}

/* ---- the command ------------------------------------------------------------------------------------------------*/

#define FIELD(name) offsetof(struct recipe_settings, name)
/* clang-format off */
static const struct option recipe_options[] = {
    { .name = "input", .kind = OPTION_LIST, .offset = FIELD(inputs), .value = "FOLDER|FILE…",
      .help = "Reports to read: a folder, a pattern, or files. Further files may follow." },
    { .name = "output", .letter = 'o', .kind = OPTION_TEXT, .offset = FIELD(output), .value = "FOLDER",
      .help = "Folder for the files that the recipe makes. Default: NAME-1, or the next number that is free." },
    { .name = "force-overwrite", .letter = 'f', .kind = OPTION_BOOL, .offset = FIELD(force_overwrite),
      .help = "Write into a folder that exists, over files of the same names. Default: false." },
    { .name = "csv", .kind = OPTION_FLAG, .offset = FIELD(csv),
      .help = "Write CSV files beside the Parquet files." },
    { .name = "name", .kind = OPTION_TEXT, .offset = FIELD(name), .value = "NAME",
      .help = "Kernel or NVTX range of a pace. Default: the one with the most time among those that come more than "
              "once. For diff: the report to compare." },
    { .name = "bins", .kind = OPTION_TEXT, .offset = FIELD(bins), .value = "N",
      .help = "Stretches of time of a map. Default: 30." },
    { .name = "rows", .kind = OPTION_TEXT, .offset = FIELD(rows), .value = "N",
      .help = "Rows of each rank in a list, the longest first; -1: all. Default: -1." },
    { .name = "gap", .kind = OPTION_TEXT, .offset = FIELD(gap), .value = "MS",
      .help = "gpu_gaps: the shortest gap that counts, in ms. Default: 500." },
    { .name = "chunks", .kind = OPTION_TEXT, .offset = FIELD(chunks), .value = "N",
      .help = "gpu_time_util: spans into which the time is divided. Default: 30." },
    { .name = "threshold", .kind = OPTION_TEXT, .offset = FIELD(threshold), .value = "PERCENT",
      .help = "gpu_time_util: the use of the GPU below which a span is listed. Default: 50." },
    { .name = "filter-time", .kind = OPTION_TEXT, .offset = FIELD(part.time), .value = "[START]/[END]",
      .help = "Use only events that overlap this time range, in ns or with a unit (1.5s/2s). START or END may be "
              "omitted." },
    { .name = "filter-nvtx", .kind = OPTION_TEXT, .offset = FIELD(part.nvtx), .value = "RANGE[@DOMAIN][/N]",
      .help = "Use only events that overlap this NVTX range, the N-th of that name counted from 0. Default N: 0." },
    SET_OPTIONS(struct recipe_settings, input),
    { .name = "quiet", .letter = 'q', .kind = OPTION_FLAG, .offset = FIELD(quiet),
      .help = "Print only errors." },
    { .name = "mode", .kind = OPTION_IGNORED, .value = "MODE", .help = "all CPUs are used" },
    { .name = "export-dir", .kind = OPTION_IGNORED, .value = "FOLDER", .help = "nothing is exported" },
    { .name = "divisor", .kind = OPTION_IGNORED, .value = "N", .help = "memory does not grow with overlaps" },
    { 0 },
};
/* clang-format on */

static int unknown_recipe(const struct command *self, const char *name)
{
    const char *nearest = nearest_name(name, recipe_names());
    struct error err = { 0 };

    error_set(&err, ERR_BAD_ARGUMENT, "unknown recipe '%s'%s%s; 'tacho recipe' lists the recipes", name,
              nearest ? ": did you mean " : "", nearest ? nearest : "");
    return command_fail(self, &err);
}

static int recipe_run_one(const struct command *self, const struct recipe *recipe, struct recipe_settings *settings,
                          const char *const *more, size_t more_count)
{
    const char *inputs[OPTION_LIST_MAX + more_count];
    size_t count = 0;
    struct text said = { 0 };
    struct error err = { 0 };
    int status;

    for (size_t i = 0; i < more_count; i++)
        if (recipe_find(more[i]) && access(more[i], F_OK) != 0) {
            error_set(&err, ERR_BAD_ARGUMENT, "one recipe at a time: '%s' is a recipe too", more[i]);
            return command_fail(self, &err);
        }
    for (size_t i = 0; i < settings->inputs.count; i++)
        inputs[count++] = settings->inputs.values[i];
    for (size_t i = 0; i < more_count; i++)
        inputs[count++] = more[i];
    if (!count) {
        error_set(&err, ERR_BAD_ARGUMENT, "no reports given: tacho recipe %s --input FOLDER", recipe->name);
        return command_fail(self, &err);
    }
    if (recipe_run(recipe, settings, inputs, count, &said, &err) != 0)
        status = command_fail(self, &err);
    else
        status = settings->quiet ? EXIT_OK : command_write(self, &said);
    text_free(&said);
    return status;
}

static int recipe_run_command(const struct command *self, int argc, char **argv)
{
    struct recipe_settings settings = { 0 };
    const char *operands[argc];
    size_t count;
    int status;

    if (!command_options(self, argc, argv, &settings, operands, &count, &status))
        return status;
    if (!count) {
        struct text out = { 0 };
        recipe_add_list(&out);
        status = command_write(self, &out);
        text_free(&out);
        return status;
    }
    const struct recipe *recipe = recipe_find(operands[0]);
    return recipe ? recipe_run_one(self, recipe, &settings, operands + 1, count - 1)
                  : unknown_recipe(self, operands[0]);
}

static const struct entry recipe_examples[] = {
    { "tacho recipe", "List the recipes." },
    { "tacho recipe cuda_gpu_kern_sum --input run/ --csv",
      "Write kernel time by name, for each rank and for all, to cuda_gpu_kern_sum-1/." },
    { "tacho recipe cuda_gpu_time_util_map --input run/ --output map", "Write a map of the GPUs' use, and a picture." },
    { "tacho recipe nvtx_pace --name step --input rank0.tacho rank1.tacho",
      "Write when each rank began and ended its n-th range 'step'." },
    { 0 },
};

/* "\n" would not survive wrapping: groups are sentences. */
#define GROUP(name) ". " name ":"
#define RECIPE(name, shape, analysis, help) " " #name
static const char about[] =
    "Run a recipe of nsys on the reports of a job, and write its tables to a folder, as Parquet files. 'tacho recipe' "
    "explains the recipes"
#include "recipes.def"
    ".";

const struct command command_recipe = {
    .name = "recipe",
    .arguments = "NAME --input FOLDER|FILE …",
    .summary = "Run a recipe of nsys on the reports of a job",
    .about = about,
    .examples = recipe_examples,
    .options = recipe_options,
    .files = "tacho,sqlite",
    .run = recipe_run_command,
};
