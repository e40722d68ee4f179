/* The table of parts: see step_parts.h. */
#include "step_parts.h"

#include "run_figures.h"

const struct step_part step_parts[STEP_PARTS] = {
    { "Compute", "Kernels", "compute", STEP_PART_BUSY },
    { "Exposed Communication", "Communication that nothing hides", "communication", STEP_PART_BUSY },
    { "Exposed Copies", "Copies and fills that nothing hides", "copies", STEP_PART_BUSY },
    { "Launch", "Idle: launch-bound", "launch", GAP_LAUNCH },
    { "Python", "Idle: Python between launches", "host", GAP_PYTHON },
    { "CPU Code", "Idle: CPU code between launches", "host", GAP_NATIVE },
    { "Waits", "Idle: wait for results", "wait", GAP_WAIT },
    { "Data Loading", "Idle: data loading", "loading", GAP_LOADING },
    { "Copy Calls", "Idle: calls that copy", "copies", GAP_COPY },
    { "Allocation", "Idle: allocation of memory", "other", GAP_ALLOCATION },
    { "Code Loading", "Idle: code loading", "other", GAP_CODE },
    { "Garbage Collection", "Idle: garbage collection", "other", GAP_GC },
    { "Compilation", "Idle: compilation", "other", GAP_COMPILE },
    { "GIL", "Idle: GIL held by another thread", "other", GAP_GIL },
    { "Blocked", "Idle: the program is blocked", "other", GAP_BLOCKED },
    { "Preempted", "Idle: preempted", "other", GAP_PREEMPTED },
    { "Launch Latency", "Idle: launched, not begun", "idle", GAP_LATENCY },
    { "Profiler", "Idle: the profiler", "idle", GAP_PROFILER },
    { "Unknown", "Idle: cause not known", "idle", GAP_UNKNOWN },
};

double step_part_mean(const struct table *steps, const struct step_part *part)
{
    size_t rows = table_row_count(steps);
    double sum = 0;

    for (size_t row = 0; row < rows; row++)
        sum += table_number_at(steps, row, part->column) / (double)rows;
    return sum;
}
