/* Files of nsys have these samples; Tacho does not record any. */
#include "nic_metrics.h"

#include <inttypes.h>
#include <stdlib.h>

#include "analyze/engine/event_columns.h"

const char *const nic_metrics_tables[] = { "NET_NIC_METRIC", NULL };

static int nic_metrics_read_tables(struct nic_metrics *metrics, struct error *err)
{
    static const char *const samples[NIC_COLUMNS] = {
        "start", "end", "globalId", "portId", "metricsListId", "metricsIdx", "value",
    };
    static const char *const names[] = { "metricsListId", "metricsIdx", "name" };
    static const char *const interfaces[] = { "nicId", "name" };
    static const char *const map[] = { "nicId", "globalId" };
    struct report *report = metrics->report;
    int code;

    if ((code = columns_read(report, "NET_NIC_METRIC", samples, NIC_COLUMNS, &metrics->samples, err)) != 0)
        return code;
    if ((code = columns_read(report, "TARGET_INFO_NETWORK_METRICS", names, 3, &metrics->metrics, err)) != 0)
        return code;
    if ((code = columns_read(report, "TARGET_INFO_NIC_INFO", interfaces, 2, &metrics->interfaces, err)) != 0)
        return code;
    return columns_read(report, "NIC_ID_MAP", map, 2, &metrics->map, err);
}

static int number_series(struct nic_metrics *metrics, const struct report_span *span)
{
    int64_t *const *values = metrics->samples.values;

    metrics->series_of = malloc((metrics->samples.rows + 1) * sizeof *metrics->series_of);
    if (!metrics->series_of)
        return ERR_NO_MEMORY;
    for (size_t row = 0; row < metrics->samples.rows; row++) {
        const int64_t key[] = { values[NIC_ID][row], values[NIC_PORT][row], values[NIC_LIST][row],
                                values[NIC_INDEX][row] };
        metrics->series_of[row] = NO_KEY;
        if (!span_overlaps(span, values[NIC_START][row], values[NIC_END][row]))
            continue;
        if ((metrics->series_of[row] = keys_add(&metrics->series, key)) == NO_KEY)
            return ERR_NO_MEMORY;
    }
    return 0;
}

int nic_metrics_read(struct nic_metrics *metrics, struct report *report, const struct analysis_request *request,
                     struct error *err)
{
    int code;

    *metrics = (struct nic_metrics){ .report = report, .series.width = 4 };
    if ((code = nic_metrics_read_tables(metrics, err)) != 0)
        return code;
    for (size_t c = 0; metrics->samples.rows && c < NIC_COLUMNS; c++)
        columns_fill_nulls(&metrics->samples, c, 0);
    return number_series(metrics, request->span) != 0 ? error_short_memory(err, "for the samples of network interfaces")
                                                      : 0;
}

void nic_metrics_free(struct nic_metrics *metrics)
{
    report_columns_free(&metrics->samples);
    report_columns_free(&metrics->metrics);
    report_columns_free(&metrics->interfaces);
    report_columns_free(&metrics->map);
    keys_free(&metrics->series);
    free(metrics->series_of);
}

/* The name of an interface; -1: the report has none. */
static int64_t name_of_interface(const struct nic_metrics *metrics, int64_t id)
{
    for (size_t i = 0; i < metrics->map.rows; i++)
        for (size_t j = 0; metrics->map.values[1][i] == id && j < metrics->interfaces.rows; j++)
            if (metrics->interfaces.values[0][j] == metrics->map.values[0][i])
                return metrics->interfaces.values[1][j];
    return -1;
}

static void nic_metrics_add_pooled(struct text *out, const struct nic_metrics *metrics, int64_t id)
{
    size_t length;
    const char *bytes = report_string(metrics->report, id, &length);

    text_add_bytes(out, bytes, length);
}

void nic_metrics_add_device(struct text *out, const struct nic_metrics *metrics, uint32_t series)
{
    const int64_t *key = keys_get(&metrics->series, series);
    int64_t name = name_of_interface(metrics, key[0]);

    if (name >= 0)
        nic_metrics_add_pooled(out, metrics, name);
    else
        text_addf(out, "interface %" PRId64, key[0] & 0xff);
    text_addf(out, " port %" PRId64, key[1]);
}

void nic_metrics_add_name(struct text *out, const struct nic_metrics *metrics, uint32_t series)
{
    const int64_t *key = keys_get(&metrics->series, series);

    for (size_t i = 0; i < metrics->metrics.rows; i++)
        if (metrics->metrics.values[0][i] == key[2] && metrics->metrics.values[1][i] == key[3]) {
            nic_metrics_add_pooled(out, metrics, metrics->metrics.values[2][i]);
            return;
        }
    text_addf(out, "metric %" PRId64, key[3]);
}
