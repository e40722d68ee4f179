/* The rule pcie_bound: the PCIe link of a GPU is nearly full while the GPU has few kernels to run. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/model/gpu_busy.h"
#include "analyze/registry.h"
#include "base/human.h"
#include "busy_samples.h"
#include "samples_text.h"

enum { LEAST_PERCENT = 5, FULL_PERCENT = 60, BUSY_PERCENT = 50 };
enum { MOST_PERCENT = 105 }; /* no link carries more than its rate: such a reading is wrong */
#define MISSING "samples of PCIe traffic and the rate of the link"

static const struct direction {
    enum gpu_metric_role share, bytes;
    const char *text;
} directions[] = {
    { ROLE_PCIE_RX, ROLE_PCIE_RX_BYTES, "to the GPU" },
    { ROLE_PCIE_TX, ROLE_PCIE_TX_BYTES, "from the GPU" },
};

/* The load of a link in one direction, in percent of its rate. */
struct load {
    struct gpu_role role; /* metric NULL: not known */
    double full;          /* the value of a full link */
};

/* Bytes per second of a lane, one way, less the overhead of the encoding. */
static double lane_rate(double generation)
{
    static const double rates[] = { 0, 0.25e9, 0.5e9, 0.985e9, 1.969e9, 3.938e9, 7.563e9 };

    return generation >= 1 && generation < COUNT_OF(rates) ? rates[(size_t)generation] : 0;
}

static double greatest(const struct gpu_metrics *metrics, const struct gpu_metric *metric)
{
    double most = 0;

    for (size_t i = 0; metric && i < metrics->clocks[metric->clock].count; i++)
        most = metric->values[i] > most ? metric->values[i] : most;
    return most;
}

/* A link that saves power may show a lower generation while it is idle, so the highest counts. */
static struct load load_of(const struct busy_search *search, int64_t gpu, const struct direction *direction)
{
    const struct gpu_metrics *metrics = search->metrics;
    struct report *report = search->base.report;
    struct load load = { gpu_metric_role(metrics, report, gpu, direction->share, NULL), 100 };

    if (load.role.metric)
        return load;
    load.role = gpu_metric_role(metrics, report, gpu, direction->bytes, NULL);
    load.full = lane_rate(greatest(metrics, gpu_metric_role(metrics, report, gpu, ROLE_PCIE_GENERATION, NULL).metric)) *
                greatest(metrics, gpu_metric_role(metrics, report, gpu, ROLE_PCIE_LANES, NULL).metric);
    if (load.full <= 0)
        load.role.metric = NULL;
    return load;
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { IMPACT, LOAD, BOUND, START, SAMPLES, GPU, DIRECTION, SOURCE, CELLS };
static const struct table_column pcie_bound_columns[CELLS] = {
    [IMPACT] = { "Impact", CELL_INT, UNIT_NS, 0 },
    [LOAD] = { "Link", CELL_REAL, UNIT_PERCENT, 1 },
    [BOUND] = { "Bound", CELL_INT, UNIT_NS, 0 },
    [START] = { "Start", CELL_INT, UNIT_TIME, 0 },
    [SAMPLES] = { "Samples", CELL_INT, UNIT_NONE, 0 },
    [GPU] = { "GPU", CELL_INT, UNIT_ID, 0 },
    [DIRECTION] = { "Direction", CELL_TEXT, UNIT_NONE, 0 },
    [SOURCE] = { "Source", CELL_TEXT, UNIT_NONE, 0 },
};

/* The sums over samples with a full link. */
struct pcie_bound_side {
    int64_t bound_ns, idle_ns, start_ns, samples;
    double load_ns;
};

static int pcie_bound_add_row(struct busy_search *search, int64_t gpu, const struct direction *direction,
                              const struct load *load, const struct pcie_bound_side *bound)
{
    struct table_cell *row = table_add_row(search->table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], bound->idle_ns);
    cell_set_real(&row[LOAD], bound->load_ns / (double)bound->bound_ns);
    cell_set_int(&row[BOUND], bound->bound_ns);
    cell_set_int(&row[START], bound->start_ns);
    cell_set_int(&row[SAMPLES], bound->samples);
    cell_set_int(&row[GPU], gpu);
    int code = samples_set_source(search->table, &row[SOURCE], search->base.report, search->metrics, load->role.metric);
    return code != 0 ? code : cell_set_string(search->table, &row[DIRECTION], direction->text);
}

