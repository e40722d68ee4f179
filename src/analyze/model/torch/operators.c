/* Code that both readers of operators share, and the tree that torch makes of operators. */
#include "operators.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/keys.h"
#include "analyze/engine/order.h"
#include "analyze/model/gpu.h"
#include "base/array.h"
#include "base/text.h"
#include "report/schema/torch_names.h"

struct operators_event *operators_add(struct operators *operators)
{
    if (operators->count == NO_OPERATOR ||
        array_reserve(&operators->list, &operators->capacity, operators->count + 1, sizeof *operators->list) != 0)
        return NULL;
    struct operators_event *op = &operators->list[operators->count++];
    *op = (struct operators_event){ .sequence = -1,
                                    .name = NO_TEXT,
                                    .shapes = NO_TEXT,
                                    .types = NO_TEXT,
                                    .strides = NO_TEXT,
                                    .values = NO_TEXT,
                                    .stack = NO_TEXT,
                                    .parent = NO_OPERATOR,
                                    .launcher = NO_OPERATOR };
    return op;
}

uint32_t operators_intern(struct operators *operators, const char *bytes, size_t length)
{
    int64_t id = intern_add(&operators->texts, bytes, length);

    return id < 0 || id >= NO_TEXT ? NO_TEXT : (uint32_t)id;
}

int operators_name(struct operators *operators, const char *bytes, size_t length, uint32_t *out)
{
    static const char *const hidden[] = {
        "[memory]",
        "[OutOfMemory]",
        "profiler::_record_function_enter",
        "profiler::_record_function_enter_new",
        "profiler::_record_function_exit",
        "aten::is_leaf",
        "aten::output_nr",
        "aten::_version",
    };

    for (size_t i = 0; i < COUNT_OF(hidden); i++)
        if (length == strlen(hidden[i]) && memcmp(bytes, hidden[i], length) == 0)
            return 0;
    if (length >= TORCH_STEP_LENGTH && memcmp(bytes, TORCH_STEP, TORCH_STEP_LENGTH) == 0)
        *out = operators_intern(operators, "ProfilerStep*", strlen("ProfilerStep*"));
    else
        *out = operators_intern(operators, bytes, length);
    return 1;
}

void operators_copy_name(struct text *out, int64_t copy_kind, int64_t from_kind, int64_t to_kind)
{
    /* The last three are Tacho's: torch does not see the copies of unified memory. */
    static const char *const copies[] = {
        NULL,   "HtoD", "DtoH", "HtoA", "AtoH",         "AtoA",         "AtoD",
        "DtoA", "DtoD", "HtoH", "PtoP", "Unified HtoD", "Unified DtoH", "Unified DtoD"
    };
    const char *copy = copy_kind > 0 && copy_kind < (int64_t)(COUNT_OF(copies)) ? copies[copy_kind] : "<unknown>";
    const char *from = memory_kind_name(from_kind), *to = memory_kind_name(to_kind);

    text_clear(out);
    text_addf(out, "Memcpy %s (%s -> %s)", copy, from ? from : "Unknown", to ? to : "Unknown");
}

void operators_fill_name(struct text *out, int64_t memory_kind)
{
    const char *kind = memory_kind_name(memory_kind);

    text_clear(out);
    text_addf(out, "Memset (%s)", kind ? kind : "Unknown");
}

/* Explains why there are no operators: the request excludes them, or none were recorded. */
static int fail_empty(int is_of_torch, struct error *err)
{
    if (is_of_torch)
        return error_set(err, ERR_NO_DATA, "the selected part of the report has no PyTorch operators");
    return error_set(err, ERR_NO_DATA,
                     "the report has no PyTorch operators: record them with tacho profile --pytorch=auto, or use a "
                     "trace of torch.profiler, or NVTX ranges of torch.autograd.profiler.emit_nvtx");
}

static int read_filtered(struct operators *operators, struct report *report, const struct filter *filter,
                         int with_python, struct error *err)
{
    int is_of_torch = report_rows(report, "TACHO_TORCH_OP") > 0;
    int code = is_of_torch ? operators_read_torch(operators, report, filter, with_python, err)
                           : operators_read_nvtx(operators, report, filter, err);

    if (code != 0)
        return code;
    return operators->count ? 0 : fail_empty(is_of_torch, err);
}

