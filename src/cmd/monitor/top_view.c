/* A GPU has a line with its name, its activity and the history of it, and below that all other facts, wrapped to the
 * width. Where that needs too many rows, it has one line, with the facts that fit. */
#include "top_view.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "abi/nvml.h"
#include "base/human.h"
#include "base/path.h"
#include "cmd/print/display.h"
#include "top_line.h"

enum { INDENT = 7, NAME_COLUMNS = 22, BAR_COLUMNS = 12, HISTORY_MOST = 120, COMPACT_NAME = 12, COMPACT_BAR = 6 };
#define UNKNOWN "n/a"
#define MAKER "NVIDIA "

struct view {
    const struct top_model *model;
    const struct top_look *look;
    struct top_line line;
    int is_compact;
};

/* ---- values ---------------------------------------------------------------------------------------------------- */

static void top_view_add_percent(struct text *out, double percent)
{
    if (isnan(percent))
        text_add(out, UNKNOWN);
    else
        text_addf(out, "%.1f %%", percent);
}

static void top_view_add_rate(struct text *out, double bytes)
{
    if (isnan(bytes)) {
        text_add(out, UNKNOWN);
        return;
    }
    human_bytes(out, (uint64_t)bytes);
    text_add(out, "/s");
}

/* "12.3/150 GB": both in GB, which is what memory is sold in. */
static void top_view_add_memory(struct text *out, double used, double total)
{
    if (isnan(used) || isnan(total))
        text_add(out, UNKNOWN);
    else
        text_addf(out, "%.1f/%.1f GB", used / 1e9, total / 1e9);
}

static double bytes_or_nan(uint64_t bytes)
{
    return bytes == UINT64_MAX ? NAN : (double)bytes;
}

static const struct {
    uint64_t reason;
    const char *words;
    int is_limit;
} top_view_reasons[] = {
    { NVML_CLOCK_GPU_IDLE, "idle", 0 },
    { NVML_CLOCK_APPLICATION_SETTING, "application clocks", 0 },
    { NVML_CLOCK_SYNC_BOOST, "sync boost", 0 },
    { NVML_CLOCK_DISPLAY_SETTING, "display clocks", 0 },
    { NVML_CLOCK_SW_POWER_CAP, "power cap", 1 },
    { NVML_CLOCK_HW_SLOWDOWN, "hardware slowdown", 1 },
    { NVML_CLOCK_SW_THERMAL, "temperature (software)", 1 },
    { NVML_CLOCK_HW_THERMAL, "temperature (hardware)", 1 },
    { NVML_CLOCK_HW_POWER_BRAKE, "power brake", 1 },
};

/* Adds the reasons for which clocks are not at their highest. Returns whether one of them is a limit. */
static int add_reasons(struct text *out, double bits)
{
    int is_limit = 0;

    for (size_t i = 0; !isnan(bits) && i < COUNT_OF(top_view_reasons); i++)
        if ((uint64_t)bits & top_view_reasons[i].reason) {
            text_addf(out, "%s%s", out->length ? ", " : "", top_view_reasons[i].words);
            is_limit |= top_view_reasons[i].is_limit;
        }
    return is_limit;
}

/* ---- GPUs ------------------------------------------------------------------------------------------------------ */

/* Adds a fact with two spaces before it, in a new line if it does not fit; a compact view leaves it out. */
static void put_fact(struct view *view, const char *style, const char *label, struct text *value)
{
    struct top_line *line = &view->line;
    const char *text = text_string(value);
    size_t columns = strlen(label) + (*label != 0) + display_columns(text, value->length);
    int is_at_indent = line->left + INDENT == line->width;

    if (columns + 2 > line->left && view->is_compact) {
        text_clear(value);
        return;
    }
    if (columns + 2 > line->left && !is_at_indent) {
        top_line_end(line);
        top_line_begin(line);
        top_line_spaces(line, INDENT);
        is_at_indent = 1;
    }
    top_line_spaces(line, is_at_indent ? 0 : 2);
    if (*label)
        top_line_put(line, TOP_DIM, "%s ", label);
    top_line_put(line, style, "%s", text);
    text_clear(value);
}

