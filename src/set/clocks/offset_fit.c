/* A robust piecewise-linear fit of noisy differences of two clocks over time. A stretch is one linear segment.
 *
 * Crystals drift along a straight line for minutes; NTP bends the line when it slews, and a step breaks it. So:
 *   1. Points become blocks of eight or more: a line through each by medians, which one preempted rank does not move.
 *   2. The blocks are divided into stretches by dynamic programming: least squares, and a price for each stretch.
 *   3. Each stretch is fitted to its points again, with weights that fall to zero for outliers (Tukey's biweight).
 *   4. Neighbours end where their lines cross, which finds the moment of a bend to a fraction of a block. A stretch
 *      that only covers a bend or a disturbance, and that its neighbours can do without, is dropped. */
#include "offset_fit.h"

#include <math.h>
#include <string.h>

#define BLOCK_POINTS 8
#define BLOCKS_MOST 256
#define NOISE_LEAST_NS 100.0
#define STRETCH_PRICE 20.0      /* in squared standard errors: three parameters at ln(256) each, and some */
#define STRETCH_BLOCKS_LEAST 2
#define SLOPE_POINTS_LEAST 5    /* fewer points have no slope */
#define SLOPE_MOST 0.01         /* no clock is that bad: a step inside a block */
#define DRIFT_UNKNOWN 100e-6    /* drift of two crystals at ± 50 ppm */
#define OUTLIER_DEVIATIONS 6.0
#define BIWEIGHT_DEVIATIONS 4.685
#define COST_MOST 9.0            /* limit for a point, in squared deviations: an outlier is not worth a stretch */
#define ROUNDS 5

struct offset_fit_block {
    size_t first, count;
    double x, y;
    int is_outlier;
};

struct fitting {
    const struct offset_point *points;
    size_t count;
    struct offset_fit_block *blocks;
    size_t block_count;
    double *values;    /* room for as many numbers as there are points, and for the slopes of a block */
    double point_noise, block_noise;
    double (*sums)[6]; /* by block: sums over all blocks before it: weight, x, y, xx, xy, yy; seconds and µs */
};

/* ---- Medians --------------------------------------------------------------------------------------------------- */

/* The number that would be at `rank` if they were sorted (Hoare's quickselect). Changes their order. */
static double select_rank(double *values, ptrdiff_t count, ptrdiff_t rank)
{
    ptrdiff_t low = 0, high = count - 1;
    while (low < high) {
        double pivot = values[rank];
        ptrdiff_t i = low, j = high;
        while (i <= j) {
            while (values[i] < pivot)
                i++;
            while (values[j] > pivot)
                j--;
            if (i <= j) {
                double swapped = values[i];
                values[i++] = values[j];
                values[j--] = swapped;
            }
        }
        if (j < rank)
            low = i;
        if (i > rank)
            high = j;
    }
    return values[rank];
}

static double offset_fit_median(double *values, size_t count)
{
    return count ? select_rank(values, (ptrdiff_t)count, (ptrdiff_t)(count / 2)) : 0;
}

/* The standard deviation of numbers around 0, by their median. */
static double deviation(double *values, size_t count)
{
    for (size_t i = 0; i < count; i++)
        values[i] = fabs(values[i]);
    return 1.4826 * offset_fit_median(values, count);
}

/* ---- Blocks ---------------------------------------------------------------------------------------------------- */

/* How far a point is from the line of its neighbours, in standard deviations of a point. Bends do not affect it. */
static double from_neighbours(double x0, double y0, double x, double y, double x1, double y1)
{
    double share = x1 > x0 ? (x - x0) / (x1 - x0) : 0.5;
    return (y - y0 - share * (y1 - y0)) / sqrt(1 + share * share + (1 - share) * (1 - share));
}

static double noise_of_points(const struct fitting *fitting)
{
    const struct offset_point *p = fitting->points;
    size_t count = 0;
    for (size_t i = 1; i + 1 < fitting->count; i++)
        fitting->values[count++] = from_neighbours(p[i - 1].x, p[i - 1].y, p[i].x, p[i].y, p[i + 1].x, p[i + 1].y);
    return fmax(deviation(fitting->values, count), NOISE_LEAST_NS);
}

