/* tacho dmon: nvidia-smi dmon, a line for each GPU and second. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "base/nearest.h"
#include "monitor.h"

enum dmon_kind { LEVEL, SHARE, EVENT };
enum { WIDTH = 6, GPM_WIDTH = 10 };
#define MIB 1048576

static const struct monitor_column dmon_table_columns[] = {
#define DMON_COLUMN(letter, name, unit, scale, kind, reading) { letter, name, unit, WIDTH, WIDTH, scale },
#include "dmon_columns.def"
};

static const struct {
    enum dmon_kind kind;
    enum gpu_reading reading;
} dmon_sources[] = {
#define DMON_COLUMN(letter, name, unit, scale, kind, reading) { kind, GPU_READING_##reading },
#include "dmon_columns.def"
};

/* GPM metrics, by reading. */
static const struct {
    unsigned number;
    const char *unit;
} gpm_metrics[GPU_READINGS] = {
#define GPM_READING(id, number, name, unit) [GPU_READING_##id] = { number, unit },
#include "wire/gpu_readings.def"
};

static const struct {
    const char *name;
    enum gpu_reading reading;
} gpm_names[] = {
#define DMON_GPM(name, reading) { name, GPU_READING_##reading },
#include "dmon_columns.def"
};

enum {
    COLUMNS = COUNT_OF(dmon_table_columns),
    GPM_COLUMNS = COUNT_OF(gpm_names),
};

struct dmon_settings {
    struct monitor_settings common;
    const char *gpm_list, *gpm_options;
};

struct dmon {
    struct monitor monitor;
    struct monitor_column gpm[GPM_COLUMNS];
    enum gpu_reading readings[MONITOR_COLUMNS_MOST]; /* by column of the table */
    enum dmon_kind kinds[MONITOR_COLUMNS_MOST];
};

/* ---- choosing columns ------------------------------------------------------------------------------------------ */

/* A metric by NVML's number, as nvidia-smi has it, or by its column's name; -1: none. */
static int find_gpm(const char *word)
{
    for (int i = 0; i < GPM_COLUMNS; i++) {
        char number[16];
        snprintf(number, sizeof number, "%u", gpm_metrics[gpm_names[i].reading].number);
        if (strcmp(word, number) == 0 || strcmp(word, gpm_names[i].name) == 0)
            return i;
    }
    return -1;
}

static int complain_gpm(const char *word, struct error *err)
{
    const char *names[GPM_COLUMNS + 1] = { 0 }, *nearest;

    if (*word && !word[strspn(word, "0123456789")])
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--gpm-metrics: metric %s is not supported; 'tacho help dmon' lists numbers and names", word);
    for (int i = 0; i < GPM_COLUMNS; i++)
        names[i] = gpm_names[i].name;
    nearest = nearest_name(word, names);
    if (nearest)
        return error_set(err, ERR_BAD_ARGUMENT, "--gpm-metrics: '%s' is unknown; did you mean %s (%u)?", word, nearest,
                         gpm_metrics[gpm_names[find_gpm(nearest)].reading].number);
    return error_set(err, ERR_BAD_ARGUMENT, "--gpm-metrics: '%s' is unknown; 'tacho help dmon' lists numbers and names",
                     word);
}

static int add_gpm(void *context, const char *word, struct error *err)
{
    struct dmon *dmon = context;
    int found = find_gpm(word);

    if (found < 0)
        return complain_gpm(word, err);
    int is_rate = strcmp(gpm_metrics[gpm_names[found].reading].unit, "B/s") == 0;
    dmon->gpm[found] = (struct monitor_column){ .name = gpm_names[found].name,
                                                .unit = is_rate ? "GPM:MiB/s" : "GPM:%",
                                                .heading_width = GPM_WIDTH,
                                                .width = GPM_WIDTH,
                                                .scale = is_rate ? MIB : 1 };
    monitor_table_add(&dmon->monitor.table, &dmon->gpm[found]);
    return 0;
}

static int add_gpms(struct dmon *dmon, const struct dmon_settings *settings, struct error *err)
{
    if (settings->gpm_options && strcmp(settings->gpm_options, "d") != 0)
        return error_set(err, ERR_BAD_ARGUMENT,
                         strspn(settings->gpm_options, "dm") == strlen(settings->gpm_options)
                             ? "--gpm-options %s: GPM of MIG instances is not supported; use d, metrics of whole GPUs"
                             : "--gpm-options must be d, not '%s'",
                         settings->gpm_options);
    return settings->gpm_list ? monitor_each_word(settings->gpm_list, add_gpm, dmon, err) : 0;
}

static void list_readings(struct dmon *dmon)
{
    const struct monitor_table *table = &dmon->monitor.table;

    for (size_t i = 0; i < table->count; i++) {
        const struct monitor_column *column = table->columns[i];
        int is_gpm = column >= dmon->gpm && column < dmon->gpm + GPM_COLUMNS;
        dmon->kinds[i] = is_gpm ? LEVEL : dmon_sources[column - dmon_table_columns].kind;
        dmon->readings[i] = is_gpm ? gpm_names[column - dmon->gpm].reading
                                   : dmon_sources[column - dmon_table_columns].reading;
    }
    dmon->monitor.wish.readings = dmon->readings;
    dmon->monitor.wish.reading_count = table->count;
}

