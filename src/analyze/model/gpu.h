/* Work on GPUs: kernels, copies and fills, read whole for joins and traces, and the names that they are shown under. */
#ifndef TACHO_ANALYZE_MODEL_GPU_H
#define TACHO_ANALYZE_MODEL_GPU_H

#include "analyze/engine/analysis.h"
#include "base/text.h"
#include "filter.h"

enum gpu_kind { GPU_KERNEL, GPU_MEMCPY, GPU_MEMSET, GPU_KINDS };
extern const char *const gpu_tables[GPU_KINDS + 1]; /* NULL-terminated, for a list of needs */
extern const char *const gpu_memory_tables[];       /* without the kernels */
extern const char *const gpu_kernel_tables[];
extern const char *const gpu_call_tables[];

/* The column with the names of kernels that the options base and mangled choose. */
const char *kernel_name_column(const struct analysis_request *request);

#define NO_CORRELATION INT64_MIN /* of work without a known call */
enum { OP_START, OP_END, OP_PROCESS, OP_CORRELATION, OP_DEVICE, OP_STREAM, OP_COLUMNS, GPU_MOST_COLUMNS = 32 };

struct gpu_ops {
    size_t count;
    const int64_t *start, *end, *process, *correlation, *device, *stream;
    struct report_columns columns; /* those above, and the extra ones from OP_COLUMNS on */
};

/* Reads the table of a kind of work, with extra columns, NULL-terminated. A report without the table has no work of
 * that kind. */
int gpu_read(struct gpu_ops *ops, struct report *report, enum gpu_kind kind, const char *const *extra,
             struct error *err);
/* The same of any table with these columns. */
int gpu_read_table(struct gpu_ops *ops, struct report *report, const char *name, const char *const *extra,
                   struct error *err);
/* The same of the first rows in order of time that pass the filter; the number of all that do is added to total.
 * ERR_CORRUPT: only gpu_read() can find them (first_rows.h). */
int gpu_read_first(struct gpu_ops *ops, struct report *report, enum gpu_kind kind, const char *const *extra,
                   const struct filter *filter, size_t most, uint64_t *total, struct error *err);
void gpu_free(struct gpu_ops *ops);

/* Extra column c of a row, and whether it is empty. */
static inline int64_t gpu_extra(const struct gpu_ops *ops, size_t c, size_t row)
{
    return ops->columns.values[OP_COLUMNS + c][row];
}
int gpu_extra_is_null(const struct gpu_ops *ops, size_t c, size_t row);

/* Whether a row passes the filter. */
int gpu_counts(const struct gpu_ops *ops, size_t row, const struct filter *filter);

/* The GPU behind a process's number of a device: TARGET_INFO_GPU.id if the report has it, else the number itself. */
struct gpu_devices {
    struct report_columns columns;
};
int gpu_devices_read(struct gpu_devices *devices, struct report *report, struct error *err);
void gpu_devices_free(struct gpu_devices *devices); /* of {0} too */
int64_t gpu_device_of(const struct gpu_devices *devices, int64_t process, int64_t device);

/* nsys's name for a kind of copy or of memory; NULL for one that has no name. */
const char *memcpy_kind_name(int64_t kind);
const char *memory_kind_name(int64_t kind);

/* "[CUDA memcpy Host-to-Device]", "[CUDA memset]". */
void memcpy_label(struct text *out, int64_t kind);
#define MEMSET_LABEL "[CUDA memset]"

/* "  64    1    1" */
void dimensions_label(struct text *out, int64_t x, int64_t y, int64_t z);

#endif