/* The median slope between points of a range, at most 32 × 32 of them (Theil and Sen). */
static double median_slope(const struct fitting *fitting, size_t first, size_t count)
{
    size_t step = count / 32 + 1, slopes = 0;
    for (size_t i = first; i < first + count; i += step)
        for (size_t j = i + step; j < first + count; j += step)
            if (fitting->points[j].x > fitting->points[i].x)
                fitting->values[slopes++] = (fitting->points[j].y - fitting->points[i].y) /
                                            (fitting->points[j].x - fitting->points[i].x);
    double slope = offset_fit_median(fitting->values, slopes);
    return fabs(slope) <= SLOPE_MOST ? slope : 0;
}

static double median_value(const struct fitting *fitting, size_t first, size_t count, double x, double slope)
{
    for (size_t i = 0; i < count; i++)
        fitting->values[i] = fitting->points[first + i].y - slope * (fitting->points[first + i].x - x);
    return offset_fit_median(fitting->values, count);
}

static void make_blocks(struct fitting *fitting)
{
    for (size_t b = 0; b < fitting->block_count; b++) {
        struct offset_fit_block *block = &fitting->blocks[b];
        size_t first = fitting->count * b / fitting->block_count, end = fitting->count * (b + 1) / fitting->block_count;
        *block = (struct offset_fit_block){ .first = first, .count = end - first };
        for (size_t i = first; i < end; i++)
            block->x += (fitting->points[i].x - fitting->points[first].x) / (double)block->count;
        block->x += fitting->points[first].x;
        block->y = median_value(fitting, first, block->count, block->x, median_slope(fitting, first, block->count));
    }
}

/* Blocks off the line of their neighbours: most of their points were disturbed, or the line bends in them. */
static void mark_outliers(struct fitting *fitting)
{
    struct offset_fit_block *b = fitting->blocks;
    size_t count = 0, block_points = fitting->count / fitting->block_count;
    for (size_t i = 1; i + 1 < fitting->block_count; i++)
        fitting->values[count++] = from_neighbours(b[i - 1].x, b[i - 1].y, b[i].x, b[i].y, b[i + 1].x, b[i + 1].y);
    fitting->block_noise = fmax(1.25 * fitting->point_noise / sqrt((double)block_points),
                                deviation(fitting->values, count));
    for (size_t i = 1; i + 1 < fitting->block_count; i++) {
        double away = from_neighbours(b[i - 1].x, b[i - 1].y, b[i].x, b[i].y, b[i + 1].x, b[i + 1].y);
        b[i].is_outlier = !b[i - 1].is_outlier && fabs(away) > OUTLIER_DEVIATIONS * fitting->block_noise;
    }
}

/* ---- Division into stretches ----------------------------------------------------------------------------------- */

static void offset_fit_add_up(struct fitting *fitting)
{
    memset(fitting->sums[0], 0, sizeof fitting->sums[0]);
    for (size_t i = 0; i < fitting->block_count; i++) {
        const struct offset_fit_block *block = &fitting->blocks[i];
        double x = (block->x - fitting->blocks[0].x) * 1e-9, y = (block->y - fitting->blocks[0].y) * 1e-3;
        double terms[6] = { 1, x, y, x * x, x * y, y * y };
        for (int t = 0; t < 6; t++)
            fitting->sums[i + 1][t] = fitting->sums[i][t] + (block->is_outlier ? 0 : terms[t]);
    }
}

/* The sum of squares around the best line through blocks, in squared standard errors. */
static double misfit(const struct fitting *fitting, size_t first, size_t end)
{
    double s[6], noise = fitting->block_noise * 1e-3;
    for (int t = 0; t < 6; t++)
        s[t] = fitting->sums[end][t] - fitting->sums[first][t];
    if (s[0] < 2)
        return 0;
    double xx = s[3] - s[1] * s[1] / s[0], xy = s[4] - s[1] * s[2] / s[0], yy = s[5] - s[2] * s[2] / s[0];
    return fmax(xx > 0 ? yy - xy * xy / xx : yy, 0) / (noise * noise);
}

