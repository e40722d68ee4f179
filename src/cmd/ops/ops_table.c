/* torch's table, character for character: columns that are there only when they hold something, widths by the longest
 * entry, times in the unit that fits. One thing is different: with FLOPs and stacks torch prints their values under
 * each other's header; here they are under their own. */
#include "ops.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/utf8.h"
#include "cmd/print/display.h"

#define GAP "  "
enum { WIDTH = 12, WIDTH_ROOM = 4 };

struct ops_table_layout {
    struct text *out;
    const struct torch_ops *ops;
    const struct ops_layout *wanted;
    size_t name, shapes, source; /* widths; 0: no such column */
    int has_memory;
    const char *flops_unit;      /* NULL: no such column */
    double flops_scale;
    struct torch_ops_sums sums;  /* over all rows */
};

/* ---- cells ----------------------------------------------------------------------------------------------------- */

/* How many bytes the first characters take. */
static size_t ops_table_bytes_of(const char *bytes, size_t length, size_t count)
{
    size_t at = 0;

    for (; at < length && count; count--)
        at = utf8_behind(bytes, length, at);
    return at;
}

static void ops_table_pad(struct text *out, size_t used, size_t width)
{
    text_add_repeat(out, ' ', used < width ? width - used : 0);
}

static void ops_table_add_right(struct text *out, const char *bytes, size_t length, size_t width)
{
    ops_table_pad(out, utf8_characters(bytes, length), width);
    text_add_bytes(out, bytes, length);
    text_add(out, GAP);
}

static void ops_table_add_left(struct text *out, const char *bytes, size_t length, size_t width)
{
    text_add_bytes(out, bytes, length);
    ops_table_pad(out, utf8_characters(bytes, length), width);
    text_add(out, GAP);
}

static void ops_table_add_cell(struct text *out, const char *string)
{
    ops_table_add_right(out, string, strlen(string), WIDTH);
}

static void ops_table_add_time(struct text *out, double us)
{
    if (us >= 1e6)
        text_addf(out, "%.3fs", us / 1e6);
    else if (us >= 1e3)
        text_addf(out, "%.3fms", us / 1e3);
    else
        text_addf(out, "%.3fus", us);
}

static void add_time_cell(struct text *out, double us)
{
    struct text text = { 0 };

    ops_table_add_time(&text, us);
    ops_table_add_cell(out, text_string(&text));
    text_free(&text);
}

static void add_share_cell(struct text *out, double part, double all)
{
    char text[64];

    if (all == 0)
        snprintf(text, sizeof text, "NaN");
    else
        snprintf(text, sizeof text, "%.2f%%", part * 100.0 / all);
    ops_table_add_cell(out, text);
}

static void add_memory_cell(struct text *out, int64_t bytes)
{
    static const struct {
        const char *unit;
        double bytes;
    } units[] = { { "GB", 0x1p30 }, { "MB", 0x1p20 }, { "KB", 0x1p10 } };
    char text[64];

    snprintf(text, sizeof text, "%lld B", (long long)bytes);
    for (size_t i = 0; i < COUNT_OF(units); i++)
        if (fabs((double)bytes) >= units[i].bytes) {
            snprintf(text, sizeof text, "%.2f %s", (double)bytes / units[i].bytes, units[i].unit);
            break;
        }
    ops_table_add_cell(out, text);
}

/* ---- what there is --------------------------------------------------------------------------------------------- */

static size_t ops_table_fit(size_t longest, size_t limit)
{
    longest += WIDTH_ROOM;
    return limit && limit < longest ? limit : longest;
}

/* The longest line of a text that has several. */
static size_t longest_line(const struct table_cell *cell)
{
    size_t longest = 0;

    for (size_t at = 0; at < cell->text.length;) {
        const char *line = cell->text.bytes + at, *stop = memchr(line, '\n', cell->text.length - at);
        size_t length = stop ? (size_t)(stop - line) : cell->text.length - at, count = utf8_characters(line, length);
        longest = count > longest ? count : longest;
        at += length + 1;
    }
    return longest;
}

