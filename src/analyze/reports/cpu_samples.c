/* cpu_sample_sum, cpu_topdown, cpu_bottomup: samples of threads by function, and along their call stacks. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/stacks/sample_weight.h"
#include "analyze/model/stacks/stacks_join.h"
#include "analyze/model/stacks/stacks_tree.h"
#include "analyze/registry.h"
#include "base/saturating.h"

struct sample_tree {
    struct stacks stacks;
    struct stack_tree tree;
    struct text name;
    double weight_ns; /* the time that a weight of 1 stands for; 0: not known */
};

static void sample_tree_free(struct sample_tree *samples)
{
    stack_tree_free(&samples->tree);
    stacks_free(&samples->stacks);
    text_free(&samples->name);
}

static enum stack_source cpu_samples_source_of(struct report *report, const struct analysis_request *request)
{
    const struct report_table *samples = report_table(report, stack_sample_tables[STACKS_CPU]);

    return option_given(request, "python") || !samples || !samples->rows ? STACKS_PYTHON : STACKS_CPU;
}

static int cpu_samples_read_samples(struct stacks *stacks, struct report *report,
                                    const struct analysis_request *request, const struct filter *filter,
                                    struct error *err)
{
    enum stack_source source = cpu_samples_source_of(report, request);
    int lines = option_given(request, "lines");

    return source == STACKS_CPU && !option_given(request, "native")
               ? stacks_join_samples(stacks, lines, filter, err)
               : stacks_read_samples(stacks, source, lines, filter, err);
}

static int sample_tree_read(struct sample_tree *samples, struct report *report, const struct analysis_request *request,
                            const struct stack_tree_request *shape, struct error *err)
{
    struct stack_tree_request wanted = *shape;
    struct filter filter = { 0 };
    int code;

    wanted.with_waiting = option_given(request, "waiting");
    if ((code = filter_open(&filter, report, request, err)) != 0)
        goto close_filter;
    if ((code = stacks_open(&samples->stacks, report, err)) != 0)
        goto close_filter;
    if ((code = cpu_samples_read_samples(&samples->stacks, report, request, &filter, err)) != 0)
        goto close_filter;
    if ((code = stack_tree_read(&samples->tree, &samples->stacks, &wanted, err)) != 0)
        goto close_filter;
    code = sample_weight_read(&samples->weight_ns, &samples->stacks, cpu_samples_source_of(report, request),
                              &samples->tree.total[TREE_ROOT], err);
close_filter:
    filter_close(&filter);
    return code;
}

static double cpu_samples_percent(int64_t part, int64_t whole)
{
    return whole > 0 ? 100.0 * (double)part / (double)whole : 0;
}

static void set_time(struct table_cell *cell, const struct sample_tree *samples, int64_t weight)
{
    if (samples->weight_ns > 0)
        cell_set_int(cell, saturating_from_double((double)weight * samples->weight_ns));
}

static int set_module(struct table *table, struct sample_tree *samples, struct table_cell *cell, uint32_t frame)
{
    text_clear(&samples->name);
    stack_frame_module(&samples->name, &samples->stacks, frame);
    return cell_set_built(table, cell, &samples->name);
}

static int cpu_samples_set_name(struct table *table, struct sample_tree *samples, struct table_cell *cell,
                                uint32_t frame, size_t indent)
{
    text_clear(&samples->name);
    text_add_repeat(&samples->name, ' ', indent);
    if (stack_frame(&samples->stacks, frame)[FRAME_LINE] != FRAME_NO_LINE)
        stack_frame_label(&samples->name, &samples->stacks, frame);
    else
        stack_frame_name(&samples->name, &samples->stacks, frame);
    return cell_set_built(table, cell, &samples->name);
}

/* ---- flat ------------------------------------------------------------------------------------------------------ */

enum { FLAT_SELF, FLAT_TOTAL, FLAT_SELF_SAMPLES, FLAT_TOTAL_SAMPLES, FLAT_NAME, FLAT_MODULE, FLAT_TIME, FLAT_CELLS };

