/* The roofline as a picture, both axes logarithmic: classes of operators below the peaks of the GPU. The area of a
 * point grows with its time. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "analyze/model/flops/gpu_peaks.h"
#include "html_page.h"

enum { WIDTH = 1000, HEIGHT = 420, LEFT = 90, RIGHT = 20, TOP = 16, BOTTOM = 44 };
enum { MOST_POINTS = 32, MOST_ROOFS = 8, LINE = 15, LETTER = 7, ROOF_LETTERS = 20 };

/* Axes from 10^low to 10^high. */
struct html_roofline_axis {
    double low, high;
};

struct html_roofline_point {
    double intensity, flop_s, share;
    const char *name, *type;
};

struct label {
    double x, y;
    size_t length;
};

struct roofline {
    struct html_roofline_point points[MOST_POINTS];
    size_t point_count;
    enum gpu_rate roofs[MOST_ROOFS]; /* types of the points */
    size_t roof_count;
    struct gpu_peaks peaks;
    struct html_roofline_axis x, y;
    struct label labels[MOST_POINTS + MOST_ROOFS];
    size_t label_count;
};

/* ---- what it shows --------------------------------------------------------------------------------------------- */

static void add_roof(struct roofline *roofline, const char *type)
{
    for (int rate = 0; rate < RATE_MEMORY; rate++) {
        if (strcmp(gpu_rate_name((enum gpu_rate)rate), type) != 0 || roofline->peaks.rate[rate] <= 0)
            continue;
        for (size_t i = 0; i < roofline->roof_count; i++)
            if (roofline->roofs[i] == (enum gpu_rate)rate)
                return;
        if (roofline->roof_count < MOST_ROOFS)
            roofline->roofs[roofline->roof_count++] = (enum gpu_rate)rate;
    }
}

static void html_roofline_extend(struct html_roofline_axis *axis, double value)
{
    axis->low = fmin(axis->low, floor(log10(value)));
    axis->high = fmax(axis->high, ceil(log10(value)));
}

static void read_points(struct roofline *roofline, const struct table *table)
{
    for (size_t row = 0; row < table_row_count(table) && roofline->point_count < MOST_POINTS; row++) {
        struct html_roofline_point point = { .intensity = table_number_at(table, row, "FLOP/Byte"),
                                             .flop_s = table_number_at(table, row, "TFLOP/s") * 1e12,
                                             .share = table_number_at(table, row, "Time"),
                                             .name = table_text_at(table, row, "Class"),
                                             .type = table_text_at(table, row, "Peak Type") };
        if (point.intensity <= 0 || point.flop_s <= 0)
            continue;
        roofline->points[roofline->point_count++] = point;
        html_roofline_extend(&roofline->x, point.intensity);
        html_roofline_extend(&roofline->y, point.flop_s);
        add_roof(roofline, point.type);
    }
    for (size_t i = 0; i < roofline->roof_count; i++) {
        double peak = roofline->peaks.rate[roofline->roofs[i]], memory = roofline->peaks.rate[RATE_MEMORY];
        html_roofline_extend(&roofline->y, peak);
        if (memory > 0)
            html_roofline_extend(&roofline->x, peak / memory);
    }
}

/* ---- the picture ----------------------------------------------------------------------------------------------- */

static double x_of(const struct roofline *roofline, double intensity)
{
    double share = (log10(intensity) - roofline->x.low) / (roofline->x.high - roofline->x.low);

    return LEFT + (WIDTH - LEFT - RIGHT) * share;
}

static double y_of(const struct roofline *roofline, double flop_s)
{
    double share = (log10(flop_s) - roofline->y.low) / (roofline->y.high - roofline->y.low);

    return HEIGHT - BOTTOM - (HEIGHT - TOP - BOTTOM) * share;
}

static void html_roofline_add_rate(struct text *out, double per_second, const char *unit)
{
    static const char *const prefixes[] = { "", "k", "M", "G", "T", "P" };
    size_t i = 0;

    for (; per_second >= 999.5 && i + 1 < COUNT_OF(prefixes); i++)
        per_second /= 1000;
    text_addf(out, "%.3g %s%s", per_second, prefixes[i], unit);
}

static void add_axes(struct text *out, const struct roofline *roofline)
{
    for (double power = roofline->x.low; power <= roofline->x.high; power++) {
        double x = x_of(roofline, pow(10, power));
        text_addf(out,
                  "<line class=\"grid\" x1=\"%.1f\" x2=\"%.1f\" y1=\"%d\" y2=\"%d\"/><text x=\"%.1f\" y=\"%d\" "
                  "text-anchor=\"middle\">%g</text>\n",
                  x, x, TOP, HEIGHT - BOTTOM, x, HEIGHT - BOTTOM + 16, pow(10, power));
    }
    for (double power = roofline->y.low; power <= roofline->y.high; power++) {
        double y = y_of(roofline, pow(10, power));
        text_addf(out,
                  "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" "
                  "text-anchor=\"end\">",
                  LEFT, WIDTH - RIGHT, y, y, LEFT - 6, y + 4);
        html_roofline_add_rate(out, pow(10, power), "FLOP/s");
        text_add(out, "</text>\n");
    }
    text_addf(out, "<text x=\"%d\" y=\"%d\" text-anchor=\"middle\">FLOPs per byte</text>\n", (LEFT + WIDTH - RIGHT) / 2,
              HEIGHT - 8);
}

