/* Summaries of CUDA calls, kernels and memory operations: cuda_api_sum, cuda_gpu_kern_sum, cuda_gpu_kern_gb_sum,
 * cuda_gpu_mem_time_sum, cuda_gpu_mem_size_sum, cuda_gpu_sum and cuda_api_gpu_sum. All choose from the same sources. */
#include <string.h>

#include "analyze/engine/report_options.h"
#include "analyze/model/launches.h"
#include "analyze/registry.h"
#include "base/intern.h"
#include "event_sum.h"

enum cuda_event_kind { KIND_CALL, KIND_KERNEL, KIND_MEMCPY, KIND_MEMSET };

struct cuda_labels {
    struct report *report;
    struct launch_ranges ranges;
    struct intern calls; /* names of calls as they are shown; empty unless they are the groups */
    struct text name, grid, block;
    int failed;          /* memory ran out in join_versions(), which cannot return an error */
};

static struct summary_text cuda_sum_text_of(const struct text *text)
{
    return (struct summary_text){ text_string(text), text->length };
}

static struct summary_text cuda_sum_name_of(struct cuda_labels *labels, const struct group *group)
{
    struct summary_text name = { MEMSET_LABEL, strlen(MEMSET_LABEL) };

    switch (event_kind(group)) {
    case KIND_CALL:
        if (labels->calls.count) {
            const struct intern_string *shown = &labels->calls.strings[group->key.part[KEY_NAME]];
            return (struct summary_text){ shown->bytes, shown->length };
        }
        name.bytes = report_string(labels->report, group->key.part[KEY_NAME], &name.length);
        name.length = call_name_length(name.bytes, name.length);
        break;
    case KIND_KERNEL:
        launch_kernel_label(&labels->name, labels->report, &labels->ranges, event_extra(group),
                            group->key.part[KEY_NAME]);
        name = cuda_sum_text_of(&labels->name);
        break;
    case KIND_MEMCPY:
        memcpy_label(&labels->name, group->key.part[KEY_NAME]);
        name = cuda_sum_text_of(&labels->name);
        break;
    }
    return name;
}

static void cuda_sum_label(void *context, const struct group *group, struct summary_text texts[SUMMARY_TEXTS])
{
    texts[0] = cuda_sum_name_of(context, group);
}

static void label_with_category(void *context, const struct group *group, struct summary_text texts[SUMMARY_TEXTS])
{
    static const char *const categories[] = {
        [KIND_CALL] = "CUDA_API",
        [KIND_KERNEL] = "CUDA_KERNEL",
        [KIND_MEMCPY] = "MEMORY_OPER",
        [KIND_MEMSET] = "MEMORY_OPER",
    };
    const char *category = categories[event_kind(group)];

    texts[0] = (struct summary_text){ category, strlen(category) };
    texts[1] = cuda_sum_name_of(context, group);
}

static void label_with_dimensions(void *context, const struct group *group, struct summary_text texts[SUMMARY_TEXTS])
{
    struct cuda_labels *labels = context;
    int64_t grid[3], block[3];

    event_dimensions(group->key.part[KEY_GRID], grid);
    event_dimensions(group->key.part[KEY_BLOCK], block);
    dimensions_label(&labels->grid, grid[0], grid[1], grid[2]);
    dimensions_label(&labels->block, block[0], block[1], block[2]);
    texts[0] = cuda_sum_text_of(&labels->grid);
    texts[1] = cuda_sum_text_of(&labels->block);
    texts[2] = cuda_sum_name_of(labels, group);
}

/* cuda_api_sum keeps the versions of a call apart although it shows them under one name; cuda_api_gpu_sum joins them.
 * nsys does the same. */
static void join_versions(void *context, struct group_key *key)
{
    struct cuda_labels *labels = context;
    size_t length;

    if (event_kind(&(struct group){ .key = *key }) != KIND_CALL)
        return;
    const char *name = report_string(labels->report, key->part[KEY_NAME], &length);
    int64_t shown = intern_add_borrowed(&labels->calls, name, call_name_length(name, length));
    labels->failed |= shown < 0;
    key->part[KEY_NAME] = shown < 0 ? 0 : shown;
}