static void put_links(struct view *view, const char *label, double in, double out)
{
    struct text value = { 0 };

    if (isnan(in) && isnan(out))
        return;
    top_view_add_rate(&value, in);
    text_add(&value, " in, ");
    top_view_add_rate(&value, out);
    text_add(&value, " out");
    put_fact(view, TOP_PLAIN, label, &value);
    text_free(&value);
}

static void top_view_put_number(struct view *view, const char *label, double number, const char *unit)
{
    struct text value = { 0 };

    if (isnan(number))
        text_add(&value, UNKNOWN);
    else
        text_addf(&value, "%.0f %s", number, unit);
    put_fact(view, TOP_PLAIN, label, &value);
    text_free(&value);
}

static void put_facts(struct view *view, const struct top_gpu *gpu)
{
    const double *now = gpu->now.now;
    struct text value = { 0 };

    top_view_add_memory(&value, now[GPU_READING_MEMORY_USED], now[GPU_READING_MEMORY_TOTAL]);
    put_fact(view, TOP_PLAIN, "memory", &value);
    if (!isnan(now[GPU_READING_POWER_LIMIT]) && !isnan(now[GPU_READING_POWER]))
        text_addf(&value, "%.0f/%.0f W", now[GPU_READING_POWER], now[GPU_READING_POWER_LIMIT]);
    else
        text_add(&value, UNKNOWN);
    put_fact(view, TOP_PLAIN, "power", &value);
    top_view_put_number(view, "", now[GPU_READING_TEMPERATURE], "C");
    top_view_add_percent(&value, now[GPU_READING_GPM_TENSOR]);
    put_fact(view, TOP_PLAIN, "tensor", &value);
    top_view_add_percent(&value, now[GPU_READING_GPM_DRAM]);
    put_fact(view, TOP_PLAIN, "DRAM", &value);
    top_view_put_number(view, "SM clock", now[GPU_READING_CLOCK_SM] / 1e6, "MHz");
    top_view_put_number(view, "memory clock", now[GPU_READING_CLOCK_MEMORY] / 1e6, "MHz");
    put_links(view, "PCIe", gpu->pcie_in, gpu->pcie_out);
    put_links(view, "NVLink", gpu->nvlink_in, gpu->nvlink_out);
    int is_limit = add_reasons(&value, now[GPU_READING_CLOCK_REASONS]);
    if (value.length)
        put_fact(view, is_limit ? TOP_RED : TOP_PLAIN, "clocks:", &value);
    text_free(&value);
}

static size_t top_view_count_processes(const struct top_model *model, const struct gpu_instance *instance)
{
    size_t count = 0;

    for (size_t i = 0; i < model->process_count; i++) {
        const struct gpu_process *process = &model->processes[i].now;
        count += process->device == instance->device && process->gpu_instance == instance->gpu_instance &&
                 process->compute_instance == instance->compute_instance;
    }
    return count;
}

static void put_instance(struct view *view, const struct gpu_instance *instance)
{
    const char *profile = strstr(instance->name, "MIG ");
    size_t count = top_view_count_processes(view->model, instance);
    struct text value = { 0 };

    top_line_begin(&view->line);
    top_line_spaces(&view->line, INDENT);
    top_line_put(&view->line, TOP_BOLD, "MIG %u/%u", instance->gpu_instance, instance->compute_instance);
    text_addf(&value, "%s", profile ? profile + strlen("MIG ") : instance->name);
    put_fact(view, TOP_PLAIN, "", &value);
    top_view_add_percent(&value, instance->sm);
    put_fact(view, TOP_PLAIN, "SM", &value);
    top_view_add_percent(&value, instance->tensor);
    put_fact(view, TOP_PLAIN, "tensor", &value);
    top_view_add_memory(&value, bytes_or_nan(instance->memory_used_bytes), bytes_or_nan(instance->memory_bytes));
    put_fact(view, TOP_PLAIN, "memory", &value);
    text_addf(&value, "%zu process%s", count, count == 1 ? "" : "es");
    put_fact(view, TOP_PLAIN, "", &value);
    top_line_end(&view->line);
    text_free(&value);
}

