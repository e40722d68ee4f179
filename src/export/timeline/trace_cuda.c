/* CUDA calls and work on GPUs. For a trace of torch.profiler, TACHO_TORCH_LINK records for each, in the order of the
 * trace, its owner and the data that has no column; so the rows of the four tables are read in that order. In other
 * reports a call belongs to the operator around it, its work to the call with the same correlation id, and an arrow
 * connects the two. */
#include "trace.h"

#include <math.h>

#include "analyze/engine/event_columns.h"
#include "analyze/model/torch/operators.h"
#include "analyze/model/torch/operators_gpu.h"

/* The data on a call or on work that is not in its row. */
struct link {
    int64_t external; /* 0: no operator */
    struct trace_string args;
    uint32_t call;    /* the call that launched the work, or NO_CALL */
};

/* ---- calls ----------------------------------------------------------------------------------------------------- */

enum { CLASS_RUNTIME = 0, CLASS_DRIVER = 1 }; /* from ENUM_NSYS_EVENT_CLASS; calls with a backtrace have another */
enum { CALL_ROW_START, CALL_ROW_END, CALL_ROW_CLASS, CALL_ROW_THREAD, CALL_ROW_CORRELATION, CALL_ROW_NAME };
#define CALL_ROW_COLUMNS { "start", "end", "eventClass", "globalTid", "correlationId", "nameId" }

static int is_of_driver(int64_t class, struct trace_string name)
{
    return class == CLASS_DRIVER ||
           (class != CLASS_RUNTIME && name.length > 2 && name.bytes[2] >= 'A' && name.bytes[2] <= 'Z');
}

static int trace_cuda_emit_call(struct trace *trace, const struct trace_rows *rows, const struct link *link,
                                struct error *err)
{
    struct trace_string name = trace_row_string(rows, CALL_ROW_NAME);
    int is_driver = is_of_driver(trace_row_int(rows, CALL_ROW_CLASS), name);
    struct trace_event *event = trace_begin(trace, TRACE_SPAN, is_driver ? "cuda_driver" : "cuda_runtime",
                                            trace_row_int(rows, CALL_ROW_START), trace_row_int(rows, CALL_ROW_END));

    event->name = name;
    if (!trace->is_kineto)
        event->name.length = call_length_in_torch(event->name.bytes, event->name.length);
    if (trace_row_has(rows, CALL_ROW_THREAD))
        trace_on_thread(event, trace_row_int(rows, CALL_ROW_THREAD));
    if (link->external)
        trace_arg_int(event, "External id", link->external);
    if (link->args.length)
        trace_arg_text(event, NULL, ARG_MEMBERS, link->args);
    trace_arg_column(event, "correlation", rows, CALL_ROW_CORRELATION);
    return trace_emit(trace, err);
}

/* ---- work on GPUs ---------------------------------------------------------------------------------------------- */

enum {
    WORK_START,
    WORK_END,
    WORK_DEVICE,
    WORK_CONTEXT,
    WORK_STREAM,
    WORK_CORRELATION,
    WORK_PROCESS,
    WORK_NODE,
    WORK_COLUMNS
};
#define WORK_NAMES "start", "end", "deviceId", "contextId", "streamId", "correlationId", "globalPid", "graphNodeId"

static int trace_cuda_begin_work(struct trace *trace, const char *category, const struct trace_rows *rows,
                                 const struct link *link, struct error *err)
{
    struct trace_event *event = trace_begin(trace, TRACE_SPAN, category, trace_row_int(rows, WORK_START),
                                            trace_row_int(rows, WORK_END));

    if (trace_on_stream(trace, trace_row_int_or(rows, WORK_PROCESS, 0), trace_row_int(rows, WORK_DEVICE),
                        trace_row_int(rows, WORK_STREAM)) != 0)
        return error_no_memory(err);
    if (link->external)
        trace_arg_int(event, "External id", link->external);
    trace_arg_column(event, "device", rows, WORK_DEVICE);
    trace_arg_column(event, "context", rows, WORK_CONTEXT);
    trace_arg_column(event, "stream", rows, WORK_STREAM);
    trace_arg_column(event, "correlation", rows, WORK_CORRELATION);
    return 0;
}