/* Sets the cells that name the frame. */
static int set_flat(struct table *table, struct sample_tree *samples, struct table_cell *row, uint32_t frame,
                    enum stack_unit unit)
{
    if (unit == STACK_BY_MODULE)
        return set_module(table, samples, &row[FLAT_NAME], frame);
    if (cpu_samples_set_name(table, samples, &row[FLAT_NAME], frame, 0) != 0)
        return ERR_NO_MEMORY;
    return unit == STACK_BY_THREAD ? 0 : set_module(table, samples, &row[FLAT_MODULE], frame);
}

static int cpu_samples_add_frame(struct table *table, struct sample_tree *samples, enum stack_unit unit, uint32_t frame,
                                 const struct stack_tree_figures *figures)
{
    int64_t whole = samples->tree.total[TREE_ROOT].weight;
    struct table_cell *row = table_add_row(table);

    if (!row || set_flat(table, samples, row, frame, unit) != 0)
        return ERR_NO_MEMORY;
    cell_set_real(&row[FLAT_SELF], cpu_samples_percent(figures->self.weight, whole));
    cell_set_real(&row[FLAT_TOTAL], cpu_samples_percent(figures->total.weight, whole));
    cell_set_int(&row[FLAT_SELF_SAMPLES], figures->self.samples);
    cell_set_int(&row[FLAT_TOTAL_SAMPLES], figures->total.samples);
    set_time(&row[FLAT_TIME - (unit != STACK_BY_FUNCTION)], samples, figures->self.weight);
    return 0;
}

static int fill_flat(struct table *table, struct sample_tree *samples, enum stack_unit unit, struct error *err)
{
    struct stack_tree_figures *figures;
    int code = stack_tree_flatten(&samples->tree, &samples->stacks, &figures, err);

    if (code != 0)
        return code;
    for (uint32_t frame = 0; frame < samples->stacks.frames.count; frame++)
        if (figures[frame].total.samples &&
            (code = cpu_samples_add_frame(table, samples, unit, frame, &figures[frame])) != 0)
            goto free_figures;
    table_sort_by(table, unit == STACK_BY_FUNCTION ? BY(DOWN(FLAT_SELF), DOWN(FLAT_TOTAL), FLAT_NAME, FLAT_MODULE)
                                                   : BY(DOWN(FLAT_SELF), DOWN(FLAT_TOTAL), FLAT_NAME));
free_figures:
    free(figures);
    return code;
}

static int cpu_sample_sum(struct report *report, const struct analysis_request *request, struct table **out,
                          struct error *err)
{
    struct table_column columns[FLAT_CELLS] = {
        { "Self", CELL_REAL, UNIT_PERCENT, 1 },     { "Total", CELL_REAL, UNIT_PERCENT, 1 },
        { "Self Samples", CELL_INT, UNIT_NONE, 0 }, { "Total Samples", CELL_INT, UNIT_NONE, 0 },
        { "Function", CELL_TEXT, UNIT_NAME, 0 },    { "Module", CELL_TEXT, UNIT_NONE, 0 },
        { "Self Time", CELL_INT, UNIT_NS, 0 },
    };
    static const char *const names[] = {
        [STACK_BY_FUNCTION] = "Function", [STACK_BY_MODULE] = "Module", [STACK_BY_THREAD] = "Thread"
    };
    struct stack_tree_request shape = {
        .unit = option_given(request, "thread")   ? STACK_BY_THREAD
                : option_given(request, "module") ? STACK_BY_MODULE
                                                  : STACK_BY_FUNCTION,
    };
    struct table *table = NULL;
    struct sample_tree samples = { 0 };
    int code = sample_tree_read(&samples, report, request, &shape, err);

