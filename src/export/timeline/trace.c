/* The walk over a report, and the functions that its parts share: rows, events, arguments. */
#include "trace.h"

#include "analyze/engine/row_cursor.h"
#include "analyze/model/gpu.h"
#include "import/kineto.h"

#define LANES_PER_PROCESS 1000000 /* more than a process has streams */

/* ---- rows ------------------------------------------------------------------------------------------------------ */

int trace_rows_open_any(struct trace *trace, struct trace_rows *rows, const char *table, const char *const *columns,
                        size_t count, struct error *err)
{
    static const struct export_options everything = { 0 };
    const struct report_table *found = report_table(trace->report, table);

    *rows = (struct trace_rows){ .report = trace->report };
    if (!found || !found->rows)
        return 0;
    for (size_t i = 0; i < count; i++)
        rows->columns[i] = report_column(found, columns[i]);
    return export_rows_open(trace->report, found, rows->columns, count, &everything, 0, &rows->rows, err);
}

int trace_rows_open(struct trace *trace, struct trace_rows *rows, const char *table, const char *const *columns,
                    size_t count, struct error *err)
{
    *rows = (struct trace_rows){ .report = trace->report };
    return export_wants_table(trace->options, table) ? trace_rows_open_any(trace, rows, table, columns, count, err) : 0;
}

int trace_rows_next(struct trace_rows *rows, struct error *err)
{
    int found = rows->rows ? export_rows_next(rows->rows, err) : 0;

    if (found == 1) {
        rows->window = export_window(rows->rows);
        rows->row++;
    }
    return found;
}

void trace_rows_close(struct trace_rows *rows)
{
    export_rows_close(rows->rows);
    rows->rows = NULL;
}

struct trace_string trace_row_string(const struct trace_rows *rows, int column)
{
    struct trace_string string = { .id = trace_row_int(rows, column) };

    if (!trace_row_has(rows, column))
        return trace_text("");
    string.bytes = report_string(rows->report, string.id, &string.length);
    return string;
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

struct trace_event *trace_begin(struct trace *trace, enum trace_phase phase, const char *category, int64_t start_ns,
                                int64_t end_ns)
{
    struct trace_event *event = &trace->event;

    memset(event, 0, offsetof(struct trace_event, args));
    event->arg_count = 0;
    event->phase = phase;
    event->where = ON_NOTHING;
    event->category = trace_text(category);
    event->start_ns = start_ns;
    event->end_ns = end_ns;
    event->correlation = NO_CORRELATION;
    return event;
}

void trace_on_thread(struct trace_event *event, int64_t thread)
{
    event->where = ON_THREAD;
    event->thread = thread;
}

/* Most events are of the process of the last one. */
static uint32_t process_number(struct trace *trace, int64_t process)
{
    if (trace->last_process >= trace->processes.count || *keys_get(&trace->processes, trace->last_process) != process)
        trace->last_process = keys_add(&trace->processes, &process);
    return trace->last_process;
}

/* Processes number their streams alike, and a timeline must not mix them: those of the
 * second process get other lanes. */
int trace_on_stream(struct trace *trace, int64_t process, int64_t device, int64_t stream)
{
    struct trace_event *event = &trace->event;
    uint32_t number = trace->is_kineto ? 0 : process_number(trace, process);

    event->where = ON_STREAM;
    event->device = device;
    event->process = process;
    event->stream = stream;
    event->process_number = number;
    event->lane = saturating_add(stream, (int64_t)number * LANES_PER_PROCESS);
    return number == NO_KEY ? ERR_NO_MEMORY : 0;
}

struct trace_arg *trace_arg(struct trace_event *event, const char *name, enum trace_arg_kind kind)
{
    struct trace_arg *arg = &event->args[event->arg_count];

