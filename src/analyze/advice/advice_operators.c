/* Finds the operators around calls in one pass: see advice_operators.h. */
#include "advice_operators.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

const char advice_loader_mark[] = "enumerate(DataLoader)#";

/* Whether a range is one that PyTorch's emit_nvtx makes of an operator. Other programs name ranges after C++ functions:
 * "Solver::step". */
static int is_of_torch(const char *name)
{
    static const char *const begins[] = { "aten::", "autograd::engine::", advice_loader_mark, NULL };

    return text_begins_with_one(name, begins) || strstr(name, ", seq = ") || strstr(name, ", op_id = ");
}

static void leave_out_ranges(struct advice_operators *operators, size_t first)
{
    size_t kept = first;

    for (size_t i = first; i < operators->spans.count; i++)
        if (is_of_torch(report_string(operators->report, operators->spans.list[i].name, NULL)))
            operators->spans.list[kept++] = operators->spans.list[i];
    operators->spans.count = kept;
}

int advice_operators_open(struct advice_operators *operators, struct report *report, struct error *err)
{
    static const struct thread_span_source source = { "TACHO_TORCH_OP", "nameId", NULL, NULL, NULL, NULL, 0 };
    static const struct filter all;
    int code;

    *operators = (struct advice_operators){ .report = report };
    if ((code = thread_spans_read(&operators->spans, report, &source, &all, err)) != 0)
        return code;
    size_t ranges = operators->spans.count;
    if ((code = thread_spans_ranges(&operators->spans, report, &all, err)) != 0)
        return code;
    leave_out_ranges(operators, ranges);
    thread_spans_sort(&operators->spans);
    return 0;
}

void advice_operators_free(struct advice_operators *operators)
{
    thread_spans_free(&operators->spans);
    free(operators->open);
    *operators = (struct advice_operators){ 0 };
}

int advice_operators_at(struct advice_operators *operators, int64_t thread, int64_t time_ns)
{
    const struct thread_spans *spans = &operators->spans;

    if (thread != operators->thread)
        operators->depth = 0;
    operators->thread = thread;
    for (; operators->next < spans->count; operators->next++) {
        const struct thread_span *span = &spans->list[operators->next];
        if (span->thread > thread || (span->thread == thread && span->start_ns > time_ns))
            break;
        if (span->thread < thread || span->end_ns <= time_ns)
            continue;
        if (ARRAY_PUSH(operators->open, operators->open_room, operators->depth, span) != 0)
            return ERR_NO_MEMORY;
    }
    size_t kept = 0;
    for (size_t i = 0; i < operators->depth; i++)
        if (operators->open[i]->end_ns > time_ns)
            operators->open[kept++] = operators->open[i];
    operators->depth = kept;
    return 0;
}

const struct thread_span *advice_operator(const struct advice_operators *operators)
{
    for (size_t i = 0; i < operators->depth; i++) {
        size_t length;
        const char *name = report_string(operators->report, operators->open[i]->name, &length);
        if (memmem(name, length, "::", 2))
            return operators->open[i];
    }
    return NULL;
}
