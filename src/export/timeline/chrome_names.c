/* Names of processes, threads, devices and streams, and the order in which they are shown: after all events, as torch
 * has them. */
#include <stdio.h>

#include "analyze/engine/event_columns.h"
#include "analyze/engine/row_cursor.h"
#include "chrome.h"
#include "export/json_check.h"

#define FIRST_DEVICE 5000000 /* devices are shown below processes */

struct chrome_names_place {
    int64_t pid, tid;
    int64_t time_ns;
};

static void chrome_names_begin(struct chrome *chrome, const char *kind, struct chrome_names_place place)
{
    struct text *line = &chrome->line;

    chrome_next(chrome);
    json_addf(line, "{'name': %s, 'ph': 'M', 'ts': ", kind);
    chrome_add_us(line, place.time_ns);
    json_addf(line, ", 'pid': %jd, 'tid': %jd, 'args': {", place.pid, place.tid);
}

static void chrome_names_add_name(struct chrome *chrome, const char *kind, struct chrome_names_place place,
                                  const char *name, size_t length)
{
    chrome_names_begin(chrome, kind, place);
    json_addf(&chrome->line, "'name': %.*s}}", (int)length, name);
}

static void add_order(struct chrome *chrome, const char *kind, struct chrome_names_place place, int64_t index)
{
    chrome_names_begin(chrome, kind, place);
    json_addf(&chrome->line, "'sort_index': %jd}}", index);
}

static void chrome_names_add_label(struct chrome *chrome, struct chrome_names_place place, const char *label)
{
    chrome_names_begin(chrome, "process_labels", place);
    json_addf(&chrome->line, "'labels': %s}}", label);
}

static void chrome_names_add_process(struct chrome *chrome, struct chrome_names_place place, const char *name,
                                     size_t length)
{
    const char *slash = memrchr(name, '/', length); /* the program, not its folder */

    if (!chrome->is_kineto && slash) {
        length -= (size_t)(slash + 1 - name);
        name = slash + 1;
    }
    chrome_names_add_name(chrome, "process_name", place, name, length);
    chrome_names_add_label(chrome, place, "CPU");
    add_order(chrome, "process_sort_index", place, place.pid);
}

static void chrome_names_add_device(struct chrome *chrome, struct chrome_names_place place, const char *name,
                                    size_t length)
{
    char label[40];

    snprintf(label, sizeof label, "GPU %lld", (long long)place.pid);
    chrome_names_add_name(chrome, "process_name", place, name, length);
    chrome_names_add_label(chrome, place, label);
    add_order(chrome, "process_sort_index", place, saturating_add(place.pid, FIRST_DEVICE));
}

static void chrome_names_add_thread(struct chrome *chrome, struct chrome_names_place place, const char *name,
                                    size_t length)
{
    chrome_names_add_name(chrome, "thread_name", place, name, length);
    add_order(chrome, "thread_sort_index", place, place.tid);
}

/* The names of an imported trace, each unchanged, whether the trace has events under it or not. */
static int add_kineto_names(struct chrome *chrome, struct chrome_names_place place, struct error *err)
{
    static const char *const process_columns[] = { "pid", "name", NULL };
    static const char *const thread_columns[] = { "globalTid", "nameId", NULL };
    struct row_cursor rows;
    size_t length;
    int code;

    if ((code = row_cursor_open(&rows, chrome->report, "PROCESSES", process_columns, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        const char *name = report_string(chrome->report, row_int(&rows, 1), &length);
        place.pid = row_int(&rows, 0);
        chrome_names_add_process(chrome, place, name, length);
    }
    row_cursor_close(&rows);
    if ((code = row_cursor_open(&rows, chrome->report, "ThreadNames", thread_columns, err)) != 0)
        return code;
    while (row_cursor_next(&rows)) {
        const char *name = report_string(chrome->report, row_int(&rows, 1), &length);
        place.pid = global_pid_number(row_int(&rows, 0));
        place.tid = global_tid_number(row_int(&rows, 0));
        chrome_names_add_thread(chrome, place, name, length);
    }
    row_cursor_close(&rows);
    return 0;
}

static void add_made_names(struct chrome *chrome, struct chrome_names_place place)
{
    const struct tracks *tracks = &chrome->tracks;
    struct text text = { 0 };
    size_t length;

    for (uint32_t i = 0; i < tracks->processes.count; i++) {
        int64_t process = *keys_get(&tracks->processes, i);
        const char *name = tracks_process_name(tracks, process, &length);
        place.pid = global_pid_number(process);
        chrome_names_add_process(chrome, place, name, length);
    }
    for (uint32_t i = 0; i < tracks->threads.count; i++) {
        int64_t thread = *keys_get(&tracks->threads, i);
        const char *name = tracks_thread_name(tracks, thread, &length);
        place.pid = global_pid_number(thread);
        place.tid = global_tid_number(thread);
        text_clear(&text);
        text_addf(&text, "thread %lld (", (long long)place.tid);
        text_add_bytes(&text, name, length);
        text_add_char(&text, ')');
        chrome_names_add_thread(chrome, place, text_string(&text), text.length);
    }
    text_free(&text);
}

int chrome_add_names(struct chrome *chrome, struct error *err)
{
    const struct tracks *tracks = &chrome->tracks;
    struct chrome_names_place place = { .time_ns = chrome->first_ns < INT64_MAX ? chrome->first_ns : chrome->shift_ns };
    size_t length = 0;
    const char *name = tracks->process_names.count
                           ? tracks_process_name(tracks, tracks->process_names.list[0].process, &length)
                           : "";
    int code;

    if (chrome->is_kineto && (code = add_kineto_names(chrome, place, err)) != 0)
        return code;
    if (!chrome->is_kineto)
        add_made_names(chrome, place);
    for (uint32_t i = 0; i < tracks->devices.count; i++) {
        place.pid = *keys_get(&tracks->devices, i);
        chrome_names_add_device(chrome, place, name, length);
    }
    for (uint32_t i = 0; i < tracks->streams.count; i++) {
        const int64_t *stream = keys_get(&tracks->streams, i);
        struct text text = { 0 };
        text_addf(&text, "stream %lld ", (long long)stream[2]);
        if (stream[3])
            text_addf(&text, "(process %lld)", (long long)global_pid_number(stream[3]));
        place.pid = stream[0];
        place.tid = stream[1];
        chrome_names_add_thread(chrome, place, text_string(&text), text.length);
        text_free(&text);
    }
    if (chrome->has_spans) { /* last of all */
        chrome_next(chrome);
        json_addf(&chrome->line, "{'name': 'process_sort_index', 'ph': 'M', 'ts': ");
        chrome_add_us(&chrome->line, place.time_ns);
        json_addf(&chrome->line, ", 'pid': 'Spans', 'tid': 0, 'args': {'sort_index': 536870912}}");
    }
    return 0;
}
