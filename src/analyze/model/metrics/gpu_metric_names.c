/* The unit in the name of a GPU metric: see gpu_metric_names.h. */
#include "gpu_metric_names.h"

#include <string.h>

#include "base/array.h"

/* The meaning of the brackets, if the unit has another name or another size. nsys 2025.3 stores clocks in Hz under
 * names with "[MHz]"; "[Avg]" counts warps on all multiprocessors in all cycles of a sample, which has no unit of its
 * own. */
static const struct {
    const char *bracket, *unit;
    double scale;
} units[] = {
    { "Throughput %", "%", 1 },
    { "MHz", "MHz", 1e-6 },
    { "Avg", "", 1 },
    { "Avg Warps per Cycle", "warps/cycle", 1 },
};

struct gpu_metric_unit gpu_metric_unit(const char *name, size_t length)
{
    struct gpu_metric_unit unit = { "", 0, 1, length };
    size_t open = length;

    while (open > 0 && name[open - 1] != '[')
        open--;
    if (open < 2 || name[length - 1] != ']' || name[open - 2] != ' ')
        return unit;
    unit = (struct gpu_metric_unit){ name + open, length - open - 1, 1, open - 2 };
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strlen(units[i].bracket) == unit.length && memcmp(units[i].bracket, unit.text, unit.length) == 0)
            return (struct gpu_metric_unit){ units[i].unit, strlen(units[i].unit), units[i].scale, open - 2 };
    return unit;
}
