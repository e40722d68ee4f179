/* Labels of rows: names of processes, threads, GPUs and NVTX domains where the report has them, else numbers. */
#include "row_labels.h"

#include <stdio.h>
#include <string.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/gpu.h"
#include "analyze/model/gpu_busy.h"
#include "analyze/model/nvtx_domains.h"
#include "analyze/model/threads.h"
#include "base/human.h"
#include "base/path.h"

struct labels {
    struct view *view;
    struct thread_names threads;
    struct process_names processes;
    struct nvtx_domains domains;
    struct text text;
    size_t step_rows;
};

/* ---- pieces ---------------------------------------------------------------------------------------------------- */

static void row_labels_add_process(struct labels *labels, int64_t process)
{
    int64_t name = process_name_find(&labels->processes, process);
    const char *path = name < 0 ? "" : report_string(labels->view->report, name, NULL);

    if (*path)
        text_addf(&labels->text, "%s (%lld)", path_base_name(path), (long long)global_pid_number(process));
    else
        text_addf(&labels->text, "Process %lld", (long long)global_pid_number(process));
}

static void row_labels_add_thread(struct labels *labels, int64_t thread)
{
    const struct thread_name *found = thread_name_find(&labels->threads, thread);
    const char *name = found ? report_string(labels->view->report, found->name, NULL) : "";
    char number[24];

    snprintf(number, sizeof number, "%lld", (long long)global_tid_number(thread));
    if (!*name)
        text_addf(&labels->text, "Thread %s", number);
    else
        /* names in traces of PyTorch contain the number already */
        text_addf(&labels->text, strstr(name, number) ? "%s" : "%s (%s)", name, number);
}

/* NULL: not known. */
static const struct view_gpu_use *row_labels_use_of(const struct labels *labels, int64_t gpu)
{
    for (size_t i = 0; i < labels->view->gpu_use_count; i++)
        if (labels->view->gpu_uses[i].gpu == gpu)
            return &labels->view->gpu_uses[i];
    return NULL;
}

static double percent_of(const struct view_gpu_use *use)
{
    return use->whole_ns > 0 ? 100 * (double)use->busy_ns / (double)use->whole_ns : 0;
}

static void row_labels_add_gpu(struct labels *labels, int64_t gpu)
{
    const struct view_gpu_use *use = row_labels_use_of(labels, gpu);

    text_addf(&labels->text, "GPU %lld", (long long)gpu);
    if (use)
        text_addf(&labels->text, " · %.0f %% busy", percent_of(use));
}

/* "NVIDIA H200 · 79.3 % busy: 24.0 ms of 30.2 ms, the steps without their warm-up" */
static void add_gpu_detail(struct labels *labels, int64_t gpu)
{
    const struct view_gpu_use *use = row_labels_use_of(labels, gpu);
    size_t length;
    const char *name = gpu_name(labels->view->report, gpu, &length);

    text_add_bytes(&labels->text, name, length);
    if (!use)
        return;
    text_addf(&labels->text, "%s%.1f %% busy: ", length ? " · " : "", percent_of(use));
    human_time(&labels->text, use->busy_ns);
    text_add(&labels->text, " of ");
    human_time(&labels->text, use->whole_ns);
    text_addf(&labels->text, ", %s", labels->view->gpu_use_span);
}

/* A domain of the program's own, or of a library whose calls were recorded as ranges. */
static void row_labels_add_domain(struct labels *labels, struct view_row *row)
{
    static const char *const of_libraries[] = { "cuBLAS", "cuDNN", "cuSOLVER", "cuSPARSE", "NCCL" };
    int64_t id = row->key[KEY_B], name = nvtx_domain_name(&labels->domains, row->process, id);
    size_t length = 0;
    const char *bytes = name == NVTX_NO_NAME ? "" : report_string(labels->view->report, name, &length);

    for (size_t i = 0; i < COUNT_OF(of_libraries); i++)
        if (strcmp(bytes, of_libraries[i]) == 0)
            row->type = ROW_LIBRARY;
    if (row->type == ROW_LIBRARY)
        text_add(&labels->text, bytes);
    else if (length) {
        text_add(&labels->text, "NVTX ");
        text_add_bytes(&labels->text, bytes, length);
    } else
        text_add(&labels->text, "NVTX");
}

