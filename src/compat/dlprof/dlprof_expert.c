/* The expert systems: problems that DLProf looks for, and its recommendations. Each is a function that adds the two
 * sentences, or nothing. Sentences that DLProf is known to write are its own. */
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/ranges.h"
#include "analyze/summary/machine_facts.h"
#include "dlprof_internal.h"

struct dlprof_expert_finding {
    struct dlprof *dlprof;
    struct dlprof_usage usage;
    struct text problem, recommendation;
};

static void find_no_half(struct dlprof_expert_finding *finding)
{
    const struct dlprof *dlprof = finding->dlprof;
    size_t eligible = 0;

    for (size_t i = 0; i < dlprof->op_count; i++) {
        const struct dlprof_op *op = &dlprof->ops[i];
        if (!op->is_eligible)
            continue;
        eligible++;
        if (op->uses_tensor_cores || strstr(dlprof_text(dlprof, op->words.data_type).bytes, "float16"))
            return;
    }
    if (!eligible)
        return;
    text_addf(&finding->problem, "%zu ops were eligible to use tensor cores but none are using FP16", eligible);
    text_add(&finding->recommendation, "Try enabling AMP (Automatic Mixed Precision). For more information: "
                                       "https://developer.nvidia.com/automatic-mixed-precision");
}

enum { USED_WELL_PERCENT = 75 };

static void find_idle_gpu(struct dlprof_expert_finding *finding)
{
    static const struct {
        const char *name, *advice;
    } others[USES] = {
        [USE_MEMORY] = { "Memory", "Consider copying less between CPU and GPU, from pinned memory" },
        [USE_LOADING] = { "Dataloader", "Consider more workers of the dataloader, or moving its work to the GPU" },
        [USE_IO] = { "IO", "Consider reading and writing fewer files while the model runs" },
        [USE_CPU] = { "CPU", "Consider swapping ops that are running on the CPU for equivalent GPU ops" },
        [USE_OTHER] = { "Other", "Investigate the code between ops, which often waits for data" },
    };
    const struct dlprof_usage *usage = &finding->usage;
    int most = USE_MEMORY;

    if (usage->gpu >= USED_WELL_PERCENT)
        return;
    for (int use = USE_MEMORY; use < USES; use++)
        if (usage->percent[use] > usage->percent[most])
            most = use;
    text_addf(&finding->problem,
              "The GPU is underutilized: Only %.1f%% of the profiled time is spent on GPU kernel operations",
              usage->gpu);
    text_addf(&finding->recommendation, "%s has the highest (non-GPU) usage at %.1f%%. %s", others[most].name,
              usage->percent[most], others[most].advice);
}

/* GPUs of the machine, if there are several, on which nothing ran. */
static void find_unused_gpus(struct dlprof_expert_finding *finding)
{
    static const char *const names[] = { "id", NULL };
    const struct dlprof *dlprof = finding->dlprof;
    struct row_cursor rows;
    struct text ids = { 0 };

    if (machine_gpu_count(dlprof->report) < 2 ||
        row_cursor_open(&rows, dlprof->report, "TARGET_INFO_GPU", names, NULL) != 0)
        return;
    while (row_cursor_next(&rows)) {
        size_t i = 0;
        while (i < dlprof->work_count && dlprof->works[i].device != row_int(&rows, 0))
            i++;
        if (i == dlprof->work_count)
            text_addf(&ids, "%s%lld", ids.length ? ", " : "", (long long)row_int(&rows, 0));
    }
    row_cursor_close(&rows);
    if (ids.length) {
        text_addf(&finding->problem, "The following GPU device IDs are not being used: %s", text_string(&ids));
        text_add(&finding->recommendation, "Consider running the model on several GPUs");
    }
    text_free(&ids);
}

static void find_no_dali(struct dlprof_expert_finding *finding)
{
    const struct dlprof *dlprof = finding->dlprof;

    for (size_t i = 0; i < dlprof->op_count; i++)
        if (strcasestr(dlprof_text(dlprof, dlprof->ops[i].words.name).bytes, "dali"))
            return;
    text_add(&finding->problem, "No DALI ops detected");
    text_add(&finding->recommendation,
             "Consider using NVIDIA DALI, a library that is a high performance alternative to built-in data loaders "
             "and data iterators. Learn more here: https://developer.nvidia.com/DALI");
}

static void find_no_iterations(struct dlprof_expert_finding *finding)
{
    if (finding->dlprof->is_split)
        return;
    text_addf(&finding->problem, "Unable to split profile into training iterations: key op %s not found",
              text_string(&finding->dlprof->key));
    text_add(&finding->recommendation, "Specify key op by setting the --key_op argument");
}