/* Emits the event, and in reports without arrows the arrow from its call. */
static int trace_cuda_end_work(struct trace *trace, const struct trace_rows *rows, const struct link *link,
                               struct error *err)
{
    struct call_owners *owners = &trace->owners;
    int64_t id = saturating_add(trace_row_int(rows, WORK_CORRELATION), (int64_t)trace->event.process_number << 32);

    if (link->args.length)
        trace_arg_text(&trace->event, NULL, ARG_MEMBERS, link->args);
    int code = trace_emit(trace, err);
    if (code != 0 || link->call == NO_CALL)
        return code;
    const struct projection_work work = {
        .process = trace->event.process,
        .device = trace->event.device,
        .lane = trace->event.lane,
        .stream = trace->event.stream,
        .start_ns = trace->event.start_ns,
        .end_ns = trace->event.end_ns,
    };
    if (projections_add(&trace->projections, owners, link->call, &work) != 0)
        return error_short_memory(err, "for the annotations on GPUs");
    code = trace_emit_arrow(trace, "ac2g", 'f', id, err);
    if (code != 0 || owners->pointed[link->call])
        return code;
    owners->pointed[link->call] = 1;
    int64_t start = owners->calls.start[link->call];
    trace_on_thread(trace_begin(trace, TRACE_FLOW, "", start, start), owners->calls.thread[link->call]);
    return trace_emit_arrow(trace, "ac2g", 's', id, err);
}

enum {
    KERNEL_NAME = WORK_COLUMNS,
    KERNEL_REGISTERS,
    KERNEL_GRID_X,
    KERNEL_GRID_Y,
    KERNEL_GRID_Z,
    KERNEL_BLOCK_X,
    KERNEL_BLOCK_Y,
    KERNEL_BLOCK_Z,
    KERNEL_STATIC,
    KERNEL_DYNAMIC,
    KERNEL_GRAPH,
    KERNEL_MANGLED,
    KERNEL_ROW_COLUMNS
};
#define KERNEL_COLUMNS                                                                                         \
    { WORK_NAMES, "demangledName", "registersPerThread", "gridX", "gridY", "gridZ", "blockX", "blockY", \
      "blockZ", "staticSharedMemory", "dynamicSharedMemory", "graphId", "mangledName" }

static int64_t trace_cuda_product(const int64_t numbers[3])
{
    return saturating_multiply(saturating_multiply(numbers[0], numbers[1]), numbers[2]);
}

static int64_t *trace_cuda_add_triple(struct trace_event *event, const char *name, const struct trace_rows *rows,
                                      int first)
{
    struct trace_arg *arg = trace_arg(event, name, ARG_TRIPLE);

    for (int i = 0; i < 3; i++)
        arg->numbers[i] = trace_row_int(rows, first + i);
    return arg->numbers;
}

/* The kernel's name in the spelling of torch.profiler. */
static struct trace_string kernel_name(const struct trace *trace, const struct trace_rows *rows)
{
    struct trace_string name = trace_row_string(rows, KERNEL_NAME);
    int64_t id = trace_row_has(rows, KERNEL_MANGLED)
                     ? torch_kernel_name(&trace->kernels, trace_row_int(rows, KERNEL_MANGLED), name.id)
                     : name.id;

    if (id != name.id) {
        name.id = id;
        name.bytes = report_string(rows->report, id, &name.length);
    }
    return name;
}