static void add_source_label(struct labels *labels, const struct view_row *row)
{
    size_t length;
    const char *bytes = view_name(labels->view, (uint32_t)row->key[KEY_E], &length);

    text_add_bytes(&labels->text, bytes, length);
    if (!length)
        text_add(&labels->text, "Other");
    if (row->type == ROW_GPU_MEMORY && row->key[KEY_D] && memory_kind_name(row->key[KEY_D]))
        text_addf(&labels->text, ", %s", memory_kind_name(row->key[KEY_D]));
    if (row->type == ROW_GPU_MEMORY && row->process >= 0)
        text_addf(&labels->text, ", process %lld", (long long)global_pid_number(row->process));
    if (row->type == ROW_COUNTER && row->key[KEY_D])
        text_addf(&labels->text, " %lld", (long long)row->key[KEY_D]);
    if (row->type == ROW_GPU_OTHER && row->key[KEY_C])
        text_addf(&labels->text, ", SM %lld", (long long)row->key[KEY_C]);
}

static void row_labels_add_host(struct labels *labels, int number)
{
    const struct row_host *host = &labels->view->ranks.hosts[number];
    const char *name = host->name ? report_string(labels->view->report, host->name, NULL) : "";

    text_add(&labels->text, *name ? name : "Unknown host");
    if (host->rank_count)
        text_addf(&labels->text, " · %zu rank%s", host->rank_count, host->rank_count == 1 ? "" : "s");
}

/* How far times of a host may be off, and from what that is known. */
static void row_labels_add_clock(struct labels *labels, int number)
{
    const struct row_host *host = &labels->view->ranks.hosts[number];

    if (!host->has_clock)
        return;
    text_add(&labels->text, "clock ");
    if (host->clock_error_ns < 0)
        text_add(&labels->text, "error unknown");
    else {
        text_add(&labels->text, "±");
        human_time(&labels->text, host->clock_error_ns);
    }
    text_addf(&labels->text, " (%s%s)", report_string(labels->view->report, host->clock_method, NULL),
              host->is_mixed ? " and others" : "");
}

