/* The metadata of a trace, before its events.
 *
 * A report that was a trace has it in TACHO_TORCH_METADATA, flattened: "deviceProperties[0].name". It is reassembled
 * in the same order. For other reports it is made from their data on the machine and the job. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/engine/row_cursor.h"
#include "base/saturating.h"
#include "chrome.h"
#include "export/json_check.h"
#include "import/kineto.h"

enum { DEEPEST = 16, MOST_GAPS = 64 };

/* ---- taken apart and put together ------------------------------------------------------------------------------ */

struct chrome_members_part {
    const char *name; /* NULL: an element of an array */
    size_t length;
    uint64_t index;
};

/* Objects and arrays that are open. */
struct level {
    struct chrome_members_part part;
    int is_array;
    uint64_t count; /* number of elements or members written */
};

struct chrome_members_tree {
    struct text *out;
    struct level levels[DEEPEST];
    size_t depth; /* level 0 is the trace itself */
};

/* "[12]" at the end of a name: its length, or 0. */
static size_t index_length(const char *name, size_t length, uint64_t *index)
{
    size_t at = length;

    if (length < 4 || name[length - 1] != ']')
        return 0;
    for (at--; at > 0 && (unsigned char)(name[at - 1] - '0') < 10 && length - at < 12;)
        at--;
    if (at < 2 || name[at - 1] != '[' || at == length - 1)
        return 0;
    *index = strtoull(name + at, NULL, 10);
    return length - at + 1;
}

/* "a.b[0].c" to a, b, [0], c. An index counts where something follows it, or where its array is open. */
static size_t chrome_members_split(const struct chrome_members_tree *tree, const char *name, size_t length,
                                   struct chrome_members_part parts[DEEPEST])
{
    size_t count = 0;

    while (count + 2 < DEEPEST) {
        const char *dot = memchr(name, '.', length);
        size_t taken = dot ? (size_t)(dot - name) : length, brackets;
        uint64_t index = 0;
        if (dot && (dot == name || taken + 1 == length))
            break;
        brackets = index_length(name, taken, &index);
        int is_open = count + 1 < tree->depth && tree->levels[count + 1].is_array;
        if (brackets && !dot && !is_open)
            brackets = 0;
        parts[count++] = (struct chrome_members_part){ name, taken - brackets, 0 };
        if (brackets)
            parts[count++] = (struct chrome_members_part){ NULL, 0, index };
        if (!dot)
            return count;
        name += taken + 1;
        length -= taken + 1;
    }
    parts[count++] = (struct chrome_members_part){ name, length, 0 };
    return count;
}

static int same_part(const struct chrome_members_part *a, const struct chrome_members_part *b)
{
    if (!a->name || !b->name)
        return a->name == b->name && a->index == b->index;
    return a->length == b->length && memcmp(a->name, b->name, a->length) == 0;
}

static void close_to(struct chrome_members_tree *tree, size_t depth)
{
    while (tree->depth > depth)
        text_add_char(tree->out, tree->levels[--tree->depth].is_array ? ']' : '}');
}

/* The comma and the name, or the elements that are missing before this one. */
static void begin_part(struct chrome_members_tree *tree, const struct chrome_members_part *part)
{
    struct level *level = &tree->levels[tree->depth - 1];
    const char *between = tree->depth == 1 ? ",\n  " : ", ";

    for (uint64_t gaps = 0; level->is_array && level->count < part->index && gaps < MOST_GAPS; gaps++)
        text_add(tree->out, level->count++ ? ", {}" : "{}");
    text_add(tree->out, level->count++ ? between : tree->depth == 1 ? "\n  " : "");
    if (!part->name)
        return;
    struct text quoted = { 0 }; /* names are kept with their escapes */
    text_addf(&quoted, "\"%.*s\"", (int)part->length, part->name);
    if (json_is_value(text_string(&quoted), quoted.length))
        text_add_bytes(tree->out, quoted.bytes, quoted.length);
    else
        json_add_text(tree->out, part->name, part->length);
    text_free(&quoted);
    text_add(tree->out, ": ");
}

static void chrome_members_add_value(struct text *out, const char *value, size_t length)
{
    if (json_is_value(value, length))
        text_add_bytes(out, value, length);
    else
        json_add_mended_value(out, value, length);
}

