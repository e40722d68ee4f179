/* NVTX ranges projected onto the GPU: from the start of the first to the end of the last piece of work that was
 * launched inside them (nvtx_gpu_proj.c). */
#ifndef TACHO_ANALYZE_REPORTS_GPU_PROJECTION_H
#define TACHO_ANALYZE_REPORTS_GPU_PROJECTION_H

#include "analyze/model/launch_run.h"
#include "analyze/model/launches.h"
#include "analyze/model/nvtx_fold.h"

struct gpu_projection {
    struct report *report;
    struct calls calls;
    struct ranges ranges;               /* only ranges with work */
    struct launch_run_work *range_work; /* owned; by range */
    uint32_t *launches;                 /* owned; calls with work, by thread and time */
    size_t launch_count;
    struct nvtx_fold fold;              /* for the summary alone */
};

/* domain: only ranges of the NVTX domain of this name; NULL: all. Free the projection in any case. */
int gpu_projection_read(struct gpu_projection *projection, struct report *report,
                        const struct analysis_request *request, const char *domain, struct error *err);
void gpu_projection_free(struct gpu_projection *projection);

#endif
