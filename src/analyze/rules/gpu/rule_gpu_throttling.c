/* The rule gpu_throttling: the clock of a GPU is below the highest that was seen while kernels run, because of power or
 * temperature, or for a reason that was not recorded. */
#include <stdlib.h>

#include "analyze/engine/cell_text.h"
#include "analyze/registry.h"
#include "base/human.h"
#include "busy_samples.h"
#include "samples_text.h"

enum { LEAST_PERCENT = 1, BUSY_PERCENT = 50, SAME_CLOCK_PERCENT = 98 };
#define MISSING "samples of the GPU's clock while kernels ran"

/* Reasons, the first that holds; a clock without a reason must be clearly lower. */
enum gpu_throttling_reason { BY_POWER, BY_TEMPERATURE, BY_OTHER, UNKNOWN, REASONS };
static const struct {
    enum gpu_metric_role role;
    const char *text;
} gpu_throttling_reasons[REASONS] = {
    { ROLE_THROTTLED_BY_POWER, "power limit" },
    { ROLE_THROTTLED_BY_TEMPERATURE, "temperature" },
    { ROLE_THROTTLED, "other throttling" },
    { GPU_METRIC_ROLES, "lower clock, reason not recorded" },
};

struct lost {
    int64_t throttled_ns, samples, start_ns;
    double lost_ns, clock_ns, lowest; /* clock_ns: MHz × ns */
};

struct clocks {
    const struct gpu_clock *clock;
    struct gpu_role speed, by[REASONS];
    double highest; /* MHz */
    int64_t *busy;  /* owned */
    int64_t busy_ns;
    struct lost lost[REASONS];
};

/* ---- samples --------------------------------------------------------------------------------------------------- */

static enum gpu_throttling_reason gpu_throttling_reason_of(const struct clocks *clocks, size_t at)
{
    int is_known = 0;

    for (int i = 0; i < UNKNOWN; i++) {
        is_known |= clocks->by[i].metric != NULL;
        if (clocks->by[i].metric && clocks->by[i].metric->values[at] > 0)
            return (enum gpu_throttling_reason)i;
    }
    return is_known ? REASONS : UNKNOWN;
}

static void gpu_throttling_add_sample(struct clocks *clocks, size_t at)
{
    double speed = clocks->speed.metric->values[at] * clocks->speed.scale;
    enum gpu_throttling_reason reason = gpu_throttling_reason_of(clocks, at);

    clocks->busy_ns = saturating_add(clocks->busy_ns, clocks->busy[at]);
    if (reason == REASONS || speed * 100 >= clocks->highest * SAME_CLOCK_PERCENT)
        return;
    struct lost *lost = &clocks->lost[reason];
    if (!lost->samples++) {
        lost->start_ns = clocks->clock->start[at];
        lost->lowest = speed;
    }
    lost->lowest = speed < lost->lowest ? speed : lost->lowest;
    lost->throttled_ns = saturating_add(lost->throttled_ns, clocks->busy[at]);
    lost->clock_ns += speed * (double)clocks->busy[at];
    lost->lost_ns += (1 - speed / clocks->highest) * (double)clocks->busy[at];
}

/* Chooses a clock with reasons, if there is one. */
static int gpu_throttling_choose(struct clocks *clocks, const struct busy_search *search, int64_t gpu)
{
    const struct gpu_metrics *metrics = search->metrics;
    struct report *report = search->base.report;

    clocks->speed = gpu_metric_role(metrics, report, gpu, ROLE_CLOCK, NULL);
    for (int i = 0; i < UNKNOWN; i++) {
        struct gpu_role by = gpu_metric_role(metrics, report, gpu, gpu_throttling_reasons[i].role, NULL);
        struct gpu_role beside = by.metric ? gpu_metric_role(metrics, report, gpu, ROLE_CLOCK, &by.metric->clock)
                                           : (struct gpu_role){ NULL, 1 };
        if (beside.metric)
            clocks->speed = beside;
    }
    if (!clocks->speed.metric)
        return 0;
    clocks->clock = &metrics->clocks[clocks->speed.metric->clock];
    for (int i = 0; i < UNKNOWN; i++)
        clocks->by[i] = gpu_metric_role(metrics, report, gpu, gpu_throttling_reasons[i].role,
                                        &clocks->speed.metric->clock);
    return 1;
}

static void find_highest(struct clocks *clocks)
{
    for (size_t i = 0; i < clocks->clock->count; i++) {
        double speed = clocks->speed.metric->values[i] * clocks->speed.scale;
        clocks->highest = speed > clocks->highest ? speed : clocks->highest;
    }
}

/* ---- the table ------------------------------------------------------------------------------------------------- */

enum { IMPACT, THROTTLED, BUSY, START, SAMPLES, CLOCK, LOWEST, HIGHEST, GPU, REASON, SOURCE, CELLS };
static const struct table_column gpu_throttling_columns[CELLS] = {
    [IMPACT] = { "Impact", CELL_INT, UNIT_NS, 0 },
    [THROTTLED] = { "Throttled", CELL_INT, UNIT_NS, 0 },
    [BUSY] = { "Kernel Time", CELL_INT, UNIT_NS, 0 },
    [START] = { "Start", CELL_INT, UNIT_TIME, 0 },
    [SAMPLES] = { "Samples", CELL_INT, UNIT_NONE, 0 },
    [CLOCK] = { "Clock Avg (MHz)", CELL_REAL, UNIT_NONE, 0 },
    [LOWEST] = { "Clock Min (MHz)", CELL_REAL, UNIT_NONE, 0 },
    [HIGHEST] = { "Clock Max (MHz)", CELL_REAL, UNIT_NONE, 0 },
    [GPU] = { "GPU", CELL_INT, UNIT_ID, 0 },
    [REASON] = { "Reason", CELL_TEXT, UNIT_NONE, 0 },
    [SOURCE] = { "Source", CELL_TEXT, UNIT_NONE, 0 },
};

