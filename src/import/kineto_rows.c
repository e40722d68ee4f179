/* Converts events to rows, with one function for each kind of event. GPU work and CUDA calls go into the tables of
 * CUDA captures, so that every report works on them; operators and other data that only PyTorch has go into tables
 * of their own. */
#include "kineto.h"

#include <string.h>

#include "base/saturating.h"
#include "kernel_text.h"
#include "report/schema/torch_names.h"

#define VM_ID (INT64_C(1) << 48) /* the machine's bits of global ids */
#define SECOND_NS INT64_C(1000000000)
enum { CLASS_RUNTIME = 0, CLASS_DRIVER = 1 }; /* from ENUM_NSYS_EVENT_CLASS */
#define BIT(key) (UINT64_C(1) << KEY_##key)

struct category;

/* An event, with the values that rows of all kinds need. */
struct subject {
    const struct kineto_event *event;
    const struct category *category;
    int64_t start_ns, end_ns;
};

struct category {
    struct json_slice spelling; /* its name in the trace */
    const char *name;           /* its name in the report */
    void (*add)(struct kineto *import, const struct subject *subject);
    uint64_t taken;             /* arguments that have columns of their own */
};

/* ---- values ---------------------------------------------------------------------------------------------------- */

static int64_t kineto_rows_string_of(struct kineto *import, struct json_slice slice)
{
    struct json_slice text = json_slice_text(slice, &import->scratch);

    return writer_string(import->writer, text.bytes, text.length);
}

static int64_t literal(struct kineto *import, const char *string)
{
    return writer_string(import->writer, string, strlen(string));
}

static int has_integer(const struct kineto_event *event, enum kineto_key key, int64_t *out)
{
    return event->by_key[key].bytes && json_slice_integer(event->by_key[key], out);
}

static int64_t integer_or(const struct kineto_event *event, enum kineto_key key, int64_t fallback)
{
    int64_t value;

    return has_integer(event, key, &value) ? value : fallback;
}

static int64_t slice_or(struct json_slice slice, int64_t fallback)
{
    int64_t value;

    return slice.bytes && json_slice_integer(slice, &value) ? value : fallback;
}

static int64_t kineto_rows_device_of(const struct kineto_event *event)
{
    return integer_or(event, KEY_DEVICE, slice_or(event->pid, 0));
}

static int64_t kineto_rows_stream_of(const struct kineto_event *event)
{
    return integer_or(event, KEY_STREAM, slice_or(event->tid, 0));
}

/* 0: the event belongs to no process, like the spans of the trace itself. */
static int kineto_rows_thread_of(struct kineto *import, const struct kineto_event *event, int64_t *out)
{
    int64_t pid, tid;

    if (!event->pid.bytes || !event->tid.bytes || !json_slice_integer(event->pid, &pid) ||
        !json_slice_integer(event->tid, &tid) || pid < 0)
        return 0;
    *out = VM_ID | (pid & 0xffffff) << 24 | (tid & 0xffffff);
    if (!import->process)
        import->process = *out & ~INT64_C(0xffffff);
    return 1;
}

/* Arguments that have no column, as members of an object; 1 if there are any. */
static int other_args(struct kineto *import, const struct subject *subject, int64_t *out)
{
    const struct kineto_event *event = subject->event;
    struct text *other = &import->other;

    text_clear(other);
    for (size_t i = 0; i < event->arg_count; i++) {
        const struct kineto_arg *arg = &event->args[i];
        if (arg->key != KEY_OTHER && subject->category->taken >> arg->key & 1)
            continue;
        if (other->length)
            text_add_bytes(other, ", ", 2);
        text_add_bytes(other, arg->name.bytes, arg->name.length);
        text_add_bytes(other, ": ", 2);
        text_add_bytes(other, arg->value.bytes, arg->value.length);
    }
    if (!other->length)
        return 0;
    *out = writer_string(import->writer, text_string(other), other->length);
    return 1;
}

/* ---- on the CPU ------------------------------------------------------------------------------------------------ */

#define OP_TAKEN                                                                                           \
    (BIT(EXTERNAL) | BIT(RECORD_FUNCTION) | BIT(SEQUENCE) | BIT(FORWARD_THREAD) | BIT(DIMS) | BIT(TYPES) | \
     BIT(STRIDES) | BIT(CONCRETE) | BIT(INDEX) | BIT(STACK) | BIT(MODULE))