static void put_gpu(struct view *view, const struct top_gpu *gpu)
{
    struct top_line *line = &view->line;
    size_t name = view->is_compact ? COMPACT_NAME : NAME_COLUMNS;
    struct text shown = { 0 }, value = { 0 };

    top_line_begin(line);
    top_line_put(line, TOP_BOLD, "GPU %-3u", gpu->now.facts.device);
    const char *full = gpu->now.facts.name;
    full += view->is_compact && text_begins_with(full, MAKER) ? strlen(MAKER) : 0;
    size_t taken = display_add(&shown, full, strlen(full), name);
    top_line_put(line, TOP_BOLD, "%s", text_string(&shown));
    top_line_spaces(line, name - taken);
    top_line_put(line, TOP_DIM, gpu->is_gpm ? "  SM  " : "  util");
    top_view_add_percent(&value, gpu->activity);
    top_line_put(line, TOP_PLAIN, " %7s ", text_string(&value));
    top_line_bar(line, gpu->activity, view->is_compact ? COMPACT_BAR : BAR_COLUMNS);
    if (!view->is_compact) {
        size_t room = line->left > 2 ? line->left - 2 : 0;
        top_line_spaces(line, 2);
        top_line_history(line, gpu->history, gpu->history_count, room < HISTORY_MOST ? room : HISTORY_MOST);
        top_line_end(line);
        top_line_begin(line);
        top_line_spaces(line, INDENT);
    }
    put_facts(view, gpu);
    top_line_end(line);
    for (size_t i = 0; i < view->model->instance_count; i++)
        if (view->model->instances[i].device == gpu->now.facts.device)
            put_instance(view, &view->model->instances[i]);
    text_free(&shown);
    text_free(&value);
}

/* ---- title, captures, help -------------------------------------------------------------------------------------- */

static const char *const orders[] = { [TOP_BY_SM] = "SM", [TOP_BY_MEMORY] = "memory", [TOP_BY_PID] = "pid" };

static void put_title(struct view *view)
{
    const struct top_model *model = view->model;
    time_t seconds = (time_t)(model->utc_ns / 1000000000);
    struct tm parts;
    char clock[32];

    gmtime_r(&seconds, &parts);
    strftime(clock, sizeof clock, "%Y-%m-%d %H:%M:%S UTC", &parts);
    top_line_begin(&view->line);
    top_line_put(&view->line, TOP_BOLD, "tacho top");
    top_line_put(&view->line, TOP_PLAIN, "  %s  %zu GPU%s", clock, model->gpu_count, model->gpu_count == 1 ? "" : "s");
    if (view->look->is_live)
        top_line_put(&view->line, TOP_PLAIN, "  every %g s  q quit  ? keys", (double)view->look->interval_us / 1e6);
    top_line_end(&view->line);
}

static void put_capture(struct view *view, const struct running_capture *capture)
{
    struct text age = { 0 };

    human_time(&age, capture->age_ns);
    top_line_put(&view->line, TOP_BOLD, "capture");
    top_line_put(&view->line, TOP_PLAIN, "  %s  for %s  pid %d: %s", *capture->report ? capture->report : UNKNOWN,
                 text_string(&age), (int)capture->pid, capture->command);
    text_free(&age);
}

/* One line: the capture, or how many there are and the names of their reports, as far as they fit. */
static void put_captures(struct view *view)
{
    const struct top_model *model = view->model;

    if (!model->capture_count)
        return;
    top_line_begin(&view->line);
    if (model->capture_count == 1) {
        put_capture(view, &model->captures[0]);
    } else {
        top_line_put(&view->line, TOP_BOLD, "%zu captures:", model->capture_count);
        for (size_t i = 0; i < model->capture_count; i++)
            top_line_put(&view->line, TOP_PLAIN, "%s %s", i ? "," : "",
                         *model->captures[i].report ? path_base_name(model->captures[i].report) : UNKNOWN);
    }
    top_line_end(&view->line);
}

