/* NVTX ranges and calls into libraries: operators of torch.autograd.profiler.emit_nvtx as torch.profiler would show
 * them, other ranges as annotations, calls in categories of their own. */
#include "trace.h"

#include "analyze/engine/event_columns.h"
#include "analyze/model/names/operator_text.h"
#include "analyze/model/nvtx_domains.h"
#include "analyze/model/torch/operators.h"
#include "forward_arrows.h"

/* ---- NVTX ------------------------------------------------------------------------------------------------------ */

struct nvtx {
    struct trace *trace;
    struct nvtx_domains domains;
    struct forward_arrows arrows;
    int64_t last_ns;   /* last moment of the table, where open ranges end */
    int has_operators; /* PyTorch's operators have their own table: ranges that repeat them are left out */
};

/* emit_nvtx puts the arguments of an operator into its name. */
static int trace_host_add_operator(struct nvtx *nvtx, const struct trace_rows *rows)
{
    struct trace_event *event = &nvtx->trace->event;
    struct operator_text text = operator_text(event->name.bytes, event->name.length);

    if (!text.is_operator)
        return 0;
    event->category = trace_text("cpu_op");
    event->name.length = text.name_length;
    if (text.shapes.length)
        trace_arg_text(event, "Input Dims", ARG_JSON,
                       (struct trace_string){ text.shapes.bytes, text.shapes.length, -1 });
    if (text.sequence < 0)
        return 0;
    trace_arg_int(event, "Sequence number", text.sequence);
    trace_arg_int(event, "Fwd thread id", text.is_backward);
    return forward_arrows_add(&nvtx->arrows, text.sequence, text.is_backward, trace_row_int_or(rows, NVTX_THREAD, 0),
                              event->start_ns);
}

static int emit_nvtx(struct nvtx *nvtx, const struct trace_rows *rows, struct error *err)
{
    int64_t type = trace_row_int(rows, NVTX_TYPE), start = trace_row_int(rows, NVTX_START),
            thread = trace_row_int_or(rows, NVTX_THREAD, 0);
    int is_range = nvtx_is_range(type);

    if (!is_range && type != EVENT_NVTX_MARK)
        return 0;
    struct trace_event *event = trace_begin(nvtx->trace, is_range ? TRACE_SPAN : TRACE_MOMENT,
                                            is_range ? "user_annotation" : "nvtx_mark", start,
                                            trace_row_int_or(rows, NVTX_END, nvtx->last_ns));
    event->name = trace_row_has(rows, NVTX_TEXT_ID) ? trace_row_string(rows, NVTX_TEXT_ID)
                                                    : trace_row_string(rows, NVTX_TEXT);
    trace_on_thread(event, thread);
    int64_t domain = nvtx_domain_name(&nvtx->domains, global_process(thread), trace_row_int_or(rows, NVTX_DOMAIN, 0));
    int is_nested = type == EVENT_NVTX_PUSHPOP || type == EVENT_NVTXT_PUSHPOP;
    if (is_nested && domain == NVTX_NO_NAME && nvtx->has_operators &&
        operator_text(event->name.bytes, event->name.length).is_operator)
        return 0;
    if (is_nested && domain == NVTX_NO_NAME) /* only such a range can be the owner of a call */
        trace_arg_int(event, "External id",
                      call_owners_range_id(nvtx->trace->report, rows->window->first + rows->window->at));
    if (is_nested && domain == NVTX_NO_NAME && trace_host_add_operator(nvtx, rows) != 0)
        return error_short_memory(err, "to match forward and backward operators");
    if (domain != NVTX_NO_NAME) {
        struct trace_string name = { .id = domain };
        name.bytes = report_string(nvtx->trace->report, domain, &name.length);
        trace_arg_text(event, "Domain", ARG_TEXT, name);
    }
    return trace_emit(nvtx->trace, err);
}

int trace_nvtx(struct trace *trace, struct error *err)
{
    const struct report_table *table = report_table(trace->report, "NVTX_EVENTS"),
                              *operators = report_table(trace->report, "TACHO_TORCH_OP");
    struct nvtx nvtx = { .trace = trace,
                         .last_ns = table ? table->last_ns : 0,
                         .has_operators = operators && operators->rows };
    struct trace_rows rows = { 0 };
    int code;

    if ((code = nvtx_domains_read(&nvtx.domains, nvtx.trace->report, err)) != 0)
        goto done;
    if ((code = trace_rows_open(trace, &rows, "NVTX_EVENTS", nvtx_column_names, NVTX_COLUMNS, err)) != 0)
        goto done;
    while ((code = trace_rows_next(&rows, err)) == 1)
        if ((code = emit_nvtx(&nvtx, &rows, err)) != 0)
            goto done;
    if (code != 0)
        goto done;
    code = forward_arrows_emit(&nvtx.arrows, trace, err);
done:
    trace_rows_close(&rows);
    forward_arrows_free(&nvtx.arrows);
    nvtx_domains_free(&nvtx.domains);
    return code;
}

/* ---- calls ----------------------------------------------------------------------------------------------------- */

static const struct call_table {
    const char *table, *category, *name;
} call_tables[] = {
    { "OSRT_API", "os_runtime", "nameId" },
    { "CUDNN_EVENTS", "cudnn", "nameId" },
    { "CUBLAS_EVENTS", "cublas", "nameId" },
    { "MPI_P2P_EVENTS", "mpi", "textId" },
    { "MPI_COLLECTIVES_EVENTS", "mpi", "textId" },
    { "MPI_START_WAIT_EVENTS", "mpi", "textId" },
    { "MPI_OTHER_EVENTS", "mpi", "textId" },
    { "UCP_SUBMIT_EVENTS", "ucx", "textId" },
    { "UCP_EVENTS", "ucx", "textId" },
    { "SYSCALL", "syscall", "nameId" },
    { "PROFILER_OVERHEAD", "overhead", "nameId" },
};

static int emit_calls(struct trace *trace, const struct call_table *calls, struct error *err)
{
    enum { START, END, THREAD, NAME, COLUMNS };
    const char *names[COLUMNS] = { "start", "end", "globalTid", calls->name };
    struct trace_rows rows;
    int code;

    if ((code = trace_rows_open(trace, &rows, calls->table, names, COLUMNS, err)) != 0)
        return code;
    while ((code = trace_rows_next(&rows, err)) == 1) {
        struct trace_event *event = trace_begin(trace, TRACE_SPAN, calls->category, trace_row_int(&rows, START),
                                                trace_row_int_or(&rows, END, trace_row_int(&rows, START)));
        event->name = trace_row_string(&rows, NAME);
        if (trace_row_has(&rows, THREAD))
            trace_on_thread(event, trace_row_int(&rows, THREAD));
        if ((code = trace_emit(trace, err)) != 0)
            goto close_rows;
    }
close_rows:
    trace_rows_close(&rows);
    return code;
}

int trace_host_calls(struct trace *trace, struct error *err)
{
    int code;

    for (size_t i = 0; i < COUNT_OF(call_tables); i++)
        if ((code = emit_calls(trace, &call_tables[i], err)) != 0)
            return code;
    return 0;
}