static void kineto_rows_add_step(struct kineto *import, const struct subject *subject,
                                 const struct row_TACHO_TORCH_OP *op)
{
    struct json_slice name = json_slice_inside(subject->event->name);
    struct row_TACHO_TORCH_STEP row = { 0 };
    int64_t number = torch_step_number(name.bytes, name.length);

    if (number < 0)
        return;
    ROW_SET(&row, TACHO_TORCH_STEP, start, subject->start_ns);
    ROW_SET(&row, TACHO_TORCH_STEP, end, subject->end_ns);
    if (op->present >> TACHO_TORCH_OP_globalTid & 1)
        ROW_SET(&row, TACHO_TORCH_STEP, globalTid, op->globalTid);
    ROW_SET(&row, TACHO_TORCH_STEP, number, number);
    writer_append(import->writer, TABLE_TACHO_TORCH_STEP, &row);
}

static void kineto_rows_set_inputs(struct kineto *import, struct row_TACHO_TORCH_OP *row,
                                   const struct kineto_event *event)
{
#define SET_STRING(key, column)                                                                                        \
    if (event->by_key[KEY_##key].bytes)                                                                                \
        ROW_SET(row, TACHO_TORCH_OP, column, kineto_rows_string_of(import, event->by_key[KEY_##key]))
    SET_STRING(DIMS, inputDimsId);
    SET_STRING(TYPES, inputTypesId);
    SET_STRING(STRIDES, inputStridesId);
    SET_STRING(CONCRETE, concreteInputsId);
    SET_STRING(STACK, callStackId);
    SET_STRING(MODULE, moduleId);
#undef SET_STRING
}

/* The columns that operators, annotations and marks have in common. */
static void fill_op(struct kineto *import, const struct subject *subject, struct row_TACHO_TORCH_OP *row)
{
    static const struct {
        enum kineto_key key;
        int column;
    } numbers[] = {
        { KEY_EXTERNAL, TACHO_TORCH_OP_externalId },     { KEY_RECORD_FUNCTION, TACHO_TORCH_OP_recordFunctionId },
        { KEY_SEQUENCE, TACHO_TORCH_OP_sequenceNumber }, { KEY_FORWARD_THREAD, TACHO_TORCH_OP_forwardThread },
        { KEY_INDEX, TACHO_TORCH_OP_eventIndex },
    };
    int64_t *values = (int64_t *)(void *)row + 1, value; /* by column */

    ROW_SET(row, TACHO_TORCH_OP, start, subject->start_ns);
    ROW_SET(row, TACHO_TORCH_OP, nameId, kineto_rows_string_of(import, subject->event->name));
    for (size_t i = 0; i < COUNT_OF(numbers); i++)
        if (has_integer(subject->event, numbers[i].key, &value)) {
            values[numbers[i].column] = value;
            row->present |= UINT64_C(1) << numbers[i].column;
        }
    if (other_args(import, subject, &value))
        ROW_SET(row, TACHO_TORCH_OP, argsId, value);
}

static void set_category(struct kineto *import, struct row_TACHO_TORCH_OP *row, const struct subject *subject)
{
    int64_t id = subject->category->name ? literal(import, subject->category->name)
                                         : kineto_rows_string_of(import, subject->event->category);

    ROW_SET(row, TACHO_TORCH_OP, category, id);
}

static void kineto_rows_add_op(struct kineto *import, const struct subject *subject)
{
    struct row_TACHO_TORCH_OP row = { 0 };
    int64_t thread;

    fill_op(import, subject, &row);
    kineto_rows_set_inputs(import, &row, subject->event);
    set_category(import, &row, subject);
    ROW_SET(&row, TACHO_TORCH_OP, end, subject->end_ns);
    if (kineto_rows_thread_of(import, subject->event, &thread))
        ROW_SET(&row, TACHO_TORCH_OP, globalTid, thread);
    writer_append(import->writer, TABLE_TACHO_TORCH_OP, &row);
    kineto_rows_add_step(import, subject, &row);
}

#define PYTHON_TAKEN (BIT(PYTHON) | BIT(PYTHON_PARENT) | BIT(PYTHON_MODULE) | BIT(INDEX))

static void kineto_rows_add_python(struct kineto *import, const struct subject *subject)
{
    const struct kineto_event *event = subject->event;
    struct row_TACHO_TORCH_PYTHON row = { 0 };
    int64_t value;

    ROW_SET(&row, TACHO_TORCH_PYTHON, start, subject->start_ns);
    ROW_SET(&row, TACHO_TORCH_PYTHON, end, subject->end_ns);
    ROW_SET(&row, TACHO_TORCH_PYTHON, nameId, kineto_rows_string_of(import, event->name));
    if (kineto_rows_thread_of(import, event, &value))
        ROW_SET(&row, TACHO_TORCH_PYTHON, globalTid, value);
    if (has_integer(event, KEY_PYTHON, &value))
        ROW_SET(&row, TACHO_TORCH_PYTHON, pythonId, value);
    if (has_integer(event, KEY_PYTHON_PARENT, &value))
        ROW_SET(&row, TACHO_TORCH_PYTHON, parentId, value);
    if (has_integer(event, KEY_PYTHON_MODULE, &value))
        ROW_SET(&row, TACHO_TORCH_PYTHON, moduleId, value);
    if (has_integer(event, KEY_INDEX, &value))
        ROW_SET(&row, TACHO_TORCH_PYTHON, eventIndex, value);
    if (other_args(import, subject, &value))
        ROW_SET(&row, TACHO_TORCH_PYTHON, argsId, value);
    writer_append(import->writer, TABLE_TACHO_TORCH_PYTHON, &row);
}

#define MEMORY_TAKEN                                                                                         \
    (BIT(DEVICE_TYPE) | BIT(DEVICE_ID) | BIT(ADDRESS) | BIT(MEMORY_BYTES) | BIT(ALLOCATED) | BIT(RESERVED) | \
     BIT(INDEX))
static const struct category memory_category = { .taken = MEMORY_TAKEN };

static void kineto_rows_add_memory(struct kineto *import, const struct subject *subject)
{
    const struct kineto_event *event = subject->event;
    struct row_TACHO_TORCH_MEMORY row = { 0 };
    int64_t value;

    ROW_SET(&row, TACHO_TORCH_MEMORY, timestamp, subject->start_ns);
    ROW_SET(&row, TACHO_TORCH_MEMORY, event, kineto_rows_string_of(import, event->name));
    ROW_SET(&row, TACHO_TORCH_MEMORY, deviceType, integer_or(event, KEY_DEVICE_TYPE, 0));
    ROW_SET(&row, TACHO_TORCH_MEMORY, bytes, integer_or(event, KEY_MEMORY_BYTES, 0));
    if (kineto_rows_thread_of(import, event, &value))
        ROW_SET(&row, TACHO_TORCH_MEMORY, globalTid, value);
    if (has_integer(event, KEY_DEVICE_ID, &value))
        ROW_SET(&row, TACHO_TORCH_MEMORY, deviceId, value);
    if (has_integer(event, KEY_ADDRESS, &value))
        ROW_SET(&row, TACHO_TORCH_MEMORY, address, value);
    if (has_integer(event, KEY_ALLOCATED, &value))
        ROW_SET(&row, TACHO_TORCH_MEMORY, totalAllocated, value);
    if (has_integer(event, KEY_RESERVED, &value))
        ROW_SET(&row, TACHO_TORCH_MEMORY, totalReserved, value);
    if (has_integer(event, KEY_INDEX, &value))
        ROW_SET(&row, TACHO_TORCH_MEMORY, eventIndex, value);
    if (other_args(import, subject, &value))
        ROW_SET(&row, TACHO_TORCH_MEMORY, argsId, value);
    writer_append(import->writer, TABLE_TACHO_TORCH_MEMORY, &row);
}

/* ---- CUDA ------------------------------------------------------------------------------------------------------ */

static void kineto_rows_add_link(struct kineto *import, const struct subject *subject)
{
    struct row_TACHO_TORCH_LINK row = { 0 };
    int64_t value;

    ROW_SET(&row, TACHO_TORCH_LINK, start, subject->start_ns);
    ROW_SET(&row, TACHO_TORCH_LINK, globalPid, import->process);
    ROW_SET(&row, TACHO_TORCH_LINK, category, literal(import, subject->category->name));
    if (has_integer(subject->event, KEY_CORRELATION, &value))
        ROW_SET(&row, TACHO_TORCH_LINK, correlationId, value);
    if (has_integer(subject->event, KEY_EXTERNAL, &value))
        ROW_SET(&row, TACHO_TORCH_LINK, externalId, value);
    if (other_args(import, subject, &value))
        ROW_SET(&row, TACHO_TORCH_LINK, argsId, value);
    writer_append(import->writer, TABLE_TACHO_TORCH_LINK, &row);
}

static void kineto_rows_add_call(struct kineto *import, const struct subject *subject)
{
    const struct kineto_event *event = subject->event;
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };
    int64_t value;

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, subject->start_ns);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, subject->end_ns);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, eventClass,
            strcmp(subject->category->name, "cuda_driver") == 0 ? CLASS_DRIVER : CLASS_RUNTIME);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, kineto_rows_string_of(import, event->name));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, returnValue, 0);
    if (kineto_rows_thread_of(import, event, &value))
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, value);
    if (has_integer(event, KEY_CORRELATION, &value))
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, value);
    writer_append(import->writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
    kineto_rows_add_link(import, subject);
}

