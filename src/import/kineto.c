/* Imports traces of torch.profiler (Kineto's JSON, plain, gzip or zstd). The file is read once, through a window. An
 * event that cannot be parsed is skipped and counted, and the import goes on with the next one. */
#include "kineto.h"

#include <ctype.h>
#include <string.h>
#include <unistd.h>

#include "import.h"

/* The byte order mark that editors on Windows put at the start of UTF-8 files. */
#define BYTE_ORDER_MARK "\xef\xbb\xbf"

static int kineto_recognise(const void *bytes, size_t length)
{
    const unsigned char *at = bytes;
    size_t first;

    if (length >= 4 && (memcmp(at, "\x1f\x8b", 2) == 0 || memcmp(at, "\x28\xb5\x2f\xfd", 4) == 0))
        return 1;
    first = length >= 3 && memcmp(at, BYTE_ORDER_MARK, 3) == 0 ? 3 : 0;
    while (first < length && isspace(at[first]))
        first++;
    return first < length && (at[first] == '{' || at[first] == '[');
}

/* The bytes from the window's place on. */
static struct json_scan scan_from(const struct import_window *window)
{
    return (struct json_scan){ .at = window->bytes + window->at,
                               .end = window->bytes + window->length,
                               .whole = window->whole };
}

/* The result of reading one item, once it lies wholly in the window. */
enum { STEP_DONE, STEP_BAD, STEP_END };

/* Tries to read an item until the window holds all of it. Returns STEP_ or an error. */
static int kineto_step(struct kineto *import, int (*read)(struct kineto *import, struct json_scan *scan, void *context),
                       void *context, struct error *err)
{
    struct import_window *window = &import->window;

    for (;;) {
        struct json_scan scan = scan_from(window);
        int found = read(import, &scan, context);
        if (found == SCAN_OK) {
            window->at = (size_t)(scan.at - window->bytes);
            import->repaired += scan.repaired;
            return STEP_DONE;
        }
        if (found == SCAN_BAD)
            return STEP_BAD;
        if (window->whole)
            return STEP_END;
        int code = import_window_more(window, err);
        if (code == ERR_NO_SPACE)
            return STEP_BAD;
        if (code != 0)
            return code;
    }
}

/* ---- events ---------------------------------------------------------------------------------------------------- */

enum { AT_EVENT, AT_LIST_END, AT_OTHER };

/* Skips to the next item of the list. */
static int kineto_read_place(struct kineto *import, struct json_scan *scan, void *context)
{
    int *place = context;

    (void)import;
    json_scan_space(scan);
    while (*scan->at == ',') {
        scan->at++;
        json_scan_space(scan);
    }
    if (scan->at >= scan->end)
        return SCAN_CUT;
    *place = *scan->at == '{' ? AT_EVENT : *scan->at == ']' ? AT_LIST_END : AT_OTHER;
    return SCAN_OK;
}

static int kineto_take_event(struct kineto *import, struct json_scan *scan, void *context)
{
    (void)import;
    return kineto_read_event(scan, context);
}

/* A brace followed by a member's name: the next event may begin here. */
static int is_event_start(const char *at, const char *end)
{
    static const char *const members[] = { "\"ph\"", "\"name\"", "\"cat\"" };
    const char *name = at + 1;

    while (name < end && isspace((unsigned char)*name))
        name++;
    for (size_t i = 0; i < COUNT_OF(members); i++)
        if ((size_t)(end - name) >= strlen(members[i]) && memcmp(name, members[i], strlen(members[i])) == 0)
            return 1;
    return 0;
}

/* Skips bytes that cannot be parsed, to the next event or to the end of the file; 0, or an error. */
static int skip_damage(struct kineto *import, struct error *err)
{
    enum { KEPT = 64 }; /* enough bytes to recognise an event */
    struct import_window *window = &import->window;

    import->damaged++;
    window->at += window->at < window->length;
    for (;;) {
        const char *end = window->bytes + window->length, *at = window->bytes + window->at;
        while ((at = memchr(at, '{', (size_t)(end - at))) && !is_event_start(at, end))
            at++;
        if (at) {
            window->at = (size_t)(at - window->bytes);
            return 0;
        }
        if (window->whole) {
            window->at = window->length;
            return 0;
        }
        if (window->length - window->at > KEPT)
            window->at = window->length - KEPT;
        int code = import_window_more(window, err);
        if (code != 0)
            return code;
    }
}

/* Reads all events of the list, from after its bracket. */
static int kineto_read_events(struct kineto *import, struct error *err)
{
    struct kineto_event event;

    kineto_event_init(&event);
    for (;;) {
        int place = AT_OTHER, code = kineto_step(import, kineto_read_place, &place, err);
        if (code == STEP_DONE && place == AT_LIST_END) {
            import->window.at++;
            return 0;
        }
        if (code == STEP_DONE)
            code = place == AT_EVENT ? kineto_step(import, kineto_take_event, &event, err) : STEP_BAD;
        if (code < 0)
            return code;
        int ended = code == STEP_END;
        if (code == STEP_DONE)
            kineto_add_event(import, &event);
        else if ((code = skip_damage(import, err)) != 0)
            return code;
        if (ended && import->window.at == import->window.length) { /* the last event was cut off */
            import->damaged--;
            import->truncated = 1;
            return 0;
        }
    }
}

/* ---- the trace ------------------------------------------------------------------------------------------------- */

