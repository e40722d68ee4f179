/* The table of parts: see step_parts.h. */
#include "step_parts.h"

#include <string.h>

#include "run_figures.h"

const struct step_part step_parts[STEP_PARTS] = {
    { "Compute", "Kernels", "compute", STEP_PART_BUSY },
    { "Exposed Communication", "Exposed communication", "communication", STEP_PART_BUSY },
    { "Exposed Copies", "Exposed copies and fills", "copies", STEP_PART_BUSY },
    { "Launch", NULL, "launch", GAP_LAUNCH },
    { "Python", NULL, "host", GAP_PYTHON },
    { "CPU Code", NULL, "host", GAP_NATIVE },
    { "Waits", NULL, "wait", GAP_WAIT },
    { "Data Loading", NULL, "loading", GAP_LOADING },
    { "Copy Calls", NULL, "copies", GAP_COPY },
    { "Allocation", NULL, "other", GAP_ALLOCATION },
    { "Code Loading", NULL, "other", GAP_CODE },
    { "Garbage Collection", NULL, "other", GAP_GC },
    { "Compilation", NULL, "other", GAP_COMPILE },
    { "GIL", NULL, "other", GAP_GIL },
    { "Blocked", NULL, "other", GAP_BLOCKED },
    { "Preempted", NULL, "other", GAP_PREEMPTED },
    { "Launch Latency", NULL, "idle", GAP_LATENCY },
    { "Profiler", NULL, "idle", GAP_PROFILER },
    { "Unknown", NULL, "idle", GAP_UNKNOWN },
};

/* Whether the step of a row is one of the warm-up. Rows are in the order of the steps; `at` is the last that was found.
 */
static int is_warm_up(const struct table *table, size_t row, const struct steps *steps, size_t *at)
{
    const struct table_cell *start = table_cell_at(table, row, "Start");

    for (size_t i = *at; start && i < steps->count; i++)
        if (steps->list[i].start_ns == start->integer) {
            *at = i;
            return steps->list[i].is_warm_up;
        }
    return 0;
}

/* Adds up the steps that count, or those of the warm-up; returns their number. */
static size_t step_parts_add_up(double out[STEP_PARTS], const struct table *table, const struct steps *steps,
                                int warm_up)
{
    size_t count = 0, at = 0;

    for (size_t row = 0; row < table_row_count(table); row++) {
        if (is_warm_up(table, row, steps, &at) != warm_up)
            continue;
        count++;
        for (int i = 0; i < STEP_PARTS; i++)
            out[i] += table_number_at(table, row, step_parts[i].column);
    }
    return count;
}

void step_parts_mean(double out[STEP_PARTS], const struct table *table, const struct steps *steps)
{
    memset(out, 0, STEP_PARTS * sizeof *out);
    size_t count = step_parts_add_up(out, table, steps, 0);
    if (!count)
        count = step_parts_add_up(out, table, steps, 1);
    for (int i = 0; i < STEP_PARTS; i++)
        out[i] /= count ? (double)count : 1;
}
