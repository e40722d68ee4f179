/* network_congestion: spans in which a network interface had data to send and had to wait. */
#include <string.h>
#include <strings.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/report_options.h"
#include "analyze/model/filter.h"
#include "analyze/registry.h"

enum { TICKS_THRESHOLD = 10000 }; /* ticks per millisecond above which a span counts as congestion */
enum { START, END, INTERFACE, LIST, INDEX, VALUE, SAMPLE_COLUMNS };

struct network_metrics {
    struct report *report;
    struct report_columns samples, metrics, interfaces, map;
};

static int network_read(struct network_metrics *network, struct error *err)
{
    static const char *const samples[] = { "start", "end", "globalId", "metricsListId", "metricsIdx", "value" };
    static const char *const metrics[] = { "metricsListId", "metricsIdx", "name" };
    static const char *const interfaces[] = { "nicId", "GUID", "name" };
    static const char *const map[] = { "nicId", "globalId" };
    struct report *report = network->report;
    int code;

    if ((code = columns_read(report, "NET_NIC_METRIC", samples, SAMPLE_COLUMNS, &network->samples, err)) != 0)
        return code;
    if ((code = columns_read(report, "TARGET_INFO_NETWORK_METRICS", metrics, 3, &network->metrics, err)) != 0)
        return code;
    if ((code = columns_read(report, "TARGET_INFO_NIC_INFO", interfaces, 3, &network->interfaces, err)) != 0)
        return code;
    return columns_read(report, "NIC_ID_MAP", map, 2, &network->map, err);
}

static void network_free(struct network_metrics *network)
{
    report_columns_free(&network->samples);
    report_columns_free(&network->metrics);
    report_columns_free(&network->interfaces);
    report_columns_free(&network->map);
}

/* Whether a sample counts the time that sends waited. Only the name of its metric shows that. */
static int is_send_wait(const struct network_metrics *network, size_t row)
{
    for (size_t i = 0; i < network->metrics.rows; i++) {
        if (network->metrics.values[0][i] != network->samples.values[LIST][row] ||
            network->metrics.values[1][i] != network->samples.values[INDEX][row])
            continue;
        const char *name = report_string(network->report, network->metrics.values[2][i], NULL);
        return strcasestr(name, "send") != NULL && strcasestr(name, "wait") != NULL;
    }
    return 0;
}

enum { AT, UNTIL, TIME, RATE, GUID, NAME, COLUMNS };

/* The row of the interface that a sample belongs to, or -1. */
static int64_t find_interface(const struct network_metrics *network, int64_t global_id)
{
    for (size_t i = 0; i < network->map.rows; i++)
        for (size_t j = 0; network->map.values[1][i] == global_id && j < network->interfaces.rows; j++)
            if (network->interfaces.values[0][j] == network->map.values[0][i])
                return (int64_t)j;
    return -1;
}

static int congestion_add_row(const struct network_metrics *network, struct table *table, size_t row, double rate)
{
    int64_t start = network->samples.values[START][row], end = network->samples.values[END][row];
    int64_t interface = find_interface(network, network->samples.values[INTERFACE][row]);
    struct table_cell *cells = table_add_row(table);

    if (!cells)
        return ERR_NO_MEMORY;
    cell_set_int(&cells[AT], start);
    cell_set_int(&cells[UNTIL], end);
    cell_set_int(&cells[TIME], saturating_duration(start, end));
    cell_set_real(&cells[RATE], rate);
    if (interface < 0)
        return 0;
    cell_set_int(&cells[GUID], network->interfaces.values[1][interface]);
    return cell_set_pooled(table, &cells[NAME], network->report, network->interfaces.values[2][interface]);
}

static int congestion_fill_table(const struct network_metrics *network, struct table *table,
                                 const struct report_span *span, int64_t threshold)
{
    for (size_t row = 0; row < network->samples.rows; row++) {
        int64_t start = network->samples.values[START][row], end = network->samples.values[END][row];
        if (end <= start || !span_overlaps(span, start, end) || !is_send_wait(network, row))
            continue;
        double rate = (double)network->samples.values[VALUE][row] * 1e6 / (double)saturating_duration(start, end);
        if (rate > (double)threshold && congestion_add_row(network, table, row, rate) != 0)
            return ERR_NO_MEMORY;
    }
    table_sort_by(table, BY(AT));
    return 0;
}

static int network_congestion(struct report *report, const struct analysis_request *request, struct table **out,
                              struct error *err)
{
    static const struct table_column columns[COLUMNS] = {
        { "Start", CELL_INT, UNIT_TIME, 0 },  { "End", CELL_INT, UNIT_TIME, 0 },
        { "Duration", CELL_INT, UNIT_NS, 0 }, { "Send wait rate", CELL_REAL, UNIT_NONE, 1 },
        { "GUID", CELL_INT, UNIT_ID, 0 },     { "Name", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct table *table = table_new(columns, COLUMNS);
    struct network_metrics network = { .report = report };
    int64_t threshold;
    int code;

    if ((code = option_number(request, "ticks_threshold", TICKS_THRESHOLD, 0, INT64_MAX, &threshold, err)) != 0)
        goto done;
    if ((code = network_read(&network, err)) != 0)
        goto done;
    code = table ? congestion_fill_table(&network, table, request->span, threshold) : ERR_NO_MEMORY;
done:
    network_free(&network);
    return table_hand_over(table, code, out, err);
}

const struct analysis analysis_network_congestion = {
    .name = "network_congestion",
    .title = "Network Devices Congestion",
    .usage = "[:ticks_threshold=<ticks_per_ms>]",
    .help = "Time spans in which a network interface waited to send for more than ticks_threshold ticks per "
            "millisecond (default: 10000).",
    .needs = { { "network metrics data", TABLES("NET_NIC_METRIC") } },
    .run = network_congestion,
};
