/* torch_module_sum and torch_kern_sum: time by module, and by line of the program. */
#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/engine/report_run.h"
#include "analyze/model/torch/torch_frames.h"
#include "analyze/registry.h"
#include "base/array.h"

static const char *const operator_tables[] = { "TACHO_TORCH_OP", "NVTX_EVENTS", NULL };

struct operator_places {
    struct operators operators;
    struct torch_frames frames;
};

static int places_read(struct operator_places *places, struct report *report, const struct analysis_request *request,
                       struct error *err)
{
    int code = operators_read(&places->operators, report, request, err);

    if (code != 0)
        return code;
    if (operators_nest(&places->operators) != 0)
        return error_short_memory(err, "for the operators");
    return torch_frames_read(&places->frames, &places->operators, report, request, err);
}

static void places_free(struct operator_places *places)
{
    torch_frames_free(&places->frames);
    operators_free(&places->operators);
}

static int64_t duration(const struct operators_event *op)
{
    return saturating_duration(op->start_ns, op->end_ns);
}

static void module_sum_add(int64_t *sum, int64_t ns)
{
    *sum = saturating_add(*sum, ns);
}

/* ---- torch_module_sum ------------------------------------------------------------------------------------------ */

enum {
    CALLS,
    OPERATORS,
    CPU_TOTAL,
    CPU_SELF,
    GPU_TOTAL,
    GPU_SELF,
    BACKWARD_CPU,
    BACKWARD_GPU,
    MODULE_FIGURES,
    MODULE_NAME = MODULE_FIGURES,
    MODULE_PID,
    MODULE_CELLS
};
struct module_figures {
    int64_t of[MODULE_FIGURES];
};

/* Counts an operator for the call of the module that it ran in. A backward operator inside another counts with that. */
static void count_operator(const struct operator_places *places, struct module_figures *figures, size_t i)
{
    const struct operators_event *op = &places->operators.list[i];
    uint32_t module = places->frames.module[i], parent = op->parent;

    if (module == NO_OPERATOR || op->is_collapsed || op->kind != OPERATOR)
        return;
    if (!places->frames.is_backward[i])
        figures[module].of[OPERATORS]++;
    else if (parent == NO_OPERATOR || !places->frames.is_backward[parent])
        module_sum_add(&figures[module].of[BACKWARD_CPU], duration(op));
}

static void module_sum_count_work(const struct operator_places *places, struct module_figures *figures, size_t i)
{
    uint32_t launcher = torch_launcher(&places->operators, i),
             module = launcher == NO_OPERATOR ? NO_OPERATOR : places->frames.module[launcher];

    if (module != NO_OPERATOR)
        module_sum_add(&figures[module].of[places->frames.is_backward[launcher] ? BACKWARD_GPU : GPU_SELF],
                       duration(&places->operators.list[i]));
}

/* Runs from the last module to the first, so that a module is summed after the modules inside it. */
static void sum_modules(const struct operators *modules, struct module_figures *figures)
{
    static const int handed_up[] = { GPU_TOTAL, BACKWARD_CPU, BACKWARD_GPU };

    for (size_t i = modules->count; i-- > 0;) {
        const struct operators_event *module = &modules->list[i];
        int64_t *own = figures[i].of;
        if (module->is_collapsed) /* it lies in another call of the same module, which contains nothing else */
            continue;
        own[CALLS] = 1;
        own[CPU_TOTAL] = duration(module);
        module_sum_add(&own[CPU_SELF], own[CPU_TOTAL]);
        module_sum_add(&own[GPU_TOTAL], own[GPU_SELF]);
        if (module->parent == NO_OPERATOR)
            continue;
        int64_t *around = figures[module->parent].of;
        around[CPU_SELF] = saturating_subtract(around[CPU_SELF], own[CPU_TOTAL]);
        for (size_t f = 0; f < COUNT_OF(handed_up); f++)
            module_sum_add(&around[handed_up[f]], own[handed_up[f]]);
    }
}

static int module_sum_by_time(const struct table_cell *a, const struct table_cell *b, void *context)
{
    int64_t x = saturating_add(a[GPU_TOTAL].integer, a[BACKWARD_GPU].integer),
            y = saturating_add(b[GPU_TOTAL].integer, b[BACKWARD_GPU].integer);

    return COMPARE(y, x) ?: COMPARE(b[CPU_TOTAL].integer, a[CPU_TOTAL].integer)
                         ?: cell_compare_text(&a[MODULE_NAME], &b[MODULE_NAME]);
}