    event->arg_count += event->arg_count + 1 < TRACE_MOST_ARGS;
    arg->name = name;
    arg->kind = kind;
    return arg;
}

void trace_arg_int(struct trace_event *event, const char *name, int64_t value)
{
    trace_arg(event, name, ARG_INT)->numbers[0] = value;
}

void trace_arg_text(struct trace_event *event, const char *name, enum trace_arg_kind kind, struct trace_string text)
{
    trace_arg(event, name, kind)->text = text;
}

void trace_arg_column(struct trace_event *event, const char *name, const struct trace_rows *rows, int column)
{
    if (trace_row_has(rows, column))
        trace_arg_int(event, name, trace_row_int(rows, column));
}

void trace_arg_string(struct trace_event *event, const char *name, enum trace_arg_kind kind,
                      const struct trace_rows *rows, int column)
{
    if (trace_row_has(rows, column))
        trace_arg_text(event, name, kind, trace_row_string(rows, column));
}

/* The call that launched an event on a stream, by the argument that names it. */
static int64_t correlation_of(const struct trace_event *event)
{
    for (size_t i = 0; i < event->arg_count; i++)
        if (event->args[i].kind == ARG_INT && strcmp(event->args[i].name, "correlation") == 0)
            return event->args[i].numbers[0];
    return NO_CORRELATION;
}

static int trace_is_wanted(const struct trace *trace, const struct trace_event *event, int64_t end_ns)
{
    const struct filter *filter = trace->options->filter;

    if (!export_wants_time(trace->options, event->start_ns, end_ns))
        return 0;
    if (!filter || event->where == ON_NOTHING)
        return 1;
    if (event->where == ON_THREAD)
        return filter_thread(filter, event->thread, event->start_ns, end_ns);
    if (event->where == ON_GPU) /* a sample is of no process, thread or stream */
        return span_overlaps(filter->span, event->start_ns, end_ns) &&
               (!(filter->only.only & ONLY_DEVICE) || filter->only.device == event->device);
    return filter_gpu(filter, &(struct filter_gpu_work){ event->start_ns, end_ns, event->process, event->correlation,
                                                         event->device, event->stream });
}

int trace_emit(struct trace *trace, struct error *err)
{
    struct trace_event *event = &trace->event;

    /* An arrow of PyTorch's own has it for its number. */
    if (trace->options->filter && event->correlation == NO_CORRELATION)
        event->correlation = event->phase == TRACE_FLOW ? event->flow_id : correlation_of(event);
    if (!trace_is_wanted(trace, event, event->phase == TRACE_SPAN ? event->end_ns : event->start_ns))
        return 0;
    return trace->sink.event(trace->sink.context, event, err);
}

int trace_emit_arrow(struct trace *trace, const char *category, char end, int64_t id, struct error *err)
{
    struct trace_event *event = &trace->event;

    event->phase = TRACE_FLOW;
    event->category = event->name = trace_text(category);
    event->flow_end = end;
    event->flow_id = id;
    event->arg_count = 0;
    return trace_emit(trace, err);
}

/* ---- time ------------------------------------------------------------------------------------------------------ */

#define BASE_NS (INT64_C(7889238) * 1000000000) /* torch's base time is a multiple of this, a quarter of a year */

/* The number that an import subtracted from the times of a trace. */
static int read_origin(struct report *report, int64_t *out, struct error *err)
{
    static const char *const names[] = { "name", "value", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_TORCH_METADATA", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if (strcmp(report_string(report, row_int(&rows, 0), NULL), KINETO_ORIGIN) == 0)
            *out = strtoll(report_string(report, row_int(&rows, 1), NULL), NULL, 10);
    row_cursor_close(&rows);
    return 0;
}

int trace_clock(struct report *report, const struct export_options *options, struct trace_clock *out, struct error *err)
{
    struct export_options utc = { .normalize = 1 };
    int64_t begin_ns = 0;
    int code = export_shift(&utc, report, &begin_ns, err), is_known = code != ERR_NO_DATA;

    *out = (struct trace_clock){ 0 };
    if (code != 0 && (is_known || options->normalize))
        return code;
    if (options->normalize)
        out->origin_ns = begin_ns;
    else if (!trace_is_kineto(report))
        out->origin_ns = begin_ns > 0 ? begin_ns % BASE_NS : 0;
    else if ((code = read_origin(report, &out->origin_ns, err)) != 0)
        return code;
    out->base_ns = is_known ? saturating_duration(out->origin_ns, begin_ns) : 0;
    out->shift_ns = saturating_add(out->origin_ns, options->shift_ns);
    return 0;
}

/* ---- the walk -------------------------------------------------------------------------------------------------- */

int trace_is_kineto(struct report *report)
{
    return report_find_string(report, KINETO_ORIGIN, strlen(KINETO_ORIGIN)) >= 0;
}

int trace_walk(struct report *report, const struct export_options *options, const struct trace_sink *sink,
               struct error *err)
{
    static int (*const parts[])(struct trace *trace, struct error *err) = {
        trace_torch_ops,   trace_torch_memory, trace_torch_python, trace_cuda,    trace_projections,
        trace_torch_flows, trace_nvtx,         trace_host_calls,   trace_metrics,
    };
    struct trace trace = {
        .report = report, .options = options, .sink = *sink, .is_kineto = trace_is_kineto(report), .processes.width = 1
    };
    int code;

    if (!trace.is_kineto && (code = call_owners_read(&trace.owners, report, err)) != 0)
        goto done;
    if ((code = torch_kernels_read(&trace.kernels, report, err)) != 0 ||
        (code = occupancy_gpus_read(&trace.gpus, report, err)) != 0)
        goto done;
    for (size_t i = 0; i < COUNT_OF(parts); i++)
        if ((code = parts[i](&trace, err)) != 0)
            goto done;
done:
    call_owners_free(&trace.owners);
    torch_kernels_free(&trace.kernels);
    keys_free(&trace.processes);
    projections_free(&trace.projections);
    text_free(&trace.scratch);
    occupancy_gpus_free(&trace.gpus);
    return code;
}
