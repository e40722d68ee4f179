/* tacho top: GPUs, processes and MIG instances, live. */
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "screen.h"
#include "top_view.h"

enum { PLAIN_COLUMNS = 120, FEWEST_COLUMNS = 20, MOST_COLUMNS = 10000 };

struct top_settings {
    struct gpu_feed_settings common; /* devices, interval, rounds, JSON */
    int is_batch;
};

#define FIELD(name) offsetof(struct top_settings, name)
/* clang-format off */
static const struct option top_options[] = {
    GPU_FEED_OPTIONS(struct top_settings, common),
    { .name = "iterations", .letter = 'n', .kind = OPTION_CUSTOM, .value = "N", .take = gpu_feed_take_iterations,
      .help = "Stop after N readings. Default: run until q; without a terminal, 1." },
    { .name = "batch", .letter = 'b', .kind = OPTION_FLAG, .offset = FIELD(is_batch),
      .help = "Print text, a reading below the other, for a file or a pipe." },
    { .name = "json", .kind = OPTION_FLAG, .offset = FIELD(common.is_json),
      .help = "Print each reading as a JSON object in a line, in base units (W, Hz, bytes, bytes/s)." },
    { 0 },
};
/* clang-format on */

struct top {
    const struct command *self;
    const struct top_settings *settings;
    struct gpu_feed_wish wish;
    struct gpu_feed feed;
    struct top_model model;
    struct top_look look;
    struct screen screen;
    size_t shown; /* processes that there was room for */
    int has_pcie, has_screen, is_over;
};

/* Whether the user's text is UTF-8, by the variables that say so to every program. */
static int has_utf8(void)
{
    static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };

    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const char *value = getenv(names[i]);
        if (value && *value)
            return strcasestr(value, "utf-8") || strcasestr(value, "utf8");
    }
    return 0;
}

/* COLUMNS, where there is no screen to ask. */
static size_t plain_columns(void)
{
    const char *text = getenv("COLUMNS");
    long columns = text ? strtol(text, NULL, 10) : 0;

    return columns >= FEWEST_COLUMNS && columns <= MOST_COLUMNS ? (size_t)columns : PLAIN_COLUMNS;
}

static int has_colour(void)
{
    const char *refused = getenv("NO_COLOR");

    return !(refused && *refused);
}

static int top_start(struct top *top, struct error *err)
{
    top_model_wish(&top->wish, top->has_pcie);
    return gpu_feed_start(&top->feed, &top->wish, err);
}

/* The readings or the interval change. */
static int top_restart(struct top *top, struct error *err)
{
    gpu_feed_end(&top->feed);
    return top_start(top, err);
}

/* The next round; GPUs without GPM need further readings, which the first round shows. */
static int top_next_round(struct top *top, struct error *err)
{
    int got = gpu_feed_next(&top->feed, err);

    if (got != 1)
        return got;
    if (!top->has_pcie && top_model_lacks_gpm(&top->feed)) {
        top->has_pcie = 1;
        if (top_restart(top, err))
            return err->code;
        got = gpu_feed_next(&top->feed, err);
    }
    if (got == 1 && top_model_take(&top->model, &top->feed))
        return error_set(err, ERR_NO_MEMORY, "out of memory for what the GPUs report");
    return got;
}

/* ---- text ------------------------------------------------------------------------------------------------------ */

/* GPM and rates need the change since a round before, so the first one is not printed. */
static int print_rounds(struct top *top, struct error *err)
{
    uint64_t wanted = top->settings->common.rounds, printed = 0;
    int is_first = 1, got;

    while ((!wanted || printed < wanted) && (got = top_next_round(top, err)) != 0) {
        struct text out = { 0 };
        if (got < 0)
            return got;
        if (is_first) {
            is_first = 0;
            continue;
        }
        if (top->settings->common.is_json)
            top_json_add(&out, &top->model);
        else
            top_view_add(&out, &top->model, &top->look);
        if (!top->settings->common.is_json && (!wanted || wanted > 1))
            text_add_char(&out, '\n');
        int status = command_write(top->self, &out);
        text_free(&out);
        if (status)
            return 0;
        printed++;
    }
    return 0;
}

/* ---- keys ------------------------------------------------------------------------------------------------------ */

static void scroll(struct top *top, long by)
{
    long last = (long)top->model.process_count - (long)top->shown;
    long first = (top->look.first < (size_t)last ? (long)top->look.first : last) + by;

    first = first > last ? last : first;
    top->look.first = first < 0 ? 0 : (size_t)first;
}

/* 1, 2, 5, 10, … of 0.1 s, up to a minute. */
static void change_interval(struct top *top, int is_longer)
{
    static const int64_t steps_us[] = {
        100000, 200000, 500000, 1000000, 2000000, 5000000, 10000000, 30000000, 60000000
    };
    size_t count = COUNT_OF(steps_us), at = 0;
    struct error err = { 0 };

    while (at + 1 < count && steps_us[at] < top->wish.interval_us)
        at++;
    at = is_longer ? at + (at + 1 < count && steps_us[at] <= top->wish.interval_us) : at - (at > 0);
    if (steps_us[at] == top->wish.interval_us)
        return;
    top->wish.interval_us = top->look.interval_us = steps_us[at];
    top->is_over |= top_restart(top, &err) != 0;
}

