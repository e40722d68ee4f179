/* Writes traces as torch.profiler does (Kineto's form of Chrome's JSON), one event a line, always valid JSON.
 *
 * Data that was imported from such a trace is written as it was, so that another import makes the same report of it. */
#include "chrome.h"

#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "base/array.h"
#include "export/json_check.h"

#define LINE_BYTES (1u << 16)
#define CHECKED_MOST (1u << 26) /* texts with larger ids are checked each time */
enum { UNCHECKED, IS_JSON, IS_NO_JSON };

/* ---- values ---------------------------------------------------------------------------------------------------- */

void chrome_add_us(struct text *line, int64_t ns)
{
    uint64_t left = ns < 0 ? -(uint64_t)ns : (uint64_t)ns;
    char decimals[4] = { '.', (char)('0' + left / 100 % 10), (char)('0' + left / 10 % 10), (char)('0' + left % 10) };

    if (ns < 0)
        text_add_char(line, '-');
    json_add_int(line, (int64_t)(left / 1000));
    text_add_bytes(line, decimals, sizeof decimals);
}

void chrome_next(struct chrome *chrome)
{
    text_add_bytes(&chrome->line, ",\n", chrome->events ? 2 : 0);
    chrome->events++;
}

static void chrome_add_string(struct text *line, struct trace_string string)
{
    json_add_text(line, string.bytes, string.length);
}

static int chrome_check(const struct trace_arg *arg)
{
    int is_good = arg->kind == ARG_JSON ? json_is_value(arg->text.bytes, arg->text.length)
                                        : json_is_members(arg->text.bytes, arg->text.length);

    return is_good ? IS_JSON : IS_NO_JSON;
}

/* The same shapes occur again and again, so each text is checked once. */
static int chrome_is_json(struct chrome *chrome, const struct trace_arg *arg)
{
    int64_t id = arg->text.id;

    if (id < 0 || id >= CHECKED_MOST)
        return chrome_check(arg) == IS_JSON;
    if (array_reserve_zeroed(&chrome->checked, &chrome->checked_room, (size_t)id + 1, sizeof *chrome->checked) != 0)
        return chrome_check(arg) == IS_JSON;
    int shift = arg->kind == ARG_JSON ? 0 : 4;
    if ((chrome->checked[id] >> shift & 3) == UNCHECKED)
        chrome->checked[id] |= (unsigned char)(chrome_check(arg) << shift);
    return (chrome->checked[id] >> shift & 3) == IS_JSON;
}

static void chrome_add_value(struct chrome *chrome, const struct trace_arg *arg)
{
    struct text *line = &chrome->line;

    switch (arg->kind) {
    case ARG_INT: json_add_int(line, arg->numbers[0]); break;
    case ARG_REAL: json_add_real(line, arg->real); break;
    case ARG_FRACTION: text_addf(line, "%f", arg->real); break;
    case ARG_TEXT: chrome_add_string(line, arg->text); break;
    case ARG_JSON:
        if (chrome_is_json(chrome, arg))
            text_add_bytes(line, arg->text.bytes, arg->text.length);
        else
            json_add_mended_value(line, arg->text.bytes, arg->text.length);
        break;
    case ARG_MEMBERS:
        if (chrome_is_json(chrome, arg))
            text_add_bytes(line, arg->text.bytes, arg->text.length);
        else
            json_add_mended_members(line, arg->text.bytes, arg->text.length);
        break;
    case ARG_TRIPLE:
        text_add_char(line, '[');
        for (int i = 0; i < 3; i++) {
            text_add_bytes(line, ", ", i ? 2 : 0);
            json_add_int(line, arg->numbers[i]);
        }
        text_add_char(line, ']');
        break;
    case ARG_NULL: text_add(line, "null");
    }
}