static int emit_kernel(struct trace *trace, const struct trace_rows *rows, const struct link *link, struct error *err)
{
    int code = trace_cuda_begin_work(trace, "kernel", rows, link, err);
    struct trace_event *event = &trace->event;
    int64_t shared = saturating_add(trace_row_int(rows, KERNEL_STATIC), trace_row_int(rows, KERNEL_DYNAMIC));

    if (code != 0)
        return code;
    event->name = kernel_name(trace, rows);
    trace_arg_column(event, "registers per thread", rows, KERNEL_REGISTERS);
    trace_arg_int(event, "shared memory", shared);
    int64_t blocks = trace_cuda_product(trace_cuda_add_triple(event, "grid", rows, KERNEL_GRID_X));
    int64_t threads = trace_cuda_product(trace_cuda_add_triple(event, "block", rows, KERNEL_BLOCK_X));
    if (!trace->is_kineto) {
        struct occupancy_kernel kernel = { event->device, blocks, threads, trace_row_int(rows, KERNEL_REGISTERS),
                                           shared };
        struct occupancy occupancy = occupancy_of(&trace->gpus, &kernel);
        trace_arg_int(event, "queued", 0);
        if (occupancy.blocks > 0) {
            trace_arg(event, "blocks per SM", ARG_FRACTION)->real = occupancy.blocks;
            trace_arg(event, "warps per SM", ARG_FRACTION)->real = occupancy.warps;
        }
        if (occupancy.is_known)
            trace_arg_int(event, "est. achieved occupancy %", saturating_from_double(roundf((float)occupancy.percent)));
    }
    trace_arg_column(event, "graph id", rows, KERNEL_GRAPH);
    trace_arg_column(event, "graph node id", rows, WORK_NODE);
    return trace_cuda_end_work(trace, rows, link, err);
}

/* Bytes, and bytes per nanosecond. */
static void trace_cuda_add_bytes(struct trace_event *event, int64_t bytes)
{
    int64_t duration = saturating_duration(event->start_ns, event->end_ns);

    trace_arg_int(event, "bytes", bytes);
    if (duration > 0)
        trace_arg(event, "memory bandwidth (GB/s)", ARG_REAL)->real = (double)bytes / (double)duration;
}

static struct trace_string trace_cuda_name_of(const struct text *text)
{
    return (struct trace_string){ text_string(text), text->length, -1 };
}

enum { COPY_BYTES = WORK_COLUMNS, COPY_KIND, COPY_FROM, COPY_TO, COPY_FROM_DEVICE, COPY_TO_DEVICE };
#define COPY_COLUMNS { WORK_NAMES, "bytes", "copyKind", "srcKind", "dstKind", "srcDeviceId", "dstDeviceId" }
enum { COPY_PEER = 10 }; /* from ENUM_CUDA_MEMCPY_OPER */

static int emit_copy(struct trace *trace, const struct trace_rows *rows, const struct link *link, struct error *err)
{
    int code = trace_cuda_begin_work(trace, "gpu_memcpy", rows, link, err);

    if (code != 0)
        return code;
    operators_copy_name(&trace->scratch, trace_row_int(rows, COPY_KIND), trace_row_int_or(rows, COPY_FROM, -1),
                        trace_row_int_or(rows, COPY_TO, -1));
    /* without kinds of memory, torch's name has no parentheses */
    if (!trace_row_has(rows, COPY_FROM) && !trace_row_has(rows, COPY_TO))
        trace->scratch.length = strcspn(text_string(&trace->scratch), "(") - 1;
    trace->event.name = trace_cuda_name_of(&trace->scratch);
    trace_cuda_add_bytes(&trace->event, trace_row_int(rows, COPY_BYTES));
    if (!trace->is_kineto && trace_row_int(rows, COPY_KIND) == COPY_PEER) {
        trace_arg_column(&trace->event, "fromDevice", rows, COPY_FROM_DEVICE);
        trace_arg_column(&trace->event, "inDevice", rows, WORK_DEVICE);
        trace_arg_column(&trace->event, "toDevice", rows, COPY_TO_DEVICE);
    }
    trace_arg_column(&trace->event, "graph node id", rows, WORK_NODE);
    return trace_cuda_end_work(trace, rows, link, err);
}

