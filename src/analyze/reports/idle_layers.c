/* Reads the layers of thread activity, and names their spans: see idle_layers.h. */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/calls.h"
#include "analyze/model/names/operator_text.h"
#include "analyze/model/torch/operators.h"
#include "analyze/model/torch/python_files.h"
#include "base/array.h"
#include "idle_layers.h"

/* ---- reading --------------------------------------------------------------------------------------------------- */

/* Whether a call waits for a GPU. */
static int idle_layers_waits(const char *call)
{
    static const char *const copies[] = { "cudaMemcpy", "cuMemcpy", NULL };

    return strstr(call, "Synchronize") != NULL || (text_begins_with_one(call, copies) && !strstr(call, "Async"));
}

static int idle_layers_read_calls(struct idle_layers *layers, const struct filter *filter, struct error *err)
{
    static const struct thread_span_source source = {
        "CUPTI_ACTIVITY_KIND_RUNTIME", "nameId", "callchainId", NULL, "pythonCallchainId", NULL, 0
    };
    struct thread_spans *calls = &layers->spans[IDLE_CALL], *syncs = &layers->spans[IDLE_SYNC];
    int64_t last_name = -1;
    int last_waits = 0, code = thread_spans_read(calls, layers->report, &source, filter, err);
    size_t kept = 0;

    if (code != 0)
        return code;
    thread_spans_keep_outermost(calls);
    for (size_t i = 0; i < calls->count; i++) {
        if (calls->list[i].name != last_name) {
            last_name = calls->list[i].name;
            last_waits = idle_layers_waits(report_string(layers->report, last_name, NULL));
        }
        if (!last_waits)
            calls->list[kept++] = calls->list[i];
        else if (thread_spans_add(syncs, &calls->list[i]) != 0)
            return error_short_memory(err, "for the calls of threads");
    }
    calls->count = kept;
    return 0;
}

static int idle_layers_read_ranges(struct idle_layers *layers, const struct filter *filter, struct error *err)
{
    static const struct thread_span_source operators = { "TACHO_TORCH_OP", "nameId", NULL, NULL, NULL, NULL, 0 };
    struct thread_spans *spans = &layers->spans[IDLE_RANGE];
    int code;

    if ((code = thread_spans_ranges(spans, layers->report, filter, err)) != 0)
        return code;
    return thread_spans_read(spans, layers->report, &operators, filter, err);
}

static int idle_layers_read_samples(struct idle_layers *layers, const struct filter *filter, struct error *err)
{
    const struct {
        struct stacks *stacks;
        enum stack_source source;
        struct thread_spans *spans;
    } samples[] = {
        { &layers->python, STACKS_PYTHON, &layers->spans[IDLE_PYTHON] },
        { &layers->native, STACKS_CPU, &layers->spans[IDLE_NATIVE] },
    };
    int code;

    for (size_t i = 0; i < COUNT_OF(samples); i++) {
        if ((code = stacks_open(samples[i].stacks, layers->report, err)) != 0)
            return code;
        if ((code = stacks_read_samples(samples[i].stacks, samples[i].source, STACKS_WITH_LINES, filter, err)) != 0)
            return code;
        if (thread_spans_samples(samples[i].spans, samples[i].stacks) != 0)
            return error_short_memory(err, "for the samples");
    }
    return 0;
}

static int read_chains(struct idle_layers *layers, struct error *err)
{
    const struct {
        struct stack_chains *chains;
        struct stacks *stacks;
        const char *table;
    } chains[] = {
        { &layers->cuda_chains, &layers->native, "CUDA_CALLCHAINS" },
        { &layers->os_chains, &layers->native, "OSRT_CALLCHAINS" },
        { &layers->python_chains, &layers->python, "TACHO_PYTHON_CALLCHAINS" },
    };
    int code;

    for (size_t i = 0; i < COUNT_OF(chains); i++)
        if ((code = stack_chains_read(chains[i].chains, chains[i].stacks, chains[i].table, STACKS_WITH_LINES, err)) !=
            0)
            return code;
    return 0;
}

int idle_layers_read(struct idle_layers *layers, struct report *report, const struct report_span *span,
                     struct error *err)
{
    static const struct thread_span_source os = { "OSRT_API",          "nameId",     "callchainId",   NULL,
                                                  "pythonCallchainId", "eventClass", EVENT_CLASS_OSRT };
    static const struct thread_span_source python = { "TACHO_TORCH_PYTHON", "nameId", NULL, NULL, NULL, NULL, 0 };
    const struct filter filter = { .span = span };
    int code;