/* time: that of the capture; the first and the last sample may reach beyond it. */
static struct pcie_bound_side pcie_bound_add_up(const struct gpu_clock *clock, const int64_t *busy,
                                                const struct load *load, const struct report_span *time)
{
    struct pcie_bound_side bound = { 0 };

    for (size_t i = 0; i < clock->count; i++) {
        int64_t start = clock->start[i] > time->from_ns ? clock->start[i] : time->from_ns,
                end = clock->end[i] < time->to_ns ? clock->end[i] : time->to_ns;
        int64_t length = end > start ? saturating_duration(start, end) : 0;
        double percent = 100 * load->role.metric->values[i] * load->role.scale / load->full;
        if (percent < FULL_PERCENT || percent > MOST_PERCENT || length <= 0 ||
            (double)busy[i] * 100 >= (double)length * BUSY_PERCENT)
            continue;
        if (!bound.samples++)
            bound.start_ns = start;
        bound.bound_ns = saturating_add(bound.bound_ns, length);
        bound.idle_ns = saturating_add(bound.idle_ns, length - busy[i]);
        bound.load_ns += percent * (double)length;
    }
    return bound;
}

static int pcie_bound_visit(struct busy_search *search, int64_t gpu)
{
    for (size_t i = 0; i < COUNT_OF(directions); i++) {
        struct load load = load_of(search, gpu, &directions[i]);
        if (!load.role.metric)
            continue;
        const struct gpu_clock *clock = &search->metrics->clocks[load.role.metric->clock];
        int64_t *times = busy_samples(search, clock);
        if (!times)
            return ERR_NO_MEMORY;
        struct pcie_bound_side bound = pcie_bound_add_up(clock, times, &load, &search->base.time);
        free(times);
        search->samples += (int64_t)clock->count;
        if (bound.samples && rule_is_enough(&search->base, bound.idle_ns) &&
            pcie_bound_add_row(search, gpu, &directions[i], &load, &bound) != 0)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* "GPU 0: PCIe link 83 % full (to the GPU) for 1.20 s, of which it ran no kernels for 1.10 s (12 samples of …)" */
static void pcie_bound_say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);

    text_addf(out, "GPU %lld: PCIe link %.0f %% full (", (long long)row[GPU].integer, row[LOAD].real);
    rule_add_text(out, "", &row[DIRECTION]);
    text_add(out, ") for ");
    human_time(out, row[BOUND].integer);
    text_add(out, ", without kernels for ");
    human_time(out, row[IMPACT].integer);
    text_add(out, " of it ");
    samples_say(out, &row[SAMPLES], &row[SOURCE]);
}

const struct analysis rule_pcie_bound = {
    .name = "pcie_bound",
    .title = "GPU Waits for PCIe",
    .usage = RULE_OPTIONS "[:threshold=<percent>]",
    .help =
        "GPUs whose PCIe link carried at least 60 percent of its rate in one direction, in samples of which kernels "
        "cover less than half: the GPU waits for copies. The rate is that of the metric (percent), or of the "
        "link's generation and width. Impact is the part of these samples without kernels. A finding has at least "
        "threshold (5) percent of the capture's time.",
    .needs = { { MISSING, gpu_metrics_tables }, { "CUDA work on GPUs", gpu_busy_tables } },
    .run_as = busy_run,
    .as = &(const struct busy_rule){ pcie_bound_columns, CELLS, LEAST_PERCENT, MISSING, pcie_bound_visit },
    .rule = ANALYSIS_RULE(
            .finding = pcie_bound_say,
            .advice = "Copy less or earlier: keep data on the GPU, copy the next batch in another stream while kernels "
                      "run (pinned memory, non_blocking=True), send narrower types, decode or augment on the GPU.",
            .praise = "The PCIe link was not full while the GPU had no kernels."),
};