enum { FILL_BYTES = WORK_COLUMNS, FILL_KIND };
#define FILL_COLUMNS { WORK_NAMES, "bytes", "memKind" }

static int emit_fill(struct trace *trace, const struct trace_rows *rows, const struct link *link, struct error *err)
{
    int code = trace_cuda_begin_work(trace, "gpu_memset", rows, link, err);

    if (code != 0)
        return code;
    operators_fill_name(&trace->scratch, trace_row_int_or(rows, FILL_KIND, -1));
    trace->event.name = trace_row_has(rows, FILL_KIND) ? trace_cuda_name_of(&trace->scratch) : trace_text("Memset");
    trace_cuda_add_bytes(&trace->event, trace_row_int(rows, FILL_BYTES));
    trace_arg_column(&trace->event, "graph node id", rows, WORK_NODE);
    return trace_cuda_end_work(trace, rows, link, err);
}

/* ---- all of them ----------------------------------------------------------------------------------------------- */

enum trace_cuda_kind { KIND_CALL, KIND_KERNEL, KIND_COPY, KIND_FILL, KINDS };
static const struct {
    const char *table;
    const char *columns[KERNEL_ROW_COLUMNS + 1]; /* NULL-terminated; kernels have the most */
    int (*emit)(struct trace *trace, const struct trace_rows *rows, const struct link *link, struct error *err);
    const char *categories[2];                   /* in TACHO_TORCH_LINK */
} trace_cuda_kinds[KINDS] = {
    { "CUPTI_ACTIVITY_KIND_RUNTIME", CALL_ROW_COLUMNS, trace_cuda_emit_call, { "cuda_runtime", "cuda_driver" } },
    { "CUPTI_ACTIVITY_KIND_KERNEL", KERNEL_COLUMNS, emit_kernel, { "kernel" } },
    { "CUPTI_ACTIVITY_KIND_MEMCPY", COPY_COLUMNS, emit_copy, { "gpu_memcpy" } },
    { "CUPTI_ACTIVITY_KIND_MEMSET", FILL_COLUMNS, emit_fill, { "gpu_memset" } },
};

struct cuda {
    struct trace *trace;
    struct trace_rows rows[KINDS];
    int wanted[KINDS];
};

static int open_kinds(struct cuda *cuda, struct error *err)
{
    int code;

    for (int kind = 0; kind < KINDS; kind++) {
        size_t count = 0;
        while (trace_cuda_kinds[kind].columns[count])
            count++;
        cuda->wanted[kind] = export_wants_table(cuda->trace->options, trace_cuda_kinds[kind].table);
        if ((code = trace_rows_open_any(cuda->trace, &cuda->rows[kind], trace_cuda_kinds[kind].table,
                                        trace_cuda_kinds[kind].columns, count, err)) != 0)
            return code;
    }
    return 0;
}

enum { LINK_START, LINK_EXTERNAL, LINK_CATEGORY, LINK_ARGS, LINK_COLUMNS };

static int trace_cuda_kind_of(struct trace_string category)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int i = 0; i < 2 && trace_cuda_kinds[kind].categories[i]; i++)
            if (strcmp(category.bytes, trace_cuda_kinds[kind].categories[i]) == 0)
                return kind;
    return -1;
}

/* Emits the row that a link belongs to. 1: the two go together; 0: they do not, or there is no row; else an ERR_ code.
 */
static int emit_linked(struct cuda *cuda, const struct trace_rows *links, struct error *err)
{
    int kind = trace_cuda_kind_of(trace_row_string(links, LINK_CATEGORY)), code;
    struct link link = {
        .external = trace_row_int_or(links, LINK_EXTERNAL, 0),
        .args = trace_row_string(links, LINK_ARGS),
        .call = NO_CALL,
    };

    if (kind < 0)
        return 0;
    struct trace_rows *rows = &cuda->rows[kind];
    if ((code = trace_rows_next(rows, err)) != 1)
        return code;
    int go_together = trace_row_int(rows, 0) == trace_row_int(links, LINK_START);
    if (!go_together)
        link = (struct link){ .call = NO_CALL };
    if (cuda->wanted[kind] && (code = trace_cuda_kinds[kind].emit(cuda->trace, rows, &link, err)) != 0)
        return code;
    return go_together;
}

