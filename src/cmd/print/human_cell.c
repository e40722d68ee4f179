/* Numbers with units for people. */
#include "human_cell.h"

#include <math.h>

#include "base/number.h"
#include "base/utf8.h"

struct scale {
    double size;
    const char *suffix; /* two columns after the space */
};

static const struct scale times[] = { { 1, " ns" }, { 1e3, " µs" }, { 1e6, " ms" }, { 1e9, " s " } };
static const struct scale sizes[] = { { 1, " B " },   { 1e3, " kB" },  { 1e6, " MB" },
                                      { 1e9, " GB" }, { 1e12, " TB" }, { 1e15, " PB" } };

/* Four digits in the smallest unit in which the rounded number is below a thousand; whole numbers of the first unit. */
static void human_cell_add_scaled(struct text *out, double value, const struct scale *scales, size_t count)
{
    double size = fabs(value), scaled = size;
    size_t i = 0;

    while (i + 1 < count && scaled >= (i ? 999.95 : 999.5))
        scaled = size / scales[++i].size;
    int decimals = i == 0 ? 0 : scaled < 9.9995 ? 3 : scaled < 99.995 ? 2 : scaled < 999.95 ? 1 : 0;
    number_add_fixed(out, value < 0 ? -scaled : scaled, decimals, 1);
    text_add(out, scales[i].suffix);
}
#define ADD_SCALED(out, value, scales) human_cell_add_scaled(out, value, scales, COUNT_OF(scales))

size_t human_cell_add(struct text *out, const struct table_column *column, const struct table_cell *cell,
                      const struct print_time_unit *time)
{
    double value = cell->kind == CELL_INT ? (double)cell->integer : cell->real;
    size_t before = out->length;

    if (column->unit == UNIT_NS && time == &time_unit_auto) {
        ADD_SCALED(out, value, times);
    } else if (column->unit == UNIT_TIME && time == &time_unit_auto) {
        number_add_fixed(out, value / 1e9, 6, 1);
        text_add(out, " s");
    } else if (column->unit == UNIT_BYTES) {
        ADD_SCALED(out, value, sizes);
    } else if (column->unit == UNIT_MEGABYTES) {
        ADD_SCALED(out, value * 1e6, sizes);
    } else if (column->unit == UNIT_PERCENT) {
        number_add_fixed(out, value, 1, 1);
        text_add(out, " %");
    } else {
        print_number(out, column, cell, time, (struct print_number_style){ .grouped = 1 });
    }
    return utf8_characters(out->bytes + before, out->length - before);
}

void human_bar_add(struct text *out, double fraction, size_t width)
{
    static const char *const blocks[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
    size_t most = width * 8, eighths = fraction > 0 ? (size_t)(fmin(fraction, 1) * (double)most + 0.5) : 0;

    if (fraction > 0 && eighths == 0)
        eighths = 1;
    for (size_t i = 0; i < eighths / 8; i++)
        text_add(out, "█");
    text_add(out, blocks[eighths % 8]);
    text_add_repeat(out, ' ', width - (eighths + 7) / 8);
}