/* cheapest[i]: the cost of the blocks before i; from[i]: where the last stretch of these begins. Returns the number of
 * stretches. */
static size_t offset_fit_divide(const struct fitting *fitting, double *cheapest, size_t *from)
{
    size_t stretches = 0;
    cheapest[0] = 0;
    for (size_t end = 1; end <= fitting->block_count; end++) {
        cheapest[end] = INFINITY;
        for (size_t first = 0; first < end; first++) {
            if (end - first < STRETCH_BLOCKS_LEAST && end - first < fitting->block_count)
                continue;
            double price = cheapest[first] + STRETCH_PRICE + misfit(fitting, first, end);
            if (price < cheapest[end]) {
                cheapest[end] = price;
                from[end] = first;
            }
        }
    }
    for (size_t end = fitting->block_count; end; end = from[end])
        stretches++;
    return stretches;
}

/* ---- Lines ----------------------------------------------------------------------------------------------------- */

/* One round of weighted least squares; the weights come from the current line. */
static void offset_fit_refine(const struct fitting *fitting, size_t first, size_t count, struct offset_stretch *line)
{
    double limit = BIWEIGHT_DEVIATIONS * line->noise, w = 0, wx = 0, wy = 0, wxx = 0, wxy = 0;
    for (size_t i = first; i < first + count; i++) {
        double x = fitting->points[i].x - line->centre;
        double rest = fitting->points[i].y - line->value - line->slope * x, part = rest / limit;
        if (fabs(part) >= 1)
            continue;
        double weight = (1 - part * part) * (1 - part * part);
        w += weight;
        wx += weight * x;
        wy += weight * rest;
        wxx += weight * x * x;
        wxy += weight * x * rest;
    }
    double spread = w > 0 ? wxx - wx * wx / w : 0;
    if (w < 3 || spread <= 0)
        return;
    double slope = (wxy - wx * wy / w) / spread;
    if (fabs(line->slope + slope) > SLOPE_MOST)
        return;
    line->slope += slope;
    line->value += (wy - slope * wx) / w;
}

static double noise_around(const struct fitting *fitting, size_t first, size_t count, const struct offset_stretch *line)
{
    for (size_t i = 0; i < count; i++)
        fitting->values[i] = fitting->points[first + i].y - line->value -
                             line->slope * (fitting->points[first + i].x - line->centre);
    return fmax(deviation(fitting->values, count), NOISE_LEAST_NS);
}

static struct offset_stretch line_through(const struct fitting *fitting, size_t first, size_t count)
{
    const struct offset_point *points = fitting->points;
    struct offset_stretch line = {
        .begin = points[first].x, .end = points[first + count - 1].x, .first = first, .points = count
    };
    line.centre = line.begin + (line.end - line.begin) / 2;
    line.slope = count < SLOPE_POINTS_LEAST ? 0 : median_slope(fitting, first, count);
    line.value = median_value(fitting, first, count, line.centre, line.slope);
    line.noise = noise_around(fitting, first, count, &line);
    for (int round = 0; count >= SLOPE_POINTS_LEAST && round < ROUNDS; round++) {
        offset_fit_refine(fitting, first, count, &line);
        line.noise = noise_around(fitting, first, count, &line);
    }
    line.uncertainty = 6 * line.noise / sqrt((double)count);
    if (count < SLOPE_POINTS_LEAST)
        line.uncertainty += DRIFT_UNKNOWN * (line.end - line.begin);
    return line;
}

/* Where the lines of two neighbours cross, if that is between their centres; else they stay apart: a step. */
static void offset_fit_join(struct offset_stretch *left, struct offset_stretch *right)
{
    double bend = left->slope - right->slope;
    double left_there = left->value + left->slope * (right->centre - left->centre);
    double x = right->centre + (bend != 0 ? (right->value - left_there) / bend : INFINITY);
    double slack = (right->begin - left->end) + (right->end - right->begin) / 4 + (left->end - left->begin) / 4;
    if (x > left->centre && x < right->centre && x > left->end - slack && x < right->begin + slack)
        left->end = right->begin = x;
}

