/* Numbers for sentences; see human.h. The units that are parsed are those of nsys's options. */
#include "human.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "number.h"

static void human_add_scaled(struct text *out, double value, const char *unit)
{
    number_add_fixed(out, value, value < 9.995 ? 2 : value < 99.95 ? 1 : 0, 1);
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
        human_add_scaled(out, (double)size / 1e3, "µs");
    else if (size < 999500000)
        human_add_scaled(out, (double)size / 1e6, "ms");
    else if (size < UINT64_C(600) * 1000000000)
        human_add_scaled(out, (double)size / 1e9, "s");
    else if (size < UINT64_C(3600) * 1000000000)
        text_addf(out, "%" PRIu64 " min %02" PRIu64 " s", size / 1000000000 / 60, size / 1000000000 % 60);
    else
        text_addf(out, "%" PRIu64 " h %02" PRIu64 " min", size / 1000000000 / 3600, size / 1000000000 / 60 % 60);
}

void human_moment(struct text *out, int64_t ns, int64_t resolution_ns)
{
    double seconds = (double)ns / 1e9, step = 1e7; /* of the last digit */
    int decimals = 2;

    for (; step > (double)resolution_ns && step > 1; step /= 10)
        decimals++;
    number_add_fixed(out, seconds, decimals, 0);
    text_add(out, " s");
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
    for (; value >= 999.5 && unit + 1 < COUNT_OF(units); unit++)
        value /= 1e3;
    human_add_scaled(out, value, units[unit]);
}

void human_count(struct text *out, uint64_t count)
{
    number_add_integer(out, (int64_t)count, 1);
}

double human_time_unit(const char *suffix)
{
    static const struct {
        const char *suffix;
        double ns;
    } units[] = {
        { "", 1 }, { "ns", 1 }, { "us", 1e3 }, { "ms", 1e6 }, { "s", 1e9 }, { "sec", 1e9 },
    };

    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (strcmp(suffix, units[i].suffix) == 0)
            return units[i].ns;
    return 0;
}

int human_read_time(const char *text, size_t length, int64_t *ns)
{
    char copy[64], *end;

    if (length == 0 || length >= sizeof copy)
        return 0;
    memcpy(copy, text, length);
    copy[length] = 0;
    /* A long double can hold every int64_t. */
    long double value = strtold(copy, &end), unit = end == copy ? 0 : human_time_unit(end);
    value *= unit;
    if (unit == 0 || !(value >= INT64_MIN && value <= INT64_MAX))
        return 0;
    *ns = (int64_t)(value < 0 ? value - 0.5L : value + 0.5L);
    return 1;
}
