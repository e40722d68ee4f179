/* Operators from the NVTX ranges that the patches of DLProf and PyProf make of each call of PyTorch: dicts of Python.
 *
 *     {'traceMarker': ['train.py:42', …], 'funcStack': '/<module>/Net::forward/conv2d'}
 *       {'mod': 'torch.nn.functional', 'op': 'conv2d', 'args': [{'name': '', 'type': 'tensor', 'shape': …}, …]}
 *
 * A call that a call makes has ranges of its own inside. Only the outermost call of nested calls counts. */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/ranges.h"
#include "dlprof_internal.h"

enum marker_kind { NO_MARKER, MARKER_TRACE, MARKER_CALL };

struct marker {
    enum marker_kind kind;
    struct literal lines, functions; /* MARKER_TRACE: a list, outermost first; a string, or nothing */
    struct literal module, op, args; /* MARKER_CALL */
};

static struct marker marker_read(const char *name, size_t length)
{
    static const char begin[] = "{'";
    struct marker marker = { .kind = NO_MARKER };
    struct literal whole = { name, length }, key, value;

    if (length < sizeof begin - 1 || memcmp(name, begin, sizeof begin - 1) != 0)
        return marker;
    for (struct literal_scan scan = literal_parts(whole); literal_member(&scan, &key, &value);) {
        if (literal_is(key, "traceMarker"))
            marker.lines = value;
        else if (literal_is(key, "funcStack"))
            marker.functions = value;
        else if (literal_is(key, "mod"))
            marker.module = value;
        else if (literal_is(key, "op"))
            marker.op = value;
        else if (literal_is(key, "args"))
            marker.args = value;
    }
    if (marker.lines.length)
        marker.kind = MARKER_TRACE;
    else if (marker.module.length && marker.op.length)
        marker.kind = MARKER_CALL;
    return marker;
}

static int is_marker(void *context, int64_t name)
{
    size_t length;
    const char *bytes = report_string(context, name, &length);

    return marker_read(bytes, length).kind != NO_MARKER;
}

/* "/<module>/Net::forward/relu(2)" becomes "/module/Net::forward/relu[2]". */
static uint32_t op_name(struct dlprof *dlprof, const struct marker *trace, uint32_t type)
{
    static const char from[] = "()", to[] = "[]";
    struct text raw = { 0 }, name = { 0 };

    if (trace->functions.length)
        literal_add(&raw, trace->functions);
    else
        text_addf(&raw, "/%s", dlprof_text(dlprof, type).bytes);
    for (size_t i = 0; i < raw.length; i++) {
        char c = raw.bytes[i];
        if (c == '<' || c == '>')
            continue;
        text_add_char(&name, c == from[0] ? to[0] : c == from[1] ? to[1] : c);
    }
    text_free(&raw);
    uint32_t number = dlprof_intern_built(dlprof, &name);
    text_free(&name);
    return number;
}

static uint32_t dlprof_markers_stack_of(struct dlprof *dlprof, const struct marker *trace)
{
    struct literal_scan scan = literal_parts(trace->lines);
    struct literal line;
    struct text stack = { 0 };

    while (literal_element(&scan, &line)) {
        text_add(&stack, stack.length ? "\n" : "");
        literal_add(&stack, line);
    }
    uint32_t number = dlprof_intern_built(dlprof, &stack);
    text_free(&stack);
    return number;
}

static size_t dlprof_markers_read_arguments(struct dlprof_argument *out, struct literal list)
{
    struct literal_scan scan = literal_parts(list);
    struct literal one;
    size_t count = 0;

    while (count < DLPROF_MOST_ARGUMENTS && literal_element(&scan, &one))
        out[count++] = (struct dlprof_argument){ literal_find(one, "name"), literal_find(one, "shape"),
                                                 literal_find(one, "dtype"), literal_find(one, "value") };
    return count;
}

/* FLOPs and bytes, from the lists that PyTorch's profiler would have recorded of these arguments. */
static void dlprof_markers_count_work(struct dlprof_words *words, const char *type,
                                      const struct dlprof_argument *arguments, size_t count)
{
    struct text name = { 0 }, lists[3] = { 0 }; /* shapes, types, values */

    for (size_t i = 0; i < count; i++) {
        const struct dlprof_argument *argument = &arguments[i];
        struct literal size;
        for (size_t j = 0; j < 3; j++)
            text_add(&lists[j], i ? ", " : "[");
        text_add_char(&lists[0], '[');
        for (struct literal_scan scan = literal_parts(argument->shape); literal_element(&scan, &size);) {
            literal_add(&lists[0], size);
            text_add_char(&lists[0], ',');
        }
        text_add(&lists[0], "]");
        for (size_t j = 1; j < 3; j++) {
            text_add_char(&lists[j], '"');
            literal_add(&lists[j], j == 1 ? argument->data_type : argument->value);
            text_add_char(&lists[j], '"');
        }
    }
    for (size_t j = 0; j < 3; j++)
        text_add(&lists[j], count ? "]" : "");
    text_addf(&name, "aten::%s", type);
    words->work = op_work_of(text_string(&name), &(struct op_texts){ { text_string(&lists[0]), lists[0].length },
                                                                     { text_string(&lists[1]), lists[1].length },
                                                                     { "", 0 },
                                                                     { text_string(&lists[2]), lists[2].length } });
    text_free(&name);
    for (size_t j = 0; j < 3; j++)
        text_free(&lists[j]);
}