/* Unreadable members add nothing, not even a comma. */
static void add_args(struct chrome *chrome, const struct trace_event *event)
{
    struct text *line = &chrome->line;

    text_add(line, ", \"args\": {");
    for (size_t i = 0, first = line->length; i < event->arg_count; i++) {
        const struct trace_arg *arg = &event->args[i];
        size_t before = line->length;
        text_add_bytes(line, ", ", before > first ? 2 : 0);
        if (arg->name) {
            text_add_char(line, '"');
            text_add(line, arg->name);
            text_add_bytes(line, "\": ", 3);
        }
        size_t begin = line->length;
        chrome_add_value(chrome, arg);
        if (line->length == begin)
            line->length = before;
    }
    text_add_char(line, '}');
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

/* The marks and spans of the trace itself have words in the place of numbers. */
static void add_nowhere(struct text *line, const struct trace_event *event)
{
    static const char iteration[] = "Iteration Start: ";
    struct trace_string name = event->name;

    if (event->phase == TRACE_SPAN && strcmp(event->category.bytes, "Trace") == 0) {
        const char *number = memrchr(name.bytes, '(', name.length); /* PyTorch Profiler (0) */
        name.length = number && number > name.bytes + 1 ? (size_t)(number - name.bytes) - 1 : name.length;
        text_add(line, ", \"pid\": \"Spans\", \"tid\": ");
        chrome_add_string(line, name);
    } else if (event->phase == TRACE_MOMENT && text_bytes_begin_with(name.bytes, name.length, iteration)) {
        struct text thread = { 0 };
        text_add(&thread, "Trace ");
        text_add_bytes(&thread, name.bytes + sizeof iteration - 1, name.length - sizeof iteration + 1);
        text_add(line, ", \"pid\": \"Traces\", \"tid\": ");
        json_add_text(line, text_string(&thread), thread.length);
        text_free(&thread);
    } else if (event->phase == TRACE_MOMENT) {
        text_add(line, ", \"pid\": \"\", \"tid\": \"\"");
    } else {
        text_add(line, ", \"pid\": -1, \"tid\": 0");
    }
}

static void chrome_add_place(struct chrome *chrome, const struct trace_event *event)
{
    struct text *line = &chrome->line;

    if (event->where == ON_NOTHING) {
        chrome->has_spans |= event->phase == TRACE_SPAN;
        add_nowhere(line, event);
        return;
    }
    text_add(line, ", \"pid\": ");
    json_add_int(line, event->where == ON_THREAD ? global_pid_number(event->thread) : event->device);
    if (event->where == ON_GPU) /* a counter is of its process */
        return;
    text_add(line, ", \"tid\": ");
    json_add_int(line, event->where == ON_THREAD ? global_tid_number(event->thread) : event->lane);
}

static void chrome_add_flow(struct text *line, const struct trace_event *event)
{
    text_addf(line, "{\"ph\": \"%c\", \"id\": ", event->flow_end);
    json_add_int(line, event->flow_id);
}

static void chrome_add_name(struct text *line, const struct trace_event *event)
{
    int is_moment = event->phase == TRACE_MOMENT;
    /* An import keeps no category of an instant. */
    int is_instant = is_moment && strcmp(event->category.bytes, "instant") == 0;

    text_add(line, is_moment ? "{\"ph\": \"i\"" : event->phase == TRACE_COUNTER ? "{\"ph\": \"C\"" : "{\"ph\": \"X\"");
    if (is_instant && event->where != ON_NOTHING)
        text_add(line, ", \"cat\": \"cpu_instant_event\"");
    else if (!is_instant) {
        text_add(line, ", \"cat\": ");
        chrome_add_string(line, event->category);
    }
    if (is_moment)
        text_add(line, event->where == ON_NOTHING ? ", \"s\": \"g\"" : ", \"s\": \"t\"");
    text_add(line, ", \"name\": ");
    chrome_add_string(line, event->name);
}

static int chrome_write_event(void *context, const struct trace_event *event, struct error *err)
{
    struct chrome *chrome = context;
    struct text *line = &chrome->line;

    if (tracks_note(&chrome->tracks, event) != 0)
        return error_no_memory(err);
    chrome_next(chrome);
    if (event->phase == TRACE_FLOW)
        chrome_add_flow(line, event);
    else
        chrome_add_name(line, event);
    chrome_add_place(chrome, event);
    text_add(line, ", \"ts\": ");
    int64_t ts_ns = saturating_add(event->start_ns, chrome->shift_ns);
    chrome->first_ns = ts_ns < chrome->first_ns ? ts_ns : chrome->first_ns;
    chrome_add_us(line, ts_ns);
    if (event->phase == TRACE_SPAN) {
        text_add(line, ", \"dur\": ");
        chrome_add_us(line, saturating_duration(event->start_ns, event->end_ns));
    }
    if (event->phase == TRACE_FLOW) {
        text_add(line, ", \"cat\": ");
        chrome_add_string(line, event->category);
        text_add(line, ", \"name\": ");
        chrome_add_string(line, event->name);
        text_add(line, event->flow_end == 'f' ? ", \"bp\": \"e\"}" : "}");
    } else {
        if (event->arg_count)
            add_args(chrome, event);
        text_add_char(line, '}');
    }
    return outfile_put(chrome->output, line, LINE_BYTES, err);
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

static int write_trace(void *context, struct outfile *output, struct error *err)
{
    struct chrome *chrome = context;
    struct trace_sink sink = { chrome_write_event, chrome };
    int code;

    chrome->output = output;
    if ((code = chrome_add_members(chrome, err)) != 0)
        return code;
    if ((code = trace_walk(chrome->report, chrome->options, &sink, err)) != 0)
        return code;
    if ((code = chrome_add_names(chrome, err)) != 0)
        return code;
    text_add(&chrome->line, "\n]}\n");
    return outfile_put(output, &chrome->line, 0, err);
}

static int chrome_export_report(struct report *report, const char *path, const struct export_options *options,
                                struct error *err)
{
    struct chrome chrome = {
        .report = report, .options = options, .is_kineto = trace_is_kineto(report), .first_ns = INT64_MAX
    };
    int code;

    if ((code = tracks_open(&chrome.tracks, report, err)) != 0)
        goto done;
    code = outfile_write(path, options->gzip, write_trace, &chrome, err);
done:
    tracks_close(&chrome.tracks);
    text_free(&chrome.line);
    free(chrome.checked);
    return code;
}

const struct exporter export_chrome = {
    .name = "chrome",
    .help = "trace as torch.profiler writes it, for Perfetto, chrome://tracing, TensorBoard and HolisticTraceAnalysis",
    .extension = "pt.trace.json",
    .gzips = 1,
    .export_report = chrome_export_report,
};
