/* GPU busy, MFU and tensor cores of the steps: see step_figures.h. */
#include "step_figures.h"

#include <string.h>

#include "analyze/model/flops/step_flops.h"
#include "analyze/model/gpu_busy.h"
#include "analyze/model/tensor/tensor_cores.h"
#include "base/human.h"
#include "base/saturating.h"

/* The time from the first step that counts to the last. */
static struct report_span step_figures_span_of(const struct adviser *adviser)
{
    struct report_span span = { INT64_MAX, INT64_MIN };

    for (size_t i = 0; i < adviser->steps->count; i++) {
        const struct step *step = &adviser->steps->list[i];
        if (step->is_warm_up)
            continue;
        span.from_ns = step->start_ns < span.from_ns ? step->start_ns : span.from_ns;
        span.to_ns = step->end_ns > span.to_ns ? step->end_ns : span.to_ns;
    }
    return span;
}

/* Percent of the steps, or of the GPU's part of the run, in which a GPU had work; the mean of all GPUs; negative: not
 * known. Time in which nothing was recorded (--advise) does not count. */
static double busy_share(const struct adviser *adviser, const struct analysis_request *request)
{
    struct gpu_busy busy = { 0 };
    struct error err;
    double sum = 0;

    if (gpu_busy_read(&busy, adviser->report, request, 1, &err) != 0)
        return -1;
    for (size_t i = 0; i < busy.device_count; i++) {
        const struct gpu_busy_device *device = &busy.devices[i];
        int64_t whole = request->span ? saturating_duration(request->span->from_ns, request->span->to_ns)
                                      : adviser->recorded_ns;
        whole = saturating_subtract(whole, device->paused_ns);
        sum += whole > 0 ? 100 * (double)device->busy_ns / (double)whole : 0;
    }
    double share = busy.device_count ? sum / (double)busy.device_count : -1;
    gpu_busy_free(&busy);
    return share;
}

static void read_mfu(struct step_figures *figures, const struct adviser *adviser, const char *peaks)
{
    struct steps_flops flops = { 0 };
    struct error err;

    if (!adviser->steps->count || flops_of_steps(&flops, adviser->report, adviser->steps, peaks, &err) != 0)
        return;
    if (flops.mfu >= 0) {
        figures->mfu = 100 * flops.mfu;
        figures->hfu = 100 * flops.hfu;
        figures->peak = flops.peak;
    }
    steps_flops_free(&flops);
}

/* If nearly all kernels have names that say nothing, so does the share. */
#define ALL_UNKNOWN 0.99

static void read_tensor_cores(struct step_figures *figures, const struct adviser *adviser,
                              const struct analysis_request *request)
{
    struct tensor_time time;
    struct error err;

    if (tensor_time_read(&time, adviser->report, request, &err) != 0 || time.kernel_ns <= 0 ||
        (double)time.ns[TENSOR_UNKNOWN] >= ALL_UNKNOWN * (double)time.kernel_ns)
        return;
    figures->tensor = 100 * (double)time.ns[TENSOR_YES] / (double)time.kernel_ns;
    figures->tensor_unknown = 100 * (double)time.ns[TENSOR_UNKNOWN] / (double)time.kernel_ns;
}

struct step_figures step_figures_of(const struct adviser *adviser, const char *peaks)
{
    const struct report_span span = step_figures_span_of(adviser);
    const struct analysis_request request = { .span = span.from_ns < span.to_ns ? &span : NULL };
    struct step_figures figures = { .mfu = -1, .hfu = -1, .tensor = -1 };

    figures.busy = busy_share(adviser, &request);
    read_mfu(&figures, adviser, peaks);
    read_tensor_cores(&figures, adviser, &request);
    return figures;
}