/* The columns that all work on a GPU has. */
#define SET_WORK(row, table)                                                                                           \
    do {                                                                                                               \
        int64_t number;                                                                                                \
        ROW_SET(row, table, start, subject->start_ns);                                                                 \
        ROW_SET(row, table, end, subject->end_ns);                                                                     \
        ROW_SET(row, table, deviceId, kineto_rows_device_of(event));                                                   \
        ROW_SET(row, table, contextId, integer_or(event, KEY_CONTEXT, 0));                                             \
        ROW_SET(row, table, streamId, kineto_rows_stream_of(event));                                                   \
        ROW_SET(row, table, globalPid, import->process);                                                               \
        if (has_integer(event, KEY_CORRELATION, &number))                                                              \
            ROW_SET(row, table, correlationId, number);                                                                \
        if (has_integer(event, KEY_GRAPH_NODE, &number) && number)                                                     \
            ROW_SET(row, table, graphNodeId, number);                                                                  \
    } while (0)
#define WORK_TAKEN (BIT(EXTERNAL) | BIT(DEVICE) | BIT(CONTEXT) | BIT(STREAM) | BIT(CORRELATION) | BIT(GRAPH_NODE))

static void kineto_rows_add_kernel(struct kineto *import, const struct subject *subject)
{
    const struct kineto_event *event = subject->event;
    struct row_CUPTI_ACTIVITY_KIND_KERNEL row = { 0 };
    int64_t grid[3], block[3], value;
    struct json_slice name = json_slice_text(event->name, &import->scratch);

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, demangledName, writer_string(import->writer, name.bytes, name.length));
    name = kernel_short_name(name);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, shortName, writer_string(import->writer, name.bytes, name.length));
    SET_WORK(&row, CUPTI_ACTIVITY_KIND_KERNEL);
    kernel_dimensions(event->by_key[KEY_GRID], grid);
    kernel_dimensions(event->by_key[KEY_BLOCK], block);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, registersPerThread, integer_or(event, KEY_REGISTERS, 0));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, gridX, grid[0]);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, gridY, grid[1]);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, gridZ, grid[2]);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, blockX, block[0]);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, blockY, block[1]);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, blockZ, block[2]);
    /* The trace has the sum of both kinds of shared memory. */
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, staticSharedMemory, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, dynamicSharedMemory, integer_or(event, KEY_SHARED, 0));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, localMemoryPerThread, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, localMemoryTotal, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, gridId, 0);
    if (has_integer(event, KEY_GRAPH, &value) && value)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, graphId, value);
    writer_append(import->writer, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, &row);
    kineto_rows_add_link(import, subject);
}