/* The most memory that PyTorch's allocator held on a GPU, of that GPU's memory. */
static void find_small_batch(struct dlprof_expert_finding *finding)
{
    static const char *const used_names[] = { "deviceType", "totalReserved", NULL };
    static const char *const total_names[] = { "totalMemory", NULL };
    struct report *report = finding->dlprof->report;
    struct row_cursor rows;
    int64_t used = 0, total = 0;

    if (row_cursor_open(&rows, report, "TACHO_TORCH_MEMORY", used_names, NULL) != 0)
        return;
    while (row_cursor_next(&rows))
        if (row_int(&rows, 0) == 1 && row_int_or(&rows, 1, 0) > used)
            used = row_int(&rows, 1);
    row_cursor_close(&rows);
    if (row_cursor_open(&rows, report, "TARGET_INFO_GPU", total_names, NULL) != 0)
        return;
    if (row_cursor_next(&rows))
        total = row_int_or(&rows, 0, 0);
    row_cursor_close(&rows);
    if (used <= 0 || total / 2 < used)
        return;
    text_addf(&finding->problem, "Only %.0f%% of GPU Memory is used", 100 * (double)used / (double)total);
    text_addf(&finding->recommendation, "Try increasing batch size by %lldx to increase data throughput",
              (long long)(total / used));
}

/* ---- settings of the model ------------------------------------------------------------------------------------- */

/* Settings in the range {"model_config": …} of DLProf's patches that cost time. */
static const struct dlprof_expert_setting {
    const char *name, *problem, *recommendation;
} settings[] = {
    { "cudnn_benchmark_disabled", "cudnn.benchmark is disabled",
      "Set torch.backends.cudnn.benchmark = True if the shapes of inputs do not change" },
    { "detect_anomaly", "autograd.detect_anomaly is enabled", "Use it only while debugging" },
    { "autograd_set_detect_anomaly", "autograd.set_detect_anomaly is enabled", "Use it only while debugging" },
    { "gradcheck", "autograd.gradcheck is used", "Use it only while debugging" },
    { "gradgradcheck", "autograd.gradgradcheck is used", "Use it only while debugging" },
    { "autograd_profile", "autograd.profile is enabled", "Disable PyTorch's own profiler under another one" },
};

static int is_config(void *context, int64_t name)
{
    return text_begins_with(report_string(context, name, NULL), "{\"model_config\"");
}

static int has_setting(struct report *report, const struct ranges *ranges, const char *name)
{
    for (size_t i = 0; i < ranges->count; i++) {
        size_t length;
        const char *bytes = report_string(report, ranges->list[i].name, &length);
        struct literal value = literal_find(literal_find((struct literal){ bytes, length }, "model_config"), name);
        if (value.length == 4 && memcmp(value.bytes, "true", 4) == 0)
            return 1;
    }
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

static void (*const detectors[])(struct dlprof_expert_finding *) = {
    find_no_half, find_idle_gpu, find_unused_gpus, find_no_dali, find_no_iterations, find_small_batch
};

enum { PROBLEM, RECOMMENDATION, EXPERT_COLUMNS };
static const struct table_column dlprof_expert_columns[EXPERT_COLUMNS] = {
    [PROBLEM] = { "Problem", CELL_TEXT, UNIT_NONE, 0 },
    [RECOMMENDATION] = { "Recommendation", CELL_TEXT, UNIT_NONE, 0 },
};

static int dlprof_expert_add_finding(struct table *table, struct dlprof_expert_finding *finding)
{
    struct table_cell *cells;

    if (!finding->problem.length)
        return 0;
    if (!(cells = table_add_row(table)) || cell_set_built(table, &cells[PROBLEM], &finding->problem) != 0 ||
        cell_set_built(table, &cells[RECOMMENDATION], &finding->recommendation) != 0)
        return ERR_NO_MEMORY;
    text_clear(&finding->problem);
    text_clear(&finding->recommendation);
    return 0;
}

static int dlprof_expert_add_settings(struct table *table, struct dlprof_expert_finding *finding, struct error *err)
{
    const struct filter all = { 0 };
    const struct range_names configs = { is_config, finding->dlprof->report };
    struct ranges ranges;
    int code = ranges_read_named(&ranges, finding->dlprof->report, RANGE_PUSHPOP, &all, &configs, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < COUNT_OF(settings) && code == 0; i++)
        if (has_setting(finding->dlprof->report, &ranges, settings[i].name)) {
            text_add(&finding->problem, settings[i].problem);
            text_add(&finding->recommendation, settings[i].recommendation);
            code = dlprof_expert_add_finding(table, finding);
        }
    ranges_free(&ranges);
    return code;
}

int dlprof_expert_systems(struct dlprof *dlprof, const struct dlprof_maker *maker, struct dlprof_tables *out,
                          struct error *err)
{
    struct table *table = table_new(dlprof_expert_columns, EXPERT_COLUMNS);
    struct dlprof_expert_finding finding = { .dlprof = dlprof };
    int code = table ? dlprof_usage_read(&finding.usage, dlprof, dlprof->first, dlprof->last, err) : ERR_NO_MEMORY;

    for (size_t i = 0; i < COUNT_OF(detectors) && code == 0; i++) {
        detectors[i](&finding);
        code = dlprof_expert_add_finding(table, &finding);
    }
    if (code == 0)
        code = dlprof_expert_add_settings(table, &finding, err);
    text_free(&finding.problem);
    text_free(&finding.recommendation);
    return dlprof_hand_over(table, code, "Expert Systems Feedback", out, err);
}
