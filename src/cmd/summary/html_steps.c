/* The steps as a picture: a bar for each, as high as it is long, and the part of it in which GPUs had work. Many steps
 * share bars. */
#include <math.h>

#include "base/human.h"
#include "base/saturating.h"
#include "html_page.h"

enum { WIDTH = 1000, HEIGHT = 240, LEFT = 80, TOP = 12, BOTTOM = 28, MOST_BARS = 200, WIDEST = 60, MOST_NUMBERED = 20 };
enum { PLOT_WIDTH = WIDTH - LEFT, PLOT_HEIGHT = HEIGHT - TOP - BOTTOM };

/* The steps of the first process; others have as many. */
static size_t steps_of_one(const struct table *steps)
{
    size_t count = 0;
    double pid = table_number_at(steps, 0, "PID");

    while (count < table_row_count(steps) && table_number_at(steps, count, "PID") == pid)
        count++;
    return count;
}

struct step_bar {
    double time_ns, busy_ns; /* means of its steps */
};

static struct step_bar bar_of(const struct table *steps, size_t first, size_t behind)
{
    struct step_bar bar = { 0 };

    for (size_t row = first; row < behind; row++) {
        double time = table_number_at(steps, row, "Time");
        bar.time_ns += time / (double)(behind - first);
        if (table_cell_at(steps, row, "GPU Idle"))
            bar.busy_ns += fmax(time - table_number_at(steps, row, "GPU Idle"), 0) / (double)(behind - first);
    }
    return bar;
}

/* A number of 1, 2 or 5 and zeros that is at least a quarter of the highest. */
static double tick_of(double highest)
{
    double unit = pow(10, floor(log10(highest / 4)));

    for (int i = 0; i < 3; i++) {
        static const double factors[] = { 1, 2, 5 };
        if (factors[i] * unit >= highest / 4)
            return factors[i] * unit;
    }
    return 10 * unit;
}

static void add_axis(struct text *out, double highest)
{
    double tick = tick_of(highest);

    for (double at = 0; at <= highest * 1.0001; at += tick) {
        double y = TOP + PLOT_HEIGHT * (1 - at / highest);
        text_addf(out,
                  "<line class=\"grid\" x1=\"%d\" x2=\"%d\" y1=\"%.1f\" y2=\"%.1f\"/><text x=\"%d\" y=\"%.1f\" "
                  "text-anchor=\"end\">",
                  LEFT, WIDTH, y, y, LEFT - 8, y + 4);
        human_time(out, saturating_from_double(at));
        text_add(out, "</text>\n");
    }
}

/* A rectangle on the axis. */
static void add_rectangle(struct text *out, const char *class, double x, double width, double high)
{
    text_addf(out, "<rect class=\"%s\" x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\"/>", class, x,
              TOP + PLOT_HEIGHT - high, width, high);
}

static void add_bars(struct text *out, const struct table *steps, size_t count, size_t share, double highest)
{
    size_t bars = (count + share - 1) / share;
    double width = fmin((double)PLOT_WIDTH / (double)bars, WIDEST);

    for (size_t i = 0; i < bars; i++) {
        size_t first = i * share, behind = first + share < count ? first + share : count;
        struct step_bar bar = bar_of(steps, first, behind);
        double left = LEFT + (double)i * width;
        long long number = (long long)table_number_at(steps, first, "Step");
        text_addf(out, "<g><title>%s %lld: ", share == 1 ? "step" : "steps from", number);
        human_time(out, saturating_from_double(bar.time_ns));
        text_addf(out, ", GPU busy %.0f %%</title>", bar.time_ns > 0 ? 100 * bar.busy_ns / bar.time_ns : 0);
        add_rectangle(out, "idle", left + width * 0.1, width * 0.8, PLOT_HEIGHT * bar.time_ns / highest);
        add_rectangle(out, "compute", left + width * 0.1, width * 0.8, PLOT_HEIGHT * bar.busy_ns / highest);
        if (bars <= MOST_NUMBERED || i == 0 || i + 1 == bars)
            text_addf(out, "<text x=\"%.2f\" y=\"%d\" text-anchor=\"middle\">%lld</text>", left + width / 2, HEIGHT - 8,
                      number);
        text_add(out, "</g>\n");
    }
}

void html_add_steps(struct text *out, struct html_page *page)
{
    const struct table *steps = page->reports[RUN_TABLE_STEPS];
    size_t count = steps ? steps_of_one(steps) : 0, share = (count + MOST_BARS - 1) / MOST_BARS;
    double highest = 0;

    for (size_t first = 0; first < count; first += share)
        highest = fmax(highest, bar_of(steps, first, first + share < count ? first + share : count).time_ns);
    if (highest <= 0)
        return;
    text_addf(out, "<figure>\n<svg viewBox=\"0 0 %d %d\" role=\"img\">\n<title>Time of each step</title>\n", WIDTH,
              HEIGHT);
    add_axis(out, highest);
    add_bars(out, steps, count, share, highest);
    text_add(out, "</svg>\n<figcaption><span class=\"key compute\"></span>GPU busy <span class=\"key idle\"></span>GPU "
                  "idle. ");
    text_addf(out, "%zu steps", count);
    if (share > 1)
        text_addf(out, "; each bar is the mean of %zu", share);
    if (count < table_row_count(steps))
        text_addf(out, "; those of the first process of %zu steps in all", table_row_count(steps));
    text_add(out, ".</figcaption>\n</figure>\n");
    html_add_command(out, page, "stats -r step_sum");
}
