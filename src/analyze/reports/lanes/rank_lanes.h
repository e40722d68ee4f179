/* Events of several tables by lane: their rank and process, and the GPU where that matters. */
#ifndef TACHO_ANALYZE_REPORTS_LANES_RANK_LANES_H
#define TACHO_ANALYZE_REPORTS_LANES_RANK_LANES_H

#include "analyze/engine/keys.h"
#include "analyze/engine/request.h"
#include "analyze/engine/table.h"
#include "analyze/model/ranks/process_ranks.h"
#include "base/error.h"
#include "coverage.h"

/* A table of events. */
struct lane_source {
    const char *table;
    int kind;                   /* a number of the caller's */
    const char *name, *name_or; /* columns; name_or where the other is empty, or NULL */
    int is_of_gpu;              /* rows have a process, a device, a stream and a correlation id; else a globalTid */
};
extern const struct lane_source lane_kernels;

enum { LANE_RANK, LANE_PROCESS, LANE_DEVICE, LANE_PARTS };
#define LANE_NO_RANK INT64_C(-1)   /* unknown */
#define LANE_NO_DEVICE INT64_C(-1) /* lanes of all GPUs and of the CPU */

struct lane_event {
    int64_t start_ns, end_ns;
    int64_t name, full_name; /* string ids; full_name: that of name_or, else as name */
    uint32_t lane;
    int kind;
};

struct lanes {
    struct process_ranks ranks;
    struct keys keys;          /* by lane: LANE_RANK … */
    struct lane_event *events; /* owned; after lanes_sort() by lane and start */
    size_t count, room;
    size_t *first;             /* owned; after lanes_sort(), by lane: its first event; one more entry after the last */
    uint32_t *order;           /* owned; after lanes_sort(): the lanes by rank, process and device */
};

/* Makes lanes that the caller adds events to. Free them in any case. */
int lanes_open(struct lanes *lanes, struct report *report, struct error *err);
/* Opens lanes and reads the events of the sources that pass the request's filter, with or without a lane for each GPU.
 * Free the lanes in any case. */
int lanes_read(struct lanes *lanes, struct report *report, const struct analysis_request *request,
               const struct lane_source *sources, size_t source_count, int by_device, struct error *err);
/* The lane of an event; its rank is that of its row, else of the process. NO_KEY: no memory. */
uint32_t lanes_lane(struct lanes *lanes, int64_t rank, int64_t process, int64_t device);
int lanes_add(struct lanes *lanes, const struct lane_event *event);
int lanes_sort(struct lanes *lanes);
void lanes_free(struct lanes *lanes);

/* Whether a name is that of a kernel of NCCL: ncclKernel_…, ncclDevKernel_…. */
int lane_is_nccl_kernel(struct report *report, const struct lane_event *event);

/* The events of a lane whose kind has a bit in `kinds`, as intervals. */
int lanes_cover(const struct lanes *lanes, uint32_t lane, unsigned kinds, size_t least, struct coverage *out);

/* Sets the cells of rank, process and device; NULL: the table has none. Unknown ones stay empty. */
void lane_set_cells(const struct lanes *lanes, uint32_t lane, struct table_cell *rank, struct table_cell *pid,
                    struct table_cell *device);

#endif
