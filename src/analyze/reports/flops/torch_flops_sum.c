/* torch_flops_sum and roofline: the FLOPs and bytes of operators, against the peaks of the GPU. The first has a row for
 * each operator and shape, the second for each class of operators and type of data. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/flops/operator_flops.h"
#include "analyze/registry.h"
#include "base/array.h"

/* Operators of a group. */
struct flops_group {
    double flops, bytes;     /* sums over the operators whose figures are known */
    int64_t calls, gpu_ns;
    int is_known, has_bytes; /* whether FLOPs, and bytes, of all operators are known */
    enum gpu_rate rate;
};

/* The input of both reports. */
struct flops_groups {
    struct flops flops;
    struct gpu_peaks peaks;
    struct keys keys;
    struct flops_group *list; /* owned; by key */
    size_t room;
};

static void torch_flops_sum_add_to_group(struct flops_group *group, const struct op_work *work,
                                         const struct operator_flops *own)
{
    group->calls++;
    group->gpu_ns = saturating_add(group->gpu_ns, own->gpu_ns);
    if (!work || work->flops < 0)
        group->is_known = 0;
    if (!work || work->bytes < 0)
        group->has_bytes = 0;
    group->flops += work && work->flops > 0 ? work->flops : 0;
    group->bytes += work && work->bytes > 0 ? work->bytes : 0;
}

/* Adds each operator that counts, or that launched work, under the key that key_of() makes. */
static int fill_groups(struct flops_groups *groups,
                       int (*key_of)(int64_t *key, const struct flops_groups *groups, size_t op))
{
    const struct flops *flops = &groups->flops;
    int64_t key[4];

    for (size_t i = 0; i < flops->operators.count; i++) {
        const struct operator_flops *own = &flops->list[i];
        const struct op_work *work = own->work == FLOPS_NO_WORK ? NULL : &flops->works.list[own->work];
        if (flops->operators.list[i].kind != OPERATOR || (!work && !own->gpu_ns) || !key_of(key, groups, i))
            continue;
        size_t before = groups->keys.count;
        uint32_t at = keys_add(&groups->keys, key);
        if (at == NO_KEY || array_reserve(&groups->list, &groups->room, (size_t)at + 1, sizeof *groups->list) != 0)
            return ERR_NO_MEMORY;
        if (at == before)
            groups->list[at] = (struct flops_group){
                .is_known = 1,
                .has_bytes = 1,
                .rate = work ? flops_rate(work, own->uses_tensor_cores, &groups->peaks) : GPU_RATES,
            };
        torch_flops_sum_add_to_group(&groups->list[at], work, own);
    }
    return 0;
}

static int open_groups(struct flops_groups *groups, struct report *report, const struct analysis_request *request,
                       struct error *err)
{
    int code = gpu_peaks_read(&groups->peaks, report, option_text(request, "peak"), err);

    return code != 0 ? code : flops_of_operators(&groups->flops, report, request, err);
}

static void free_groups(struct flops_groups *groups)
{
    flops_free(&groups->flops);
    keys_free(&groups->keys);
    free(groups->list);
}

/* ---- rates ----------------------------------------------------------------------------------------------------- */

struct group_rates {
    double flop_s, byte_s;              /* achieved rates */
    double peak, memory;                /* peak rates of the GPU */
    double compute_share, memory_share; /* percent of the peaks; 0: not known */
};

static struct group_rates rates_of(const struct flops_groups *groups, const struct flops_group *group)
{
    struct group_rates out = { .memory = groups->peaks.rate[RATE_MEMORY] };
    double seconds = (double)group->gpu_ns / 1e9;

    out.peak = group->rate < GPU_RATES ? groups->peaks.rate[group->rate] : 0;
    if (seconds > 0 && group->is_known)
        out.flop_s = group->flops / seconds;
    if (seconds > 0 && group->has_bytes)
        out.byte_s = group->bytes / seconds;
    out.compute_share = out.peak > 0 ? 100 * out.flop_s / out.peak : 0;
    out.memory_share = out.memory > 0 ? 100 * out.byte_s / out.memory : 0;
    return out;
}

/* The limit that the group runs at: at least half of the peak. */
static const char *torch_flops_sum_bound_of(const struct group_rates *rates)
{
    enum { BOUND_PERCENT = 50 };

    if (rates->compute_share < BOUND_PERCENT && rates->memory_share < BOUND_PERCENT)
        return "neither";
    return rates->compute_share >= rates->memory_share ? "compute" : "memory";
}

