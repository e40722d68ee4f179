/* Three figures are enough for a sentence. */
#include "human.h"

#include <inttypes.h>

#include "print.h"

static void add_scaled(struct text *out, double value, const char *unit)
{
    print_fixed(out, value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, 1);
    text_addf(out, " %s", unit);
}

void human_time(struct text *out, int64_t ns)
{
    if (ns < 0)
        text_add_char(out, '-');
    uint64_t size = ns < 0 ? 0 - (uint64_t)ns : (uint64_t)ns;
    if (size < 1000)
        text_addf(out, "%" PRIu64 " ns", size);
    else if (size < 999500)
        add_scaled(out, (double)size / 1e3, "µs");
    else if (size < 999500000)
        add_scaled(out, (double)size / 1e6, "ms");
    else if (size < UINT64_C(600) * 1000000000)
        add_scaled(out, (double)size / 1e9, "s");
    else
        text_addf(out, "%" PRIu64 " h %02" PRIu64 " min", size / 1000000000 / 3600, size / 1000000000 / 60 % 60);
}

void human_bytes(struct text *out, uint64_t bytes)
{
    static const char *const units[] = { "kB", "MB", "GB", "TB", "PB", "EB" };
    double value = (double)bytes / 1e3;
    size_t unit = 0;

    if (bytes < 1000) {
        text_addf(out, "%" PRIu64 " B", bytes);
        return;
    }
    for (; value >= 999.5 && unit + 1 < sizeof units / sizeof units[0]; unit++)
        value /= 1e3;
    add_scaled(out, value, units[unit]);
}

void human_count(struct text *out, uint64_t count)
{
    print_integer(out, (int64_t)count, 1);
}
