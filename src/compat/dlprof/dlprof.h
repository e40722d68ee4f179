/* A report as DLProf sees it: calls of operators with the CUDA calls and the GPU work inside them, split into
 * iterations, and DLProf's eight reports of that.
 *
 * An operator's call is the outermost one: the range of DLProf's or PyProf's patches, the operator that PyTorch's
 * profiler or an observer recorded, or the range of an NVTX domain. A CUDA call outside of all operators is an operator
 * of its own, "unassociated_…". The names of reports and columns are DLProf's; its definitions stand where they are
 * used. */
#ifndef TACHO_COMPAT_DLPROF_DLPROF_H
#define TACHO_COMPAT_DLPROF_DLPROF_H

#include "analyze/engine/analysis.h"
#include "analyze/model/flops/op_work.h"
#include "analyze/model/gpu.h"
#include "analyze/model/recorded.h"
#include "analyze/model/tensor/tensor_cores.h"
#include "base/intern.h"

struct dlprof_request {
    int is_simple;       /* one operator is the whole program */
    const char *domain;  /* operators are the ranges of this NVTX domain; NULL: those of PyTorch */
    const char *key_op;  /* the end of each of its calls ends an iteration; NULL: the steps of the report, if known */
    int64_t first, last; /* iterations to aggregate; last below 0: to the end */
    int has_details;     /* read sequence numbers, FLOPs and bytes of calls */
};

enum dlprof_time { DLPROF_CPU, DLPROF_GPU, DLPROF_OVERHEAD, DLPROF_IDLE, DLPROF_TIMES };
enum dlprof_direction { DLPROF_UNKNOWN, DLPROF_FORWARD, DLPROF_BACKWARD };

/* Texts are numbers in `texts`; 0 is the empty one. */
struct dlprof_words {
    uint32_t name, type, module, data_type, stack, inputs, parameters, outputs;
    enum dlprof_direction direction;
    struct op_work work; /* from a marker's arguments; its class is OP_UNKNOWN without them */
};

/* One call of an operator. */
struct dlprof_call {
    int64_t start_ns, end_ns, thread;
    struct dlprof_words words;
    uint32_t op;              /* which operator */
    uint32_t iteration;
    int64_t ns[DLPROF_TIMES]; /* CPU: its length. GPU: the union of its work. Overhead: its length less the union of its
                               * CUDA calls. Idle: from its first work to the end of its last, less GPU. */
    /* Details come from the operators in the call. */
    int64_t sequence;         /* that of the outermost operator that has one, or -1 */
    uint32_t other_sequences; /* "12,13" */
    /* The work of matrix products, and all other counted work; the class is OP_UNKNOWN if there is none. */
    struct op_work products, others;
};

/* An operator: the calls of one name and direction that have the same place in the order of their iteration. */
struct dlprof_op {
    struct dlprof_words words; /* those of its first call */
    uint32_t id;               /* CONV2D_1 */
    int is_eligible, uses_tensor_cores;
};

/* A kernel, a copy or a fill, and the CUDA call that launched it. */
struct dlprof_work {
    int64_t start_ns, end_ns, device, stream;
    int64_t thread;                             /* the launching thread */
    int64_t name, long_name, grid[3], block[3]; /* kernels only: string ids, sizes */
    int64_t call_start_ns, call_end_ns;
    int64_t call_name;                          /* id of a string, or -1 */
    uint32_t call;                              /* index in `calls` */
    enum gpu_kind kind;
    struct tensor_cores tensor;
};

struct dlprof {
    struct report *report;
    struct intern texts;
    struct dlprof_call *calls; /* owned; by start */
    size_t call_count, call_room;
    struct dlprof_op *ops;     /* owned; in order of their first calls, those of other iterations included */
    size_t op_count, op_room;
    struct dlprof_work *works; /* owned; by call, then by start */
    size_t work_count, work_room;
    struct recorded recorded;  /* the time that iterations consist of; a span lasts to the end of its last event */
    int64_t begin_ns, *ends;   /* owned: where each iteration ends; the first begins at begin_ns, each other at the end
                                * of the one before it */
    size_t iteration_count, iteration_room;
    size_t first, last;        /* iterations whose calls and work are above */
    int is_split;              /* the key operator or the steps were found */
    int is_marked;             /* the operators are those of DLProf's or PyProf's patches */
    struct text key;           /* the key operator that was asked for, or "" */
};

int dlprof_read(struct dlprof *dlprof, struct report *report, const struct dlprof_request *request, struct error *err);
void dlprof_free(struct dlprof *dlprof);

static inline struct intern_string dlprof_text(const struct dlprof *dlprof, uint32_t text)
{
    return text < dlprof->texts.count ? dlprof->texts.strings[text] : (struct intern_string){ "", 0 };
}
/* Whether an operator can use tensor cores, by its type alone, as DLProf decides it. */
int dlprof_is_eligible(const char *type);

/* ---- reports --------------------------------------------------------------------------------------------------- */

/* A table with a title. A part without a header is a list of names and values. */
struct dlprof_part {
    const char *title;
    struct table *table;
    int has_header;
};
enum { DLPROF_MOST_PARTS = 5 };

struct dlprof_tables {
    struct dlprof_part parts[DLPROF_MOST_PARTS]; /* tables are owned */
    size_t count;
};
void dlprof_tables_free(struct dlprof_tables *tables);

/* The program that writes the reports. */
struct dlprof_maker {
    const char *version, *build;
};

typedef int dlprof_run(struct dlprof *dlprof, const struct dlprof_maker *maker, struct dlprof_tables *out,
                       struct error *err);

struct dlprof_report {
    const char *option;                             /* detail */
    const char *file;                               /* detailed */
    const char *alias;                              /* group_node, or NULL */
    dlprof_run *run;
};
extern const struct dlprof_report dlprof_reports[]; /* ends with a row without an option */

/* The table of --dump_model_data: one row for each call of an operator. */
int dlprof_model_data(struct dlprof *dlprof, struct table **out, struct error *err);

/* ---- figures that reports and TensorBoard share ---------------------------------------------------------------- */

/* How the time of iterations was spent, in percent; adds up to 100. */
enum dlprof_use { USE_TENSOR_CORES, USE_OTHER_KERNELS, USE_MEMORY, USE_LOADING, USE_IO, USE_CPU, USE_OTHER, USES };
struct dlprof_usage {
    int64_t wall_ns;
    double percent[USES];
    double gpu;          /* kernels */
    double tensor_cores; /* kernels on tensor cores, of the kernels of operators that are eligible */
};
/* Computes the usage of iterations first to last, which must be aggregated, in percent of the time of all GPUs. */
int dlprof_usage_read(struct dlprof_usage *usage, const struct dlprof *dlprof, size_t first, size_t last,
                      struct error *err);

/* The recorded time of an iteration: one that goes on from a capture range to the next lacks the time between them. */
int64_t dlprof_iteration_ns(const struct dlprof *dlprof, size_t iteration);

#endif