/* The number of the longest known name at *at, which moves past it; -1 if there is none. */
static int64_t match_name(struct json_slice *at, const char *const *names, size_t count)
{
    int64_t found = -1;

    for (size_t i = 0; i < count; i++)
        if (names[i] && strlen(names[i]) <= at->length && memcmp(names[i], at->bytes, strlen(names[i])) == 0 &&
            (found < 0 || strlen(names[i]) > strlen(names[found])))
            found = (int64_t)i;
    if (found >= 0) {
        at->bytes += strlen(names[found]);
        at->length -= strlen(names[found]);
    }
    return found;
}

static int skip_text(struct json_slice *at, const char *text)
{
    return match_name(at, &text, 1) == 0;
}

/* nsys's numbers of kinds of memory and of copies, by Kineto's names for them. */
static const char *const memory_kinds[] = { "Pageable", "Pinned",        "Device",         "Array",
                                            "Managed",  "Device Static", "Managed Static", "Unknown" };
static const char *const copy_kinds[] = {
    NULL,   "HtoD", "DtoH", "HtoA", "AtoH",         "AtoA",         "AtoD",
    "DtoA", "DtoD", "HtoH", "PtoP", "Unified HtoD", "Unified DtoH", "Unified DtoD"
};
enum { MEMORY_KINDS = COUNT_OF(memory_kinds), COPY_KINDS = COUNT_OF(copy_kinds) };