static int add_module(struct table *table, const struct operators *modules, const int64_t *key,
                      const struct module_figures *sums)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    for (int f = 0; f < MODULE_FIGURES; f++)
        cell_set_int(&row[f], sums->of[f]);
    cell_set_int(&row[MODULE_PID], global_pid_number(key[1]));
    return operators_cell(table, &row[MODULE_NAME], modules, (uint32_t)key[0]);
}

/* Joins the figures of all calls of a module in a process. */
static int module_sum_calls(struct module_figures *sums, struct keys *names, const struct operators *modules,
                            const struct module_figures *figures)
{
    for (size_t i = 0; i < modules->count; i++) {
        uint32_t key = keys_add(names, (int64_t[]){ modules->list[i].name, global_process(modules->list[i].thread) });
        if (key == NO_KEY)
            return ERR_NO_MEMORY;
        for (int f = 0; f < MODULE_FIGURES; f++)
            module_sum_add(&sums[key].of[f], figures[i].of[f]);
    }
    return 0;
}

static int add_modules(struct table *table, const struct operators *modules, const struct module_figures *figures)
{
    struct keys names = { .width = 2 };
    struct module_figures *sums = calloc(modules->count + 1, sizeof *sums);
    int code = ERR_NO_MEMORY;

    if (!sums)
        return code;
    if ((code = module_sum_calls(sums, &names, modules, figures)) != 0)
        goto done;
    for (uint32_t key = 0; key < names.count; key++)
        if ((code = add_module(table, modules, keys_get(&names, key), &sums[key])) != 0)
            goto done;
done:
    free(sums);
    keys_free(&names);
    return code;
}

static int fill_modules(struct table *table, const struct operator_places *places)
{
    const struct operators *modules = &places->frames.modules;
    struct module_figures *figures = calloc(modules->count + 1, sizeof *figures);
    int code;

    if (!figures)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < places->operators.count; i++) {
        if (places->operators.list[i].kind == OPERATOR_GPU)
            module_sum_count_work(places, figures, i);
        else
            count_operator(places, figures, i);
    }
    sum_modules(modules, figures);
    if ((code = add_modules(table, modules, figures)) != 0)
        goto free_figures;
    table_sort(table, module_sum_by_time, NULL);
free_figures:
    free(figures);
    return code;
}

static const struct table_column module_columns[MODULE_CELLS] = {
    { "Calls", CELL_INT, UNIT_NONE, 0 },      { "Operators", CELL_INT, UNIT_NONE, 0 },
    { "CPU Total", CELL_INT, UNIT_NS, 0 },    { "CPU Self", CELL_INT, UNIT_NS, 0 },
    { "GPU Total", CELL_INT, UNIT_NS, 0 },    { "GPU Self", CELL_INT, UNIT_NS, 0 },
    { "Backward CPU", CELL_INT, UNIT_NS, 0 }, { "Backward GPU", CELL_INT, UNIT_NS, 0 },
    { "Module", CELL_TEXT, UNIT_NONE, 0 },    { "PID", CELL_INT, UNIT_ID, 0 },
};
REPORT_RUN(torch_module_sum, struct operator_places, module_columns, places_read, fill_modules, places_free)

/* ---- torch_kern_sum -------------------------------------------------------------------------------------------- */

enum { SHARE, TOTAL, INSTANCES, MEAN, MEDIAN, LEAST, GREATEST, KERNEL, OPERATOR_NAME, MODULE, LINE, PID, KERNEL_CELLS };
enum { KEY_KERNEL, KEY_OPERATOR, KEY_MODULE, KEY_LINE, KEY_PROCESS, KEY_WIDTH };

static int add_kernel_row(struct table *table, const struct operator_places *places, const int64_t *key,
                          const struct keys_figures *figures, __int128 all)
{
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_real(&row[SHARE], all > 0 ? 100.0 * (double)figures->figures.total / (double)all : 0);
    cell_set_int(&row[TOTAL], (int64_t)figures->figures.total);
    cell_set_int(&row[INSTANCES], (int64_t)figures->figures.count);
    cell_set_real(&row[MEAN], statistics_mean(&figures->figures));
    cell_set_real(&row[MEDIAN], figures->median);
    cell_set_int(&row[LEAST], figures->figures.min);
    cell_set_int(&row[GREATEST], figures->figures.max);
    cell_set_int(&row[PID], global_pid_number(key[KEY_PROCESS]));
    if (operators_cell(table, &row[KERNEL], &places->operators, (uint32_t)key[KEY_KERNEL]) != 0 ||
        operators_cell(table, &row[OPERATOR_NAME], &places->operators, (uint32_t)key[KEY_OPERATOR]) != 0 ||
        operators_cell(table, &row[MODULE], &places->frames.modules, (uint32_t)key[KEY_MODULE]) != 0)
        return ERR_NO_MEMORY;
    return operators_cell(table, &row[LINE], &places->frames.lines, (uint32_t)key[KEY_LINE]);
}