/* Emits rows in the order of their links, as long as they go together. The rows after that have no link. */
static int walk_links(struct cuda *cuda, struct error *err)
{
    static const char *const names[LINK_COLUMNS] = { "start", "externalId", "category", "argsId" };
    struct trace_rows links;
    int code;

    if ((code = trace_rows_open_any(cuda->trace, &links, "TACHO_TORCH_LINK", names, LINK_COLUMNS, err)) != 0)
        return code;
    while ((code = trace_rows_next(&links, err)) == 1)
        if ((code = emit_linked(cuda, &links, err)) != 1)
            break;
    trace_rows_close(&links);
    return code;
}

static struct link find_link(const struct call_owners *owners, const struct trace_rows *rows, enum trace_cuda_kind kind)
{
    struct link link = { .call = NO_CALL };

    if (!owners->calls.count)
        return link;
    uint32_t call = (uint32_t)(rows->row - 1);
    if (kind != KIND_CALL) {
        call = trace_row_has(rows, WORK_CORRELATION) && trace_row_has(rows, WORK_PROCESS)
                   ? calls_find(&owners->calls, trace_row_int(rows, WORK_PROCESS),
                                trace_row_int(rows, WORK_CORRELATION))
                   : NO_CALL;
        link.call = call;
    }
    link.external = call < owners->calls.count ? owners->external[call] : 0;
    return link;
}

static int emit_rows(struct cuda *cuda, enum trace_cuda_kind kind, struct error *err)
{
    struct trace_rows *rows = &cuda->rows[kind];
    int code;

    while ((code = trace_rows_next(rows, err)) == 1) {
        struct link link = find_link(&cuda->trace->owners, rows, kind);
        if ((code = trace_cuda_kinds[kind].emit(cuda->trace, rows, &link, err)) != 0)
            return code;
    }
    return code;
}

int trace_cuda(struct trace *trace, struct error *err)
{
    struct cuda cuda = { .trace = trace };
    int code;

    if ((code = open_kinds(&cuda, err)) != 0)
        goto close_rows;
    if (trace->is_kineto && (code = walk_links(&cuda, err)) != 0)
        goto close_rows;
    for (int kind = 0; kind < KINDS; kind++)
        if (cuda.wanted[kind] && (code = emit_rows(&cuda, (enum trace_cuda_kind)kind, err)) != 0)
            goto close_rows;
close_rows:
    for (int kind = 0; kind < KINDS; kind++)
        trace_rows_close(&cuda.rows[kind]);
    return code;
}

int trace_projections(struct trace *trace, struct error *err)
{
    const struct projections *projections = &trace->projections;
    int code;

    for (uint32_t i = 0; i < projections->keys.count; i++) {
        const struct call_owners_annotation *annotation = &trace->owners.annotations[*keys_get(&projections->keys, i)];
        const struct projection *projection = &projections->list[i];
        /* Wider by a nanosecond on both sides, as torch has them, so that nothing begins or ends together with them. */
        struct trace_event *event = trace_begin(trace, TRACE_SPAN, "gpu_user_annotation",
                                                saturating_subtract(projection->start_ns, 1),
                                                saturating_add(projection->end_ns, 1));
        event->name = (struct trace_string){ .id = annotation->name };
        event->name.bytes = annotation->name < 0 ? ""
                                                 : report_string(trace->report, annotation->name, &event->name.length);
        if (trace_on_stream(trace, projection->process, keys_get(&projections->keys, i)[1], projection->stream) != 0)
            return error_no_memory(err);
        trace_arg_int(event, "External id", annotation->external);
        if ((code = trace_emit(trace, err)) != 0)
            return code;
    }
    return 0;
}