static void kineto_rows_add_copy(struct kineto *import, const struct subject *subject)
{
    const struct kineto_event *event = subject->event;
    struct json_slice name = json_slice_inside(event->name);
    struct row_CUPTI_ACTIVITY_KIND_MEMCPY row = { 0 };
    int64_t kind = skip_text(&name, "Memcpy ") ? match_name(&name, copy_kinds, COPY_KINDS) : -1;

    SET_WORK(&row, CUPTI_ACTIVITY_KIND_MEMCPY);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, bytes, integer_or(event, KEY_BYTES, 0));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, copyKind, kind < 0 ? 0 : kind);
    if (skip_text(&name, " (")) {
        int64_t from = match_name(&name, memory_kinds, MEMORY_KINDS);
        int64_t to = skip_text(&name, " -> ") ? match_name(&name, memory_kinds, MEMORY_KINDS) : -1;
        if (from >= 0)
            ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, srcKind, from);
        if (to >= 0)
            ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, dstKind, to);
    }
    writer_append(import->writer, TABLE_CUPTI_ACTIVITY_KIND_MEMCPY, &row);
    kineto_rows_add_link(import, subject);
}

static void add_fill(struct kineto *import, const struct subject *subject)
{
    const struct kineto_event *event = subject->event;
    struct json_slice name = json_slice_inside(event->name);
    struct row_CUPTI_ACTIVITY_KIND_MEMSET row = { 0 };
    int64_t kind = skip_text(&name, "Memset (") ? match_name(&name, memory_kinds, MEMORY_KINDS) : -1;

    SET_WORK(&row, CUPTI_ACTIVITY_KIND_MEMSET);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMSET, value, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMSET, bytes, integer_or(event, KEY_BYTES, 0));
    if (kind >= 0)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMSET, memKind, kind);
    writer_append(import->writer, TABLE_CUPTI_ACTIVITY_KIND_MEMSET, &row);
    kineto_rows_add_link(import, subject);
}

/* An annotation as seen on a stream, and any other event on a GPU. */
static void add_on_gpu(struct kineto *import, const struct subject *subject)
{
    struct row_TACHO_TORCH_OP row = { 0 };

    fill_op(import, subject, &row);
    set_category(import, &row, subject);
    ROW_SET(&row, TACHO_TORCH_OP, end, subject->end_ns);
    ROW_SET(&row, TACHO_TORCH_OP, deviceId, kineto_rows_device_of(subject->event));
    ROW_SET(&row, TACHO_TORCH_OP, streamId, kineto_rows_stream_of(subject->event));
    writer_append(import->writer, TABLE_TACHO_TORCH_OP, &row);
}

/* ---- which is which -------------------------------------------------------------------------------------------- */