struct kineto_member {
    struct json_slice name, value;
    int is_events, is_end;
};

/* Reads a member of the trace; for the list of events, only its opening bracket. */
static int kineto_read_member(struct kineto *import, struct json_scan *scan, void *context)
{
    struct kineto_member *member = context;

    (void)import;
    *member = (struct kineto_member){ 0 };
    json_scan_space(scan);
    if (*scan->at == ',') {
        scan->at++;
        json_scan_space(scan);
    }
    if (scan->at >= scan->end)
        return SCAN_CUT;
    if (*scan->at == '}') {
        member->is_end = 1;
        scan->at++;
        return SCAN_OK;
    }
    if (*scan->at != '"')
        return SCAN_BAD;
    int found;
    if ((found = json_scan_string(scan, PLACE_KEY, &member->name)) != SCAN_OK)
        return found;
    if ((found = json_scan_mark(scan, ':')) != SCAN_OK)
        return found;
    if (json_slice_is(member->name, "traceEvents")) {
        member->is_events = 1;
        return json_scan_mark(scan, '[');
    }
    return json_scan_value(scan, PLACE_OBJECT, &member->value);
}

static int kineto_read_start(struct kineto *import, struct json_scan *scan, void *context)
{
    (void)import;
    if (scan->end - scan->at < 3 && !scan->whole)
        return SCAN_CUT;
    if (scan->end - scan->at >= 3 && memcmp(scan->at, BYTE_ORDER_MARK, 3) == 0)
        scan->at += 3;
    json_scan_space(scan);
    if (scan->at >= scan->end)
        return SCAN_CUT;
    *(char *)context = *scan->at++;
    return SCAN_OK;
}

/* Reads the members one after another. The import needs nothing after the events, so damage there loses little. */
static int kineto_read_members(struct kineto *import, int *has_events, struct error *err)
{
    struct kineto_member member;
    int code;

    for (;;) {
        if ((code = kineto_step(import, kineto_read_member, &member, err)) < 0)
            return code;
        if (code == STEP_END || code == STEP_BAD) {
            import->truncated |= *has_events;
            return 0;
        }
        if (member.is_end)
            return 0;
        if (!member.is_events) {
            kineto_add_metadata(import, member.name, member.value);
            continue;
        }
        *has_events = 1;
        if ((code = kineto_read_events(import, err)) != 0)
            return code;
    }
}

static int read_trace(struct kineto *import, struct error *err)
{
    char first = 0;
    int has_events = 0, code;

    if ((code = kineto_step(import, kineto_read_start, &first, err)) < 0)
        return code;
    if (code == STEP_DONE && first == '[') {
        has_events = 1;
        code = kineto_read_events(import, err);
    } else if (code == STEP_DONE && first == '{') {
        code = kineto_read_members(import, &has_events, err);
    }
    if (code < 0)
        return code;
    if (!has_events || (import->events == 0 && (import->damaged || import->truncated)))
        return error_set(err, ERR_BAD_FORMAT,
                         "cannot read '%s' as a trace of torch.profiler: it has no list of "
                         "events%s",
                         import->path, import->window.damaged ? ", and it is damaged" : "");
    return 0;
}

/* ---- all of it ------------------------------------------------------------------------------------------------- */

static void kineto_note(struct kineto *import, const char *column, const char *reason, uint64_t count)
{
    if (count)
        import_note(import->writer, "traceEvents", column, reason, (int64_t)count);
}

static void note_all(struct kineto *import)
{
    kineto_note(import, NULL, "damaged", import->damaged);
    kineto_note(import, NULL, "truncated", (uint64_t)(import->truncated || import->window.damaged));
    kineto_note(import, "ph", "unknown-column", import->unknown_phases);
    kineto_note(import, "ts", "wrong-type", import->no_time);
    kineto_note(import, "dur", "wrong-type", import->backwards);
    kineto_note(import, "args", "too-many", import->too_many_args);
    kineto_note(import, NULL, "repaired", import->repaired);
}

static int kineto_write_rows(struct kineto *import, struct error *err)
{
    int code;

    if ((code = read_trace(import, err)) != 0)
        return code;
    kineto_add_names(import);
    kineto_add_capture(import);
    note_all(import);
    return text_failed(&import->scratch) || text_failed(&import->other) ? error_no_memory(err) : 0;
}

static int kineto_write_report(struct kineto *import, const char *out_path, int overwrite, struct error *err)
{
    struct writer_options options = { .overwrite = overwrite };
    int code;

    if ((code = writer_open(out_path, &options, &import->writer, err)) != 0)
        return code;
    code = kineto_write_rows(import, err);
    if ((code = writer_close_after(import->writer, code, err)) != 0)
        unlink(out_path); /* half an import would pass for a whole one */
    return code;
}

static int kineto_import_file(const char *path, const char *out_path, int overwrite, struct error *err)
{
    struct kineto import = { .path = path, .rank = -1, .world_size = -1, .first_ns = INT64_MAX, .last_ns = INT64_MIN };
    int code;

    if ((code = import_window_open(&import.window, path, err)) != 0)
        goto close_window;
    code = kineto_write_report(&import, out_path, overwrite, err);
close_window:
    import_window_close(&import.window);
    text_free(&import.scratch);
    text_free(&import.other);
    return code;
}

const struct importer import_kineto = {
    .name = "kineto",
    .help = "traces of torch.profiler",
    .extension = "json",
    .recognise = kineto_recognise,
    .import = kineto_import_file,
};