static void set_positive(struct table_cell *cell, double value)
{
    if (value > 0)
        cell_set_real(cell, value);
}

static int by_time_and_flops(const struct table_cell *a, const struct table_cell *b, int time, int flops)
{
    double x = a[time].kind == CELL_INT ? (double)a[time].integer : 0,
           y = b[time].kind == CELL_INT ? (double)b[time].integer : 0;

    if (x == y) {
        x = a[flops].kind == CELL_INT ? (double)a[flops].integer : 0;
        y = b[flops].kind == CELL_INT ? (double)b[flops].integer : 0;
    }
    return COMPARE(y, x);
}

static const char *rate_text(const struct flops_group *group)
{
    return group->rate < GPU_RATES ? gpu_rate_name(group->rate) : "";
}

/* ---- torch_flops_sum ------------------------------------------------------------------------------------------- */

enum { SHARE, TIME, CALLS, FLOPS, BYTES, RATE, PEAK, BANDWIDTH, MEMORY, BOUND, TYPE, NAME, SHAPES, COLUMNS };
static const struct table_column torch_flops_sum_columns[COLUMNS] = {
    [SHARE] = { "Time", CELL_REAL, UNIT_PERCENT, 1 },
    [TIME] = { "GPU Time", CELL_INT, UNIT_NS, 0 },
    [CALLS] = { "Calls", CELL_INT, UNIT_NONE, 0 },
    [FLOPS] = { "FLOPs", CELL_INT, UNIT_NONE, 0 },
    [BYTES] = { "Bytes", CELL_INT, UNIT_BYTES, 0 },
    [RATE] = { "TFLOP/s", CELL_REAL, UNIT_NONE, 3 },
    [PEAK] = { "Of Peak", CELL_REAL, UNIT_PERCENT, 1 },
    [BANDWIDTH] = { "GB/s", CELL_REAL, UNIT_NONE, 1 },
    [MEMORY] = { "Of Memory Peak", CELL_REAL, UNIT_PERCENT, 1 },
    [BOUND] = { "Bound By", CELL_TEXT, UNIT_NONE, 0 },
    [TYPE] = { "Peak Type", CELL_TEXT, UNIT_NONE, 0 },
    [NAME] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
    [SHAPES] = { "Input Shapes", CELL_TEXT, UNIT_NONE, 0 },
};

enum { KEY_NAME, KEY_SHAPES, KEY_RATE, KEY_WIDTH };

static int key_of_shapes(int64_t *key, const struct flops_groups *groups, size_t op)
{
    const struct operators_event *event = &groups->flops.operators.list[op];
    const struct operator_flops *own = &groups->flops.list[op];

    key[KEY_NAME] = event->name;
    key[KEY_SHAPES] = event->shapes;
    key[KEY_RATE] = own->work == FLOPS_NO_WORK
                        ? GPU_RATES
                        : flops_rate(&groups->flops.works.list[own->work], own->uses_tensor_cores, &groups->peaks);
    return 1;
}

static int add_shapes_row(struct table *table, const struct flops_groups *groups, uint32_t at)
{
    const struct flops_group *group = &groups->list[at];
    const struct operators *operators = &groups->flops.operators;
    const int64_t *key = keys_get(&groups->keys, at);
    struct group_rates rates = rates_of(groups, group);
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    if (groups->flops.gpu_ns > 0) {
        cell_set_real(&row[SHARE], 100.0 * (double)group->gpu_ns / (double)groups->flops.gpu_ns);
        cell_set_int(&row[TIME], group->gpu_ns);
    }
    cell_set_int(&row[CALLS], group->calls);
    if (group->is_known)
        cell_set_int(&row[FLOPS], saturating_from_double(group->flops));
    if (group->has_bytes)
        cell_set_int(&row[BYTES], saturating_from_double(group->bytes));
    set_positive(&row[RATE], rates.flop_s / 1e12);
    set_positive(&row[PEAK], rates.compute_share);
    set_positive(&row[BANDWIDTH], rates.byte_s / 1e9);
    set_positive(&row[MEMORY], rates.memory_share);
    if ((rates.compute_share > 0 || rates.memory_share > 0) &&
        cell_set_string(table, &row[BOUND], torch_flops_sum_bound_of(&rates)) != 0)
        return ERR_NO_MEMORY;
    if (cell_set_string(table, &row[TYPE], rate_text(group)) != 0 ||
        operators_cell(table, &row[NAME], operators, (uint32_t)key[KEY_NAME]) != 0)
        return ERR_NO_MEMORY;
    return operators_cell(table, &row[SHAPES], operators, (uint32_t)key[KEY_SHAPES]);
}