#define CALL_TAKEN (BIT(EXTERNAL) | BIT(CORRELATION))
#define KERNEL_TAKEN (WORK_TAKEN | BIT(REGISTERS) | BIT(SHARED) | BIT(GRID) | BIT(BLOCK) | BIT(GRAPH))
#define MOVE_TAKEN (WORK_TAKEN | BIT(BYTES) | BIT(BANDWIDTH)) /* the bandwidth is bytes by time */
static const struct category categories[] = {
    { SLICE("python_function"), "python_function", kineto_rows_add_python, PYTHON_TAKEN },
    { SLICE("cpu_op"), "cpu_op", kineto_rows_add_op, OP_TAKEN },
    { SLICE("cuda_runtime"), "cuda_runtime", kineto_rows_add_call, CALL_TAKEN },
    { SLICE("kernel"), "kernel", kineto_rows_add_kernel, KERNEL_TAKEN },
    { SLICE("cuda_driver"), "cuda_driver", kineto_rows_add_call, CALL_TAKEN },
    { SLICE("user_annotation"), "user_annotation", kineto_rows_add_op, OP_TAKEN },
    { SLICE("gpu_memcpy"), "gpu_memcpy", kineto_rows_add_copy, MOVE_TAKEN },
    { SLICE("gpu_memset"), "gpu_memset", add_fill, MOVE_TAKEN },
    { SLICE("gpu_user_annotation"), "gpu_user_annotation", add_on_gpu, BIT(EXTERNAL) | BIT(DEVICE) | BIT(STREAM) },
    { SLICE("cuda_sync"), "cuda_sync", add_on_gpu, BIT(EXTERNAL) | BIT(DEVICE) | BIT(STREAM) },
    /* before PyTorch 1.12 */
    { SLICE("Operator"), "cpu_op", kineto_rows_add_op, OP_TAKEN },
    { SLICE("Runtime"), "cuda_runtime", kineto_rows_add_call, CALL_TAKEN },
    { SLICE("Kernel"), "kernel", kineto_rows_add_kernel, KERNEL_TAKEN },
    { SLICE("Memcpy"), "gpu_memcpy", kineto_rows_add_copy, MOVE_TAKEN },
    { SLICE("Memset"), "gpu_memset", add_fill, MOVE_TAKEN },
    { SLICE("Python"), "python_function", kineto_rows_add_python, PYTHON_TAKEN },
};
static const struct category any_category = { .add = kineto_rows_add_op, .taken = OP_TAKEN };
static const struct category instant_category = { .name = "instant", .taken = BIT(INDEX) };

static const struct category *find_category(struct json_slice spelling)
{
    spelling = json_slice_inside(spelling);
    for (size_t i = 0; i < COUNT_OF(categories); i++)
        if (json_slice_equal(spelling, categories[i].spelling))
            return &categories[i];
    return &any_category;
}

static void add_instant(struct kineto *import, struct subject *subject)
{
    struct row_TACHO_TORCH_OP row = { 0 };
    int64_t thread;

    if (json_slice_is(subject->event->name, "[memory]") || json_slice_is(subject->event->name, "[OutOfMemory]")) {
        subject->category = &memory_category;
        kineto_rows_add_memory(import, subject);
        return;
    }
    subject->category = &instant_category;
    fill_op(import, subject, &row);
    set_category(import, &row, subject);
    if (kineto_rows_thread_of(import, subject->event, &thread))
        ROW_SET(&row, TACHO_TORCH_OP, globalTid, thread);
    writer_append(import->writer, TABLE_TACHO_TORCH_OP, &row);
}

static void kineto_rows_add_flow(struct kineto *import, const struct subject *subject)
{
    const struct kineto_event *event = subject->event;
    struct row_TACHO_TORCH_FLOW row = { 0 };
    int64_t pid = slice_or(event->pid, -1), thread;

    ROW_SET(&row, TACHO_TORCH_FLOW, timestamp, subject->start_ns);
    ROW_SET(&row, TACHO_TORCH_FLOW, category, kineto_rows_string_of(import, event->category));
    ROW_SET(&row, TACHO_TORCH_FLOW, phase, kineto_rows_string_of(import, event->phase));
    ROW_SET(&row, TACHO_TORCH_FLOW, flowId, slice_or(event->id, 0));
    if (import->process && (pid & 0xffffff) != (import->process >> 24 & 0xffffff)) {
        ROW_SET(&row, TACHO_TORCH_FLOW, deviceId, pid);
        ROW_SET(&row, TACHO_TORCH_FLOW, streamId, slice_or(event->tid, 0));
    } else if (kineto_rows_thread_of(import, event, &thread)) {
        ROW_SET(&row, TACHO_TORCH_FLOW, globalTid, thread);
    }
    writer_append(import->writer, TABLE_TACHO_TORCH_FLOW, &row);
}

