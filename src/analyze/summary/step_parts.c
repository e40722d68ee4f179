/* The table of parts: see step_parts.h. */
#include "step_parts.h"

#include "run_figures.h"

const struct step_part step_parts[STEP_PARTS] = {
    { "Compute", "Kernels", "compute", 0 },
    { "Exposed Communication", "Communication that nothing hides", "communication", 0 },
    { "Exposed Copies", "Copies and fills that nothing hides", "copies", 0 },
    { "Launch", "Idle: launch-bound", "launch", 1 },
    { "Python", "Idle: Python between launches", "host", 1 },
    { "CPU Code", "Idle: CPU code between launches", "host", 1 },
    { "Waits", "Idle: wait for results", "wait", 1 },
    { "Data Loading", "Idle: data loading", "loading", 1 },
    { "Copy Calls", "Idle: calls that copy", "copies", 1 },
    { "Allocation", "Idle: allocation of memory", "other", 1 },
    { "Code Loading", "Idle: code loading", "other", 1 },
    { "Garbage Collection", "Idle: garbage collection", "other", 1 },
    { "Compilation", "Idle: compilation", "other", 1 },
    { "GIL", "Idle: GIL held by another thread", "other", 1 },
    { "Blocked", "Idle: the program is blocked", "other", 1 },
    { "Preempted", "Idle: preempted", "other", 1 },
    { "Launch Latency", "Idle: launched, not begun", "idle", 1 },
    { "Profiler", "Idle: the profiler", "idle", 1 },
    { "Unknown", "Idle: cause not known", "idle", 1 },
};

double step_part_mean(const struct table *steps, const struct step_part *part)
{
    size_t rows = table_row_count(steps);
    double sum = 0;

    for (size_t row = 0; row < rows; row++)
        sum += table_number_at(steps, row, part->column) / (double)rows;
    return sum;
}
