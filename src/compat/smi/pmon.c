/* tacho pmon: nvidia-smi pmon, a line for each process on a GPU and second. */
#include <math.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "cmd/print/display.h"
#include "monitor.h"

enum pmon_column {
#define PMON_COLUMN(id, letter, name, unit, heading_width, width, scale) COLUMN_##id,
#include "pmon_columns.def"
    COLUMNS
};

static const struct monitor_column pmon_table_columns[COLUMNS] = {
#define PMON_COLUMN(id, letter, name, unit, heading_width, width, scale)                                            \
    { letter, name, unit, heading_width, width, scale },
#include "pmon_columns.def"
};

struct pmon_settings {
    struct monitor_settings common;
};

/* The kernel's name of a process, which has 15 characters; "-": it is in another container, or has ended. */
static void find_command(struct text *out, uint32_t pid)
{
    char path[32], name[64] = "-";

    snprintf(path, sizeof path, "/proc/%u/comm", pid);
    FILE *file = fopen(path, "re");
    if (file && !fgets(name, sizeof name, file))
        strcpy(name, "-");
    if (file)
        fclose(file);
    text_clear(out);
    display_add(out, name, strcspn(name, "\n"), 0);
}

static double pmon_percent(int32_t value)
{
    return value < 0 ? NAN : value;
}

/* nvidia-smi prints an engine that a process does not use as '-', not as 0. */
static double engine(int32_t value)
{
    return value <= 0 ? NAN : value;
}

static double bytes(uint64_t value)
{
    return value == UINT64_MAX ? NAN : (double)value;
}

/* Without confidential computing no memory is protected, and NVML has no value for each process. */
static double protected_bytes(const struct gpu_process *process, const struct gpu_feed_gpu *gpu)
{
    return process->protected_bytes == UINT64_MAX && gpu->now[GPU_READING_PROTECTED_USED] == 0
               ? 0
               : bytes(process->protected_bytes);
}

static void pmon_add_line(struct monitor *monitor, const struct gpu_feed *feed, const struct gpu_feed_gpu *gpu,
                          const struct monitor_cell *all, struct text *out)
{
    struct monitor_cell cells[COLUMNS];

    for (size_t i = 0; i < monitor->table.count; i++)
        cells[i] = all[monitor->table.columns[i] - pmon_table_columns];
    monitor_table_line(out, &monitor->table, &gpu->facts, gpu->time_ns + feed->utc_offset_ns, cells);
}

static void pmon_add_process(struct monitor *monitor, const struct gpu_feed *feed, const struct gpu_feed_gpu *gpu,
                             const struct gpu_process *process, struct text *out)
{
    struct text command = { 0 };

    find_command(&command, process->pid);
    struct monitor_cell all[COLUMNS] = {
        [COLUMN_PID] = { .value = process->pid },
        [COLUMN_TYPE] = { .text = gpu_feed_type(process->types) },
        [COLUMN_SM] = { .value = pmon_percent(process->sm) },
        [COLUMN_MEMORY] = { .value = pmon_percent(process->memory) },
        [COLUMN_ENCODER] = { .value = engine(process->encoder) },
        [COLUMN_DECODER] = { .value = engine(process->decoder) },
        [COLUMN_JPEG] = { .value = engine(process->jpeg) },
        [COLUMN_OFA] = { .value = engine(process->ofa) },
        [COLUMN_USED] = { .value = bytes(process->memory_bytes) },
        [COLUMN_PROTECTED] = { .value = protected_bytes(process, gpu) },
        [COLUMN_COMMAND] = { .text = text_string(&command) },
    };
    pmon_add_line(monitor, feed, gpu, all, out);
    text_free(&command);
}

/* A GPU without processes has a line of '-', but for programs that read JSON. */
static void pmon_add_idle(struct monitor *monitor, const struct gpu_feed *feed, const struct gpu_feed_gpu *gpu,
                          struct text *out)
{
    struct monitor_cell none[COLUMNS];

    for (size_t i = 0; i < COLUMNS; i++)
        none[i] = (struct monitor_cell){ .value = NAN };
    if (!monitor->table.is_json)
        pmon_add_line(monitor, feed, gpu, none, out);
}

static void pmon_add_round(struct monitor *monitor, const struct gpu_feed *feed, struct text *out)
{
    for (size_t g = 0; g < feed->gpu_count; g++) {
        const struct gpu_feed_gpu *gpu = &feed->gpus[g];
        size_t found = 0;
        for (size_t i = 0; i < feed->process_count; i++)
            if (feed->processes[i].device == gpu->facts.device) {
                pmon_add_process(monitor, feed, gpu, &feed->processes[i], out);
                found++;
            }
        if (!found)
            pmon_add_idle(monitor, feed, gpu, out);
    }
}

static int pmon_run(const struct command *self, int argc, char **argv)
{
    static const enum gpu_reading readings[] = { GPU_READING_PROTECTED_USED };
    struct pmon_settings settings = { .common = { .letters = "u", .feed.interval_us = 1000000 } };
    struct monitor monitor = { .self = self,
                               .settings = &settings.common,
                               .wish = { .readings = readings, .reading_count = 1, .has_processes = 1 },
                               .add_round = pmon_add_round };
    int status;

    if (!gpu_feed_options(self, argc, argv, &settings.common.feed, &status))
        return status;
    monitor_table_add(&monitor.table, &pmon_table_columns[COLUMN_PID]);
    monitor_table_add(&monitor.table, &pmon_table_columns[COLUMN_TYPE]);
    if (monitor_select(&monitor, pmon_table_columns, COLUMNS, &status))
        return status;
    monitor_table_add(&monitor.table, &pmon_table_columns[COLUMN_COMMAND]);
    return monitor_run(&monitor);
}

/* clang-format off */
static const struct option pmon_options[] = {
    MONITOR_OPTIONS(struct pmon_settings, common,
      "Columns: u (utilization of SMs, memory and engines), m (memory), in the order of the letters. Default: u.",
      "DT", "Begin each line with the date (D), the time (T) or both (DT)."),
    { 0 },
};
/* clang-format on */

static const struct entry pmon_examples[] = {
    { "tacho pmon", "Print which processes use the GPUs, and how much, every second." },
    { "tacho pmon -i 0 -s um -c 1", "Print the processes on GPU 0 once, with their memory." },
    { "tacho pmon -s um -o DT --format csv -f processes.csv", "Write a csv file with times." },
    { 0 },
};

const struct command command_pmon = {
    .name = "pmon",
    .arguments = "",
    .summary = "Print the processes on the GPUs every second, as nvidia-smi pmon does",
    .about =
        "Print a line for each process on a GPU and reading: nvidia-smi's options, columns and csv, so that scripts "
        "that read its output read this. A value that is not available is '-'. Ctrl-C ends it.",
    .examples = pmon_examples,
    .exits = monitor_exits,
    .options = pmon_options,
    .variables = COMMAND_GPU_VARIABLES,
    .run = pmon_run,
};
