/* Averages by key, in the order in which torch finds the keys. Times are summed in double and in torch's order, so that
 * the tables agree with torch's to the last digit, rounding included. */
#include "torch_ops.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/event_columns.h"
#include "analyze/engine/keys.h"
#include "analyze/model/torch/torch_stacks.h"
#include "base/array.h"

enum { KEY_NAME, KEY_ON_DEVICE, KEY_ANNOTATION, KEY_SHAPES, KEY_STACK, KEY_WIDTH };

struct key_average {
    double cpu_us, self_cpu_us, device_us, self_device_us;
    int64_t count, bytes[2], self_bytes[2], flops;
    int is_top_level;
};

/* One operator: device time with all descendants, and sums over its children. */
struct operator_figures {
    double device_us, children_cpu_us, children_device_us;
    int64_t children_bytes[2];
    uint32_t first_child, next; /* in order of time */
};

struct key_averages {
    const struct torch_ops_request *request;
    struct operators operators;
    struct operator_figures *figures; /* owned; by operator */
    uint32_t *stacks;                 /* owned; by operator, if stacks are part of the key: the text, or NO_TEXT */
    struct keys keys;
    struct key_average *list;         /* owned; by key */
    size_t capacity;
    struct keys flop_keys;            /* name, shapes and values */
    int64_t *flops;                   /* owned; by flop key */
    size_t flop_capacity;
};

/* ---- stacks ---------------------------------------------------------------------------------------------------- */

/* Interns the first frames of a stack, separated by line feeds. */
static uint32_t first_frames(struct key_averages *averages, uint32_t stack, struct text *text)
{
    struct intern_string all = operators_text(&averages->operators, stack);
    const char *at = all.bytes, *end = at + all.length;

    text_clear(text);
    for (int frames = 0; frames < averages->request->stack_frames; frames++) {
        struct intern_string frame = torch_next_frame(&at, end);
        if (!frame.length)
            break;
        text_add(text, frames ? "\n" : "");
        text_add_bytes(text, frame.bytes, frame.length);
    }
    return text_failed(text) ? NO_TEXT : operators_intern(&averages->operators, text_string(text), text->length);
}

/* Finds the frames that are part of each operator's key. */
static int find_stacks(struct key_averages *averages)
{
    struct operators *operators = &averages->operators;
    struct text text = { 0 };
    uint32_t *owners = malloc((operators->count + 1) * sizeof *owners);
    int code = ERR_NO_MEMORY;

    averages->stacks = malloc((operators->count + 1) * sizeof *averages->stacks);
    if (!averages->stacks || !owners)
        goto done;
    if ((code = torch_stack_owners(operators, owners)) != 0)
        goto done;
    for (size_t i = 0; i < operators->count; i++) {
        uint32_t stack = owners[i] == NO_OPERATOR ? NO_TEXT : operators->list[owners[i]].stack;
        averages->stacks[i] = stack == NO_TEXT ? NO_TEXT : first_frames(averages, stack, &text);
    }
done:
    free(owners);
    text_free(&text);
    return code;
}

/* ---- sums ------------------------------------------------------------------------------------------------------ */

#define ADD(sum, number) ((sum) = saturating_add((sum), (number)))

/* Sums over an operator's children, from the first to the last. */
static void sum_children(struct key_averages *averages, size_t i)
{
    const struct operators *operators = &averages->operators;
    struct operator_figures *own = &averages->figures[i];

    for (uint32_t c = own->first_child; c != NO_OPERATOR; c = averages->figures[c].next) {
        const struct operators_event *child = &operators->list[c];
        own->children_cpu_us += operators_us(operators, child->start_ns, child->end_ns);
        own->children_device_us += averages->figures[c].device_us;
        ADD(own->children_bytes[0], child->bytes[0]);
        ADD(own->children_bytes[1], child->bytes[1]);
    }
}

/* Runs from the last operator to the first, so that children are summed before their parents. */
static int sum_all(struct key_averages *averages)
{
    const struct operators *operators = &averages->operators;

    averages->figures = malloc((operators->count + 1) * sizeof *averages->figures);
    if (!averages->figures)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < operators->count; i++)
        averages->figures[i] = (struct operator_figures){ .first_child = NO_OPERATOR, .next = NO_OPERATOR };
    for (size_t i = operators->count; i-- > 0;) {
        const struct operators_event *op = &operators->list[i];
        struct operator_figures *own = &averages->figures[i];
        if (op->is_collapsed)
            continue;
        sum_children(averages, i);
        own->device_us = operator_is_cpu((enum operator_kind)op->kind)
                             ? op->kernels_us + own->children_device_us
                             : operators_us(operators, op->start_ns, op->end_ns);
        if (op->parent == NO_OPERATOR)
            continue;
        own->next = averages->figures[op->parent].first_child;
        averages->figures[op->parent].first_child = (uint32_t)i;
    }
    return 0;
}

