/* speedscope's own format: the samples of each thread in order of time, a profile each. */
#include <stdlib.h>

#include "base/array.h"
#include "export/json_check.h"
#include "flame_samples.h"

#define LINE_BYTES (1u << 16)

struct speedscope_scope {
    struct stacks stacks;
    struct thread_names names;
    struct outfile *output;
    const char *unit; /* unit of the weights */
    struct text out, name;
    uint32_t *path;   /* owned; frames of a stack */
    size_t room;
};

static void speedscope_add_text(struct speedscope_scope *scope)
{
    json_add_text(&scope->out, text_string(&scope->name), scope->name.length);
    text_clear(&scope->name);
}

static int write_frames(struct speedscope_scope *scope, struct error *err)
{
    int code;

    json_addf(&scope->out, "{'$schema': 'https://www.speedscope.app/file-format-schema.json', 'exporter': 'tacho',\n"
                           "'shared': {'frames': [");
    for (uint32_t frame = 0; frame < scope->stacks.frames.count; frame++) {
        int64_t line = stack_frame(&scope->stacks, frame)[FRAME_LINE];
        json_addf(&scope->out, frame ? ",\n{'name': " : "\n{'name': ");
        stack_frame_name(&scope->name, &scope->stacks, frame);
        speedscope_add_text(scope);
        stack_frame_module(&scope->name, &scope->stacks, frame);
        if (scope->name.length) {
            json_addf(&scope->out, ", 'file': ");
            speedscope_add_text(scope);
        }
        if (line > FRAME_NO_LINE)
            json_addf(&scope->out, ", 'line': %jd", line);
        text_add_char(&scope->out, '}');
        if ((code = outfile_put(scope->output, &scope->out, LINE_BYTES, err)) != 0)
            return code;
    }
    text_add_char(&scope->out, '\n');
    json_addf(&scope->out, "]},\n'profiles': [");
    return 0;
}

static int speedscope_add_stack(struct speedscope_scope *scope, uint32_t stack)
{
    size_t count = 0;

    for (; stack != STACK_EMPTY; stack = stack_parent(&scope->stacks, stack)) {
        if (ARRAY_PUSH(scope->path, scope->room, count, stack_innermost(&scope->stacks, stack)) != 0)
            return ERR_NO_MEMORY;
    }
    text_add_char(&scope->out, '[');
    while (count-- > 0) {
        json_add_int(&scope->out, scope->path[count]);
        if (count)
            text_add_char(&scope->out, ',');
    }
    text_add_char(&scope->out, ']');
    return 0;
}

/* The end of a run of samples with the same stack. */
static size_t same_stack(const struct stacks *stacks, size_t first, size_t behind)
{
    size_t i = first + 1;

    while (i < behind && stacks->samples[i].stack == stacks->samples[first].stack)
        i++;
    return i;
}

static int64_t weigh(const struct stacks *stacks, size_t first, size_t behind)
{
    int64_t weight = 0;

    for (; first < behind; first++)
        weight = saturating_add(weight, stacks->samples[first].weight);
    return weight;
}

static void add_thread_name(struct speedscope_scope *scope, int64_t thread)
{
    const struct thread_name *name = thread_name_find(&scope->names, thread);
    size_t length;

    if (name) {
        const char *bytes = report_string(scope->stacks.report, name->name, &length);
        text_add_bytes(&scope->name, bytes, length);
        text_add_char(&scope->name, ' ');
    }
    text_addf(&scope->name, "(pid %lld, tid %lld)", (long long)global_pid_number(thread),
              (long long)global_tid_number(thread));
    speedscope_add_text(scope);
}

static int write_profile(struct speedscope_scope *scope, size_t first, size_t behind, struct error *err)
{
    const struct stacks *stacks = &scope->stacks;
    int code;

    json_addf(&scope->out, first ? ",\n{'type': 'sampled', 'name': " : "\n{'type': 'sampled', 'name': ");
    add_thread_name(scope, stacks->samples[first].thread);
    json_addf(&scope->out, ", 'unit': %s, 'startValue': 0, 'endValue': %jd,\n'samples': [", scope->unit,
              weigh(stacks, first, behind));
    for (size_t i = first; i < behind; i = same_stack(stacks, i, behind)) {
        text_add(&scope->out, i > first ? ",\n" : "");
        if (speedscope_add_stack(scope, stacks->samples[i].stack) != 0)
            return error_no_memory(err);
        if ((code = outfile_put(scope->output, &scope->out, LINE_BYTES, err)) != 0)
            return code;
    }
    json_addf(&scope->out, "],\n'weights': [");
    for (size_t i = first, next; i < behind; i = next) {
        next = same_stack(stacks, i, behind);
        text_add(&scope->out, i > first ? "," : "");
        json_add_int(&scope->out, weigh(stacks, i, next));
        if ((code = outfile_put(scope->output, &scope->out, LINE_BYTES, err)) != 0)
            return code;
    }
    text_add(&scope->out, "]}");
    return 0;
}

static int speedscope_write_all(void *context, struct outfile *output, struct error *err)
{
    struct speedscope_scope *scope = context;
    const struct stacks *stacks = &scope->stacks;
    int code;

    scope->output = output;
    if ((code = write_frames(scope, err)) != 0)
        return code;
    for (size_t first = 0, behind; first < stacks->sample_count; first = behind) {
        for (behind = first;
             behind < stacks->sample_count && stacks->samples[behind].thread == stacks->samples[first].thread;)
            behind++;
        if ((code = write_profile(scope, first, behind, err)) != 0)
            return code;
    }
    text_add(&scope->out, "\n]}\n");
    if (text_failed(&scope->name))
        return error_no_memory(err);
    return outfile_put(output, &scope->out, 0, err);
}

static int speedscope_export_report(struct report *report, const char *path, const struct export_options *options,
                                    struct error *err)
{
    struct speedscope_scope scope = { .unit = flame_samples_unit(report, options).speedscope };
    int code;

    if ((code = flame_samples_read(&scope.stacks, report, STACKS_WITHOUT_LINES, options, err)) != 0)
        goto done;
    if ((code = thread_names_read(&scope.names, report, err)) != 0)
        goto done;
    code = outfile_write(path, options->gzip, speedscope_write_all, &scope, err);
done:
    thread_names_free(&scope.names);
    stacks_free(&scope.stacks);
    text_free(&scope.out);
    text_free(&scope.name);
    free(scope.path);
    return code;
}

const struct exporter export_speedscope = {
    .name = "speedscope",
    .help = "samples in order of time, for speedscope.app",
    .extension = "speedscope.json",
    .gzips = 1,
    .export_report = speedscope_export_report,
};