static void put_help(struct view *view)
{
    static const char *const lines[] = {
        "q, Ctrl-C     quit",
        "s, m, p       sort processes by SM, memory or pid",
        "Up, Down      scroll the processes; also Page Up, Page Down, Home, End",
        "+, -          a longer or shorter interval",
        "?             show or hide this list",
        "",
        "SM is the share of SMs that had work, tensor that of tensor cores, DRAM that",
        "of its bandwidth: from GPM, on Hopper and later. util is the share of time",
        "with any kernel, all that other GPUs report. n/a: not known.",
    };

    for (size_t i = 0; i < COUNT_OF(lines); i++) {
        top_line_begin(&view->line);
        top_line_put(&view->line, TOP_PLAIN, "%s", lines[i]);
        top_line_end(&view->line);
    }
}

/* ---- processes ------------------------------------------------------------------------------------------------- */

static void put_process(struct view *view, const struct top_process *process)
{
    const struct gpu_process *now = &process->now;
    struct text memory = { 0 };
    char sm[16] = UNKNOWN, instance[16] = "-";

    if (now->sm >= 0)
        snprintf(sm, sizeof sm, "%d %%", now->sm);
    if (now->gpu_instance != GPU_ALL)
        snprintf(instance, sizeof instance, "%u/%u", now->gpu_instance % 1000, now->compute_instance % 1000);
    if (now->memory_bytes == UINT64_MAX)
        text_add(&memory, UNKNOWN);
    else
        human_bytes(&memory, now->memory_bytes);
    top_line_begin(&view->line);
    top_line_put(&view->line, TOP_PLAIN, "%8u %-10.10s %3u %5s %-4s %6s %9s  ", now->pid, process->user, now->device,
                 instance, gpu_feed_type(now->types), sm, text_string(&memory));
    top_line_put(&view->line, TOP_PLAIN, "%s", process->command ? process->command : "-");
    top_line_end(&view->line);
    text_free(&memory);
}

static size_t top_view_count_lines(const struct text *out)
{
    size_t lines = 0;

    for (size_t i = 0; i < out->length; i++)
        lines += out->bytes[i] == '\n';
    return lines;
}

static size_t put_processes(struct view *view)
{
    const struct top_model *model = view->model;
    const struct top_look *look = view->look;

    top_line_begin(&view->line);
    if (model->process_count)
        top_line_put(&view->line, TOP_BOLD, "%8s %-10s %3s %5s %-4s %6s %9s  COMMAND, by %s", "PID", "USER", "GPU",
                     "MIG", "TYPE", "SM", "MEMORY", orders[model->sort]);
    else
        top_line_put(&view->line, TOP_DIM, "No process uses these GPUs.");
    top_line_end(&view->line);
    size_t used = top_view_count_lines(view->line.out);
    size_t room = !look->rows ? SIZE_MAX : look->rows > used ? look->rows - used : 0, shown = 0;
    size_t last = model->process_count > room ? model->process_count - room : 0;
    for (size_t i = look->first < last ? look->first : last; i < model->process_count && shown < room; i++, shown++)
        put_process(view, &model->processes[i]);
    return shown;
}

size_t top_view_add(struct text *out, const struct top_model *model, const struct top_look *look)
{
    enum { ROWS_OF_GPU = 4, ROWS_OF_REST = 6 };
    struct text screen = { 0 };
    struct view view = { model,
                         look,
                         { &screen, look->columns, look->columns, 0, look->has_colour, look->has_utf8 },
                         look->rows &&
                             model->gpu_count * ROWS_OF_GPU + model->instance_count + ROWS_OF_REST > look->rows };
    size_t shown = 0;

    put_title(&view);
    for (size_t i = 0; i < model->gpu_count; i++)
        put_gpu(&view, &model->gpus[i]);
    put_captures(&view);
    text_add_char(&screen, '\n');
    if (look->has_help)
        put_help(&view);
    else
        shown = put_processes(&view);
    text_add_bytes(out, text_string(&screen), screen.length);
    text_free(&screen);
    return shown;
}