static uint32_t kernel_key(struct keys *keys, const struct operator_places *places, size_t i)
{
    const struct operators_event *work = &places->operators.list[i];
    uint32_t launcher = torch_launcher(&places->operators, i),
             module = launcher == NO_OPERATOR ? NO_OPERATOR : places->frames.module[launcher];
    int64_t key[KEY_WIDTH] = {
        work->name,
        launcher == NO_OPERATOR ? NO_TEXT : places->operators.list[launcher].name,
        module == NO_OPERATOR ? NO_TEXT : places->frames.modules.list[module].name,
        launcher == NO_OPERATOR ? NO_TEXT : places->frames.line[launcher],
        global_process(work->thread),
    };

    return keys_add(keys, key);
}

static int module_sum_fill_kernels(struct table *table, const struct operator_places *places)
{
    size_t room = places->operators.count + 1, count = 0;
    struct keys keys = { .width = KEY_WIDTH };
    uint32_t *groups = malloc(room * sizeof *groups);
    int64_t *values = malloc(room * sizeof *values);
    struct keys_figures *figures = NULL;
    __int128 all = 0;
    int code = ERR_NO_MEMORY;

    if (!groups || !values)
        goto done;
    for (size_t i = 0; i < places->operators.count; i++) {
        if (places->operators.list[i].kind != OPERATOR_GPU)
            continue;
        groups[count] = kernel_key(&keys, places, i);
        values[count] = duration(&places->operators.list[i]);
        all += values[count];
        if (groups[count++] == NO_KEY)
            goto done;
    }
    if (!(figures = calloc(keys.count + 1, sizeof *figures)))
        goto done;
    if ((code = keys_summarize(figures, keys.count, groups, values, count)) != 0)
        goto done;
    for (uint32_t key = 0; key < keys.count; key++)
        if ((code = add_kernel_row(table, places, keys_get(&keys, key), &figures[key], all)) != 0)
            goto done;
    table_sort_by(table, BY(DOWN(TOTAL), KERNEL, OPERATOR_NAME, LINE));
done:
    free(groups);
    free(values);
    free(figures);
    keys_free(&keys);
    return code;
}

static const struct table_column module_kernel_columns[KERNEL_CELLS] = {
    { "Time", CELL_REAL, UNIT_PERCENT, 1 },  { "Total Time", CELL_INT, UNIT_NS, 0 },
    { "Instances", CELL_INT, UNIT_NONE, 0 }, { "Avg", CELL_REAL, UNIT_NS, 1 },
    { "Med", CELL_REAL, UNIT_NS, 1 },        { "Min", CELL_INT, UNIT_NS, 0 },
    { "Max", CELL_INT, UNIT_NS, 0 },         { "Name", CELL_TEXT, UNIT_NAME, 0 },
    { "Operator", CELL_TEXT, UNIT_NONE, 0 }, { "Module", CELL_TEXT, UNIT_NONE, 0 },
    { "Line", CELL_TEXT, UNIT_NONE, 0 },     { "PID", CELL_INT, UNIT_ID, 0 },
};
REPORT_RUN(torch_kern_sum, struct operator_places, module_kernel_columns, places_read, module_sum_fill_kernels,
           places_free)

const struct analysis analysis_torch_module_sum = {
    .name = "torch_module_sum",
    .title = "PyTorch Module Summary",
    .help = "For each nn.Module: CPU time of its calls and GPU time of the work that its operators launched, with and "
            "without submodules, and the time of the matching backward operators. Needs --pytorch-modules=true, or "
            "with_stack=True in torch.profiler.",
    .needs = { { "PyTorch operators", operator_tables }, { "Python functions", TABLES("TACHO_TORCH_PYTHON") } },
    .run = torch_module_sum,
};

const struct analysis analysis_torch_kern_sum = {
    .name = "torch_kern_sum",
    .title = "PyTorch Kernel Summary",
    .help = "Kernels, copies and fills by the operator that launched them and, if Python functions or call stacks were "
            "recorded, by its module and the innermost Python line outside PyTorch. For backward operators, those of "
            "the forward operator.",
    .needs = { { "PyTorch operators", operator_tables }, { "CUDA kernel data", TABLES("CUPTI_ACTIVITY_KIND_KERNEL") } },
    .run = torch_kern_sum,
};