void offset_join(struct offset_fit *fit)
{
    for (size_t i = 1; i < fit->count; i++)
        offset_fit_join(&fit->stretches[i - 1], &fit->stretches[i]);
}

static double on_stretch(const struct offset_stretch *line, double x)
{
    return line->value + line->slope * (x - line->centre);
}

static double cost(const struct fitting *fitting, size_t first, size_t end, const struct offset_stretch *line)
{
    double sum = 0;
    for (size_t i = first; i < end; i++) {
        double part = (fitting->points[i].y - on_stretch(line, fitting->points[i].x)) / fitting->point_noise;
        sum += fmin(part * part, COST_MOST);
    }
    return sum;
}

/* A step is where two lines that do not cross fit best: between two points, at most two blocks from where the blocks
 * said. */
static void place_step(const struct fitting *fitting, struct offset_stretch *left, struct offset_stretch *right)
{
    size_t reach = 2 * (fitting->count / fitting->block_count + 1), middle = right->first, best = middle;
    size_t first = left->points / 2 < reach ? middle - left->points / 2 : middle - reach;
    size_t end = right->points / 2 < reach ? middle + right->points / 2 : middle + reach;
    double least = INFINITY;
    for (size_t i = first; i <= end; i++) {
        double price = cost(fitting, first, i, left) + cost(fitting, i, end, right);
        if (price < least) {
            least = price;
            best = i;
        }
    }
    left->end = fitting->points[best - 1].x;
    right->begin = fitting->points[best].x;
}

static void place_steps(const struct fitting *fitting, struct offset_fit *fit)
{
    for (size_t i = 1; i < fit->count; i++)
        if (fit->stretches[i - 1].end < fit->stretches[i].begin)
            place_step(fitting, &fit->stretches[i - 1], &fit->stretches[i]);
}

/* Points around a bend may have counted for the wrong side of it: fits each stretch to those between its ends. */
static void fit_again(const struct fitting *fitting, struct offset_fit *fit)
{
    size_t first = 0, end = 0;
    for (size_t i = 0; i < fit->count; i++) {
        double from = fit->stretches[i].begin, to = fit->stretches[i].end;
        for (first = end; first < fitting->count && fitting->points[first].x < from;)
            first++;
        for (end = first; end < fitting->count && fitting->points[end].x <= to;)
            end++;
        if (end - first >= SLOPE_POINTS_LEAST)
            fit->stretches[i] = line_through(fitting, first, end - first);
    }
    offset_join(fit);
}

/* ---- Stretches that are not needed ----------------------------------------------------------------------------- */

/* Whether a stretch's points lie as well on the lines of its neighbours: *bend is where the right one takes over. */
static int is_spare(const struct fitting *fitting, const struct offset_fit *fit, size_t number, double *bend)
{
    const struct offset_stretch *own = &fit->stretches[number], *left = number ? own - 1 : own + 1;
    const struct offset_stretch *right = number + 1 < fit->count ? own + 1 : own - 1;
    size_t middle = own->first, end = own->first + own->points;
    double least = cost(fitting, middle, end, right);
    for (size_t i = own->first; left != right && i < end; i++) { /* the best place for the bend */
        double price = cost(fitting, own->first, i + 1, left) + cost(fitting, i + 1, end, right);
        if (price < least) {
            least = price;
            middle = i + 1;
        }
    }
    *bend = middle < end ? fitting->points[middle].x : own->end;
    return least <= cost(fitting, own->first, end, own) + STRETCH_PRICE;
}

static void remove_stretch(struct offset_fit *fit, size_t number)
{
    memmove(&fit->stretches[number], &fit->stretches[number + 1], (fit->count - number - 1) * sizeof *fit->stretches);
    fit->count--;
}