/* Names of devices and streams only repeat their numbers, and are left out. */
static void kineto_rows_write_name(struct kineto *import, const struct kineto_name *name)
{
    if ((name->pid & 0xffffff) != (import->process >> 24 & 0xffffff))
        return;
    if (name->tid >= 0) {
        struct row_ThreadNames row = { 0 };
        ROW_SET(&row, ThreadNames, nameId, name->name);
        ROW_SET(&row, ThreadNames, globalTid, import->process | (name->tid & 0xffffff));
        writer_append(import->writer, TABLE_ThreadNames, &row);
    } else {
        struct row_PROCESSES row = { 0 };
        ROW_SET(&row, PROCESSES, globalPid, import->process);
        ROW_SET(&row, PROCESSES, pid, name->pid);
        ROW_SET(&row, PROCESSES, name, name->name);
        writer_append(import->writer, TABLE_PROCESSES, &row);
    }
}

/* Old versions have the names after the events, new ones before them. */
static void kineto_rows_add_name(struct kineto *import, const struct kineto_event *event)
{
    int is_thread = json_slice_is(event->name, "thread_name");
    struct kineto_name name = { .pid = slice_or(event->pid, -1), .tid = is_thread ? slice_or(event->tid, -1) : -1 };

    if (!event->by_key[KEY_NAME].bytes || name.pid < 0 || (is_thread && name.tid < 0) ||
        (!is_thread && !json_slice_is(event->name, "process_name")))
        return;
    name.name = kineto_rows_string_of(import, event->by_key[KEY_NAME]);
    if (import->process)
        kineto_rows_write_name(import, &name);
    else if (import->name_count < KINETO_MOST_NAMES)
        import->names[import->name_count++] = name;
}

void kineto_add_names(struct kineto *import)
{
    for (size_t i = 0; i < import->name_count && import->process; i++)
        kineto_rows_write_name(import, &import->names[i]);
    import->name_count = 0;
}

/* The report's time 0 is the full second before the first event, so that times are small and none
 * is likely to be negative. */
static int64_t place_in_time(struct kineto *import, int64_t ts_ns)
{
    if (!import->has_origin) {
        import->has_origin = 1;
        import->origin_ns = saturating_subtract(ts_ns, (ts_ns % SECOND_NS + SECOND_NS) % SECOND_NS);
    }
    return saturating_subtract(ts_ns, import->origin_ns);
}

static void note_span(struct kineto *import, const struct subject *subject)
{
    import->first_ns = subject->start_ns < import->first_ns ? subject->start_ns : import->first_ns;
    import->last_ns = subject->end_ns > import->last_ns ? subject->end_ns : import->last_ns;
}

void kineto_add_event(struct kineto *import, const struct kineto_event *event)
{
    struct json_slice phase = json_slice_inside(event->phase);
    struct subject subject = { .event = event };
    int64_t ts, dur = 0;
    char kind = phase.length == 1 ? phase.bytes[0] : 0;

    import->events++;
    import->too_many_args += event->args_left_out;
    if (import->process && import->name_count)
        kineto_add_names(import);
    if (kind == 'M') {
        kineto_rows_add_name(import, event);
        return;
    }
    if (!kind || !strchr("Xisft", kind)) {
        import->unknown_phases++;
        return;
    }
    /* Kernels without a record of their own, as of 2021, have zeros for both. */
    if (!event->ts.bytes || !json_slice_ns(event->ts, &ts) ||
        (kind == 'X' && event->dur.bytes && (!json_slice_ns(event->dur, &dur) || (!ts && !dur)))) {
        import->no_time++;
        return;
    }
    import->backwards += dur < 0; /* of events that never ended, until 2022 */
    subject.start_ns = place_in_time(import, ts);
    subject.end_ns = saturating_add(subject.start_ns, dur > 0 ? dur : 0);
    note_span(import, &subject);
    if (kind == 'X') {
        subject.category = find_category(event->category);
        subject.category->add(import, &subject);
    } else if (kind == 'i') {
        add_instant(import, &subject);
    } else {
        kineto_rows_add_flow(import, &subject);
    }
}
