/* Data from PyTorch: operators, annotations and marks, memory, Python functions, arrows. */
#include "trace.h"

#include "analyze/engine/event_columns.h"
#include "forward_arrows.h"
#include "report/schema/torch_names.h"

/* ---- operators ------------------------------------------------------------------------------------------------- */

#define TRACE_OP_COLUMNS(X)                                                                                            \
    X(START, "start") X(END, "end") X(THREAD, "globalTid") X(NAME, "nameId") X(CATEGORY, "category")                   \
    X(EXTERNAL, "externalId") X(RECORD_FUNCTION, "recordFunctionId") X(SEQUENCE, "sequenceNumber")                     \
    X(FORWARD, "forwardThread") X(DIMS, "inputDimsId") X(TYPES, "inputTypesId") X(STRIDES, "inputStridesId")           \
    X(CONCRETE, "concreteInputsId") X(STACK, "callStackId") X(MODULE, "moduleId") X(INDEX, "eventIndex")               \
    X(ARGS, "argsId") X(DEVICE, "deviceId") X(STREAM, "streamId")
enum {
#define COLUMN_NUMBER(name, column) TRACE_OP_##name,
    TRACE_OP_COLUMNS(COLUMN_NUMBER) TRACE_OP_COUNT
};
static const char *const trace_torch_op_columns[] = {
#define COLUMN_NAME(name, column) column,
    TRACE_OP_COLUMNS(COLUMN_NAME)
};

static void add_inputs(struct trace_event *event, const struct trace_rows *rows)
{
    trace_arg_column(event, "Record function id", rows, TRACE_OP_RECORD_FUNCTION);
    trace_arg_column(event, "Sequence number", rows, TRACE_OP_SEQUENCE);
    trace_arg_column(event, "Fwd thread id", rows, TRACE_OP_FORWARD);
    trace_arg_string(event, "Concrete Inputs", ARG_JSON, rows, TRACE_OP_CONCRETE);
    trace_arg_string(event, "Input type", ARG_JSON, rows, TRACE_OP_TYPES);
    trace_arg_string(event, "Input Strides", ARG_JSON, rows, TRACE_OP_STRIDES);
    trace_arg_string(event, "Input Dims", ARG_JSON, rows, TRACE_OP_DIMS);
    trace_arg_string(event, "Call stack", ARG_TEXT, rows, TRACE_OP_STACK);
    trace_arg_string(event, "Module Hierarchy", ARG_TEXT, rows, TRACE_OP_MODULE);
}

/* The columns of events on a GPU and of moments mostly repeat their arguments; only those that do not are written. */
static int emit_op(struct trace *trace, const struct trace_rows *rows, struct error *err)
{
    int64_t start = trace_row_int(rows, TRACE_OP_START);
    int is_moment = !trace_row_has(rows, TRACE_OP_END), is_on_gpu = trace_row_has(rows, TRACE_OP_DEVICE);
    struct trace_event *event = trace_begin(trace, is_moment ? TRACE_MOMENT : TRACE_SPAN, "", start,
                                            trace_row_int_or(rows, TRACE_OP_END, start));

    event->name = trace_row_string(rows, TRACE_OP_NAME);
    event->category = trace_row_string(rows, TRACE_OP_CATEGORY);
    if (is_on_gpu && trace_on_stream(trace, 0, trace_row_int(rows, TRACE_OP_DEVICE),
                                     trace_row_int_or(rows, TRACE_OP_STREAM, 0)) != 0)
        return error_no_memory(err);
    if (!is_on_gpu && trace_row_has(rows, TRACE_OP_THREAD))
        trace_on_thread(event, trace_row_int(rows, TRACE_OP_THREAD));
    if (trace_row_has(rows, TRACE_OP_EXTERNAL) && !is_moment)
        trace_arg_int(event, "External id", trace_row_int(rows, TRACE_OP_EXTERNAL));
    else if (!trace->is_kineto && !is_moment && !is_on_gpu)
        trace_arg_int(event, "External id", call_owners_operator_id(rows->row - 1));
    if (is_on_gpu && strcmp(event->category.bytes, "cuda_sync") == 0) {
        trace_arg_int(event, "stream", event->stream);
        trace_arg_int(event, "device", event->device);
    }
    if (!is_on_gpu && !is_moment)
        add_inputs(event, rows);
    if (!is_on_gpu)
        trace_arg_column(event, "Ev Idx", rows, TRACE_OP_INDEX);
    trace_arg_string(event, NULL, ARG_MEMBERS, rows, TRACE_OP_ARGS);
    return trace_emit(trace, err);
}

