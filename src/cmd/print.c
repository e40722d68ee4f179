/* What all formats share: the list of them, units, and numbers. */
#include "print.h"

#include <math.h>
#include <string.h>

const struct print_format *const print_formats[] = { &print_column, &print_csv, NULL };

const struct print_format *print_format_find(const char *name)
{
    if (strcmp(name, ".") == 0)
        return print_formats[0];
    for (const struct print_format *const *at = print_formats; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

static const struct { const char *names[2]; struct time_unit unit; } time_units[] = {
    { { "nsec", "nanoseconds" }, { "ns", 1, 0, 0 } },
    { { "usec", "microseconds" }, { "us", 1000, 3, 3 } },
    { { "msec", "milliseconds" }, { "ms", 1000000, 6, 3 } },
    { { "sec", "seconds" }, { "s", 1000000000, 9, 3 } },
};
const struct time_unit time_unit_ns = { "ns", 1, 0, 0 };

const struct time_unit *time_unit_find(const char *name)
{
    for (size_t i = 0; *name && i < sizeof time_units / sizeof time_units[0]; i++)
        for (size_t j = 0; j < 2; j++)
            if (strncmp(time_units[i].names[j], name, strlen(name)) == 0 || strcmp(time_units[i].unit.suffix, name) == 0)
                return &time_units[i].unit;
    return NULL;
}

void print_header(struct text *out, const struct table_column *column, const struct time_unit *time)
{
    text_add(out, column->name);
    switch (column->unit) {
    case UNIT_NS:
        text_addf(out, " (%s)", time->suffix);
        break;
    case UNIT_PERCENT:
        text_add(out, " (%)");
        break;
    case UNIT_MEGABYTES:
        text_add(out, " (MB)");
        break;
    case UNIT_BYTES:
        text_add(out, " (B)");
        break;
    case UNIT_NONE:
    case UNIT_ID:
        break;
    }
}

/* Writes at least so many digits, zeros in front; returns how many. Tables may have millions of cells, so no printf(). */
static size_t to_digits(char out[24], uint64_t value, size_t at_least)
{
    char reversed[24];
    size_t length = 0;

    for (; value || length < at_least; value /= 10)
        reversed[length++] = (char)('0' + value % 10);
    for (size_t i = 0; i < length; i++)
        out[i] = reversed[length - 1 - i];
    return length;
}

/* The digits with a comma before every third from the right. */
static void add_digits(struct text *out, const char *digits, size_t length, int grouped)
{
    char grouped_digits[32];
    size_t at = 0;

    for (size_t i = 0; i < length; i++) {
        if (grouped && i > 0 && (length - i) % 3 == 0)
            grouped_digits[at++] = ',';
        grouped_digits[at++] = digits[i];
    }
    text_add_bytes(out, grouped_digits, at);
}

void print_integer(struct text *out, int64_t value, int grouped)
{
    char digits[24];
    uint64_t size = value < 0 ? 0 - (uint64_t)value : (uint64_t)value;

    if (value < 0)
        text_add_char(out, '-');
    add_digits(out, digits, to_digits(digits, size, 1), grouped);
}

void print_fixed(struct text *out, double value, int decimals, int grouped)
{
    static const long double powers[] = { 1, 1e1L, 1e2L, 1e3L, 1e4L, 1e5L, 1e6L, 1e7L, 1e8L, 1e9L };
    char digits[24];

    if (!isfinite(value)) {
        text_add(out, isnan(value) ? "nan" : value < 0 ? "-inf" : "inf");
        return;
    }
    /* A double times a thousand is exact in a long double, so roundl() sees the true value. */
    long double scaled = roundl(fabsl((long double)value) * powers[decimals]);
    if (value < 0 && scaled > 0)
        text_add_char(out, '-');
    if (scaled >= 9e18L) {
        text_addf(out, "%.*f", decimals, fabs(value));
        return;
    }
    uint64_t whole = (uint64_t)scaled, unit = (uint64_t)powers[decimals];
    add_digits(out, digits, to_digits(digits, whole / unit, 1), grouped);
    if (decimals) {
        text_add_char(out, '.');
        text_add_bytes(out, digits, to_digits(digits, whole % unit, (size_t)decimals));
    }
}

void print_number(struct text *out, const struct table_column *column, const struct table_cell *cell,
                  const struct time_unit *time, struct number_style style)
{
    int grouped = style.grouped && column->unit != UNIT_ID;

    if (column->unit == UNIT_NS && time->ns != 1) {
        double ns = cell->kind == CELL_INT ? (double)cell->integer : cell->real;
        print_fixed(out, ns / (double)time->ns, style.lossless ? time->decimals : time->short_decimals, grouped);
    } else if (cell->kind == CELL_INT) {
        print_integer(out, cell->integer, grouped);
    } else {
        print_fixed(out, cell->real, column->decimals, grouped);
    }
}