static int operators_read_with(struct operators *operators, struct report *report,
                               const struct analysis_request *request, int with_python, struct error *err)
{
    struct filter filter;
    int code;

    *operators = (struct operators){ 0 };
    if ((code = filter_open(&filter, report, request, err)) != 0)
        goto close_filter;
    if ((code = read_filtered(operators, report, &filter, with_python, err)) != 0)
        operators_free(operators);
close_filter:
    filter_close(&filter);
    return code;
}

int operators_read(struct operators *operators, struct report *report, const struct analysis_request *request,
                   struct error *err)
{
    return operators_read_with(operators, report, request, 0, err);
}

int operators_read_listed(struct operators *operators, struct report *report, const struct analysis_request *request,
                          struct error *err)
{
    return operators_read_with(operators, report, request, 1, err);
}

void operators_free(struct operators *operators)
{
    free(operators->list);
    intern_free(&operators->texts);
    *operators = (struct operators){ 0 };
}

/* ---- the tree -------------------------------------------------------------------------------------------------- */

static int operators_compare_ends(const void *a, const void *b, void *context)
{
    const struct operators_event *list = context;
    uint32_t x = *(const uint32_t *)a, y = *(const uint32_t *)b;

    return COMPARE(list[y].end_ns, list[x].end_ns) ?: COMPARE(x, y);
}

/* Moves the events into this order, along its circles: of millions, a second list would take a gigabyte. places is
 * scratch space for count numbers. */
static void operators_arrange(struct operators_event *list, size_t count, const uint32_t *order, uint32_t *places)
{
    for (size_t i = 0; i < count; i++)
        places[order[i]] = (uint32_t)i;
    for (size_t i = 0; i < count; i++)
        if (list[i].launcher != NO_OPERATOR)
            list[i].launcher = places[list[i].launcher];
    for (size_t i = 0; i < count; i++)
        while (places[i] != i) {
            uint32_t place = places[i];
            struct operators_event other = list[place];
            list[place] = list[i];
            list[i] = other;
            places[i] = places[place];
            places[place] = place;
        }
}

/* By start, the longer first, then in the order in which they were added. */
static int operators_sort(struct operators *operators)
{
    size_t count = operators->count;
    uint32_t *order = malloc((count + 1) * sizeof *order);
    int64_t *starts = calloc(count + 1, sizeof *starts);
    int code = ERR_NO_MEMORY;

    if (!order || !starts)
        goto done;
    for (size_t i = 0; i < count; i++) {
        order[i] = (uint32_t)i;
        starts[i] = operators->list[i].start_ns;
    }
    if ((code = order_by_time(order, count, starts)) != 0)
        goto done;
    for (size_t first = 0, i = 1; i <= count; i++) {
        if (i < count && starts[order[i]] == starts[order[first]])
            continue;
        if (i - first > 1)
            qsort_r(order + first, i - first, sizeof *order, operators_compare_ends, operators->list);
        first = i;
    }
    operators_arrange(operators->list, count, order, (uint32_t *)(void *)starts);
done:
    free(order);
    free(starts);
    return code;
}

/* The innermost event of each thread at the current time of a sweep. */
struct tops {
    struct keys threads;
    uint32_t *list; /* owned; by key */
    size_t room;
};

/* The thread's entry; NULL when memory is short. */
static uint32_t *top_of(struct tops *tops, int64_t thread)
{
    uint32_t key = keys_add(&tops->threads, &thread);

    size_t had = tops->room;
    if (key == NO_KEY || array_reserve(&tops->list, &tops->room, key + 1u, sizeof *tops->list) != 0)
        return NULL;
    for (size_t i = had; i < tops->room; i++)
        tops->list[i] = NO_OPERATOR;
    return &tops->list[key];
}

static void tops_free(struct tops *tops)
{
    keys_free(&tops->threads);
    free(tops->list);
}

