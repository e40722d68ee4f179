/* wddm_queue_sum: queues of the Windows display driver. Tacho runs on Linux only and does not analyse captures of
 * Windows. The report exists so that command lines and default lists of nsys work. */
#include "analyze/registry.h"

static int wddm_queue_sum(struct report *report, const struct analysis_request *request, struct table **out,
                          struct error *err)
{
    return error_set(err, ERR_NO_DATA, "Tacho does not analyze the queues of the Windows display driver");
}

const struct analysis analysis_wddm_queue_sum = {
    .name = "wddm_queue_sum",
    .title = "WDDM Queue Utilization Summary",
    .help = "Windows only, and always skipped: Tacho does not analyze the queues of the Windows display driver.",
    .needs = { { "WDDM context data", TABLES(NULL) } },
    .by_default = 15,
    .run = wddm_queue_sum,
};
