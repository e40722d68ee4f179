/* The metadata of a trace, before its events.
 *
 * A report that was a trace has it in TACHO_TORCH_METADATA, flattened: "deviceProperties[0].name". It is reassembled
 * in the same order. For other reports it is made from their data on the machine and the job. */
#include <stdio.h>
#include <stdlib.h>

#include "analyze/engine/event_columns.h"
#include "chrome.h"
#include "export/json_check.h"
#include "import/kineto.h"

enum { DEEPEST = 16, MOST_GAPS = 64 };

/* ---- taken apart and put together ------------------------------------------------------------------------------ */

struct part {
    const char *name; /* NULL: an element of an array */
    size_t length;
    uint64_t index;
};

/* Objects and arrays that are open. */
struct level {
    struct part part;
    int is_array;
    uint64_t count; /* what was written into it */
};

struct tree {
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

/* "a.b[0].c" to a, b, [0], c. An index counts where something is behind it, or where its array is open. */
static size_t split(const struct tree *tree, const char *name, size_t length, struct part parts[DEEPEST])
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
        parts[count++] = (struct part){ name, taken - brackets, 0 };
        if (brackets)
            parts[count++] = (struct part){ NULL, 0, index };
        if (!dot)
            return count;
        name += taken + 1;
        length -= taken + 1;
    }
    parts[count++] = (struct part){ name, length, 0 };
    return count;
}

static int same_part(const struct part *a, const struct part *b)
{
    if (!a->name || !b->name)
        return a->name == b->name && a->index == b->index;
    return a->length == b->length && memcmp(a->name, b->name, a->length) == 0;
}

static void close_to(struct tree *tree, size_t depth)
{
    while (tree->depth > depth)
        text_add_char(tree->out, tree->levels[--tree->depth].is_array ? ']' : '}');
}

/* The comma and the name, or the elements that are missing before this one. */
static void begin_part(struct tree *tree, const struct part *part)
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

static void add_value(struct text *out, const char *value, size_t length)
{
    if (json_is_value(value, length))
        text_add_bytes(out, value, length);
    else
        json_add_mended_value(out, value, length);
}

static void add_member(struct tree *tree, const char *name, size_t length, const char *value, size_t value_length)
{
    struct part parts[DEEPEST];
    size_t count = split(tree, name, length, parts), same = 0;

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
    add_value(tree->out, value, value_length);
}

static int add_kineto_members(struct chrome *chrome, struct tree *tree, struct error *err)
{
    static const char *const names[] = { "name", "value" };
    struct report_columns columns = { 0 };
    int code = columns_read(chrome->report, "TACHO_TORCH_METADATA", names, 2, &columns, err);

    for (size_t row = 0; row < columns.rows && code == 0; row++) {
        size_t length, value_length;
        const char *name = report_string(chrome->report, columns.values[0][row], &length);
        const char *value = report_string(chrome->report, columns.values[1][row], &value_length);
        int is_ours = strcmp(name, KINETO_ORIGIN) == 0 ||
                      (strcmp(name, "baseTimeNanoseconds") == 0 && chrome->options->normalize);
        if (!is_ours && length && strncmp(name, "traceEvents", strlen("traceEvents")) != 0)
            add_member(tree, name, length, value, value_length);
    }
    if (columns.values)
        report_columns_free(&columns);
    close_to(tree, 1);
    return code;
}

/* ---- made up --------------------------------------------------------------------------------------------------- */

static void add_made(struct tree *tree, const char *name, struct text *value)
{
    add_member(tree, name, strlen(name), text_string(value), value->length);
    text_clear(value);
}

static void add_pair(struct text *out, const char *name)
{
    text_addf(out, "%s\"%s\": ", out->length && strchr("{[", out->bytes[out->length - 1]) ? "" : ", ", name);
}