static int compare_shapes(const struct table_cell *a, const struct table_cell *b, void *context)
{
    return by_time_and_flops(a, b, TIME, FLOPS);
}

static int fill_shapes(struct table *table, struct flops_groups *groups)
{
    groups->keys.width = KEY_WIDTH;
    if (fill_groups(groups, key_of_shapes) != 0)
        return ERR_NO_MEMORY;
    for (uint32_t at = 0; at < groups->keys.count; at++)
        if (add_shapes_row(table, groups, at) != 0)
            return ERR_NO_MEMORY;
    table_sort(table, compare_shapes, NULL);
    return 0;
}

/* ---- roofline -------------------------------------------------------------------------------------------------- */

enum {
    ROOF_SHARE,
    ROOF_TIME,
    ROOF_CALLS,
    ROOF_FLOPS,
    ROOF_BYTES,
    ROOF_INTENSITY,
    ROOF_RATE,
    ROOF_CEILING,
    ROOF_OF_CEILING,
    ROOF_LIMIT,
    ROOF_TYPE,
    ROOF_CLASS,
    ROOF_COLUMNS
};
static const struct table_column roof_columns[ROOF_COLUMNS] = {
    [ROOF_SHARE] = { "Time", CELL_REAL, UNIT_PERCENT, 1 },
    [ROOF_TIME] = { "GPU Time", CELL_INT, UNIT_NS, 0 },
    [ROOF_CALLS] = { "Calls", CELL_INT, UNIT_NONE, 0 },
    [ROOF_FLOPS] = { "FLOPs", CELL_INT, UNIT_NONE, 0 },
    [ROOF_BYTES] = { "Bytes", CELL_INT, UNIT_BYTES, 0 },
    [ROOF_INTENSITY] = { "FLOP/Byte", CELL_REAL, UNIT_NONE, 2 },
    [ROOF_RATE] = { "TFLOP/s", CELL_REAL, UNIT_NONE, 3 },
    [ROOF_CEILING] = { "Ceiling TFLOP/s", CELL_REAL, UNIT_NONE, 3 },
    [ROOF_OF_CEILING] = { "Of Ceiling", CELL_REAL, UNIT_PERCENT, 1 },
    [ROOF_LIMIT] = { "Ceiling Is", CELL_TEXT, UNIT_NONE, 0 },
    [ROOF_TYPE] = { "Peak Type", CELL_TEXT, UNIT_NONE, 0 },
    [ROOF_CLASS] = { "Class", CELL_TEXT, UNIT_NAME, 0 },
};

/* Operators without FLOPs or bytes are a row of their own: they have no place under the roof. */
static int key_of_class(int64_t *key, const struct flops_groups *groups, size_t op)
{
    const struct operator_flops *own = &groups->flops.list[op];
    const struct op_work *work = own->work == FLOPS_NO_WORK ? NULL : &groups->flops.works.list[own->work];
    int is_known = work && work->flops >= 0 && work->bytes >= 0;

    key[0] = is_known ? (int64_t)work->class : OP_UNKNOWN;
    key[1] = is_known ? (int64_t)flops_rate(work, own->uses_tensor_cores, &groups->peaks) : GPU_RATES;
    return 1;
}

static int set_roof(struct table *table, struct table_cell *row, const struct flops_groups *groups,
                    const struct flops_group *group)
{
    struct group_rates rates = rates_of(groups, group);
    double intensity = group->bytes > 0 ? group->flops / group->bytes : 0;
    double slope = intensity * rates.memory, ceiling = slope;

    cell_set_int(&row[ROOF_FLOPS], saturating_from_double(group->flops));
    cell_set_int(&row[ROOF_BYTES], saturating_from_double(group->bytes));
    cell_set_real(&row[ROOF_INTENSITY], intensity);
    if (rates.peak > 0 && (rates.memory <= 0 || rates.peak < slope))
        ceiling = rates.peak;
    set_positive(&row[ROOF_RATE], rates.flop_s / 1e12);
    set_positive(&row[ROOF_CEILING], ceiling / 1e12);
    if (group->flops > 0 && ceiling > 0)
        set_positive(&row[ROOF_OF_CEILING], 100 * rates.flop_s / ceiling);
    else
        set_positive(&row[ROOF_OF_CEILING], rates.memory_share); /* a copy: the bound is the bandwidth */
    if (rates.peak <= 0 || rates.memory <= 0)
        return 0;
    return cell_set_string(table, &row[ROOF_LIMIT], ceiling == slope ? "memory" : "compute");
}

