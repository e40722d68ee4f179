/* Metrics by what they measure: see gpu_metric_roles.h. */
#include "gpu_metric_roles.h"

#include <string.h>

#include "gpu_metric_names.h"

/* Names without their units, as nsys and Tacho write them. */
static const struct {
    enum gpu_metric_role role;
    const char *name, *unit;
    double scale;
} metric_roles_names[] = {
    { ROLE_SM, "SMs Active", "%", 1 },
    { ROLE_SM, "SM Active", "%", 1 },
    { ROLE_TENSOR, "Tensor Active", "%", 1 },
    { ROLE_DRAM, "DRAM Bandwidth", "%", 1 },
    { ROLE_DRAM_READ, "DRAM Read Bandwidth", "%", 1 },
    { ROLE_DRAM_WRITE, "DRAM Write Bandwidth", "%", 1 },
    { ROLE_PCIE_RX, "PCIe RX Throughput", "%", 1 },
    { ROLE_PCIE_TX, "PCIe TX Throughput", "%", 1 },
    { ROLE_PCIE_RX_BYTES, "PCIe RX", "bytes/s", 1 },
    { ROLE_PCIE_TX_BYTES, "PCIe TX", "bytes/s", 1 },
    { ROLE_PCIE_RX_BYTES, "PCIe RX, NVML", "bytes/s", 1 },
    { ROLE_PCIE_TX_BYTES, "PCIe TX, NVML", "bytes/s", 1 },
    { ROLE_PCIE_GENERATION, "PCIe Generation", "", 1 },
    { ROLE_PCIE_LANES, "PCIe Width", "lanes", 1 },
    { ROLE_CLOCK, "GPC Clock Frequency", "MHz", 1 },
    { ROLE_CLOCK, "SM Clock", "Hz", 1e-6 },
    { ROLE_THROTTLED_BY_POWER, "Throttled by Power", "%", 1 },
    { ROLE_THROTTLED_BY_POWER, "Time Throttled by Power", "%", 1 },
    { ROLE_THROTTLED_BY_TEMPERATURE, "Throttled by Temperature", "%", 1 },
    { ROLE_THROTTLED_BY_TEMPERATURE, "Time Throttled by Temperature", "%", 1 },
    { ROLE_THROTTLED, "Throttled", "%", 1 },
};

static int metric_roles_is_text(const char *text, size_t length, const char *wanted)
{
    return strlen(wanted) == length && memcmp(text, wanted, length) == 0;
}

/* The scale of a metric in this role; 0: it has another. */
static double scale_in(struct report *report, const struct gpu_metric *metric, enum gpu_metric_role role)
{
    size_t length = 0;
    const char *name = metric->name < 0 ? "" : report_string(report, metric->name, &length);
    struct gpu_metric_unit unit = gpu_metric_unit(name, length);

    for (size_t i = 0; i < COUNT_OF(metric_roles_names); i++)
        if (metric_roles_names[i].role == role &&
            metric_roles_is_text(name, unit.name_length, metric_roles_names[i].name) &&
            metric_roles_is_text(unit.text, unit.length, metric_roles_names[i].unit))
            return metric_roles_names[i].scale;
    return 0;
}

struct gpu_role gpu_metric_role(const struct gpu_metrics *metrics, struct report *report, int64_t gpu,
                                enum gpu_metric_role role, const uint32_t *clock)
{
    struct gpu_metrics_part part = gpu_metrics_of(metrics, gpu);
    struct gpu_role found = { NULL, 1 };

    for (size_t i = part.first; i < part.first + part.count; i++) {
        const struct gpu_metric *metric = &metrics->list[i];
        double scale = clock && metric->clock != *clock ? 0 : scale_in(report, metric, role);
        if (scale > 0 &&
            (!found.metric || metrics->clocks[metric->clock].count > metrics->clocks[found.metric->clock].count))
            found = (struct gpu_role){ metric, scale };
    }
    return found;
}

void gpu_metric_add_source(struct text *out, struct report *report, const struct gpu_metrics *metrics,
                           const struct gpu_metric *metric)
{
    int64_t period = metrics->clocks[metric->clock].period_ns;
    const char *source = metric->source < 0 ? "" : report_string(report, metric->source, NULL);
    double rate = period > 0 ? 1e9 / (double)period : 0;

    text_add(out, *source ? source : "counters");
    if (rate >= 1000)
        text_addf(out, ", %.3g kHz", rate / 1000);
    else if (rate > 0)
        text_addf(out, ", %.3g Hz", rate);
}