/* The process of a rank that has the row with the most events. */
static void add_main_process(struct labels *labels, const struct view_row *rank)
{
    const struct view *view = labels->view;
    size_t first = (size_t)(rank - view->rows);
    const struct view_row *most = NULL;

    for (size_t i = first + 1; i < view->row_count && view->rows[i].parent >= (int)first; i++)
        if (view->rows[i].process >= 0 && (!most || view->rows[i].events.count > most->events.count))
            most = &view->rows[i];
    if (most)
        row_labels_add_process(labels, most->process);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

static void row_labels_add_label(struct labels *labels, struct view_row *row)
{
    struct text *text = &labels->text;

    switch (row->type) {
    case ROW_STEPS:
        text_add(text, "Steps");
        if (labels->step_rows > 1 && row->rank < 0)
            text_addf(text, " of process %lld", (long long)global_pid_number(row->process));
        break;
    case ROW_HOST: row_labels_add_host(labels, row->host); break;
    case ROW_RANK: text_addf(text, "rank %lld", (long long)row->rank); break;
    case ROW_GPU: row_labels_add_gpu(labels, row->device); break;
    case ROW_CONTEXT: text_addf(text, "Context %lld", (long long)row->context); break;
    case ROW_STREAM: text_addf(text, "Stream %lld", (long long)row->stream); break;
    case ROW_GPU_NVTX: text_addf(text, "NVTX on stream %lld", (long long)row->stream); break;
    case ROW_GPU_TORCH: text_addf(text, "Annotations, stream %lld", (long long)row->key[KEY_D]); break;
    case ROW_PROCESS: row_labels_add_process(labels, row->process); break;
    case ROW_THREAD: row_labels_add_thread(labels, row->thread); break;
    case ROW_NVTX: row_labels_add_domain(labels, row); break;
    case ROW_CPUS: text_add(text, "CPU cores"); break;
    case ROW_CPU_THREADS: text_addf(text, "CPU %lld", (long long)row->cpu); break;
    default:
        if (row_types[row->type].label)
            text_add(text, row_types[row->type].label);
        else
            add_source_label(labels, row);
    }
    if (row->spill)
        text_addf(text, " (lanes from %d)", row->spill * VIEW_MOST_LANES);
}

static void row_labels_add_detail(struct labels *labels, const struct view_row *row)
{
    if (row->type == ROW_PROCESS) {
        int64_t name = process_name_find(&labels->processes, row->process);
        text_add(&labels->text, name < 0 ? "" : report_string(labels->view->report, name, NULL));
    } else if (row->type == ROW_CONTEXT)
        row_labels_add_process(labels, row->process);
    else if (row->type == ROW_RANK)
        add_main_process(labels, row);
    else if (row->type == ROW_HOST)
        row_labels_add_clock(labels, row->host);
    else if (row->type == ROW_GPU)
        add_gpu_detail(labels, row->device);
}

static const char *row_labels_keep(struct labels *labels)
{
    const char *kept = arena_copy(&labels->view->arena, text_string(&labels->text), labels->text.length);

    text_clear(&labels->text);
    return kept ?: "";
}

/* Metrics have their unit in their name: "Clock [MHz]", "Active [Throughput %]". A clock in "MHz" whose values exceed a
 * million is really in Hz. */
static const char *unit_of_name(struct labels *labels, const struct view_row *row)
{
    enum { LONGEST_UNIT = 16 };
    const char *name = text_string(&labels->text), *bracket = strrchr(name, '['), *word = strrchr(name, ' ');
    size_t length = labels->text.length;
    char unit[LONGEST_UNIT];

    if (row->kind != KIND_COUNTER || !bracket || bracket == name || bracket[-1] != ' ' || !length ||
        name[length - 1] != ']')
        return "";
    word = word && word > bracket ? word + 1 : bracket + 1;
    size_t size = (size_t)(name + length - 1 - word);
    if (size >= sizeof unit)
        return "";
    memcpy(unit, word, size);
    unit[size] = 0;
    text_cut(&labels->text, (size_t)(bracket - 1 - name));
    const char *told = strcmp(unit, "MHz") == 0 && row->points.max >= 1e6 ? "Hz" : unit,
               *kept = arena_copy(&labels->view->arena, told, strlen(told));
    return kept ?: "";
}

/* ---- groups that are unfolded at first ------------------------------------------------------------------------- */

enum { OPEN_THREADS = 4 };    /* in a process: those of the greatest weight */
enum { OPEN_OF_RANK = 1 };    /* the same in a process of a job */
enum { MOST_OPEN_RANKS = 8 }; /* in jobs of more ranks, each is folded to its summary */

/* The weight of a thread: its events, of which ranges and calls count most. OS calls, samples and states, which nearly
 * every thread has, count least. */
static uint64_t weight_below(const struct view *view, size_t group)
{
    uint64_t weight = 0;

    for (size_t i = group + 1; i < view->row_count && view->rows[i].parent == (int)group; i++) {
        enum row_type type = view->rows[i].type;
        int is_telling = type == ROW_NVTX || type == ROW_TORCH || type == ROW_CUDA_API || type == ROW_PYTHON ||
                         type == ROW_LIBRARY;
        weight += view->rows[i].events.count * (is_telling ? UINT64_C(1000) : 1);
    }
    return weight;
}

static void open_threads(struct view *view, size_t process)
{
    size_t best[OPEN_THREADS];
    uint64_t weights[OPEN_THREADS];
    size_t count = 0;

    for (size_t i = process + 1; i < view->row_count && view->rows[i].parent >= (int)process; i++) {
        if (view->rows[i].type != ROW_THREAD || view->rows[i].parent != (int)process)
            continue;
        uint64_t weight = weight_below(view, i);
        size_t at = count < OPEN_THREADS ? count++ : OPEN_THREADS;
        while (at > 0 && weights[at - 1] < weight) {
            if (at < OPEN_THREADS) {
                weights[at] = weights[at - 1];
                best[at] = best[at - 1];
            }
            at--;
        }
        if (at < OPEN_THREADS) {
            weights[at] = weight;
            best[at] = i;
        }
    }
    if (view->rows[process].rank >= 0 && count > OPEN_OF_RANK)
        count = OPEN_OF_RANK;
    for (size_t i = 0; i < count; i++)
        view->rows[best[i]].is_open = 1;
}

static void choose_open(struct view *view)
{
    for (size_t i = 0; i < view->row_count; i++) {
        struct view_row *row = &view->rows[i];
        row->is_open = row->is_open || (row->kind == KIND_GROUP && row->type != ROW_THREAD && row->type != ROW_CPUS);
        if (row->type == ROW_RANK)
            row->is_open = view->ranks.rank_count <= MOST_OPEN_RANKS && !view->is_map;
        if (row->type == ROW_PROCESS)
            open_threads(view, i);
    }
}

int labels_make(struct view *view, struct error *err)
{
    struct labels labels = { .view = view };
    int code;

    if ((code = thread_names_read(&labels.threads, view->report, err)) != 0 ||
        (code = process_names_read(&labels.processes, view->report, err)) != 0 ||
        (code = nvtx_domains_read(&labels.domains, view->report, err)) != 0)
        goto done;
    for (size_t i = 0; i < view->row_count; i++)
        labels.step_rows += view->rows[i].type == ROW_STEPS;
    for (size_t i = 0; i < view->row_count; i++) {
        struct view_row *row = &view->rows[i];
        row_labels_add_label(&labels, row);
        row->unit = row->points.unit && *row->points.unit ? row->points.unit : unit_of_name(&labels, row);
        row->label = row_labels_keep(&labels);
        row_labels_add_detail(&labels, row);
        row->detail = row_labels_keep(&labels);
    }
    choose_open(view);
done:
    thread_names_free(&labels.threads);
    process_names_free(&labels.processes);
    nvtx_domains_free(&labels.domains);
    text_free(&labels.text);
    return code;
}