/* FLOPs of an operator with this name and these inputs. Each combination is computed once. */
static int64_t flops_of(struct key_averages *averages, const struct operators_event *op)
{
    size_t before = averages->flop_keys.count;
    uint32_t key = keys_add(&averages->flop_keys, (int64_t[]){ op->name, op->shapes, op->values });

    if (key == NO_KEY)
        return 0;
    if (key < before)
        return averages->flops[key];
    if (array_reserve(&averages->flops, &averages->flop_capacity, (size_t)key + 1, sizeof *averages->flops) != 0)
        return 0;
    return averages->flops[key] = torch_flops(operators_text(&averages->operators, op->name).bytes,
                                              operators_text(&averages->operators, op->shapes),
                                              operators_text(&averages->operators, op->values));
}

static struct key_average *average_of(struct key_averages *averages, const struct operators_event *op, uint32_t stack)
{
    const struct torch_ops_request *request = averages->request;
    int is_annotation = op->kind == OPERATOR_ANNOTATION || op->kind == OPERATOR_GPU_ANNOTATION;
    int64_t parts[KEY_WIDTH] = {
        [KEY_NAME] = op->name,
        [KEY_ON_DEVICE] = !operator_is_cpu((enum operator_kind)op->kind),
        [KEY_ANNOTATION] = is_annotation,
        [KEY_SHAPES] = request->by_shapes ? op->shapes : NO_TEXT,
        [KEY_STACK] = stack,
    };
    size_t before = averages->keys.count;
    uint32_t key = keys_add(&averages->keys, parts);

    if (key == NO_KEY)
        return NULL;
    if (array_reserve(&averages->list, &averages->capacity, (size_t)key + 1, sizeof *averages->list) != 0)
        return NULL;
    if (key == before)
        averages->list[key] = (struct key_average){ .is_top_level = op->parent == NO_OPERATOR };
    return &averages->list[key];
}