/* Keeps them apart when parts of a set are merged. */
static struct summary_text identify_version(void *context, const struct group *group)
{
    const struct cuda_labels *labels = context;
    struct summary_text name;

    name.bytes = report_string(labels->report, group->key.part[KEY_NAME], &name.length);
    return name;
}

enum { CALLS = 1, KERNELS = 2, MEMORY = 4 };

struct source_choice {
    int what;
    struct summary_shape shape;
};

enum { MOST_SOURCES = 4 };

/* Fills in the sources of the choice and returns how many they are. */
static size_t choose_sources(struct event_source sources[MOST_SOURCES], const struct source_choice *choice,
                             const struct analysis_request *request)
{
    int by_dimensions = choice->shape.label == label_with_dimensions;
    const char *value = choice->shape.of_sizes ? "bytes" : NULL;
    size_t count = 0;

    if (choice->what & CALLS)
        sources[count++] = (struct event_source){ .table = gpu_call_tables[0], .kind = KIND_CALL, .name = "nameId" };
    if (choice->what & KERNELS)
        sources[count++] = (struct event_source){
            .table = gpu_tables[GPU_KERNEL],
            .kind = KIND_KERNEL,
            .process = "globalPid",
            .name = kernel_name_column(request),
            .name_or = "demangledName",
            .by_dimensions = by_dimensions,
        };
    if (choice->what & MEMORY) {
        sources[count++] = (struct event_source){
            .table = gpu_tables[GPU_MEMCPY],
            .kind = KIND_MEMCPY,
            .name = "copyKind",
            .process = "globalPid",
            .value = value,
        };
        sources[count++] = (struct event_source){
            .table = gpu_tables[GPU_MEMSET], .kind = KIND_MEMSET, .process = "globalPid", .value = value
        };
    }
    return count;
}

static void cuda_labels_free(struct cuda_labels *labels)
{
    launch_ranges_free(&labels->ranges);
    intern_free(&labels->calls);
    text_free(&labels->name);
    text_free(&labels->grid);
    text_free(&labels->block);
}

static int cuda_sum_summarize(struct report *report, const struct analysis_request *request, const void *as,
                              struct table **out, struct error *err)
{
    const struct source_choice *choice = as;
    struct event_source sources[MOST_SOURCES];
    struct cuda_labels labels = { .report = report };
    struct event_extra extra = { .table = gpu_tables[GPU_KERNEL] };
    struct event_summary summary = {
        .sources = sources,
        .source_count = choose_sources(sources, choice, request),
        .shape = &choice->shape,
        .context = &labels,
        .map = choice->what == (CALLS | KERNELS | MEMORY) ? join_versions : NULL,
    };
    struct table *table = NULL;
    int code = 0;

    if (option_given(request, "nvtx-name")) {
        if ((code = launch_ranges_read(&labels.ranges, report, err)) != 0)
            goto done;
        extra.numbers = labels.ranges.by_row;
        extra.count = labels.ranges.count;
        summary.extra = &extra;
    }
    if ((code = event_summarize(report, request, &summary, &table, err)) != 0)
        goto done;
    if (labels.failed)
        code = error_short_memory(err, "for the names of the calls");
done:
    cuda_labels_free(&labels);
    return table_hand_over(table, code, out, err);
}

static const struct source_choice api_choice = { CALLS,
                                                 { "Num Calls", { "Name" }, cuda_sum_label, 0, identify_version } };
static const struct source_choice kernel_choice = { KERNELS, { "Instances", { "Name" }, cuda_sum_label, 0, NULL } };
static const struct source_choice dimension_choice = {
    KERNELS, { "Instances", { "GridXYZ", "BlockXYZ", "Name" }, label_with_dimensions, 0, NULL }
};
static const struct source_choice memory_time_choice = { MEMORY,
                                                         { "Count", { "Operation" }, cuda_sum_label, 0, NULL } };
static const struct source_choice memory_size_choice = { MEMORY,
                                                         { "Count", { "Operation" }, cuda_sum_label, 1, NULL } };