static int add_class_row(struct table *table, const struct flops_groups *groups, uint32_t at)
{
    const struct flops_group *group = &groups->list[at];
    enum op_class class = (enum op_class)keys_get(&groups->keys, at)[0];
    struct table_cell *row = table_add_row(table);

    if (!row)
        return ERR_NO_MEMORY;
    if (groups->flops.gpu_ns > 0) {
        cell_set_real(&row[ROOF_SHARE], 100.0 * (double)group->gpu_ns / (double)groups->flops.gpu_ns);
        cell_set_int(&row[ROOF_TIME], group->gpu_ns);
    }
    cell_set_int(&row[ROOF_CALLS], group->calls);
    if (class != OP_UNKNOWN && set_roof(table, row, groups, group) != 0)
        return ERR_NO_MEMORY;
    if (cell_set_string(table, &row[ROOF_TYPE], rate_text(group)) != 0)
        return ERR_NO_MEMORY;
    return cell_set_string(table, &row[ROOF_CLASS], op_class_name(class));
}

static int compare_classes(const struct table_cell *a, const struct table_cell *b, void *context)
{
    return by_time_and_flops(a, b, ROOF_TIME, ROOF_FLOPS);
}

static int fill_classes(struct table *table, struct flops_groups *groups)
{
    groups->keys.width = 2;
    if (fill_groups(groups, key_of_class) != 0)
        return ERR_NO_MEMORY;
    for (uint32_t at = 0; at < groups->keys.count; at++)
        if (add_class_row(table, groups, at) != 0)
            return ERR_NO_MEMORY;
    table_sort(table, compare_classes, NULL);
    return 0;
}

/* ---- both ------------------------------------------------------------------------------------------------------ */

struct flops_choice {
    const struct table_column *columns;
    size_t column_count;
    int (*fill)(struct table *table, struct flops_groups *groups);
};

static int torch_flops_sum_run(struct report *report, const struct analysis_request *request, const void *as,
                               struct table **out, struct error *err)
{
    const struct flops_choice *choice = as;
    struct table *table = table_new(choice->columns, choice->column_count);
    struct flops_groups groups = { 0 };
    int code = open_groups(&groups, report, request, err);

    if (code != 0)
        goto free_groups;
    code = table ? choice->fill(table, &groups) : ERR_NO_MEMORY;
free_groups:
    free_groups(&groups);
    return table_hand_over(table, code, out, err);
}

static const char *const torch_flops_sum_tables[] = { "TACHO_TORCH_OP", "NVTX_EVENTS", NULL };

const struct analysis analysis_torch_flops_sum = {
    .name = "torch_flops_sum",
    .title = "PyTorch FLOPs Summary",
    .usage = "[:peak=<type=rate>]",
    .help = "FLOPs and bytes of PyTorch operators by name and input shapes, each counted once, with the achieved rates "
            "and their share of the peak of the data type on this GPU. Bound By is compute or memory at 50 % of a peak "
            "or more. An empty cell is not known. Option peak replaces peaks, in TFLOP/s and GB/s: "
            "peak=bf16=989+memory=4800. Needs shapes: --pytorch-shapes=true.",
    .needs = { { "PyTorch operators", torch_flops_sum_tables } },
    .run_as = torch_flops_sum_run,
    .as = &(const struct flops_choice){ torch_flops_sum_columns, COLUMNS, fill_shapes },
};

const struct analysis analysis_roofline = {
    .name = "roofline",
    .title = "Roofline",
    .usage = "[:peak=<type=rate>]",
    .help = "Classes of PyTorch operators under the roofline of this GPU: FLOPs, bytes, FLOPs per byte, the achieved "
            "rate, and the ceiling for that intensity, which is the peak of the data type or the memory bandwidth. "
            "Option peak replaces peaks, in TFLOP/s and GB/s: peak=bf16=989+memory=4800. Needs shapes: "
            "--pytorch-shapes=true.",
    .needs = { { "PyTorch operators", torch_flops_sum_tables } },
    .run_as = torch_flops_sum_run,
    .as = &(const struct flops_choice){ roof_columns, ROOF_COLUMNS, fill_classes },
};
