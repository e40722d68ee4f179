/* One sweep over all stretches in order of their start: a stretch adds to a layer of a step only its part after the end
 * that the layer has reached. */
#include "step_times.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/keys.h"
#include "analyze/engine/order.h"
#include "analyze/engine/row_cursor.h"
#include "analyze/model/gpu.h"
#include "analyze/model/names/communication.h"
#include "analyze/model/names/operator_text.h"
#include "analyze/model/ranges.h"
#include "base/array.h"
#include "operators.h"

enum step_times_kind {
    KIND_KERNEL,
    KIND_COPY,
    KIND_COMMUNICATION,
    KIND_OPERATOR,
    KIND_LOADING,
    KIND_OPTIMIZER,
    KIND_CPU_COMMUNICATION,
    KINDS,
    NO_KIND = KINDS
};

#define BIT(layer) (1u << (layer))
/* The layers that a stretch belongs to: in the step that launched it, and in the steps in whose time it lies. */
static const struct {
    unsigned launched, timed;
} layers_of[KINDS] = {
    [KIND_KERNEL] = { BIT(LAYER_BUSY) | BIT(LAYER_KERNEL) | BIT(LAYER_COMPUTING),
                      BIT(LAYER_WORK) | BIT(LAYER_WORK_OR_CPU) },
    [KIND_COPY] = { BIT(LAYER_BUSY) | BIT(LAYER_COPY), BIT(LAYER_WORK) | BIT(LAYER_WORK_OR_CPU) },
    [KIND_COMMUNICATION] = { BIT(LAYER_BUSY) | BIT(LAYER_COMMUNICATION) | BIT(LAYER_COMPUTING),
                             BIT(LAYER_WORK) | BIT(LAYER_WORK_OR_CPU) },
    [KIND_OPERATOR] = { 0, BIT(LAYER_WORK_OR_CPU) },
    [KIND_LOADING] = { 0, BIT(LAYER_LOADING) },
    [KIND_OPTIMIZER] = { 0, BIT(LAYER_OPTIMIZER) },
    [KIND_CPU_COMMUNICATION] = { 0, BIT(LAYER_CPU_COMMUNICATION) },
};

struct step_times_stretch {
    int64_t start_ns, end_ns;
    uint32_t process; /* in the list of the steps' processes */
    uint32_t step;    /* the step that launched it, or NO_STEP */
    unsigned char kind;
};

struct step_times_sweep {
    struct step_breakdown *out;
    const struct steps *steps;
    struct report *report;
    const struct filter *filter;
    struct step_times_stretch *list; /* owned */
    size_t count, capacity;
    int has_torch;        /* operators were recorded as such; NVTX ranges of the same operators do not count */
    struct keys names;    /* string ids met so far */
    unsigned char *kinds; /* owned; by name */
    size_t kind_room;
};

