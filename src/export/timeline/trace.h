/* A report as timelines show it: spans, instants and arrows on threads of the CPU and streams of GPUs, with arguments,
 * and counters of GPUs.
 * One walk over the tables produces them, in the terms of PyTorch's own traces; a sink writes them in a format.
 *
 * The walk holds a window of each table that it reads, never a whole table, except for the data that connects calls
 * with their operators and their work where the report does not record it. */
#ifndef TACHO_EXPORT_TIMELINE_TRACE_H
#define TACHO_EXPORT_TIMELINE_TRACE_H

#include <string.h>

#include "analyze/engine/keys.h"
#include "analyze/model/flops/occupancy.h"
#include "analyze/model/torch/torch_kernels.h"
#include "base/text.h"
#include "call_owners.h"
#include "export/export_rows.h"
#include "projections.h"

struct trace_string {
    const char *bytes;
    size_t length;
    int64_t id; /* in the report's pool, whose texts never move; else -1 or TRACE_LITERAL */
};
#define TRACE_LITERAL INT64_C(-2) /* a text of this program */

/* JSON and MEMBERS (of an object) are texts of the report that should be JSON. FRACTION is
 * written as torch writes floats. */
enum trace_arg_kind { ARG_INT, ARG_REAL, ARG_FRACTION, ARG_TEXT, ARG_JSON, ARG_MEMBERS, ARG_TRIPLE, ARG_NULL };
struct trace_arg {
    const char *name; /* a literal; NULL for MEMBERS */
    enum trace_arg_kind kind;
    struct trace_string text;
    int64_t numbers[3];
    double real;
};

enum trace_phase { TRACE_SPAN, TRACE_MOMENT, TRACE_FLOW, TRACE_COUNTER };
enum trace_where { ON_THREAD, ON_STREAM, ON_GPU, ON_NOTHING };
enum { TRACE_MOST_ARGS = 24 };

struct trace_event {
    enum trace_phase phase;
    enum trace_where where;
    struct trace_string category, name;
    int64_t thread;           /* global id */
    int64_t device, lane;     /* stream: its number, unless another process has the same; counter: its own number */
    int64_t stream, process;  /* process: global id, 0 when it is not known */
    uint32_t process_number;  /* number among the processes on GPUs */
    int64_t start_ns, end_ns; /* the report's own; the end of a span only */
    int64_t correlation; /* for filters: that of the launched work, or NO_CORRELATION; the event's arrows keep it */
    int64_t flow_id;
    char flow_end;       /* end of an arrow: s, t or f, as Chrome has it */
    struct trace_arg args[TRACE_MOST_ARGS];
    size_t arg_count;
};

struct trace_sink {
    int (*event)(void *context, const struct trace_event *event, struct error *err);
    void *context;
};

/* For the files of the walk. */
struct trace {
    struct report *report;
    const struct export_options *options;
    struct trace_sink sink;
    struct trace_event event; /* being made */
    int is_kineto;            /* the report was a trace of torch.profiler: only its own data is exported */
    struct call_owners owners;
    struct torch_kernels kernels;
    struct keys processes;    /* processes on GPUs */
    uint32_t last_process;    /* process_number of the last event */
    struct projections projections;
    struct text scratch;
    struct occupancy_gpus gpus;
};

int trace_walk(struct report *report, const struct export_options *options, const struct trace_sink *sink,
               struct error *err);
/* Whether the report was imported from a trace of torch.profiler. */
int trace_is_kineto(struct report *report);

/* How the report's times become those of a trace: shift_ns is added, and base_ns is UTC of the trace's time
 * 0, the same for all ranks of a job; 0 if the report does not say when it began. origin_ns is the shift
 * without shift_ns of the options. */
struct trace_clock {
    int64_t origin_ns, shift_ns, base_ns;
};
int trace_clock(struct report *report, const struct export_options *options, struct trace_clock *out,
                struct error *err);

/* ---- for the files of the walk --------------------------------------------------------------------------------- */

/* The rows of a table, one after another; times are not filtered. A table that the options do not select has no rows;
 * trace_rows_open_any() is for tables whose data describes other tables. */
struct trace_rows {
    struct export_rows *rows; /* NULL: no rows */
    const struct export_window *window;
    struct report *report;
    int columns[EXPORT_COLUMNS_MAX];
    uint64_t row; /* how many rows were read */
};
int trace_rows_open(struct trace *trace, struct trace_rows *rows, const char *table, const char *const *columns,
                    size_t count, struct error *err);
int trace_rows_open_any(struct trace *trace, struct trace_rows *rows, const char *table, const char *const *columns,
                        size_t count, struct error *err);
/* 1: there is a row; 0: no more; else an ERR_ code. */
int trace_rows_next(struct trace_rows *rows, struct error *err);
void trace_rows_close(struct trace_rows *rows);

static inline int trace_row_has(const struct trace_rows *rows, int column)
{
    return !(rows->window->null_masks[rows->window->at] >> column & 1);
}
static inline int64_t trace_row_int(const struct trace_rows *rows, int column)
{
    return rows->window->values[column][rows->window->at];
}
static inline int64_t trace_row_int_or(const struct trace_rows *rows, int column, int64_t fallback)
{
    return trace_row_has(rows, column) ? trace_row_int(rows, column) : fallback;
}
struct trace_string trace_row_string(const struct trace_rows *rows, int column);

/* Begins a new event in trace->event. */
struct trace_event *trace_begin(struct trace *trace, enum trace_phase phase, const char *category, int64_t start_ns,
                                int64_t end_ns);
void trace_on_thread(struct trace_event *event, int64_t thread);
int trace_on_stream(struct trace *trace, int64_t process, int64_t device, int64_t stream);
struct trace_arg *trace_arg(struct trace_event *event, const char *name, enum trace_arg_kind kind);
void trace_arg_int(struct trace_event *event, const char *name, int64_t value);
void trace_arg_text(struct trace_event *event, const char *name, enum trace_arg_kind kind, struct trace_string text);
/* Arguments for columns that have a value. */
void trace_arg_column(struct trace_event *event, const char *name, const struct trace_rows *rows, int column);
void trace_arg_string(struct trace_event *event, const char *name, enum trace_arg_kind kind,
                      const struct trace_rows *rows, int column);
/* Hands the event to the sink if its time is wanted. */
int trace_emit(struct trace *trace, struct error *err);
static inline struct trace_string trace_text(const char *literal)
{
    return (struct trace_string){ literal, strlen(literal), TRACE_LITERAL };
}

/* One end of an arrow at the event's place. */
int trace_emit_arrow(struct trace *trace, const char *category, char end, int64_t id, struct error *err);

/* The parts of the walk, in this order. */
int trace_torch_ops(struct trace *trace, struct error *err);
int trace_torch_memory(struct trace *trace, struct error *err);
int trace_torch_python(struct trace *trace, struct error *err);
int trace_cuda(struct trace *trace, struct error *err);
int trace_projections(struct trace *trace, struct error *err);
int trace_torch_flows(struct trace *trace, struct error *err);
int trace_nvtx(struct trace *trace, struct error *err);
int trace_host_calls(struct trace *trace, struct error *err);
int trace_metrics(struct trace *trace, struct error *err);

#endif