    *layers = (struct idle_layers){ .report = report, .known.width = 2 };
    if ((code = idle_layers_read_calls(layers, &filter, err)) != 0)
        return code;
    if ((code = thread_spans_read(&layers->spans[IDLE_OS], report, &os, &filter, err)) != 0)
        return code;
    if ((code = thread_spans_read(&layers->spans[IDLE_PYTHON_CALL], report, &python, &filter, err)) != 0)
        return code;
    if ((code = thread_spans_off_cpu(&layers->spans[IDLE_OFF_CPU], report, &filter, err)) != 0)
        return code;
    if ((code = idle_layers_read_ranges(layers, &filter, err)) != 0)
        return code;
    if ((code = idle_layers_read_samples(layers, &filter, err)) != 0)
        return code;
    if ((code = read_chains(layers, err)) != 0)
        return code;
    for (int cause = IDLE_OS; cause <= IDLE_NATIVE; cause++)
        if (cause != IDLE_PYTHON_CALL)
            thread_spans_keep_outermost(&layers->spans[cause]);
    if (thread_spans_keep_innermost(&layers->spans[IDLE_PYTHON_CALL]) != 0 ||
        thread_spans_keep_innermost(&layers->spans[IDLE_RANGE]) != 0)
        return error_short_memory(err, "for the ranges");
    return 0;
}

void idle_layers_free(struct idle_layers *layers)
{
    for (int cause = 0; cause < IDLE_CAUSES; cause++)
        thread_spans_free(&layers->spans[cause]);
    stacks_free(&layers->native);
    stacks_free(&layers->python);
    stack_chains_free(&layers->cuda_chains);
    stack_chains_free(&layers->os_chains);
    stack_chains_free(&layers->python_chains);
    intern_free(&layers->texts);
    keys_free(&layers->known);
    free(layers->text_ids);
}

/* ---- names ----------------------------------------------------------------------------------------------------- */

enum idle_text {
    TEXT_STRING,
    TEXT_FUNCTION,
    TEXT_CALL,
    TEXT_RANGE,
    TEXT_NATIVE_FRAME,
    TEXT_PYTHON_FRAME,
    TEXT_OFF_CPU
};

static void make_text(struct text *out, struct idle_layers *layers, enum idle_text kind, int64_t number)
{
    size_t length = 0;
    const char *bytes = kind <= TEXT_RANGE ? report_string(layers->report, number, &length) : "";

    if (kind == TEXT_NATIVE_FRAME)
        stack_frame_label(out, &layers->native, (uint32_t)number);
    else if (kind == TEXT_PYTHON_FRAME)
        stack_frame_label(out, &layers->python, (uint32_t)number);
    else if (kind == TEXT_FUNCTION && memmem(bytes, length, " at 0x", 6))
        python_function_name(out, bytes, length); /* the same for all objects */
    else if (kind == TEXT_OFF_CPU)
        text_add(out, number == OFF_CPU_PREEMPTED ? "preempted" : "blocked");
    else
        text_add_bytes(out, bytes,
                       kind == TEXT_CALL    ? call_name_length(bytes, length)
                       : kind == TEXT_RANGE ? operator_name_length(bytes, length)
                                            : length);
}

/* The number of a text. Each text is made once. When memory is short it is IDLE_NO_TEXT, and layers->failed is set. */
static uint32_t idle_layers_text_of(struct idle_layers *layers, enum idle_text kind, int64_t number)
{
    size_t before = layers->known.count;
    uint32_t key = NO_KEY;
    struct text text = { 0 };

    /* room comes first: every known key must have an entry in text_ids */
    if (array_reserve(&layers->text_ids, &layers->text_room, before + 1, sizeof *layers->text_ids) == 0)
        key = keys_add(&layers->known, (int64_t[]){ kind, number });
    layers->failed |= key == NO_KEY;
    if (key == NO_KEY)
        return IDLE_NO_TEXT;
    if (key < before)
        return layers->text_ids[key];
    make_text(&text, layers, kind, number);
    int64_t id = text_failed(&text) ? -1 : intern_add(&layers->texts, text_string(&text), text.length);
    text_free(&text);
    layers->failed |= id < 0;
    return layers->text_ids[key] = id < 0 ? IDLE_NO_TEXT : (uint32_t)id;
}