    if (code != 0)
        goto done;
    columns[FLAT_NAME].name = names[shape.unit];
    if (shape.unit != STACK_BY_FUNCTION)
        columns[FLAT_MODULE] = columns[FLAT_TIME];
    table = table_new(columns, FLAT_CELLS - (size_t)(shape.unit != STACK_BY_FUNCTION));
    code = table ? fill_flat(table, &samples, shape.unit, err) : ERR_NO_MEMORY;
done:
    sample_tree_free(&samples);
    return table_hand_over(table, code, out, err);
}

/* ---- along the calls ------------------------------------------------------------------------------------------- */

enum {
    TREE_TOTAL,
    TREE_SAMPLES,
    TREE_SELF,
    TREE_SELF_SAMPLES,
    TREE_LEVEL,
    TREE_NAME,
    TREE_MODULE,
    TREE_TIME,
    TREE_CELLS
};
enum { INDENT = 2, DEEPEST_INDENT = 64 };

/* The table of an inverted tree has no columns of self: below its root a node stands for callers, and its self would be
 * that of stacks that begin there. */
static int add_node(struct table *table, struct sample_tree *samples, int is_inverted, uint32_t node, size_t level)
{
    const struct stack_tree *tree = &samples->tree;
    int64_t whole = tree->total[TREE_ROOT].weight;
    size_t indent = (level - 1 < DEEPEST_INDENT ? level - 1 : DEEPEST_INDENT) * INDENT, gone = is_inverted ? 2 : 0;
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_real(&row[TREE_TOTAL], cpu_samples_percent(tree->total[node].weight, whole));
    cell_set_int(&row[TREE_SAMPLES], tree->total[node].samples);
    if (!is_inverted) {
        cell_set_real(&row[TREE_SELF], cpu_samples_percent(tree->self[node].weight, whole));
        cell_set_int(&row[TREE_SELF_SAMPLES], tree->self[node].samples);
    }
    set_time(&row[TREE_TIME - gone], samples, tree->total[node].weight);
    cell_set_int(&row[TREE_LEVEL - gone], (int64_t)level);
    if (cpu_samples_set_name(table, samples, &row[TREE_NAME - gone], tree_frame(tree, node), indent) != 0)
        return ERR_NO_MEMORY;
    return set_module(table, samples, &row[TREE_MODULE - gone], tree_frame(tree, node));
}