static void choose_flops_unit(struct ops_table_layout *layout, int64_t least)
{
    static const char *const units[] = { "FLOPs", "KFLOPs", "MFLOPs", "GFLOPs", "TFLOPs", "PFLOPs" };
    double log = log10((double)least) / 3;
    int place = log < 0 ? 0 : log > 5 ? 5 : (int)log;

    layout->flops_unit = units[place];
    layout->flops_scale = pow(10, place * -3.0);
}

static void ops_table_measure(struct ops_table_layout *layout)
{
    const struct table *table = layout->ops->table;
    size_t name = 0, shapes = 0, source = 0;
    int64_t least_flops = 0;
    int has_shapes = 0;

    for (size_t r = 0; r < table_row_count(table); r++) {
        const struct table_cell *row = table_row(table, r);
        size_t length = utf8_characters(row[TORCH_KEY].text.bytes, row[TORCH_KEY].text.length), line = 0;
        name = length > name ? length : name;
        if (row[TORCH_SHAPES].kind == CELL_TEXT) {
            has_shapes |= row[TORCH_SHAPES].text.length > strlen("[]");
            shapes = row[TORCH_SHAPES].text.length > shapes ? row[TORCH_SHAPES].text.length : shapes;
        }
        if (row[TORCH_STACK].kind == CELL_TEXT)
            line = longest_line(&row[TORCH_STACK]);
        source = line > source ? line : source;
        int64_t flops = row[TORCH_FLOPS].integer;
        if (flops > 0 && (!least_flops || flops < least_flops))
            least_flops = flops;
    }
    layout->name = ops_table_fit(name, layout->wanted->name_width);
    layout->shapes = has_shapes ? ops_table_fit(shapes, layout->wanted->shapes_width) : 0;
    layout->source = source ? ops_table_fit(source, layout->wanted->source_width) : 0;
    layout->sums = torch_ops_sums(layout->ops);
    layout->has_memory = layout->ops->has_memory;
    if (layout->ops->has_flops && least_flops)
        choose_flops_unit(layout, least_flops);
}

/* ---- rows ------------------------------------------------------------------------------------------------------ */

/* Calls add for each column between the name and the shapes that the table has. */
static void ops_table_add_headers(struct ops_table_layout *layout)
{
    static const char *const cpu[] = { "Self CPU %", "Self CPU", "CPU total %", "CPU total", "CPU time avg" };
    static const char *const device[] = { "Self CUDA", "Self CUDA %", "CUDA total", "CUDA time avg" };
    static const char *const memory[] = { "CPU Mem", "Self CPU Mem", "CUDA Mem", "Self CUDA Mem" };

    ops_table_add_right(layout->out, "Name", 4, layout->name);
    for (size_t i = 0; i < 5; i++)
        ops_table_add_cell(layout->out, cpu[i]);
    for (size_t i = 0; i < 4 && layout->sums.has_device_time; i++)
        ops_table_add_cell(layout->out, device[i]);
    for (size_t i = 0; i < (layout->sums.has_device_memory ? 4u : 2u) && layout->has_memory; i++)
        ops_table_add_cell(layout->out, memory[i]);
    ops_table_add_cell(layout->out, "# of Calls");
    if (layout->shapes)
        ops_table_add_right(layout->out, "Input Shapes", strlen("Input Shapes"), layout->shapes);
    if (layout->source)
        ops_table_add_left(layout->out, "Source Location", strlen("Source Location"), layout->source);
    if (layout->flops_unit) {
        char text[32];
        snprintf(text, sizeof text, "Total %s", layout->flops_unit);
        ops_table_add_cell(layout->out, text);
    }
    text_add_char(layout->out, '\n');
}