/* Forward and backward operators match by their sequence number. The event of the engine that evaluates a backward
 * node repeats the node's number, so it does not count. */
static int note_arrow(struct forward_arrows *arrows, const struct trace_rows *rows)
{
    struct trace_string name = trace_row_string(rows, TRACE_OP_NAME);

    if (!trace_row_has(rows, TRACE_OP_SEQUENCE) || !trace_row_has(rows, TRACE_OP_THREAD) ||
        trace_row_int(rows, TRACE_OP_SEQUENCE) < 0 || torch_is_engine(name.bytes, name.length))
        return 0;
    return forward_arrows_add(arrows, trace_row_int(rows, TRACE_OP_SEQUENCE),
                              trace_row_int_or(rows, TRACE_OP_FORWARD, 0) > 0, trace_row_int(rows, TRACE_OP_THREAD),
                              trace_row_int(rows, TRACE_OP_START));
}

int trace_torch_ops(struct trace *trace, struct error *err)
{
    struct trace_rows rows;
    struct forward_arrows arrows = { 0 };
    int code;

    if ((code = trace_rows_open(trace, &rows, "TACHO_TORCH_OP", trace_torch_op_columns, TRACE_OP_COUNT, err)) != 0)
        return code;
    while ((code = trace_rows_next(&rows, err)) == 1) {
        if ((code = emit_op(trace, &rows, err)) != 0)
            goto done;
        if (!trace->is_kineto && note_arrow(&arrows, &rows) != 0 &&
            (code = error_short_memory(err, "to match forward and backward operators")) != 0)
            goto done;
    }
    if (code != 0)
        goto done;
    code = forward_arrows_emit(&arrows, trace, err);
done:
    forward_arrows_free(&arrows);
    trace_rows_close(&rows);
    return code;
}

/* ---- memory ---------------------------------------------------------------------------------------------------- */

int trace_torch_memory(struct trace *trace, struct error *err)
{
    enum { TIME, THREAD, EVENT, DEVICE_TYPE, DEVICE, ADDRESS, BYTES, ALLOCATED, RESERVED, INDEX, ARGS, COLUMNS };
    static const char *const names[COLUMNS] = { "timestamp",     "globalTid",  "event", "deviceType",
                                                "deviceId",      "address",    "bytes", "totalAllocated",
                                                "totalReserved", "eventIndex", "argsId" };
    struct trace_rows rows;
    int code;

    if ((code = trace_rows_open(trace, &rows, "TACHO_TORCH_MEMORY", names, COLUMNS, err)) != 0)
        return code;
    while ((code = trace_rows_next(&rows, err)) == 1) {
        struct trace_event *event = trace_begin(trace, TRACE_MOMENT, "cpu_instant_event", trace_row_int(&rows, TIME),
                                                trace_row_int(&rows, TIME));
        event->name = trace_row_string(&rows, EVENT);
        if (trace_row_has(&rows, THREAD))
            trace_on_thread(event, trace_row_int(&rows, THREAD));
        trace_arg_column(event, "Total Reserved", &rows, RESERVED);
        trace_arg_column(event, "Total Allocated", &rows, ALLOCATED);
        trace_arg_column(event, "Bytes", &rows, BYTES);
        trace_arg_column(event, "Device Id", &rows, DEVICE);
        trace_arg_column(event, "Device Type", &rows, DEVICE_TYPE);
        trace_arg_column(event, "Addr", &rows, ADDRESS);
        trace_arg_string(event, NULL, ARG_MEMBERS, &rows, ARGS);
        trace_arg_column(event, "Ev Idx", &rows, INDEX);
        if ((code = trace_emit(trace, err)) != 0)
            goto close_rows;
    }
close_rows:
    trace_rows_close(&rows);
    return code;
}

