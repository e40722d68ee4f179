/* Python stacks with the time spent under them, as torch's export_stacks() writes them: one line for each event with
 * its frames from the outermost on, separated by ;, then whole microseconds. Flame graph tools read these files. */
#include <stdlib.h>
#include <string.h>

#include "analyze/model/filter.h"
#include "analyze/model/torch/torch_stacks.h"
#include "base/array.h"
#include "export/export.h"
#include "export/outfile.h"

/* The metric of a line's number: "device" and the names of devices mean the same, as in torch. */
static const struct {
    const char *name;
    int of_device;
} metrics[] = {
    { "self_cpu_time_total", 0 },
    { "self_cuda_time_total", 1 },
    { "self_device_time_total", 1 },
    { "self_xpu_time_total", 1 },
};

static int stack_lines_find_metric(const char *name, int *of_device, struct error *err)
{
    for (size_t i = 0; i < COUNT_OF(metrics); i++)
        if (!name || strcmp(name, metrics[i].name) == 0) {
            *of_device = metrics[i].of_device;
            return 0;
        }
    return error_set(err, ERR_BAD_ARGUMENT,
                     "unknown metric '%s' for --metric: use self_cpu_time_total or self_cuda_time_total", name);
}

/* The frames around an event, the innermost first. */
struct frames {
    struct intern_string *list; /* owned */
    size_t count, capacity;
    int failed;
};

static void stack_lines_add_frame(struct frames *frames, struct intern_string frame)
{
    if (!torch_shows_frame(frame.bytes, frame.length))
        return;
    if (array_reserve(&frames->list, &frames->capacity, frames->count + 1, sizeof frame) == 0)
        frames->list[frames->count++] = frame;
    else
        frames->failed = 1;
}

/* The frames of the recorded stack; without one, the Python functions around the event in its thread. */
static void stack_lines_find_frames(struct frames *frames, const struct operators *operators,
                                    const struct operators_event *event)
{
    struct intern_string stack = operators_text(operators, event->stack);

    frames->count = 0;
    while (stack.length) {
        const char *end = memchr(stack.bytes, ';', stack.length);
        size_t length = end ? (size_t)(end - stack.bytes) : stack.length, behind = end ? length + 1 : length;
        stack_lines_add_frame(frames, (struct intern_string){ stack.bytes, length });
        stack = (struct intern_string){ stack.bytes + behind, stack.length - behind };
    }
    if (event->stack != NO_TEXT)
        return;
    for (uint32_t parent = event->parent; parent != NO_OPERATOR; parent = operators->list[parent].parent)
        if (operators->list[parent].kind == OPERATOR_PYTHON)
            stack_lines_add_frame(frames, operators_text(operators, operators->list[parent].name));
}

static void stack_lines_add_line(struct text *out, const struct frames *frames, int64_t number)
{
    for (size_t i = frames->count; i-- > 0;) {
        size_t from = out->length;
        text_add_bytes(out, frames->list[i].bytes, frames->list[i].length);
        for (size_t at = from; at < out->length; at++)
            if (strchr(" ;\t\n", out->bytes[at]))
                out->bytes[at] = '_';
        if (i)
            text_add_char(out, ';');
    }
    text_addf(out, " %lld\n", (long long)number);
}

/* The time of each event on the CPU less that of its children; work on a GPU counts for its operator. */
static double *self_times(const struct operators *operators, int of_device)
{
    double *times = calloc(operators->count + 1, sizeof *times);

    for (size_t i = 0; times && i < operators->count; i++) {
        const struct operators_event *event = &operators->list[i];
        if (!operator_is_cpu((enum operator_kind)event->kind) || event->is_collapsed)
            continue;
        double own = of_device ? event->kernels_us : operators_us(operators, event->start_ns, event->end_ns);
        times[i] += own;
        if (!of_device && event->parent != NO_OPERATOR)
            times[event->parent] -= own;
    }
    return times;
}

/* Whether the event is in the part of the report that is exported. */
static int stack_lines_is_wanted(const struct export_options *options, const struct operators_event *event)
{
    return export_wants_time(options, event->start_ns, event->end_ns) &&
           (!options->filter || filter_thread(options->filter, event->thread, event->start_ns, event->end_ns));
}

struct stack_lines {
    struct operators operators;
    const struct export_options *options;
    int of_device;
};

static int stack_lines_no_memory(struct error *err)
{
    return error_short_memory(err, "for the stacks");
}

static int stack_lines_write_lines(void *context, struct outfile *output, struct error *err)
{
    const struct stack_lines *lines = context;
    const struct operators *operators = &lines->operators;
    double *times = self_times(operators, lines->of_device);
    uint32_t *owners = malloc((operators->count + 1) * sizeof *owners);
    struct frames frames = { 0 };
    struct text out = { 0 };
    int code;

    if (!times || !owners || torch_stack_owners(operators, owners) != 0) {
        code = stack_lines_no_memory(err);
        goto done;
    }
    for (size_t i = 0; i < operators->count; i++) {
        if (times[i] < 1 || owners[i] == NO_OPERATOR || !stack_lines_is_wanted(lines->options, &operators->list[i]))
            continue;
        stack_lines_find_frames(&frames, operators, &operators->list[owners[i]]);
        if (frames.failed) {
            code = stack_lines_no_memory(err);
            goto done;
        }
        if (frames.count)
            stack_lines_add_line(&out, &frames, (int64_t)times[i]);
        if ((code = outfile_put(output, &out, 1 << 16, err)) != 0)
            goto done;
    }
    code = outfile_put(output, &out, 0, err);
done:
    text_free(&out);
    free(frames.list);
    free(times);
    free(owners);
    return code;
}

static int stack_lines_read_events(struct operators *operators, struct report *report, struct error *err)
{
    struct analysis_request everything = { 0 };
    int code = operators_read(operators, report, &everything, err), has_operators = code != ERR_NO_DATA;

    if (code != 0 && has_operators)
        return code;
    if ((code = operators_add_python(operators, report, err)) != 0)
        return code;
    if (!has_operators && operators->count == 0)
        return error_set(err, ERR_NO_DATA,
                         "the report has no stacks: it has neither PyTorch operators nor Python functions");
    return operators_nest(operators) == 0 ? 0 : stack_lines_no_memory(err);
}

static int stack_lines_has_stacks(const struct operators *operators)
{
    for (size_t i = 0; i < operators->count; i++)
        if (operators->list[i].kind == OPERATOR_PYTHON || operators->list[i].stack != NO_TEXT)
            return 1;
    return 0;
}

static int stack_lines_export_report(struct report *report, const char *path, const struct export_options *options,
                                     struct error *err)
{
    struct stack_lines lines = { .options = options };
    int code;

    if ((code = stack_lines_find_metric(options->metric, &lines.of_device, err)) != 0)
        return code;
    if ((code = stack_lines_read_events(&lines.operators, report, err)) != 0)
        goto free_operators;
    if (!stack_lines_has_stacks(&lines.operators)) {
        code = error_set(err, ERR_NO_DATA,
                         "the report has PyTorch operators without stacks: record with --pytorch-stacks=true, or "
                         "with_stack=True in torch.profiler");
        goto free_operators;
    }
    code = outfile_write(path, 0, stack_lines_write_lines, &lines, err);
free_operators:
    operators_free(&lines.operators);
    return code;
}

const struct exporter export_stacks = {
    .name = "stacks",
    .help = "Python stacks with times, as torch's export_stacks() writes them",
    .extension = "stacks",
    .export_report = stack_lines_export_report,
};