static const struct source_choice gpu_choice = {
    KERNELS | MEMORY, { "Instances", { "Category", "Operation" }, label_with_category, 0, NULL }
};
static const struct source_choice all_choice = {
    CALLS | KERNELS | MEMORY, { "Instances", { "Category", "Operation" }, label_with_category, 0, NULL }
};

static const char *const all_tables[] = {
    "CUPTI_ACTIVITY_KIND_RUNTIME",
    "CUPTI_ACTIVITY_KIND_KERNEL",
    "CUPTI_ACTIVITY_KIND_MEMCPY",
    "CUPTI_ACTIVITY_KIND_MEMSET",
    NULL,
};
#define KERNEL_OPTIONS "[:nvtx-name][:base|:mangled]"

const struct analysis analysis_cuda_api_sum = {
    .name = "cuda_api_sum",
    .title = "CUDA API Summary",
    .help = "CUDA API time (runtime and driver) by function, over all threads.",
    .needs = { { "CUDA trace data", gpu_call_tables } },
    .by_default = 3,
    .run_as = cuda_sum_summarize,
    .as = &api_choice,
    .divides = &api_choice.shape,
};

const struct analysis analysis_cuda_gpu_kern_sum = {
    .name = "cuda_gpu_kern_sum",
    .title = "CUDA GPU Kernel Summary",
    .usage = KERNEL_OPTIONS,
    .help = "Kernel time by name. base: names without template arguments and parameters. mangled: names as the linker "
            "has them. nvtx-name: prefix each name with the innermost NVTX range around the launch.",
    .needs = { { "CUDA kernel data", gpu_kernel_tables } },
    .by_default = 4,
    .run_as = cuda_sum_summarize,
    .as = &kernel_choice,
    .divides = &kernel_choice.shape,
};

const struct analysis analysis_cuda_gpu_kern_gb_sum = {
    .name = "cuda_gpu_kern_gb_sum",
    .title = "CUDA GPU Kernel/Grid/Block Summary",
    .usage = KERNEL_OPTIONS,
    .help = "Kernel time by name, grid and block size.",
    .needs = { { "CUDA kernel data", gpu_kernel_tables } },
    .run_as = cuda_sum_summarize,
    .as = &dimension_choice,
    .divides = &dimension_choice.shape,
};

const struct analysis analysis_cuda_gpu_mem_time_sum = {
    .name = "cuda_gpu_mem_time_sum",
    .title = "CUDA GPU MemOps Summary (by Time)",
    .help = "Time of GPU memory copies and fills, by kind.",
    .needs = { { "GPU memory data", gpu_memory_tables } },
    .by_default = 5,
    .run_as = cuda_sum_summarize,
    .as = &memory_time_choice,
    .divides = &memory_time_choice.shape,
};

const struct analysis analysis_cuda_gpu_mem_size_sum = {
    .name = "cuda_gpu_mem_size_sum",
    .title = "CUDA GPU MemOps Summary (by Size)",
    .help = "Bytes of GPU memory copies and fills, by kind.",
    .needs = { { "GPU memory data", gpu_memory_tables } },
    .by_default = 6,
    .run_as = cuda_sum_summarize,
    .as = &memory_size_choice,
    .divides = &memory_size_choice.shape,
};

const struct analysis analysis_cuda_gpu_sum = {
    .name = "cuda_gpu_sum",
    .title = "CUDA GPU Summary (Kernels/MemOps)",
    .usage = KERNEL_OPTIONS,
    .help = "GPU time: kernels by name, memory copies and fills by kind.",
    .needs = { { "CUDA trace data", gpu_tables } },
    .run_as = cuda_sum_summarize,
    .as = &gpu_choice,
    .divides = &gpu_choice.shape,
};

const struct analysis analysis_cuda_api_gpu_sum = {
    .name = "cuda_api_gpu_sum",
    .title = "CUDA Summary (API/Kernels/MemOps)",
    .usage = KERNEL_OPTIONS,
    .help = "CUDA API time and GPU time in one table. The two overlap, so the shares refer to their sum.",
    .needs = { { "CUDA trace data", all_tables } },
    .run_as = cuda_sum_summarize,
    .as = &all_choice,
    .divides = &all_choice.shape,
};