static void take_key(struct top *top, int key)
{
    enum { CTRL_C = 3, CTRL_L = 12, CTRL_Z = 26 };

    switch (key) {
    case 'q':
    case 'Q':
    case CTRL_C:
    case SCREEN_CLOSED: top->is_over = 1; break;
    case 's': top->model.sort = TOP_BY_SM; break;
    case 'm': top->model.sort = TOP_BY_MEMORY; break;
    case 'p': top->model.sort = TOP_BY_PID; break;
    case '?':
    case 'h': top->look.has_help = !top->look.has_help; break;
    case '+': change_interval(top, 1); break;
    case '-': change_interval(top, 0); break;
    case SCREEN_UP: scroll(top, -1); break;
    case SCREEN_DOWN: scroll(top, 1); break;
    case SCREEN_PAGE_UP: scroll(top, -(long)top->shown); break;
    case SCREEN_PAGE_DOWN: scroll(top, (long)top->shown); break;
    case SCREEN_HOME: top->look.first = 0; break;
    case SCREEN_END: top->look.first = TOP_LAST; break;
    case CTRL_L: screen_measure(&top->screen); break;
    case CTRL_Z: screen_suspend(&top->screen); break;
    default: break;
    }
}

/* ---- screen ---------------------------------------------------------------------------------------------------- */

static void top_draw(struct top *top)
{
    struct text out = { 0 };

    top->look.columns = top->screen.columns;
    top->look.rows = top->screen.rows;
    top_model_sort(&top->model);
    top->shown = top_view_add(&out, &top->model, &top->look);
    screen_show(&top->screen, &out);
    text_free(&out);
}

/* Keys, or a new size of the window. */
static void attend(struct top *top)
{
    screen_measure_changed(&top->screen);
    for (int key; !top->is_over && (key = screen_key()) != 0;)
        take_key(top, key);
}

/* The terminal is taken with the first round: without a GPU it stays as it is. */
static int show_rounds(struct top *top, struct error *err)
{
    uint64_t wanted = top->settings->common.rounds, shown = 0;
    int got;

    while (!top->is_over && (!wanted || shown < wanted)) {
        got = top_next_round(top, err);
        if (got <= 0)
            return got;
        if (!top->has_screen && got == 1)
            top->has_screen = screen_begin(&top->screen) == 0;
        if (got == GPU_FEED_USER)
            attend(top);
        shown += got == 1;
        if (top->has_screen && !top->is_over)
            top_draw(top);
    }
    return 0;
}

static int run_top(struct top *top)
{
    struct error err = { 0 };

    if (top_start(top, &err))
        return command_fail(top->self, &err);
    int code = top->wish.is_interactive ? show_rounds(top, &err) : print_rounds(top, &err);
    if (top->has_screen)
        screen_end(&top->screen);
    gpu_feed_end(&top->feed);
    top_model_free(&top->model);
    return code ? command_fail(top->self, &err) : EXIT_OK;
}

static int top_run(const struct command *self, int argc, char **argv)
{
    static struct top top; /* histories are large */
    struct top_settings settings = { .common = { .interval_us = 1000000 } };
    int status;

    if (!gpu_feed_options(self, argc, argv, &settings.common, &status))
        return status;
    int is_live = !settings.is_batch && !settings.common.is_json && screen_is_possible();
    if (!is_live && !settings.is_batch && !settings.common.rounds)
        settings.common.rounds = 1;
    top = (struct top){ .self = self, .settings = &settings };
    top.wish = (struct gpu_feed_wish){ .devices = settings.common.devices,
                                       .interval_us = settings.common.interval_us,
                                       .ends_with_stdout = !is_live,
                                       .is_interactive = is_live };
    top.look = (struct top_look){ .columns = plain_columns(),
                                  .has_colour = is_live && has_colour(),
                                  .has_utf8 = has_utf8(),
                                  .is_live = is_live,
                                  .interval_us = settings.common.interval_us };
    return run_top(&top);
}

static const struct entry top_examples[] = {
    { "tacho top", "Watch the GPUs of this machine." },
    { "tacho top -b -n 10 -d 0.5", "Print ten readings, half a second apart." },
    { "tacho top --json -n 1", "Print one reading as JSON." },
    { 0 },
};

const struct command command_top = {
    .name = "top",
    .arguments = "",
    .summary = "Watch GPUs, their processes and MIG instances on a terminal",
    .about = "Show what the GPUs do now: activity of SMs and tensor cores (GPM, on Hopper and later), memory, power, "
             "clocks and what limits them, PCIe and NVLink traffic, processes, MIG instances, and captures of tacho "
             "that run. Without a terminal it prints one reading. The key ? lists the keys.",
    .examples = top_examples,
    .options = top_options,
    .variables = COMMAND_GPU_VARIABLES,
    .run = top_run,
};