/* Adds the nodes from the root down, but none with a share below least_percent or deeper than depth. */
static int fill_tree(struct table *table, struct sample_tree *samples, int is_inverted, int64_t least_percent,
                     int64_t depth)
{
    const struct stack_tree *tree = &samples->tree;
    int64_t whole = tree->total[TREE_ROOT].weight;
    size_t level = 0;
    int skip = 0;

    for (uint32_t node = TREE_ROOT; (node = stack_tree_next(tree, node, skip, &level)) != TREE_ROOT;) {
        skip = cpu_samples_percent(tree->total[node].weight, whole) < (double)least_percent || (int64_t)level > depth;
        if (!skip && add_node(table, samples, is_inverted, node, level) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

static int show_tree(struct report *report, const struct analysis_request *request, int is_inverted, struct table **out,
                     struct error *err)
{
    static const struct table_column called[TREE_CELLS] = {
        { "Total", CELL_REAL, UNIT_PERCENT, 1 }, { "Samples", CELL_INT, UNIT_NONE, 0 },
        { "Self", CELL_REAL, UNIT_PERCENT, 1 },  { "Self Samples", CELL_INT, UNIT_NONE, 0 },
        { "Level", CELL_INT, UNIT_ID, 0 },       { "Function", CELL_TEXT, UNIT_NAME, 0 },
        { "Module", CELL_TEXT, UNIT_NONE, 0 },   { "Total Time", CELL_INT, UNIT_NS, 0 },
    };
    static const struct table_column callers[TREE_CELLS - 2] = {
        { "Share", CELL_REAL, UNIT_PERCENT, 1 }, { "Samples", CELL_INT, UNIT_NONE, 0 },
        { "Level", CELL_INT, UNIT_ID, 0 },       { "Function", CELL_TEXT, UNIT_NAME, 0 },
        { "Module", CELL_TEXT, UNIT_NONE, 0 },   { "Total Time", CELL_INT, UNIT_NS, 0 },
    };
    struct stack_tree_request shape = { .is_inverted = is_inverted, .with_threads = option_given(request, "thread") };
    struct table *table = NULL;
    struct sample_tree samples = { 0 };
    int64_t least_percent, depth;
    int code;

    if ((code = option_truth(request, "fold", &shape.fold_imports, err)) != 0)
        goto done;
    if ((code = option_number(request, "min", 1, 0, 100, &least_percent, err)) != 0)
        goto done;
    if ((code = option_number(request, "depth", INT64_MAX, 1, INT64_MAX, &depth, err)) != 0)
        goto done;
    if ((code = sample_tree_read(&samples, report, request, &shape, err)) != 0)
        goto done;
    table = is_inverted ? table_new(callers, TREE_CELLS - 2) : table_new(called, TREE_CELLS);
    code = table ? fill_tree(table, &samples, is_inverted, least_percent, depth) : ERR_NO_MEMORY;
done:
    sample_tree_free(&samples);
    return table_hand_over(table, code, out, err);
}

static int cpu_topdown(struct report *report, const struct analysis_request *request, struct table **out,
                       struct error *err)
{
    return show_tree(report, request, 0, out, err);
}

static int cpu_bottomup(struct report *report, const struct analysis_request *request, struct table **out,
                        struct error *err)
{
    return show_tree(report, request, 1, out, err);
}

#define OPTIONS_HELP \
    " If Python was sampled too, its functions replace the frames of the interpreter. native: keep those frames. " \
    "python: use the Python samples (the default if there are no CPU samples). lines: a row for each line. waiting: " \
    "count the samples of waiting threads too."

const struct analysis analysis_cpu_sample_sum = {
    .name = "cpu_sample_sum",
    .title = "CPU Sample Summary",
    .usage = "[:module|:thread][:python|:native][:lines][:waiting]",
    .help = "CPU samples by function. Self: the function itself ran. Total: the function or one of its callees ran. "
            "Self Time is the time that the samples stand for. module, thread: a row for each module or "
            "thread." OPTIONS_HELP,
    .needs = { { "CPU or Python samples", stack_sample_tables } },
    .by_default = 21,
    .default_where = "TACHO_SAMPLING",
    .default_rows = 20,
    .run = cpu_sample_sum,
};

const struct analysis analysis_cpu_topdown = {
    .name = "cpu_topdown",
    .title = "CPU Samples Top-Down",
    .usage = "[:thread][:python|:native][:lines][:waiting][:min=<percent>][:depth=<levels>][:fold=<true|false>]",
    .help =
        "CPU samples as a call tree: each function below its caller, the one with the most samples first, down to min "
        "percent (default: 1) of all samples. thread: the thread above its calls." STACK_FOLD_HELP OPTIONS_HELP,
    .needs = { { "CPU or Python samples", stack_sample_tables } },
    .overlap = "callers contain the functions that they call",
    .for_people = STACK_FOLD_FOR_PEOPLE,
    .run = cpu_topdown,
};

const struct analysis analysis_cpu_bottomup = {
    .name = "cpu_bottomup",
    .title = "CPU Samples Bottom-Up",
    .usage = "[:thread][:python|:native][:lines][:waiting][:min=<percent>][:depth=<levels>][:fold=<true|false>]",
    .help = "CPU samples by the function that ran, and below it its callers, the most frequent one first, down to min "
            "percent (default: 1) of all samples. thread: the thread above them." STACK_FOLD_HELP OPTIONS_HELP,
    .needs = { { "CPU or Python samples", stack_sample_tables } },
    .overlap = "callers contain the functions that they call",
    .for_people = STACK_FOLD_FOR_PEOPLE,
    .run = cpu_bottomup,
};