static size_t column_count(const struct ops_table_layout *layout)
{
    return 6 + (layout->sums.has_device_time ? 4u : 0u) +
           (layout->has_memory ? layout->sums.has_device_memory ? 4u : 2u : 0u);
}

static void ops_table_add_rule(struct ops_table_layout *layout)
{
    text_add_repeat(layout->out, '-', layout->name);
    text_add(layout->out, GAP);
    for (size_t i = 0; i < column_count(layout); i++)
        text_add(layout->out, "------------" GAP);
    if (layout->shapes) {
        text_add_repeat(layout->out, '-', layout->shapes);
        text_add(layout->out, GAP);
    }
    if (layout->source) {
        text_add_repeat(layout->out, '-', layout->source);
        text_add(layout->out, GAP);
    }
    if (layout->flops_unit)
        text_add(layout->out, "------------" GAP);
    text_add_char(layout->out, '\n');
}

static void ops_table_add_name(struct ops_table_layout *layout, const struct table_cell *cell)
{
    size_t limit = layout->wanted->name_width;
    struct text name = { 0 };

    display_add(&name, cell->text.bytes, cell->text.length, 0);
    if (limit > 3 && utf8_characters(text_string(&name), name.length) >= limit - 3) {
        name.length = ops_table_bytes_of(text_string(&name), name.length, limit - 3);
        text_add(&name, "...");
    }
    ops_table_add_right(layout->out, text_string(&name), name.length, layout->name);
    text_free(&name);
}

/* A frame from its end on, as torch cuts it. */
static void ops_table_add_frame(struct ops_table_layout *layout, const char *bytes, size_t length)
{
    struct text frame = { 0 };

    display_add(&frame, bytes, length, 0);
    const char *at = text_string(&frame);
    size_t count = utf8_characters(at, frame.length), left = frame.length;
    if (count > layout->source) {
        size_t cut = ops_table_bytes_of(at, left, count - layout->source + 3);
        text_add(layout->out, "...");
        text_add_bytes(layout->out, at + cut, left - cut);
        text_add(layout->out, GAP);
    } else {
        ops_table_add_left(layout->out, at, left, layout->source);
    }
    text_free(&frame);
}

static void add_flops(struct ops_table_layout *layout, int64_t flops)
{
    char text[64];

    snprintf(text, sizeof text, "%8.3f", (double)flops * layout->flops_scale);
    ops_table_add_cell(layout->out, flops > 0 ? text : "--");
}

/* Pads the columns in lines that only continue the stack. */
static void add_blank(struct ops_table_layout *layout)
{
    ops_table_pad(layout->out, 0, layout->name + strlen(GAP) + column_count(layout) * (WIDTH + strlen(GAP)));
    if (layout->shapes)
        ops_table_pad(layout->out, 0, layout->shapes + strlen(GAP));
}

static void ops_table_end_line(struct ops_table_layout *layout)
{
    if (layout->flops_unit)
        ops_table_pad(layout->out, 0, WIDTH + strlen(GAP));
    text_add_char(layout->out, '\n');
}

/* The frames after the first, a line each, and an empty line. */
static void add_more_frames(struct ops_table_layout *layout, const struct table_cell *stack)
{
    const char *at = stack->text.bytes, *end = at + stack->text.length, *stop;

    while (at < end && (stop = memchr(at, '\n', (size_t)(end - at)))) {
        at = stop + 1;
        stop = memchr(at, '\n', (size_t)(end - at));
        add_blank(layout);
        ops_table_add_frame(layout, at, (size_t)((stop ? stop : end) - at));
        ops_table_end_line(layout);
    }
    add_blank(layout);
    ops_table_pad(layout->out, 0, layout->source + strlen(GAP));
    ops_table_end_line(layout);
}