static int add_devices(struct chrome *chrome, struct tree *tree, struct text *value, struct error *err)
{
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
    enum { COUNT = sizeof properties / sizeof *properties };
    struct report_columns columns = { 0 };
    const char *names[COUNT];

    for (size_t i = 0; i < COUNT; i++)
        names[i] = properties[i].column;
    int code = columns_read(chrome->report, "TARGET_INFO_GPU", names, COUNT, &columns, err);
    text_add_char(value, '[');
    for (size_t row = 0; row < columns.rows && code == 0; row++) {
        text_add(value, row ? ", {" : "{");
        for (size_t c = 0; c < COUNT; c++) {
            size_t length;
            if (columns_is_null(&columns, c, row))
                continue;
            add_pair(value, properties[c].member);
            if (properties[c].factor)
                json_add_int(value, saturating_multiply(columns.values[c][row], properties[c].factor));
            else {
                const char *bytes = report_string(chrome->report, columns.values[c][row], &length);
                json_add_text(value, bytes, length);
            }
        }
        text_add_char(value, '}');
    }
    text_add_char(value, ']');
    if (columns.values)
        report_columns_free(&columns);
    add_made(tree, "deviceProperties", value);
    return code;
}

/* The rank of a job, if all of the report is of one; and the host. */
static int add_job(struct chrome *chrome, struct tree *tree, struct text *value, struct error *err)
{
    enum { RANK, WORLD, HOST, COLUMNS };
    static const char *const names[COLUMNS] = { "rank", "worldSize", "host" };
    struct report_columns columns = { 0 };
    int64_t rank = -1, world = -1, host = -1;
    int code = columns_read(chrome->report, "TACHO_PROCESS", names, COLUMNS, &columns, err);

    for (size_t row = 0; row < columns.rows && code == 0; row++) {
        host = columns_is_null(&columns, HOST, row) ? host : columns.values[HOST][row];
        if (columns_is_null(&columns, RANK, row))
            continue;
        rank = rank < 0 || rank == columns.values[RANK][row] ? columns.values[RANK][row] : INT64_MAX;
        world = columns_is_null(&columns, WORLD, row) ? world : columns.values[WORLD][row];
    }
    if (columns.values)
        report_columns_free(&columns);
    if (code == 0 && rank >= 0 && rank < INT64_MAX) {
        text_addf(value, "{\"rank\": %lld", (long long)rank);
        if (world >= 0)
            text_addf(value, ", \"world_size\": %lld", (long long)world);
        text_add_char(value, '}');
        add_made(tree, "distributedInfo", value);
    }
    if (code == 0 && host >= 0) {
        size_t length;
        const char *bytes = report_string(chrome->report, host, &length);
        json_add_text(value, bytes, length);
        add_made(tree, "host_name", value);
    }
    return code;
}

static int add_made_members(struct chrome *chrome, struct tree *tree, struct error *err)
{
    struct text value = { 0 };

    text_add(&value, "1");
    add_made(tree, "schemaVersion", &value);
    int code = add_devices(chrome, tree, &value, err);
    if (code == 0)
        code = add_job(chrome, tree, &value, err);
    text_add(&value, "\"ms\"");
    add_made(tree, "displayTimeUnit", &value);
    text_free(&value);
    return code;
}

/* What the user adds stands last, so that it counts where a name is there twice. */
static int add_given_members(struct chrome *chrome, const char *object, struct error *err)
{
    size_t length = strlen(object);

    if (!json_is_value(object, length) || *object != '{' || object[length - 1] != '}')
        return error_set(err, ERR_BAD_ARGUMENT, "--metadata wants a JSON object, such as {\"batch\": 64}, not '%s'",
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
    struct tree tree = { .out = &chrome->line, .depth = 1 };
    struct trace_clock clock;
    int code = trace_clock(chrome->report, chrome->options, &clock, err);

    text_add_char(&chrome->line, '{');
    if (code == 0)
        code = chrome->is_kineto ? add_kineto_members(chrome, &tree, err) : add_made_members(chrome, &tree, err);
    if (!chrome->is_kineto || chrome->options->normalize) {
        begin_part(&tree, &(struct part){ base, strlen(base), 0 });
        json_add_int(&chrome->line, clock.base_ns);
    }
    /* What an import takes from every ts, so that its times are the report's again. */
    begin_part(&tree, &(struct part){ KINETO_ORIGIN, strlen(KINETO_ORIGIN), 0 });
    json_add_int(&chrome->line, clock.origin_ns);
    chrome->shift_ns = clock.shift_ns;
    if (code == 0 && chrome->options->metadata)
        code = add_given_members(chrome, chrome->options->metadata, err);
    text_add(&chrome->line, ",\n  \"traceEvents\": [\n");
    return code;
}