static int gpu_throttling_add_row(struct busy_search *search, const struct clocks *clocks,
                                  enum gpu_throttling_reason reason)
{
    const struct lost *lost = &clocks->lost[reason];
    struct table_cell *row = table_add_row(search->table);

    if (!row)
        return ERR_NO_MEMORY;
    cell_set_int(&row[IMPACT], saturating_from_double(lost->lost_ns));
    cell_set_int(&row[THROTTLED], lost->throttled_ns);
    cell_set_int(&row[BUSY], clocks->busy_ns);
    cell_set_int(&row[START], lost->start_ns);
    cell_set_int(&row[SAMPLES], lost->samples);
    cell_set_real(&row[CLOCK], lost->clock_ns / (double)lost->throttled_ns);
    cell_set_real(&row[LOWEST], lost->lowest);
    cell_set_real(&row[HIGHEST], clocks->highest);
    cell_set_int(&row[GPU], clocks->clock->gpu);
    int code = samples_set_source(search->table, &row[SOURCE], search->base.report, search->metrics,
                                  clocks->speed.metric);
    return code != 0 ? code : cell_set_string(search->table, &row[REASON], gpu_throttling_reasons[reason].text);
}

static int gpu_throttling_visit(struct busy_search *search, int64_t gpu)
{
    struct clocks clocks = { 0 };
    int code = 0;

    if (!gpu_throttling_choose(&clocks, search, gpu))
        return 0;
    if (!(clocks.busy = busy_samples(search, clocks.clock)))
        return ERR_NO_MEMORY;
    find_highest(&clocks);
    for (size_t i = 0; i < clocks.clock->count; i++) {
        int64_t length = saturating_duration(clocks.clock->start[i], clocks.clock->end[i]);
        if (clocks.busy[i] > 0 && (double)clocks.busy[i] * 100 >= (double)length * BUSY_PERCENT) {
            search->samples++;
            gpu_throttling_add_sample(&clocks, i);
        }
    }
    for (int i = 0; i < REASONS; i++)
        if (clocks.lost[i].samples && rule_is_enough(&search->base, saturating_from_double(clocks.lost[i].lost_ns)) &&
            (code = gpu_throttling_add_row(search, &clocks, (enum gpu_throttling_reason)i)) != 0)
            break;
    free(clocks.busy);
    return code;
}

/* "GPU 0: power limit: on average 1410 MHz instead of 1980 MHz for 3.10 s of 4.00 s with kernels (31 samples of NVML,
 * 10 Hz), lowest 1290 MHz" */
static void gpu_throttling_say(struct text *out, const struct table *table, size_t at)
{
    const struct table_cell *row = table_row(table, at);

    text_addf(out, "GPU %lld: ", (long long)row[GPU].integer);
    rule_add_text(out, "", &row[REASON]);
    text_addf(out, ": on average %.0f MHz instead of %.0f MHz for ", row[CLOCK].real, row[HIGHEST].real);
    human_time(out, row[THROTTLED].integer);
    text_add(out, " of ");
    human_time(out, row[BUSY].integer);
    text_add(out, " with kernels ");
    samples_say(out, &row[SAMPLES], &row[SOURCE]);
    text_addf(out, ", lowest %.0f MHz", row[LOWEST].real);
}

static int gpu_throttling_is_outside(const struct table *table, size_t row)
{
    return 1;
}

const struct analysis rule_gpu_throttling = {
    .name = "gpu_throttling",
    .title = "Throttled GPU Clocks",
    .usage = RULE_OPTIONS "[:threshold=<percent>]",
    .help = "GPUs whose clock was at least 2 percent below the highest that was sampled, in samples of which kernels "
            "cover half: because of the power limit or the temperature, if the reason was sampled. Impact is the time "
            "that kernels would have saved at the highest clock, if they depend on nothing else: kernel time "
            "multiplied by the lost share of the clock. A finding has at least threshold (1) percent of the capture's "
            "time.",
    .needs = { { MISSING, gpu_metrics_tables }, { "CUDA kernel data", gpu_kernel_tables } },
    .run_as = busy_run,
    .as = &(const struct busy_rule){ gpu_throttling_columns, CELLS, LEAST_PERCENT, MISSING, gpu_throttling_visit },
    .rule = ANALYSIS_RULE(
            .finding = gpu_throttling_say, .is_outside = gpu_throttling_is_outside,
            .advice =
                "Compare runs only at the same clock. Power: raise the limit (nvidia-smi -pl) if the machine allows "
                "it. Temperature: check cooling and neighbours. nvidia-smi -lgc locks a clock that the GPU can hold.",
            .praise = "The GPU's clock stayed near its highest while kernels ran."),
};