static void ops_table_add_numbers(struct ops_table_layout *layout, const struct table_cell *row)
{
    struct text *out = layout->out;
    double count = (double)row[TORCH_COUNT].integer;
    char text[32];

    add_share_cell(out, row[TORCH_SELF_CPU].real, layout->sums.self_cpu_us);
    add_time_cell(out, row[TORCH_SELF_CPU].real);
    add_share_cell(out, row[TORCH_CPU_TOTAL].real, layout->sums.self_cpu_us);
    add_time_cell(out, row[TORCH_CPU_TOTAL].real);
    add_time_cell(out, row[TORCH_CPU_TOTAL].real / count);
    if (layout->sums.has_device_time) {
        add_time_cell(out, row[TORCH_SELF_DEVICE].real);
        add_share_cell(out, row[TORCH_SELF_DEVICE].real, layout->sums.self_device_us);
        add_time_cell(out, row[TORCH_DEVICE_TOTAL].real);
        add_time_cell(out, row[TORCH_DEVICE_TOTAL].real / count);
    }
    for (int i = TORCH_CPU_BYTES;
         i <= (layout->sums.has_device_memory ? TORCH_SELF_DEVICE_BYTES : TORCH_SELF_CPU_BYTES) && layout->has_memory;
         i++)
        add_memory_cell(out, row[i].integer);
    snprintf(text, sizeof text, "%lld", (long long)row[TORCH_COUNT].integer);
    ops_table_add_cell(out, text);
}

static void ops_table_add_row(struct ops_table_layout *layout, const struct table_cell *row)
{
    ops_table_add_name(layout, &row[TORCH_KEY]);
    ops_table_add_numbers(layout, row);
    if (layout->shapes) {
        struct text shapes = { 0 };
        display_add(&shapes, row[TORCH_SHAPES].text.bytes, row[TORCH_SHAPES].text.length, 0);
        ops_table_add_right(layout->out, text_string(&shapes),
                            ops_table_bytes_of(text_string(&shapes), shapes.length, layout->shapes), layout->shapes);
        text_free(&shapes);
    }
    if (layout->source) {
        const struct table_cell *stack = &row[TORCH_STACK];
        const char *stop = memchr(stack->text.bytes, '\n', stack->text.length);
        ops_table_add_frame(layout, stack->text.bytes, stop ? (size_t)(stop - stack->text.bytes) : stack->text.length);
    }
    if (layout->flops_unit)
        add_flops(layout, row[TORCH_FLOPS].integer);
    text_add_char(layout->out, '\n');
    if (layout->source)
        add_more_frames(layout, &row[TORCH_STACK]);
}

void ops_table(struct text *out, const struct torch_ops *ops, const struct ops_layout *wanted)
{
    struct ops_table_layout layout = { .out = out, .ops = ops, .wanted = wanted };
    size_t shown = 0;

    ops_table_measure(&layout);
    if (wanted->top_level_only) {
        size_t length = layout.name + column_count(&layout) * (WIDTH + strlen(GAP));
        length += (layout.shapes ? layout.shapes + 2 : 0) + (layout.source ? layout.source + 2 : 0) +
                  (layout.flops_unit ? WIDTH + 2 : 0);
        text_add_repeat(out, '=', length);
        text_add(out, "\nThis report only display top-level ops statistics\n"); /* sic: as torch has it */
    }
    ops_table_add_rule(&layout);
    ops_table_add_headers(&layout);
    ops_table_add_rule(&layout);
    for (size_t r = 0; r < table_row_count(ops->table) && shown < wanted->rows; r++) {
        const struct table_cell *row = table_row(ops->table, r);
        if (wanted->top_level_only && !row[TORCH_IS_TOP_LEVEL].integer)
            continue;
        shown++;
        ops_table_add_row(&layout, row);
    }
    ops_table_add_rule(&layout);
    text_add(out, "Self CPU time total: ");
    ops_table_add_time(out, layout.sums.self_cpu_us);
    if (layout.sums.has_device_time) {
        text_add(out, "\nSelf CUDA time total: ");
        ops_table_add_time(out, layout.sums.self_device_us);
    }
    text_add_char(out, '\n');
}