/* ---- lines ----------------------------------------------------------------------------------------------------- */

/* The first line has no earlier reading to compare with: it prints 0, as nvidia-smi does. */
static double change(const struct gpu_feed_gpu *gpu, enum gpu_reading reading)
{
    if (isnan(gpu->now[reading]))
        return NAN;
    return gpu->before_ns && !isnan(gpu->before[reading]) ? gpu->now[reading] - gpu->before[reading] : 0;
}

static double dmon_value_of(const struct gpu_feed_gpu *gpu, enum dmon_kind kind, enum gpu_reading reading)
{
    double grown = kind == LEVEL ? 0 : change(gpu, reading);
    double elapsed_ns = (double)(gpu->time_ns - gpu->before_ns);

    switch (kind) {
    case SHARE: return isnan(grown) ? NAN : fmax(0, fmin(100, 100 * grown / elapsed_ns));
    case EVENT: return isnan(grown) ? NAN : grown > 0;
    default: return gpu->now[reading];
    }
}

static void dmon_add_round(struct monitor *monitor, const struct gpu_feed *feed, struct text *out)
{
    const struct dmon *dmon = (const struct dmon *)monitor;
    struct monitor_cell cells[MONITOR_COLUMNS_MOST] = { 0 };

    for (size_t g = 0; g < feed->gpu_count; g++) {
        const struct gpu_feed_gpu *gpu = &feed->gpus[g];
        for (size_t i = 0; i < monitor->table.count; i++)
            cells[i].value = dmon_value_of(gpu, dmon->kinds[i], dmon->readings[i]);
        monitor_table_line(out, &monitor->table, &gpu->facts, gpu->time_ns + feed->utc_offset_ns, cells);
    }
}

/* ---- the command ----------------------------------------------------------------------------------------------- */

static int dmon_run(const struct command *self, int argc, char **argv)
{
    struct dmon_settings settings = { .common = { .letters = "puc", .feed.interval_us = 1000000 } };
    struct dmon dmon = {
        .monitor = { .self = self, .settings = &settings.common, .can_record = 1, .add_round = dmon_add_round }
    };
    struct error err = { 0 };
    int status;

    if (!gpu_feed_options(self, argc, argv, &settings.common.feed, &status))
        return status;
    if (monitor_select(&dmon.monitor, dmon_table_columns, COLUMNS, &status))
        return status;
    if (add_gpms(&dmon, &settings, &err))
        return command_fail(self, &err);
    list_readings(&dmon);
    return monitor_run(&dmon.monitor);
}

/* clang-format off */
static const struct option dmon_options[] = {
    MONITOR_OPTIONS(struct dmon_settings, common,
      "Columns: p (power, temperatures), u (utilization), c (clocks), v (time lost to power and thermal limits), "
      "m (memory), e (ECC and PCIe errors), t (PCIe throughput), printed in the order of the letters. Default: puc.",
      "DT|FILE", "Begin each line with the date (D), the time (T) or both (DT), as in nvidia-smi. Or record the "
      "columns in a report, FILE.tacho, which 'tacho view' shows. May be repeated for both."),
    { .name = "gpm-metrics", .kind = OPTION_TEXT, .offset = offsetof(struct dmon_settings, gpm_list), .value = "LIST",
      .help = "Add columns of GPM, on Hopper and later: 1 gract, 2 smutil, 3 smocc, 4 intutil, 5 mmaact, 6 dfmat, "
              "7 hmmat, 9 immat, 10 dram, 11 fp64, 12 fp32, 13 fp16, 20 pcitx, 21 pcirx, 60 nvlrx, 61 nvltx; of "
              "single engines 30 to 37 nvdecN, 40 to 47 nvjpgN, 50 nvofa0, 166 to 169 nvencN; of single links 62, 64, "
              "… 96 nvlNrx, 63, 65, … 97 nvlNtx. Numbers or names, separated by commas." },
    { .name = "gpm-options", .kind = OPTION_TEXT, .offset = offsetof(struct dmon_settings, gpm_options), .value = "d",
      .help = "Level of GPM metrics: d (whole GPUs), the default." },
    { 0 },
};
/* clang-format on */

static const struct entry dmon_examples[] = {
    { "tacho dmon", "Print power, temperatures, utilization and clocks of all GPUs every second." },
    { "tacho dmon -i 0 -s pucvmet -o DT -c 60 --format csv -f gpu.csv", "Write everything for a minute as csv." },
    { "tacho dmon -d 0.1 --gpm-metrics smutil,mmaact,dram",
      "Print SM, tensor and memory activity ten times a second." },
    { "tacho dmon -s pucvmet -d 0.1 -o gpu.tacho",
      "Print everything ten times a second, and record it for the timeline." },
    { "tacho dmon --json | jq .pwr", "Print the power as a number, in watts." },
    { 0 },
};

const struct command command_dmon = {
    .name = "dmon",
    .arguments = "",
    .summary = "Print readings of the GPUs every second, as nvidia-smi dmon does",
    .about =
        "Print a line for each GPU and reading: nvidia-smi's options, columns and csv, so that scripts that read its "
        "output read this. A value that is not available is '-'. Ctrl-C ends it.",
    .examples = dmon_examples,
    .exits = monitor_exits,
    .options = dmon_options,
    .variables = COMMAND_GPU_VARIABLES,
    .run = dmon_run,
};
