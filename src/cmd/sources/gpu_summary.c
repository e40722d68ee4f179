/* One line about the GPUs: mean power, energy, the highest temperature, and how long clocks were reduced. */
#include "gpu_summary.h"

#include <string.h>

#include "analyze/model/metrics/gpu_metrics.h"
#include "base/human.h"

struct gpu_summary_figures {
    size_t gpus;
    double watts, joules; /* over all GPUs; watts: the sum of their means */
    double highest_c;     /* -1: not known */
    double throttled_ns, clock_ns;
};

/* Over the intervals of a metric, from the first'th on: the sum of value × duration, and of durations. */
static void gpu_summary_add_up(const struct gpu_metrics *metrics, const struct gpu_metric *metric, size_t first,
                               double *sum, double *length_ns)
{
    const struct gpu_clock *clock = &metrics->clocks[metric->clock];

    for (size_t i = first; i < clock->count; i++) {
        double ns = (double)clock->end[i] - (double)clock->start[i];
        *sum += metric->values[i] * ns;
        *length_ns += ns;
    }
}

static int gpu_summary_is_called(struct report *report, const struct gpu_metric *metric, const char *name)
{
    return metric->name >= 0 && strcmp(report_string(report, metric->name, NULL), name) == 0;
}

static const struct gpu_metric *gpu_summary_find(struct report *report, const struct gpu_metrics *metrics,
                                                 struct gpu_metrics_part part, const char *name)
{
    for (size_t i = part.first; i < part.first + part.count; i++)
        if (gpu_summary_is_called(report, &metrics->list[i], name))
            return &metrics->list[i];
    return NULL;
}

static void gpu_summary_add_gpu(struct gpu_summary_figures *figures, struct report *report,
                                const struct gpu_metrics *metrics, int64_t gpu)
{
    struct gpu_metrics_part part = gpu_metrics_of(metrics, gpu);
    const struct gpu_metric *power = gpu_summary_find(report, metrics, part, "Power from Energy [W]"),
                            *throttled = gpu_summary_find(report, metrics, part, "Throttled [%]"),
                            *temperature = gpu_summary_find(report, metrics, part, "Temperature [C]");
    double watt_ns = 0, power_ns = 0, percent_ns = 0;
    size_t first = 0;

    if (!power) {
        power = gpu_summary_find(report, metrics, part, "Power [W]");
        first = 1; /* nothing was read before the first reading of a level, so it has no time of its own */
    }
    if (power)
        gpu_summary_add_up(metrics, power, first, &watt_ns, &power_ns);
    if (throttled)
        gpu_summary_add_up(metrics, throttled, 0, &percent_ns, &figures->clock_ns);
    for (size_t i = 0; temperature && i < metrics->clocks[temperature->clock].count; i++)
        figures->highest_c = temperature->values[i] > figures->highest_c ? temperature->values[i] : figures->highest_c;
    figures->gpus += power_ns > 0;
    figures->watts += power_ns > 0 ? watt_ns / power_ns : 0;
    figures->joules += watt_ns / 1e9;
    figures->throttled_ns += percent_ns / 100;
}

static void gpu_summary_add_line(struct text *out, const struct gpu_summary_figures *figures)
{
    text_addf(out, "  GPU%s drew %.0f W on average, ", figures->gpus > 1 ? "s together" : "", figures->watts);
    if (figures->joules < 1e4)
        text_addf(out, "%.*f J", figures->joules < 100, figures->joules);
    else
        text_addf(out, "%.1f kJ", figures->joules / 1e3);
    if (figures->highest_c >= 0)
        text_addf(out, "; at most %.0f °C", figures->highest_c);
    if (figures->clock_ns > 0) {
        text_add(out, "; clocks throttled ");
        summary_add_share(out, figures->throttled_ns, figures->clock_ns);
        text_add(out, " of the time");
    }
    text_add_char(out, '\n');
}

static void gpu_summary_add_notes(struct text *out, const struct summary *summary)
{
    const struct analysis_request all = { 0 };
    struct report *report = summary->request->report;
    struct gpu_metrics metrics = { 0 };
    struct gpu_summary_figures figures = { .highest_c = -1 };
    struct error err;

    if (gpu_metrics_read(&metrics, report, &all, &err) != 0)
        return;
    for (size_t i = 0; i < metrics.count; i++)
        if (i == 0 || metrics.list[i].gpu != metrics.list[i - 1].gpu)
            gpu_summary_add_gpu(&figures, report, &metrics, metrics.list[i].gpu);
    if (figures.gpus)
        gpu_summary_add_line(out, &figures);
    gpu_metrics_free(&metrics);
}

const struct source_summary gpu_summary = { .add_notes = gpu_summary_add_notes };