static void html_roofline_add_line(struct text *out, const struct roofline *roofline, const double from[2],
                                   const double to[2])
{
    text_addf(out, "<line class=\"roof\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x_of(roofline, from[0]),
              y_of(roofline, from[1]), x_of(roofline, to[0]), y_of(roofline, to[1]));
}

/* The slope of memory, from where it enters the picture to the highest peak; and the peaks from there on. */
static void add_roofs(struct text *out, struct roofline *roofline)
{
    double memory = roofline->peaks.rate[RATE_MEMORY], highest = 0, right = pow(10, roofline->x.high);
    double left = memory > 0 ? fmax(pow(10, roofline->x.low), pow(10, roofline->y.low) / memory) : 0;

    for (size_t i = 0; i < roofline->roof_count; i++) {
        double peak = roofline->peaks.rate[roofline->roofs[i]];
        double ridge = memory > 0 ? peak / memory : pow(10, roofline->x.low);
        html_roofline_add_line(out, roofline, (double[]){ ridge, peak }, (double[]){ right, peak });
        text_addf(out, "<text class=\"of-roof\" x=\"%d\" y=\"%.1f\" text-anchor=\"end\">%s ", WIDTH - RIGHT,
                  y_of(roofline, peak) - 5, gpu_rate_name(roofline->roofs[i]));
        html_roofline_add_rate(out, peak, "FLOP/s</text>\n");
        roofline->labels[roofline->label_count++] = (struct label){ WIDTH - RIGHT - ROOF_LETTERS * LETTER,
                                                                    y_of(roofline, peak) - 5, ROOF_LETTERS };
        highest = fmax(highest, peak);
    }
    if (memory <= 0 || highest <= 0)
        return;
    html_roofline_add_line(out, roofline, (double[]){ left, left * memory }, (double[]){ highest / memory, highest });
    double middle = sqrt(left * highest / memory);
    text_addf(out, "<text class=\"of-roof\" x=\"%.1f\" y=\"%.1f\" text-anchor=\"end\">memory ",
              x_of(roofline, middle) - 10, y_of(roofline, middle * memory) - 6);
    html_roofline_add_rate(out, memory, "B/s</text>\n");
}

/* The label of a point stands beside it, or below those that are there already. */
static struct label html_roofline_place(struct roofline *roofline, double x, double y, size_t length)
{
    struct label label = { x, y, length };

    if (x + (double)(length * LETTER) > WIDTH - RIGHT)
        label.x = x - 24 - (double)(length * LETTER);
    for (size_t i = 0; i < roofline->label_count; i++) {
        const struct label *other = &roofline->labels[i];
        if (fabs(other->y - label.y) < LINE && label.x < other->x + (double)(other->length * LETTER) &&
            other->x < label.x + (double)(length * LETTER)) {
            label.y = other->y + LINE;
            i = (size_t)-1; /* look at all of them again: each time it is lower */
        }
    }
    roofline->labels[roofline->label_count++] = label;
    return label;
}

static void html_roofline_add_points(struct text *out, struct roofline *roofline)
{
    for (size_t i = 0; i < roofline->point_count; i++) {
        const struct html_roofline_point *point = &roofline->points[i];
        double x = x_of(roofline, point->intensity), y = y_of(roofline, point->flop_s);
        double radius = 4 + 1.8 * sqrt(fmax(point->share, 0));
        struct label label = html_roofline_place(roofline, x + radius + 5, y + 4,
                                                 strlen(point->name) + strlen(point->type) + 1);
        text_addf(out, "<circle class=\"point\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\"><title>%s %s: %.3g FLOP/byte, ", x,
                  y, radius, point->name, point->type, point->intensity);
        html_roofline_add_rate(out, point->flop_s, "FLOP/s");
        text_addf(out, ", %.1f %% of GPU time</title></circle><text x=\"%.1f\" y=\"%.1f\">%s %s</text>\n", point->share,
                  label.x, label.y, point->name, point->type);
    }
}

void html_add_roofline(struct text *out, struct html_page *page)
{
    static const char *const columns[] = { "Time",      "GPU Time",        "Calls",      "FLOP/Byte",
                                           "TFLOP/s",   "Ceiling TFLOP/s", "Of Ceiling", "Ceiling Is",
                                           "Peak Type", "Class",           NULL };
    static const struct html_table shape = { "Operators by class and type", columns, NULL, NULL };
    const struct table *table = page->reports[RUN_TABLE_ROOFLINE];
    struct roofline *roofline = table ? calloc(1, sizeof *roofline) : NULL;
    struct error err;

    if (!roofline)
        return;
    roofline->x = (struct html_roofline_axis){ 0, 2 };
    roofline->y = (struct html_roofline_axis){ 12, 13 };
    if (gpu_peaks_read(&roofline->peaks, page->report, page->peaks, &err) == 0)
        read_points(roofline, table);
    if (roofline->point_count) {
        text_addf(out,
                  "<figure>\n<svg class=\"plot\" viewBox=\"0 0 %d %d\" role=\"img\">\n<title>Roofline: FLOP/s by FLOPs "
                  "per byte"
                  "</title>\n",
                  WIDTH, HEIGHT);
        add_axes(out, roofline);
        add_roofs(out, roofline);
        html_roofline_add_points(out, roofline);
        text_add(out,
                 "</svg>\n<figcaption>The area of a point grows with its time. Above it is the peak of its type, or "
                 "that of the memory.</figcaption>\n</figure>\n");
    }
    html_add_table(out, table, &shape);
    html_add_command(out, page, "stats -r roofline");
    free(roofline);
}