/* Work on the CPU counts only in the process that has the steps: work of child processes is no part of them. */
static int step_times_add(struct step_times_sweep *sweep, enum step_times_kind kind, int64_t process, int64_t start_ns,
                          int64_t end_ns, int64_t launched_ns)
{
    const struct step_process *own = steps_of(sweep->steps, process);

    if (!own || end_ns < start_ns || (!layers_of[kind].launched && sweep->steps->list[own->first].process != process))
        return 0;
    if (sweep->count == UINT32_MAX ||
        array_reserve(&sweep->list, &sweep->capacity, sweep->count + 1, sizeof *sweep->list) != 0)
        return ERR_NO_MEMORY;
    sweep->list[sweep->count++] = (struct step_times_stretch){
        start_ns, end_ns, (uint32_t)(own - sweep->steps->processes),
        layers_of[kind].launched ? steps_at(sweep->steps, process, launched_ns) : NO_STEP, (unsigned char)kind
    };
    return 0;
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

enum name_of { NAME_OF_KERNEL, NAME_OF_ANNOTATION, NAME_OF_RANGE, NAME_OF_PYTHON };

static enum step_times_kind kind_of_annotation(const char *name)
{
    static const struct {
        const char *begin;
        enum step_times_kind kind;
    } words[] = { { "enumerate(DataLoader)", KIND_LOADING }, { "Optimizer.", KIND_OPTIMIZER } };

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (text_begins_with(name, words[i].begin))
            return words[i].kind;
    return communication_is_mark(name) ? KIND_CPU_COMMUNICATION : NO_KIND;
}

static enum step_times_kind kind_of_name(const char *name, size_t length, enum name_of of)
{
    static const char loader[] = "torch/utils/data/dataloader.py(", next[] = ": __next__";
    enum step_times_kind kind = kind_of_annotation(name);

    switch (of) {
    case NAME_OF_KERNEL: return communication_of_kernel(name) ? KIND_COMMUNICATION : KIND_KERNEL;
    case NAME_OF_ANNOTATION: return kind;
    case NAME_OF_RANGE: return kind == NO_KIND && operator_text(name, length).is_operator ? KIND_OPERATOR : kind;
    case NAME_OF_PYTHON:
        return strstr(name, loader) && length > sizeof next && strcmp(name + length - (sizeof next - 1), next) == 0
                   ? KIND_LOADING
                   : NO_KIND;
    }
    return NO_KIND;
}

/* Determined once for each name; -1 when memory is short. */
static int step_times_kind_of(struct step_times_sweep *sweep, int64_t name, enum name_of of)
{
    size_t before = sweep->names.count, length;
    uint32_t key = keys_add(&sweep->names, (int64_t[]){ name, of });

    if (key == NO_KEY)
        return -1;
    if (key < before)
        return sweep->kinds[key];
    if (array_reserve(&sweep->kinds, &sweep->kind_room, key + 1u, sizeof *sweep->kinds) != 0)
        return -1;
    const char *bytes = report_string(sweep->report, name, &length);
    return sweep->kinds[key] = (unsigned char)kind_of_name(bytes, length, of);
}

/* ---- work on GPUs ---------------------------------------------------------------------------------------------- */

static int step_times_add_work(struct step_times_sweep *sweep, const struct gpu_ops *ops, const struct calls *calls,
                               int is_copy, int has_names)
{
    for (size_t row = 0; row < ops->count; row++) {
        if (!gpu_counts(ops, row, sweep->filter))
            continue;
        int kind = is_copy     ? KIND_COPY
                   : has_names ? step_times_kind_of(sweep, gpu_extra(ops, 0, row), NAME_OF_KERNEL)
                               : KIND_KERNEL;
        uint32_t call = calls_find(calls, ops->process[row], ops->correlation[row]);
        int64_t launched = call == NO_CALL ? ops->start[row] : calls->start[call];
        if (kind < 0 || step_times_add(sweep, (enum step_times_kind)kind, global_process(ops->process[row]),
                                       ops->start[row], ops->end[row], launched) != 0)
            return ERR_NO_MEMORY;
        sweep->out->has_work = 1;
        sweep->out->has_communication |= kind == KIND_COMMUNICATION;
    }
    return 0;
}

struct step_times_work_table {
    const char *name;
    int is_copy;
    const char *const *extra;
};

static int read_work_table(struct step_times_sweep *sweep, const struct step_times_work_table *table,
                           const struct calls *calls, struct error *err)
{
    struct gpu_ops ops;
    int code;

    if ((code = gpu_read_table(&ops, sweep->report, table->name, table->extra, err)) != 0)
        return code;
    if (step_times_add_work(sweep, &ops, calls, table->is_copy, table->extra != NULL) != 0)
        code = error_short_memory(err, "for the GPU work");
    gpu_free(&ops);
    return code;
}

static int step_times_read_work(struct step_times_sweep *sweep, struct error *err)
{
    static const char *const names[] = { "demangledName", NULL };
    static const struct step_times_work_table tables[] = {
        { "CUPTI_ACTIVITY_KIND_KERNEL", 0, names },
        { "CUPTI_ACTIVITY_KIND_MEMCPY", 1, NULL },
        { "CUPTI_ACTIVITY_KIND_MEMSET", 1, NULL },
        { "CUPTI_ACTIVITY_KIND_GRAPH_TRACE", 0, NULL },
    };
    struct calls calls;
    int code;

    if ((code = calls_read(&calls, sweep->report, err)) != 0)
        return code;
    for (size_t i = 0; i < COUNT_OF(tables); i++)
        if ((code = read_work_table(sweep, &tables[i], &calls, err)) != 0)
            goto free_calls;
free_calls:
    calls_free(&calls);
    return code;
}

/* ---- work on the CPU ------------------------------------------------------------------------------------------- */

/* The step itself looks like an operator in the ranges of emit_nvtx. */
static int step_times_is_step(const struct step_times_sweep *sweep, int64_t thread, int64_t start_ns, int64_t end_ns)
{
    uint32_t step = steps_at(sweep->steps, global_process(thread), start_ns);

    return step != NO_STEP && sweep->steps->list[step].start_ns == start_ns &&
           sweep->steps->list[step].end_ns == end_ns;
}

static int step_times_add_named(struct step_times_sweep *sweep, int64_t thread, int64_t start_ns, int64_t end_ns,
                                int64_t name, enum name_of of)
{
    int kind = step_times_kind_of(sweep, name, of);

    if (kind < 0)
        return ERR_NO_MEMORY;
    if (kind == KIND_OPERATOR && (sweep->has_torch || step_times_is_step(sweep, thread, start_ns, end_ns)))
        return 0;
    sweep->out->has_operators |= kind == KIND_OPERATOR;
    return kind == NO_KIND
               ? 0
               : step_times_add(sweep, (enum step_times_kind)kind, global_process(thread), start_ns, end_ns, start_ns);
}

enum { START, END, THREAD, NAME, CATEGORY };
static const char *const step_times_op_columns[] = {
    [START] = "start", [END] = "end", [THREAD] = "globalTid", [NAME] = "nameId", [CATEGORY] = "category", NULL
};
static const char *const step_times_python_columns[] = {
    [START] = "start", [END] = "end", [THREAD] = "globalTid", [NAME] = "nameId", NULL
};

static int step_times_counts(const struct step_times_sweep *sweep, const struct row_cursor *rows)
{
    return !row_is_null(rows, THREAD) && !row_is_null(rows, END) &&
           filter_thread(sweep->filter, row_int(rows, THREAD), row_int(rows, START), row_int(rows, END));
}

static int step_times_add_row(struct step_times_sweep *sweep, const struct row_cursor *rows, enum name_of of)
{
    return step_times_add_named(sweep, row_int(rows, THREAD), row_int(rows, START), row_int(rows, END),
                                row_int(rows, NAME), of);
}

/* An operator or an annotation. */
static int step_times_add_op(struct step_times_sweep *sweep, const struct row_cursor *rows)
{
    const char *category = report_string(sweep->report, row_int(rows, CATEGORY), NULL);

    if (strcmp(category, "user_annotation") == 0)
        return step_times_add_row(sweep, rows, NAME_OF_ANNOTATION);
    if (strcmp(category, "cpu_op") != 0)
        return 0;
    sweep->out->has_operators = 1;
    return step_times_add(sweep, KIND_OPERATOR, global_process(row_int(rows, THREAD)), row_int(rows, START),
                          row_int(rows, END), row_int(rows, START));
}

static int step_times_add_function(struct step_times_sweep *sweep, const struct row_cursor *rows)
{
    return step_times_add_row(sweep, rows, NAME_OF_PYTHON);
}

static int step_times_read_events(struct step_times_sweep *sweep, const char *table, const char *const *columns,
                                  int (*add_event)(struct step_times_sweep *sweep, const struct row_cursor *rows),
                                  struct error *err)
{
    struct row_cursor rows;
    int code;

    if ((code = row_cursor_open(&rows, sweep->report, table, columns, err)) != 0)
        return code;
    while (row_cursor_next(&rows))
        if (step_times_counts(sweep, &rows) && add_event(sweep, &rows) != 0 &&
            (code = error_short_memory(err, "for the operators")) != 0)
            goto close_rows;
close_rows:
    row_cursor_close(&rows);
    return code;
}

static int step_times_read_ranges(struct step_times_sweep *sweep, struct error *err)
{
    struct ranges ranges;
    int code;

    if ((code = ranges_read(&ranges, sweep->report, RANGE_PUSHPOP, sweep->filter, err)) != 0)
        return code;
    for (size_t i = 0; i < ranges.count; i++) {
        const struct range *range = &ranges.list[i];
        if (range->name != NVTX_NO_NAME &&
            step_times_add_named(sweep, range->thread, range->start_ns, range->end_ns, range->name, NAME_OF_RANGE) !=
                0 &&
            (code = error_short_memory(err, "for the ranges")) != 0)
            goto free_ranges;
    }
free_ranges:
    ranges_free(&ranges);
    return code;
}

/* ---- the sweep ------------------------------------------------------------------------------------------------- */

static void step_times_cover(struct step_times *times, struct step_times *reached, unsigned layers, int64_t start_ns,
                             int64_t end_ns)
{
    for (int layer = 0; layer < STEP_LAYERS; layer++) {
        int64_t *end = &reached->ns[layer], from = start_ns > *end ? start_ns : *end;
        if (!(layers & BIT(layer)) || end_ns <= from)
            continue;
        times->ns[layer] = saturating_add(times->ns[layer], saturating_duration(from, end_ns));
        *end = end_ns;
    }
}

static void sweep_one(const struct step_times_sweep *sweep, struct step_times *reached,
                      const struct step_times_stretch *stretch)
{
    const struct step_process *own = &sweep->steps->processes[stretch->process];
    struct step_times *list = sweep->out->list;

    if (stretch->step != NO_STEP) {
        step_times_cover(&list[stretch->step], &reached[stretch->step], layers_of[stretch->kind].launched,
                         stretch->start_ns, stretch->end_ns);
        list[stretch->step].kernels += stretch->kind != KIND_COPY;
    }
    for (size_t at = steps_from(sweep->steps, own, stretch->start_ns); at < own->first + own->count; at++) {
        const struct step *step = &sweep->steps->list[at];
        if (step->start_ns >= stretch->end_ns)
            break;
        step_times_cover(&list[at], &reached[at], layers_of[stretch->kind].timed,
                         stretch->start_ns > step->start_ns ? stretch->start_ns : step->start_ns,
                         stretch->end_ns < step->end_ns ? stretch->end_ns : step->end_ns);
    }
}

static int step_times_sweep_all(struct step_times_sweep *sweep)
{
    uint32_t *order = malloc((sweep->count + 1) * sizeof *order);
    int64_t *starts = malloc((sweep->count + 1) * sizeof *starts);
    struct step_times *reached = calloc(sweep->steps->count + 1, sizeof *reached);
    int code = ERR_NO_MEMORY;

    if (!order || !starts || !reached)
        goto done;
    for (size_t i = 0; i < sweep->count; i++) {
        order[i] = (uint32_t)i;
        starts[i] = sweep->list[i].start_ns;
    }
    for (size_t i = 0; i < sweep->steps->count; i++)
        for (int layer = 0; layer < STEP_LAYERS; layer++)
            reached[i].ns[layer] = INT64_MIN;
    if ((code = order_by_time(order, sweep->count, starts)) != 0)
        goto done;
    for (size_t i = 0; i < sweep->count; i++)
        sweep_one(sweep, reached, &sweep->list[order[i]]);
done:
    free(order);
    free(starts);
    free(reached);
    return code;
}

static int step_times_read_all(struct step_times_sweep *sweep, struct error *err)
{
    struct step_breakdown *out = sweep->out;
    int code;

    out->list = calloc(sweep->steps->count + 1, sizeof *out->list);
    if (!out->list)
        return error_short_memory(err, "for the steps");
    if ((code = step_times_read_work(sweep, err)) != 0 ||
        (code = step_times_read_events(sweep, "TACHO_TORCH_OP", step_times_op_columns, step_times_add_op, err)) != 0 ||
        (code = step_times_read_events(sweep, "TACHO_TORCH_PYTHON", step_times_python_columns, step_times_add_function,
                                       err)) != 0)
        return code;
    sweep->has_torch = out->has_operators;
    if ((code = step_times_read_ranges(sweep, err)) != 0)
        return code;
    return step_times_sweep_all(sweep) != 0 ? error_short_memory(err, "for the steps") : 0;
}

int step_breakdown_read(struct step_breakdown *out, const struct steps *steps, struct report *report,
                        const struct filter *filter, struct error *err)
{
    struct step_times_sweep sweep = {
        .out = out, .steps = steps, .report = report, .filter = filter, .names.width = 2
    };

    *out = (struct step_breakdown){ 0 };
    int code = step_times_read_all(&sweep, err);
    free(sweep.list);
    free(sweep.kinds);
    keys_free(&sweep.names);
    if (code != 0)
        step_breakdown_free(out);
    return code;
}

void step_breakdown_free(struct step_breakdown *breakdown)
{
    free(breakdown->list);
    *breakdown = (struct step_breakdown){ 0 };
}