/* ---- Python ---------------------------------------------------------------------------------------------------- */

int trace_torch_python(struct trace *trace, struct error *err)
{
    enum { START, END, THREAD, NAME, PYTHON, PARENT, MODULE, INDEX, ARGS, COLUMNS };
    static const char *const names[COLUMNS] = { "start",    "end",      "globalTid",  "nameId", "pythonId",
                                                "parentId", "moduleId", "eventIndex", "argsId" };
    struct trace_rows rows;
    int code;

    if ((code = trace_rows_open(trace, &rows, "TACHO_TORCH_PYTHON", names, COLUMNS, err)) != 0)
        return code;
    while ((code = trace_rows_next(&rows, err)) == 1) {
        struct trace_event *event = trace_begin(trace, TRACE_SPAN, "python_function", trace_row_int(&rows, START),
                                                trace_row_int(&rows, END));
        event->name = trace_row_string(&rows, NAME);
        if (trace_row_has(&rows, THREAD))
            trace_on_thread(event, trace_row_int(&rows, THREAD));
        if (trace_row_has(&rows, PYTHON) && !trace_row_has(&rows, PARENT))
            trace_arg(event, "Python parent id", ARG_NULL);
        trace_arg_column(event, "Python parent id", &rows, PARENT);
        trace_arg_column(event, "Python id", &rows, PYTHON);
        trace_arg_column(event, "Python module id", &rows, MODULE);
        trace_arg_string(event, NULL, ARG_MEMBERS, &rows, ARGS);
        trace_arg_column(event, "Ev Idx", &rows, INDEX);
        if ((code = trace_emit(trace, err)) != 0)
            goto close_rows;
    }
close_rows:
    trace_rows_close(&rows);
    return code;
}

/* ---- arrows ---------------------------------------------------------------------------------------------------- */

int trace_torch_flows(struct trace *trace, struct error *err)
{
    enum { TIME, CATEGORY, PHASE, ID, THREAD, DEVICE, STREAM, COLUMNS };
    static const char *const names[COLUMNS] = { "timestamp", "category", "phase",   "flowId",
                                                "globalTid", "deviceId", "streamId" };
    struct trace_rows rows;
    int code;

    if ((code = trace_rows_open(trace, &rows, "TACHO_TORCH_FLOW", names, COLUMNS, err)) != 0)
        return code;
    while ((code = trace_rows_next(&rows, err)) == 1) {
        struct trace_event *event = trace_begin(trace, TRACE_FLOW, "", trace_row_int(&rows, TIME),
                                                trace_row_int(&rows, TIME));
        struct trace_string phase = trace_row_string(&rows, PHASE);
        event->category = event->name = trace_row_string(&rows, CATEGORY);
        event->flow_id = trace_row_int(&rows, ID);
        event->flow_end = phase.length == 1 && strchr("stf", *phase.bytes) ? *phase.bytes : 't';
        if (trace_row_has(&rows, DEVICE) &&
            trace_on_stream(trace, 0, trace_row_int(&rows, DEVICE), trace_row_int_or(&rows, STREAM, 0)) != 0 &&
            (code = error_no_memory(err)) != 0)
            goto close_rows;
        if (!trace_row_has(&rows, DEVICE) && trace_row_has(&rows, THREAD))
            trace_on_thread(event, trace_row_int(&rows, THREAD));
        if ((code = trace_emit(trace, err)) != 0)
            goto close_rows;
    }
close_rows:
    trace_rows_close(&rows);
    return code;
}