static int torch_ops_add_operator(struct key_averages *averages, size_t i)
{
    const struct operators_event *op = &averages->operators.list[i];
    const struct operator_figures *own = &averages->figures[i];
    struct key_average *average = average_of(averages, op, averages->stacks ? averages->stacks[i] : NO_TEXT);
    double cpu_us = operator_is_cpu((enum operator_kind)op->kind)
                        ? operators_us(&averages->operators, op->start_ns, op->end_ns)
                        : 0;

    if (!average)
        return ERR_NO_MEMORY;
    average->count++;
    average->cpu_us += cpu_us;
    average->self_cpu_us += cpu_us - own->children_cpu_us;
    average->device_us += own->device_us;
    average->self_device_us += own->device_us - own->children_device_us;
    for (int d = 0; d < 2; d++) {
        ADD(average->bytes[d], op->bytes[d]);
        ADD(average->self_bytes[d], saturating_duration(own->children_bytes[d], op->bytes[d]));
    }
    if (op->kind == OPERATOR && (averages->request->with_flops || averages->operators.has_flops))
        ADD(average->flops, flops_of(averages, op));
    return 0;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

static const struct table_column torch_ops_columns[TORCH_COLUMNS] = {
    { "key", CELL_TEXT, UNIT_NAME, 0 },
    { "count", CELL_INT, UNIT_NONE, 0 },
    { "cpu_total_us", CELL_REAL, UNIT_NONE, 3 },
    { "self_cpu_us", CELL_REAL, UNIT_NONE, 3 },
    { "device_total_us", CELL_REAL, UNIT_NONE, 3 },
    { "self_device_us", CELL_REAL, UNIT_NONE, 3 },
    { "cpu_mem", CELL_INT, UNIT_NONE, 0 },
    { "self_cpu_mem", CELL_INT, UNIT_NONE, 0 },
    { "device_mem", CELL_INT, UNIT_NONE, 0 },
    { "self_device_mem", CELL_INT, UNIT_NONE, 0 },
    { "flops", CELL_INT, UNIT_NONE, 0 },
    { "input_shapes", CELL_TEXT, UNIT_NONE, 0 },
    { "stack", CELL_TEXT, UNIT_NONE, 0 },
    { "on_device", CELL_INT, UNIT_NONE, 0 },
    { "is_user_annotation", CELL_INT, UNIT_NONE, 0 },
    { "is_top_level", CELL_INT, UNIT_NONE, 0 },
};

static void torch_ops_set_numbers(struct table_cell *row, const struct key_average *average, const int64_t *parts)
{
    const struct {
        int column;
        int64_t value;
    } numbers[] = {
        { TORCH_COUNT, average->count },
        { TORCH_CPU_BYTES, average->bytes[0] },
        { TORCH_SELF_CPU_BYTES, average->self_bytes[0] },
        { TORCH_DEVICE_BYTES, average->bytes[1] },
        { TORCH_SELF_DEVICE_BYTES, average->self_bytes[1] },
        { TORCH_FLOPS, average->flops },
        { TORCH_ON_DEVICE, parts[KEY_ON_DEVICE] },
        { TORCH_IS_ANNOTATION, parts[KEY_ANNOTATION] },
        { TORCH_IS_TOP_LEVEL, average->is_top_level },
    };
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        cell_set_int(&row[numbers[i].column], numbers[i].value);
    cell_set_real(&row[TORCH_CPU_TOTAL], average->cpu_us);
    cell_set_real(&row[TORCH_SELF_CPU], average->self_cpu_us);
    cell_set_real(&row[TORCH_DEVICE_TOTAL], average->device_us);
    cell_set_real(&row[TORCH_SELF_DEVICE], average->self_device_us);
}

static int set_shapes(struct table *table, struct table_cell *cell, const struct operators *operators, int64_t shapes)
{
    return shapes == NO_TEXT ? cell_set_string(table, cell, "[]")
                             : operators_cell(table, cell, operators, (uint32_t)shapes);
}

/* A stack that is not known becomes "", not an empty cell. */
static int torch_ops_set_stack(struct table *table, struct table_cell *cell, const struct operators *operators,
                               int64_t stack)
{
    struct intern_string text = operators_text(operators, (uint32_t)stack);

    return cell_set_text(table, cell, text.bytes, text.length);
}

static int torch_ops_add_row(struct key_averages *averages, struct table *table, uint32_t key)
{
    const struct torch_ops_request *request = averages->request;
    const struct operators *operators = &averages->operators;
    const int64_t *parts = keys_get(&averages->keys, key);
    struct table_cell *row = table_add_row(table);

    if (!row || operators_cell(table, &row[TORCH_KEY], operators, (uint32_t)parts[KEY_NAME]) != 0)
        return ERR_NO_MEMORY;
    torch_ops_set_numbers(row, &averages->list[key], parts);
    if (request->by_shapes && set_shapes(table, &row[TORCH_SHAPES], operators, parts[KEY_SHAPES]) != 0)
        return ERR_NO_MEMORY;
    return request->stack_frames ? torch_ops_set_stack(table, &row[TORCH_STACK], operators, parts[KEY_STACK]) : 0;
}

/* A column to sort by, or its average over the calls; largest first. */
struct sort_order {
    const char *name;
    int column, is_average;
};
static const struct sort_order orders[] = {
    { "none", -1, 0 },
    { "cpu_time", TORCH_CPU_TOTAL, 1 },
    { "device_time", TORCH_DEVICE_TOTAL, 1 },
    { "cpu_time_total", TORCH_CPU_TOTAL, 0 },
    { "device_time_total", TORCH_DEVICE_TOTAL, 0 },
    { "self_cpu_time_total", TORCH_SELF_CPU, 0 },
    { "self_device_time_total", TORCH_SELF_DEVICE, 0 },
    { "cpu_memory_usage", TORCH_CPU_BYTES, 0 },
    { "device_memory_usage", TORCH_DEVICE_BYTES, 0 },
    { "self_cpu_memory_usage", TORCH_SELF_CPU_BYTES, 0 },
    { "self_device_memory_usage", TORCH_SELF_DEVICE_BYTES, 0 },
    { "count", TORCH_COUNT, 0 },
    { "flops", TORCH_FLOPS, 0 },
    { "cuda_time", TORCH_DEVICE_TOTAL, 1 },
    { "cuda_time_total", TORCH_DEVICE_TOTAL, 0 },
    { "self_cuda_time_total", TORCH_SELF_DEVICE, 0 },
    { "cuda_memory_usage", TORCH_DEVICE_BYTES, 0 },
    { "self_cuda_memory_usage", TORCH_SELF_DEVICE_BYTES, 0 },
    { "xpu_time", TORCH_DEVICE_TOTAL, 1 },
    { "xpu_time_total", TORCH_DEVICE_TOTAL, 0 },
    { "self_xpu_time_total", TORCH_SELF_DEVICE, 0 },
    { "xpu_memory_usage", TORCH_DEVICE_BYTES, 0 },
    { "self_xpu_memory_usage", TORCH_SELF_DEVICE_BYTES, 0 },
};

const char *const *torch_ops_orders(void)
{
    static const char *names[COUNT_OF(orders) + 1];

    for (size_t i = 0; i < COUNT_OF(orders); i++)
        names[i] = orders[i].name;
    return names;
}

static int torch_ops_compare(const struct table_cell *a, const struct table_cell *b, void *context)
{
    const struct sort_order *order = context;
    const struct table_cell *x = &a[order->column], *y = &b[order->column];

    if (x->kind == CELL_INT)
        return COMPARE(y->integer, x->integer);
    double first = order->is_average ? x->real / (double)a[TORCH_COUNT].integer : x->real;
    double second = order->is_average ? y->real / (double)b[TORCH_COUNT].integer : y->real;
    return COMPARE(second, first);
}

static void torch_ops_sort(struct table *table, const char *sort_by)
{
    int has_device_time = 0;

    for (size_t r = 0; r < table_row_count(table); r++)
        has_device_time |= table_row(table, r)[TORCH_SELF_DEVICE].real > 0;
    if (!sort_by)
        sort_by = has_device_time ? "self_device_time_total" : "self_cpu_time_total";
    for (size_t i = 0; i < COUNT_OF(orders); i++)
        if (strcmp(sort_by, orders[i].name) == 0 && orders[i].column >= 0)
            table_sort(table, torch_ops_compare, (void *)(uintptr_t)&orders[i]);
}

static int torch_ops_fill(struct key_averages *averages, struct table *table)
{
    if (operators_nest(&averages->operators) != 0)
        return ERR_NO_MEMORY;
    if (averages->request->stack_frames && find_stacks(averages) != 0)
        return ERR_NO_MEMORY;
    if (sum_all(averages) != 0)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < averages->operators.count; i++)
        if (!averages->operators.list[i].is_collapsed && averages->operators.list[i].kind != OPERATOR_PYTHON &&
            torch_ops_add_operator(averages, i) != 0)
            return ERR_NO_MEMORY;
    for (uint32_t key = 0; key < averages->keys.count; key++)
        if (torch_ops_add_row(averages, table, key) != 0)
            return ERR_NO_MEMORY;
    torch_ops_sort(table, averages->request->sort_by);
    return 0;
}