static void chrome_members_add_member(struct chrome_members_tree *tree, const char *name, size_t length,
                                      const char *value, size_t value_length)
{
    struct chrome_members_part parts[DEEPEST];
    size_t count = chrome_members_split(tree, name, length, parts), same = 0;

    while (same + 1 < count && same + 1 < tree->depth && same_part(&tree->levels[same + 1].part, &parts[same]) &&
           tree->levels[same + 1].is_array == !parts[same + 1].name)
        same++;
    close_to(tree, same + 1);
    for (size_t i = same; i + 1 < count; i++) {
        begin_part(tree, &parts[i]);
        tree->levels[tree->depth++] = (struct level){ parts[i], !parts[i + 1].name, 0 };
        text_add_char(tree->out, parts[i + 1].name ? '{' : '[');
    }
    begin_part(tree, &parts[count - 1]);
    chrome_members_add_value(tree->out, value, value_length);
}

static int add_kineto_members(struct chrome *chrome, struct chrome_members_tree *tree, struct error *err)
{
    static const char *const names[] = { "name", "value", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, chrome->report, "TACHO_TORCH_METADATA", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        size_t length, value_length;
        const char *name = report_string(chrome->report, row_int(&rows, 0), &length);
        const char *value = report_string(chrome->report, row_int(&rows, 1), &value_length);
        int is_ours = strcmp(name, KINETO_ORIGIN) == 0 ||
                      (strcmp(name, "baseTimeNanoseconds") == 0 && chrome->options->normalize);
        if (!is_ours && length && strncmp(name, "traceEvents", strlen("traceEvents")) != 0)
            chrome_members_add_member(tree, name, length, value, value_length);
    }
    row_cursor_close(&rows);
    close_to(tree, 1);
    return 0;
}

/* ---- made up --------------------------------------------------------------------------------------------------- */

static void chrome_members_add_made(struct chrome_members_tree *tree, const char *name, struct text *value)
{
    chrome_members_add_member(tree, name, strlen(name), text_string(value), value->length);
    text_clear(value);
}

static void chrome_members_add_pair(struct text *out, const char *name)
{
    text_addf(out, "%s\"%s\": ", out->length && strchr("{[", out->bytes[out->length - 1]) ? "" : ", ", name);
}

static void chrome_members_add_string(struct text *out, struct report *report, int64_t id)
{
    size_t length;
    const char *bytes = report_string(report, id, &length);

    json_add_text(out, bytes, length);
}

/* Columns of TARGET_INFO_GPU and the members of deviceProperties that they become; factor 0: a string. */
static const struct {
    const char *column, *member;
    int64_t factor;
} properties[] = {
    { "cuDevice", "id", 1 },
    { "name", "name", 0 },
    { "totalMemory", "totalGlobalMem", 1 },
    { "computeMajor", "computeMajor", 1 },
    { "computeMinor", "computeMinor", 1 },
    { "maxThreadsPerBlock", "maxThreadsPerBlock", 1 },
    { "maxWarpsPerSm", "maxThreadsPerMultiprocessor", 32 },
    { "maxRegistersPerBlock", "regsPerBlock", 1 },
    { "threadsPerWarp", "warpSize", 1 },
    { "maxShmemPerBlock", "sharedMemPerBlock", 1 },
    { "smCount", "numSms", 1 },
    { "maxRegistersPerSm", "regsPerMultiprocessor", 1 },
    { "maxShmemPerBlockOptin", "sharedMemPerBlockOptin", 1 },
    { "maxShmemPerSm", "sharedMemPerMultiprocessor", 1 },
};
enum { PROPERTIES = COUNT_OF(properties) };

static void chrome_members_add_device(struct chrome *chrome, struct text *value, const struct row_cursor *rows)
{
    text_add(value, rows->row ? ", {" : "{");
    for (size_t c = 0; c < PROPERTIES; c++) {
        if (row_is_null(rows, c))
            continue;
        chrome_members_add_pair(value, properties[c].member);
        if (properties[c].factor)
            json_add_int(value, saturating_multiply(row_int(rows, c), properties[c].factor));
        else
            chrome_members_add_string(value, chrome->report, row_int(rows, c));
    }
    text_add_char(value, '}');
}

static int chrome_members_add_devices(struct chrome *chrome, struct chrome_members_tree *tree, struct text *value,
                                      struct error *err)
{
    const char *names[PROPERTIES + 1] = { NULL };
    struct row_cursor rows;
    int code;