/* The span of a layer at this time, or NULL. */
static const struct thread_span *idle_layers_span_at(const struct thread_spans *spans, int64_t thread, int64_t time_ns)
{
    size_t behind, i = thread_spans_from(spans, thread, time_ns, &behind);

    return i < behind && spans->list[i].start_ns <= time_ns ? &spans->list[i] : NULL;
}

uint32_t idle_what(struct idle_layers *layers, enum idle_cause cause, const struct thread_span *span)
{
    switch (cause) {
    case IDLE_SYNC:
    case IDLE_CALL: return idle_layers_text_of(layers, TEXT_CALL, span->name);
    case IDLE_OS: return idle_layers_text_of(layers, TEXT_STRING, span->name);
    case IDLE_PYTHON_CALL: return idle_layers_text_of(layers, TEXT_FUNCTION, span->name);
    case IDLE_OFF_CPU: return idle_layers_text_of(layers, TEXT_OFF_CPU, span->name);
    case IDLE_PYTHON:
        return idle_layers_text_of(layers, TEXT_PYTHON_FRAME, stack_innermost(&layers->python, (uint32_t)span->chain));
    case IDLE_NATIVE:
        return idle_layers_text_of(layers, TEXT_NATIVE_FRAME, stack_innermost(&layers->native, (uint32_t)span->chain));
    case IDLE_RANGE: return idle_layers_text_of(layers, TEXT_RANGE, span->name);
    default: return IDLE_NO_TEXT;
    }
}

/* The function that made a call, if its chain was recorded. */
static uint32_t caller_of(const struct idle_layers *layers, enum idle_cause cause, const struct thread_span *span)
{
    const struct stack_chains *chains = cause == IDLE_OS ? &layers->os_chains : &layers->cuda_chains;
    size_t hint = 0;

    if (cause == IDLE_NATIVE) {
        uint32_t caller = stack_caller(&layers->native, (uint32_t)span->chain);
        return caller == stack_innermost(&layers->native, (uint32_t)span->chain) ? NO_KEY : caller;
    }
    if (!span->chain || (cause != IDLE_OS && cause != IDLE_SYNC && cause != IDLE_CALL))
        return NO_KEY;
    return stack_caller(&layers->native, stack_chains_find(chains, span->chain, &hint));
}

/* The line of Python that a call came from, if that was recorded with it. */
static uint32_t python_caller_of(const struct idle_layers *layers, const struct thread_span *span)
{
    size_t hint = 0;
    uint32_t stack = span->python ? stack_chains_find(&layers->python_chains, span->python, &hint) : STACK_EMPTY;

    return stack == STACK_EMPTY ? NO_KEY : stack_innermost(&layers->python, stack);
}

uint32_t idle_where(struct idle_layers *layers, enum idle_cause cause, const struct thread_span *span, int64_t time_ns)
{
    uint32_t line = python_caller_of(layers, span);

    const struct thread_span *python = idle_layers_span_at(&layers->spans[IDLE_PYTHON], span->thread, time_ns);
    const struct thread_span *function = idle_layers_span_at(&layers->spans[IDLE_PYTHON_CALL], span->thread, time_ns);
    const struct thread_span *native = idle_layers_span_at(&layers->spans[IDLE_NATIVE], span->thread, time_ns);

    if (cause == IDLE_PYTHON || cause == IDLE_PYTHON_CALL)
        return IDLE_NO_TEXT;
    if (line != NO_KEY)
        return idle_layers_text_of(layers, TEXT_PYTHON_FRAME, line);
    if (python)
        return idle_layers_text_of(layers, TEXT_PYTHON_FRAME,
                                   stack_innermost(&layers->python, (uint32_t)python->chain));
    if (function)
        return idle_layers_text_of(layers, TEXT_FUNCTION, function->name);
    uint32_t caller = caller_of(layers, cause, span);
    if (caller == NO_KEY && native && cause != IDLE_NATIVE)
        caller = stack_caller(&layers->native, (uint32_t)native->chain);
    return caller == NO_KEY ? IDLE_NO_TEXT : idle_layers_text_of(layers, TEXT_NATIVE_FRAME, caller);
}

uint32_t idle_range(struct idle_layers *layers, int64_t thread, int64_t time_ns)
{
    const struct thread_span *range = idle_layers_span_at(&layers->spans[IDLE_RANGE], thread, time_ns);

    return range ? idle_layers_text_of(layers, TEXT_RANGE, range->name) : IDLE_NO_TEXT;
}
