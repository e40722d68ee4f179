/* step_flops: FLOPs of each step, and the share of the GPUs' peak that they are (MFU, HFU). */
#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/flops/step_flops.h"
#include "analyze/model/torch/steps_read.h"
#include "analyze/registry.h"

enum { STEP, TIME, MODEL, HARDWARE, MFU, HFU, PEAK, TYPE, NAME, COLUMNS };
static const struct table_column step_mfu_columns[COLUMNS] = {
    [STEP] = { "Step", CELL_INT, UNIT_ID, 0 },
    [TIME] = { "Time", CELL_INT, UNIT_NS, 0 },
    [MODEL] = { "Model FLOPs", CELL_INT, UNIT_NONE, 0 },
    [HARDWARE] = { "Hardware FLOPs", CELL_INT, UNIT_NONE, 0 },
    [MFU] = { "MFU", CELL_REAL, UNIT_PERCENT, 2 },
    [HFU] = { "HFU", CELL_REAL, UNIT_PERCENT, 2 },
    [PEAK] = { "Peak TFLOP/s", CELL_REAL, UNIT_NONE, 1 },
    [TYPE] = { "Peak Type", CELL_TEXT, UNIT_NONE, 0 },
    [NAME] = { "Name", CELL_TEXT, UNIT_NAME, 0 },
};

static int step_mfu_add_step(struct table *table, struct report *report, const struct steps_flops *flops,
                             const struct step *step, const struct step_flops *own)
{
    double possible = flops->peak * (double)own->wall_ns / 1e9;
    struct table_cell *row = table_add_row(table);
    struct text label = { 0 };
    int code;

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[STEP], step->number);
    cell_set_int(&row[TIME], saturating_duration(step->start_ns, step->end_ns));
    cell_set_int(&row[MODEL], saturating_from_double(own->model));
    cell_set_int(&row[HARDWARE], saturating_from_double(own->hardware));
    if (possible > 0) {
        cell_set_real(&row[MFU], 100 * own->model / possible);
        cell_set_real(&row[HFU], 100 * own->hardware / possible);
        cell_set_real(&row[PEAK], flops->peak / 1e12);
    }
    if (flops->rate < GPU_RATES && cell_set_string(table, &row[TYPE], gpu_rate_name(flops->rate)) != 0)
        return ERR_NO_MEMORY;
    step_label(&label, report, step);
    code = cell_set_built(table, &row[NAME], &label);
    text_free(&label);
    return code;
}

static int step_mfu_fill(struct table *table, struct report *report, const struct steps_flops *flops,
                         const struct steps *steps)
{
    int code;

    for (size_t i = 0; i < steps->count; i++)
        if (steps->list[i].is_chosen &&
            (code = step_mfu_add_step(table, report, flops, &steps->list[i], &flops->list[i])) != 0)
            return code;
    return 0;
}

static int step_mfu_run(struct report *report, const struct analysis_request *request, struct table **out,
                        struct error *err)
{
    const struct steps_request automatic = { .may_guess = 1 };
    const struct steps *steps = request->filter ? request->filter->steps : NULL;
    struct steps_flops flops = { 0 };
    struct steps found = { 0 };
    struct table *table = NULL;
    int code;

    if (!steps && (code = steps_read(&found, report, &automatic, err)) != 0)
        return code;
    steps = steps ? steps : &found;
    if ((code = flops_of_steps(&flops, report, steps, option_text(request, "peak"), err)) != 0)
        goto done;
    table = table_new(step_mfu_columns, COLUMNS);
    code = table ? step_mfu_fill(table, report, &flops, steps) : ERR_NO_MEMORY;
done:
    steps_flops_free(&flops);
    steps_free(&found);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_step_flops = {
    .name = "step_flops",
    .title = "Step FLOPs",
    .usage = "[:peak=<type=rate>]",
    .help =
        "FLOPs of the matrix multiplications, convolutions and attention of each step. MFU (model FLOPs utilization) "
        "is their share of what the GPUs of the process could compute in the step's time, at the peak of the data "
        "type with most FLOPs; HFU also counts recomputation. Option peak replaces peaks, in TFLOP/s: peak=bf16=989. "
        "Needs shapes: --pytorch-shapes=true.",
    .needs = { { "PyTorch operators", TABLES("TACHO_TORCH_OP") } },
    .run = step_mfu_run,
};