/* Short stretches cover a bend or a disturbance. */
static void drop_spare(const struct fitting *fitting, struct offset_fit *fit)
{
    size_t points_most = 4 * (fitting->count / fitting->block_count + 1);
    for (size_t i = fit->count; fit->count > 1 && i-- > 0;) {
        double bend, begin = fit->stretches[i].begin, end = fit->stretches[i].end;
        if (fit->stretches[i].points > points_most || !is_spare(fitting, fit, i, &bend))
            continue;
        remove_stretch(fit, i);
        if (i < fit->count)
            fit->stretches[i].begin = i ? bend : begin;
        if (i)
            fit->stretches[i - 1].end = i < fit->count ? bend : end;
        fit_again(fitting, fit);
    }
}

/* Neighbours that one line can replace. */
static void offset_fit_merge(const struct fitting *fitting, struct offset_fit *fit)
{
    for (size_t i = fit->count; i-- > 1;) {
        struct offset_stretch *left = &fit->stretches[i - 1], *right = &fit->stretches[i];
        size_t middle = left->first + left->points, end = right->first + right->points;
        struct offset_stretch both = line_through(fitting, left->first, end - left->first);
        if (cost(fitting, left->first, end, &both) >
            cost(fitting, left->first, middle, left) + cost(fitting, middle, end, right) + STRETCH_PRICE)
            continue;
        *left = both;
        remove_stretch(fit, i);
    }
    offset_join(fit);
}

/* ---- The fit --------------------------------------------------------------------------------------------------- */

static int offset_fit_start(struct fitting *fitting, struct arena *arena)
{
    size_t blocks = fitting->count / BLOCK_POINTS, numbers = fitting->count > 1024 ? fitting->count : 1024;
    fitting->block_count = blocks < 1 ? 1 : blocks > BLOCKS_MOST ? BLOCKS_MOST : blocks;
    fitting->blocks = arena_alloc(arena, fitting->block_count * sizeof *fitting->blocks);
    fitting->sums = arena_alloc(arena, (fitting->block_count + 1) * sizeof *fitting->sums);
    fitting->values = arena_alloc(arena, numbers * sizeof *fitting->values);
    return fitting->blocks && fitting->sums && fitting->values ? 0 : -1;
}

int offset_fit(const struct offset_point *points, size_t count, struct offset_fit *fit, struct arena *arena)
{
    struct fitting fitting = { .points = points, .count = count };
    if (offset_fit_start(&fitting, arena) != 0)
        return -1;
    double *cheapest = arena_alloc(arena, (fitting.block_count + 1) * sizeof *cheapest);
    size_t *from = arena_alloc(arena, (fitting.block_count + 1) * sizeof *from);
    if (!cheapest || !from)
        return -1;
    fitting.point_noise = noise_of_points(&fitting);
    make_blocks(&fitting);
    mark_outliers(&fitting);
    offset_fit_add_up(&fitting);
    fit->count = offset_fit_divide(&fitting, cheapest, from);
    if (!(fit->stretches = arena_alloc(arena, fit->count * sizeof *fit->stretches)))
        return -1;
    size_t at = fit->count;
    for (size_t end = fitting.block_count; end; end = from[end]) {
        const struct offset_fit_block *first = &fitting.blocks[from[end]], *last = &fitting.blocks[end - 1];
        fit->stretches[--at] = line_through(&fitting, first->first, last->first + last->count - first->first);
    }
    offset_join(fit);
    place_steps(&fitting, fit);
    fit_again(&fitting, fit);
    drop_spare(&fitting, fit);
    offset_fit_merge(&fitting, fit);
    return 0;
}

size_t offset_stretch_at(const struct offset_fit *fit, double x)
{
    size_t at = 0;
    while (at + 1 < fit->count && x > (fit->stretches[at].end + fit->stretches[at + 1].begin) / 2)
        at++;
    return at;
}

double offset_at(const struct offset_fit *fit, double x)
{
    for (size_t i = 0; i + 1 < fit->count; i++) {
        const struct offset_stretch *left = &fit->stretches[i], *right = &fit->stretches[i + 1];
        if (x <= left->end)
            return on_stretch(left, x);
        if (x < right->begin) { /* within a step */
            double a = on_stretch(left, left->end), b = on_stretch(right, right->begin);
            return a + (b - a) * ((x - left->end) / (right->begin - left->end));
        }
    }
    return on_stretch(&fit->stretches[fit->count - 1], x);
}