static int dlprof_markers_add_call(struct dlprof *dlprof, const struct range *range, const struct marker *marker,
                                   const struct marker *trace)
{
    struct dlprof_call *call = dlprof_add_call(dlprof);
    struct dlprof_argument arguments[DLPROF_MOST_ARGUMENTS];
    struct text type = { 0 };

    if (!call)
        return ERR_NO_MEMORY;
    call->start_ns = range->start_ns;
    call->end_ns = range->end_ns;
    call->thread = range->thread;
    call->words.direction = DLPROF_FORWARD;
    literal_add(&type, marker->op);
    call->words.type = dlprof_intern_built(dlprof, &type);
    literal_add(&type, marker->module);
    call->words.module = dlprof_intern_built(dlprof, &type);
    text_free(&type);
    call->words.name = op_name(dlprof, trace, call->words.type);
    call->words.stack = dlprof_markers_stack_of(dlprof, trace);
    if (call->words.type == UINT32_MAX || call->words.module == UINT32_MAX || call->words.name == UINT32_MAX ||
        call->words.stack == UINT32_MAX)
        return ERR_NO_MEMORY;
    size_t count = dlprof_markers_read_arguments(arguments, marker->args);
    dlprof_markers_count_work(&call->words, dlprof_text(dlprof, call->words.type).bytes, arguments, count);
    return dlprof_describe(dlprof, &call->words, arguments, count);
}

/* Ranges come thread by thread, outer before inner. */
static int dlprof_markers_add_calls(struct dlprof *dlprof, const struct ranges *ranges)
{
    const struct range *trace = NULL;
    int64_t thread = 0, end_ns = INT64_MIN; /* those of the last call that was added */

    for (size_t i = 0; i < ranges->count; i++) {
        const struct range *range = &ranges->list[i];
        if (dlprof->call_count && range->thread == thread && range->start_ns < end_ns)
            continue;
        size_t length;
        const char *name = report_string(dlprof->report, range->name, &length);
        struct marker marker = marker_read(name, length), around = { .kind = NO_MARKER };
        if (marker.kind == MARKER_TRACE) {
            trace = range;
            continue;
        }
        if (trace && trace->thread == range->thread && trace->end_ns >= range->end_ns) {
            name = report_string(dlprof->report, trace->name, &length);
            around = marker_read(name, length);
        }
        if (dlprof_markers_add_call(dlprof, range, &marker, &around) != 0)
            return ERR_NO_MEMORY;
        thread = range->thread;
        end_ns = range->end_ns;
    }
    return 0;
}

int dlprof_read_markers(struct dlprof *dlprof, struct error *err)
{
    const struct filter all = { 0 };
    const struct range_names markers = { is_marker, dlprof->report };
    struct ranges ranges;
    int code = ranges_read_named(&ranges, dlprof->report, RANGE_PUSHPOP, &all, &markers, err);

    if (code != 0)
        return code;
    if (dlprof_markers_add_calls(dlprof, &ranges) != 0)
        code = error_short_memory(err, "for the operators");
    dlprof->is_marked = dlprof->call_count > 0;
    ranges_free(&ranges);
    return code;
}

/* ---- ranges of a domain ---------------------------------------------------------------------------------------- */

static int dlprof_markers_add_range(struct dlprof *dlprof, const struct range *range)
{
    struct dlprof_call *call = dlprof_add_call(dlprof);
    struct text name = { 0 };
    size_t length;

    if (!call)
        return ERR_NO_MEMORY;
    const char *bytes = report_string(dlprof->report, range->name, &length);
    call->start_ns = range->start_ns;
    call->end_ns = range->end_ns;
    call->thread = range->thread;
    call->words.type = dlprof_intern(dlprof, bytes, length);
    text_add_char(&name, '/');
    text_add_bytes(&name, bytes, length);
    call->words.name = dlprof_intern_built(dlprof, &name);
    text_free(&name);
    return call->words.type == UINT32_MAX || call->words.name == UINT32_MAX ? ERR_NO_MEMORY : 0;
}

int dlprof_read_domain(struct dlprof *dlprof, const char *domain, struct error *err)
{
    const struct filter all = { 0 };
    struct ranges ranges;
    int64_t thread = 0, end_ns = INT64_MIN;
    int code = ranges_read(&ranges, dlprof->report, RANGE_PUSHPOP | RANGE_STARTEND, &all, err);

    if (code != 0)
        return code;
    for (size_t i = 0; i < ranges.count && code == 0; i++) {
        const struct range *range = &ranges.list[i];
        const char *name = range->domain == NVTX_NO_NAME ? "default"
                                                         : report_string(dlprof->report, range->domain, NULL);
        if (strcmp(name, domain) != 0 || (dlprof->call_count && range->thread == thread && range->start_ns < end_ns))
            continue;
        if (dlprof_markers_add_range(dlprof, range) != 0)
            code = error_short_memory(err, "for the ranges");
        thread = range->thread;
        end_ns = range->end_ns;
    }
    ranges_free(&ranges);
    if (code == 0 && !dlprof->call_count)
        code = error_set(err, ERR_NO_DATA, "the report has no ranges in the NVTX domain '%s'", domain);
    return code;
}
