/* Operators from the NVTX ranges of torch.autograd.profiler.emit_nvtx. Work on GPUs belongs to the innermost range
 * around the call that launched it. */
#include "analyze/model/names/operator_text.h"
#include "analyze/model/ranges.h"
#include "operators_gpu.h"

/* Fills the operator from the range's text; 0 if torch does not show the name, -1 when memory is short. */
static int parse_range(struct operators *operators, struct operators_event *op, const char *bytes, size_t length)
{
    struct operator_text text = operator_text(bytes, length);

    op->kind = text.is_operator ? OPERATOR : OPERATOR_ANNOTATION;
    op->sequence = text.sequence;
    op->is_backward = text.is_backward && text.sequence >= 0;
    if (!operators_name(operators, bytes, text.name_length, &op->name))
        return 0;
    if (text.shapes.length &&
        (op->shapes = operators_intern(operators, text.shapes.bytes, text.shapes.length)) == NO_TEXT)
        return -1;
    return op->name == NO_TEXT ? -1 : 1;
}

/* Adds all ranges of the default domain. Returns 1 if some of them are operators, -1 when memory is short. */
static int operators_nvtx_add_ranges(struct operators *operators, const struct ranges *ranges, struct report *report)
{
    int is_torch = 0;

    for (size_t i = 0; i < ranges->count; i++) {
        const struct range *range = &ranges->list[i];
        if (range->domain != NVTX_NO_NAME || range->name == NVTX_NO_NAME)
            continue;
        size_t length;
        const char *bytes = report_string(report, range->name, &length);
        struct operators_event *op = operators_add(operators);
        int taken = op ? parse_range(operators, op, bytes, length) : -1;
        if (taken < 0)
            return -1;
        if (!taken) {
            operators->count--;
            continue;
        }
        op->start_ns = range->start_ns;
        op->end_ns = range->end_ns;
        op->thread = range->thread;
        is_torch |= op->kind == OPERATOR;
    }
    return is_torch;
}

int operators_read_nvtx(struct operators *operators, struct report *report, const struct filter *filter,
                        struct error *err)
{
    struct ranges ranges;
    int code;

    if ((code = ranges_read(&ranges, report, RANGE_PUSHPOP, filter, err)) != 0)
        return code;
    int found = operators_nvtx_add_ranges(operators, &ranges, report);
    ranges_free(&ranges);
    if (found < 0)
        return error_short_memory(err, "for the operators");
    if (!found) {
        operators->count = 0;
        return 0;
    }
    return operators_add_cuda(operators, report, filter, err);
}
