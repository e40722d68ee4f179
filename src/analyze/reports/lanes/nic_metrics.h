/* Samples of network interfaces (NET_NIC_METRIC), by interface, port and metric. */
#ifndef TACHO_ANALYZE_REPORTS_LANES_NIC_METRICS_H
#define TACHO_ANALYZE_REPORTS_LANES_NIC_METRICS_H

#include "analyze/engine/keys.h"
#include "analyze/engine/request.h"
#include "base/error.h"
#include "base/text.h"

enum { NIC_START, NIC_END, NIC_ID, NIC_PORT, NIC_LIST, NIC_INDEX, NIC_VALUE, NIC_COLUMNS };

struct nic_metrics {
    struct report *report;
    struct report_columns samples, metrics, interfaces, map;
    struct keys series;  /* interface, port, list and index of a metric */
    uint32_t *series_of; /* owned; by sample; NO_KEY: it is not in the span */
};

extern const char *const nic_metrics_tables[];

/* Free them in any case. */
int nic_metrics_read(struct nic_metrics *metrics, struct report *report, const struct analysis_request *request,
                     struct error *err);
void nic_metrics_free(struct nic_metrics *metrics);

/* Append "mlx5_0 port 1", and the name of the metric. */
void nic_metrics_add_device(struct text *out, const struct nic_metrics *metrics, uint32_t series);
void nic_metrics_add_name(struct text *out, const struct nic_metrics *metrics, uint32_t series);

#endif