static void find_recorded(struct torch_ops *out, const struct operators *operators)
{
    for (size_t i = 0; i < operators->count; i++) {
        out->has_shapes |= operators->list[i].shapes != NO_TEXT;
        out->has_stacks |= operators->list[i].stack != NO_TEXT;
    }
}

static void key_averages_free(struct key_averages *averages)
{
    operators_free(&averages->operators);
    free(averages->figures);
    free(averages->stacks);
    free(averages->list);
    free(averages->flops);
    keys_free(&averages->keys);
    keys_free(&averages->flop_keys);
}

int torch_ops(struct torch_ops *out, struct report *report, const struct analysis_request *part,
              const struct torch_ops_request *request, struct error *err)
{
    struct key_averages averages = { .request = request, .keys.width = KEY_WIDTH, .flop_keys.width = 3 };
    struct table *table = table_new(torch_ops_columns, TORCH_COLUMNS);
    int code;

    *out = (struct torch_ops){ 0 };
    if ((code = operators_read_listed(&averages.operators, report, part, err)) != 0)
        goto done;
    if ((!table || torch_ops_fill(&averages, table) != 0) && (code = error_short_memory(err, "for the operators")) != 0)
        goto done;
    out->has_memory = averages.operators.has_memory;
    out->has_flops = request->with_flops || averages.operators.has_flops;
    find_recorded(out, &averages.operators);
done:
    key_averages_free(&averages);
    return table_hand_over(table, code, &out->table, err);
}