/* The parent is also the link of the stack: an event that leaves the stack cannot contain a later one. */
static int find_parents(struct operators *operators)
{
    struct tops tops = { .threads.width = 1 };
    int code = 0;

    for (size_t i = 0; i < operators->count; i++) {
        struct operators_event *op = &operators->list[i], *list = operators->list;
        if (!operator_is_cpu(op->kind))
            continue;
        uint32_t *place = top_of(&tops, op->thread);
        if (!place) {
            code = ERR_NO_MEMORY;
            goto free_tops;
        }
        uint32_t top = *place;
        while (top != NO_OPERATOR && (op->start_ns >= list[top].end_ns || op->end_ns > list[top].end_ns))
            top = list[top].parent;
        op->parent = top;
        if (top != NO_OPERATOR)
            list[top].children++;
        *place = (uint32_t)i;
    }
free_tops:
    tops_free(&tops);
    return code;
}

/* Advances the tops to the events from *next on that have begun at this time. */
static int operators_advance(struct tops *tops, const struct operators *operators, size_t *next, int64_t time_ns)
{
    const struct operators_event *list = operators->list;

    for (; *next < operators->count && list[*next].start_ns <= time_ns; ++*next) {
        const struct operators_event *op = &list[*next];
        if (op->is_collapsed || op->kind == OPERATOR_MEMORY || op->kind == OPERATOR_CALL || !operator_is_cpu(op->kind))
            continue;
        uint32_t *place = top_of(tops, op->thread);
        if (!place)
            return ERR_NO_MEMORY;
        *place = (uint32_t)*next;
    }
    return 0;
}

static int sweep_moments(const struct operators *operators, const struct operators_moment *moments,
                         const uint32_t *order, size_t count, uint32_t *out)
{
    const struct operators_event *list = operators->list;
    struct tops tops = { .threads.width = 1 };
    size_t next = 0;
    int code = 0;

    for (size_t i = 0; i < count; i++) {
        const struct operators_moment *moment = &moments[order[i]];
        if ((code = operators_advance(&tops, operators, &next, moment->time_ns)) != 0)
            goto free_tops;
        uint32_t *place = top_of(&tops, moment->thread);
        if (!place) {
            code = ERR_NO_MEMORY;
            goto free_tops;
        }
        uint32_t top = *place;
        while (top != NO_OPERATOR && moment->time_ns > list[top].end_ns)
            top = list[top].parent;
        out[order[i]] = top;
    }
free_tops:
    tops_free(&tops);
    return code;
}

int operators_at(const struct operators *operators, const struct operators_moment *moments, size_t count, uint32_t *out)
{
    int64_t *times = calloc(count + 1, sizeof *times);
    uint32_t *order = calloc(count + 1, sizeof *order);
    int code = ERR_NO_MEMORY;

    if (!times || !order)
        goto free_order;
    for (size_t i = 0; i < count; i++) {
        times[i] = moments[i].time_ns;
        order[i] = (uint32_t)i;
    }
    if ((code = order_by_time(order, count, times)) != 0)
        goto free_order;
    code = sweep_moments(operators, moments, order, count, out);
free_order:
    free(times);
    free(order);
    return code;
}

/* Moves the work that a call launched to the operator that made the call. */
static void hand_up_launches(struct operators *operators)
{
    for (size_t i = 0; i < operators->count; i++) {
        struct operators_event *op = &operators->list[i];
        if (op->kind != OPERATOR_CALL || op->kernels_us == 0)
            continue;
        if (op->parent != NO_OPERATOR)
            operators->list[op->parent].kernels_us += op->kernels_us;
        op->kernels_us = 0;
    }
}

/* Parents come before their children, so one pass sees every chain from its top. The kernels of a collapsed operator
 * replace those of its parent, as in torch. */
static void collapse(struct operators *operators)
{
    struct operators_event *list = operators->list;

    for (size_t i = 0; i < operators->count; i++) {
        struct operators_event *op = &list[i];
        if (op->parent == NO_OPERATOR)
            continue;
        if (list[op->parent].is_collapsed)
            op->parent = list[op->parent].parent;
        struct operators_event *parent = &list[op->parent];
        if (parent->children != 1 || parent->name != op->name)
            continue;
        parent->children = op->children;
        parent->kernels_us = op->kernels_us;
        op->is_collapsed = 1;
    }
}

int operators_nest(struct operators *operators)
{
    int code;

    if ((code = operators_sort(operators)) != 0 || (code = find_parents(operators)) != 0)
        return code;
    hand_up_launches(operators);
    collapse(operators);
    return 0;
}