    for (size_t i = 0; i < PROPERTIES; i++)
        names[i] = properties[i].column;
    if ((code = row_cursor_open(&rows, chrome->report, "TARGET_INFO_GPU", names, err)) != 0)
        return code;
    text_add_char(value, '[');
    while (row_cursor_next(&rows))
        chrome_members_add_device(chrome, value, &rows);
    text_add_char(value, ']');
    row_cursor_close(&rows);
    chrome_members_add_made(tree, "deviceProperties", value);
    return 0;
}

/* The rank, if all processes of the report have the same; and the host. */
static int chrome_members_add_job(struct chrome *chrome, struct chrome_members_tree *tree, struct text *value,
                                  struct error *err)
{
    enum { RANK, WORLD, HOST };
    static const char *const names[] = { "rank", "worldSize", "host", NULL };
    struct row_cursor rows;
    int64_t rank = -1, world = -1, host = -1;
    int code = row_cursor_open(&rows, chrome->report, "TACHO_PROCESS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows)) {
        host = row_int_or(&rows, HOST, host);
        if (row_is_null(&rows, RANK))
            continue;
        rank = rank < 0 || rank == row_int(&rows, RANK) ? row_int(&rows, RANK) : INT64_MAX;
        world = row_int_or(&rows, WORLD, world);
    }
    row_cursor_close(&rows);
    if (rank >= 0 && rank < INT64_MAX) {
        text_addf(value, "{\"rank\": %lld", (long long)rank);
        if (world >= 0)
            text_addf(value, ", \"world_size\": %lld", (long long)world);
        text_add_char(value, '}');
        chrome_members_add_made(tree, "distributedInfo", value);
    }
    if (host >= 0) {
        chrome_members_add_string(value, chrome->report, host);
        chrome_members_add_made(tree, "host_name", value);
    }
    return 0;
}

static int add_made_members(struct chrome *chrome, struct chrome_members_tree *tree, struct error *err)
{
    struct text value = { 0 };
    int code;

    text_add(&value, "1");
    chrome_members_add_made(tree, "schemaVersion", &value);
    if ((code = chrome_members_add_devices(chrome, tree, &value, err)) != 0)
        goto free_value;
    if ((code = chrome_members_add_job(chrome, tree, &value, err)) != 0)
        goto free_value;
    text_add(&value, "\"ms\"");
    chrome_members_add_made(tree, "displayTimeUnit", &value);
free_value:
    text_free(&value);
    return code;
}

/* The members that the user adds come last, so that they take precedence over others of the same name. */
static int add_given_members(struct chrome *chrome, const char *object, struct error *err)
{
    size_t length = strlen(object);

    if (!json_is_value(object, length) || *object != '{' || object[length - 1] != '}')
        return error_set(err, ERR_BAD_ARGUMENT, "--metadata must be a JSON object such as {\"batch\": 64}, not '%s'",
                         object);
    if (json_is_members(object + 1, length - 2)) { /* else there is none in it */
        text_add(&chrome->line, ",\n  ");
        text_add_bytes(&chrome->line, object + 1, length - 2);
    }
    return 0;
}

int chrome_add_members(struct chrome *chrome, struct error *err)
{
    static const char base[] = "baseTimeNanoseconds";
    struct chrome_members_tree tree = { .out = &chrome->line, .depth = 1 };
    struct trace_clock clock;
    int code;

    if ((code = trace_clock(chrome->report, chrome->options, &clock, err)) != 0)
        return code;
    text_add_char(&chrome->line, '{');
    code = chrome->is_kineto ? add_kineto_members(chrome, &tree, err) : add_made_members(chrome, &tree, err);
    if (code != 0)
        return code;
    if (!chrome->is_kineto || chrome->options->normalize) {
        begin_part(&tree, &(struct chrome_members_part){ base, strlen(base), 0 });
        json_add_int(&chrome->line, clock.base_ns);
    }
    /* An import subtracts this from every ts, so that it gets the report's times again. */
    begin_part(&tree, &(struct chrome_members_part){ KINETO_ORIGIN, strlen(KINETO_ORIGIN), 0 });
    json_add_int(&chrome->line, clock.origin_ns);
    chrome->shift_ns = clock.shift_ns;
    if (chrome->options->metadata && (code = add_given_members(chrome, chrome->options->metadata, err)) != 0)
        return code;
    text_add(&chrome->line, ",\n  \"traceEvents\": [\n");
    return 0;
}
