/* Calls and work on GPUs as events of torch's list. */
#include "operators_gpu.h"

#include <stdlib.h>

#include "analyze/model/gpu.h"
#include "base/array.h"
#include "torch_kernels.h"

size_t call_length_in_torch(const char *name, size_t length)
{
    size_t at = length;

    while (at > 0 && (unsigned char)(name[at - 1] - '0') <= 9)
        at--;
    return length - at >= 4 && at >= 2 && name[at - 1] == 'v' && name[at - 2] == '_' ? at - 2 : length;
}

uint32_t operators_pool_text(struct operators_pool *texts, int64_t id, enum operators_pool_kind kind)
{
    size_t before = texts->ids.count, length;
    uint32_t key, number = NO_TEXT;

    texts->ids.width = 1;
    key = keys_add(&texts->ids, &id);
    if (key == NO_KEY)
        return NO_TEXT;
    if (key < before)
        return texts->numbers[key];
    if (array_reserve(&texts->numbers, &texts->capacity, key + 1u, sizeof *texts->numbers) != 0)
        return NO_TEXT;
    const char *bytes = report_string(texts->report, id, &length);
    if (kind == TEXT_CALL)
        length = call_length_in_torch(bytes, length);
    if (kind != TEXT_NAME)
        number = operators_intern(texts->operators, bytes, length);
    else if (!operators_name(texts->operators, bytes, length, &number))
        number = HIDDEN_TEXT;
    return texts->numbers[key] = number;
}

void operators_pool_free(struct operators_pool *texts)
{
    free(texts->numbers);
    keys_free(&texts->ids);
}

int operators_add_calls(struct operators_pool *names, const struct calls *calls, uint32_t *places)
{
    for (size_t i = 0; i < calls->count; i++) {
        places[i] = NO_OPERATOR;
        if (!filter_thread(names->filter, calls->thread[i], calls->start[i], calls->end[i]))
            continue;
        places[i] = (uint32_t)names->operators->count;
        struct operators_event *op = operators_add(names->operators);
        if (!op)
            return ERR_NO_MEMORY;
        op->kind = OPERATOR_CALL;
        op->start_ns = calls->start[i];
        op->end_ns = calls->end[i];
        op->thread = calls->thread[i];
        op->name = operators_pool_text(names, calls->name[i], TEXT_CALL);
        if (op->name == NO_TEXT)
            return ERR_NO_MEMORY;
    }
    return 0;
}

/* Work of one kind on GPUs. */
struct operators_gpu_work {
    struct operators_pool *names;
    struct torch_kernels kernels;
    operators_owner *owner;
    void *context;
    enum gpu_kind kind;
    struct gpu_ops ops;
    struct text text; /* scratch space for names */
};

/* The names of copies and fills are made of their kinds. */
static uint32_t work_name(struct operators_gpu_work *work, size_t row)
{
    enum { UNKNOWN = -1 };
    const struct gpu_ops *ops = &work->ops;
    struct text *text = &work->text;
    int64_t first = gpu_extra_is_null(ops, 0, row) ? UNKNOWN : gpu_extra(ops, 0, row);

    if (work->kind == GPU_KERNEL)
        return operators_pool_text(work->names,
                                   gpu_extra_is_null(ops, 1, row)
                                       ? first
                                       : torch_kernel_name(&work->kernels, gpu_extra(ops, 1, row), first),
                                   TEXT_PLAIN);
    if (work->kind == GPU_MEMSET)
        operators_fill_name(text, first);
    else
        operators_copy_name(text, first, gpu_extra_is_null(ops, 1, row) ? UNKNOWN : gpu_extra(ops, 1, row),
                            gpu_extra_is_null(ops, 2, row) ? UNKNOWN : gpu_extra(ops, 2, row));
    return text_failed(text) ? NO_TEXT : operators_intern(work->names->operators, text->bytes, text->length);
}

static int operators_gpu_add_row(struct operators_gpu_work *work, size_t row)
{
    const struct gpu_ops *ops = &work->ops;
    struct operators *operators = work->names->operators;
    uint32_t name = work_name(work, row);
    struct operators_event *op = name == NO_TEXT ? NULL : operators_add(operators);

    if (!op)
        return ERR_NO_MEMORY;
    op->kind = OPERATOR_GPU;
    op->start_ns = ops->start[row];
    op->end_ns = ops->end[row];
    op->name = name;
    op->thread = ops->process[row];
    op->launcher = work->owner(work->context, ops->process[row], ops->correlation[row]);
    if (op->launcher != NO_OPERATOR)
        operators->list[op->launcher].kernels_us += operators_us(operators, ops->start[row], ops->end[row]);
    return 0;
}

static int operators_gpu_add_kind(struct operators_gpu_work *work, enum gpu_kind kind, struct error *err)
{
    static const char *const extra[GPU_KINDS][4] = {
        [GPU_KERNEL] = { "demangledName", "mangledName" },
        [GPU_MEMCPY] = { "copyKind", "srcKind", "dstKind" },
        [GPU_MEMSET] = { "memKind" },
    };
    int code;

    work->kind = kind;
    if ((code = gpu_read(&work->ops, work->names->report, kind, extra[kind], err)) != 0)
        return code;
    for (size_t row = 0; row < work->ops.count; row++)
        if (gpu_counts(&work->ops, row, work->names->filter) && operators_gpu_add_row(work, row) != 0 &&
            (code = error_short_memory(err, "for the GPU work")) != 0)
            goto free_ops;
free_ops:
    gpu_free(&work->ops);
    return code;
}

int operators_add_work(struct operators_pool *names, operators_owner *owner, void *context, struct error *err)
{
    struct operators_gpu_work work = { .names = names, .owner = owner, .context = context };
    int code;

    if ((code = torch_kernels_read(&work.kernels, names->report, err)) != 0)
        goto done;
    for (int kind = 0; kind < GPU_KINDS; kind++)
        if ((code = operators_gpu_add_kind(&work, (enum gpu_kind)kind, err)) != 0)
            goto done;
done:
    torch_kernels_free(&work.kernels);
    text_free(&work.text);
    return code;
}

/* ---- work by the thread that launched it ----------------------------------------------------------------------- */

struct launching {
    const struct calls *calls;
    uint32_t *places; /* owned; of the calls among the operators */
};

/* The call itself: operators_nest() passes its work on to the operator around it. */
static uint32_t operators_gpu_call_of(void *context, int64_t process, int64_t correlation)
{
    const struct launching *launching = context;
    uint32_t call = calls_find(launching->calls, process, correlation);

    return call == NO_CALL ? NO_OPERATOR : launching->places[call];
}

int operators_add_cuda(struct operators *operators, struct report *report, const struct filter *filter,
                       struct error *err)
{
    struct operators_pool names = { .operators = operators, .report = report, .filter = filter };
    struct calls calls;
    struct launching launching = { .calls = &calls };
    int code;

    if ((code = calls_read(&calls, report, err)) != 0)
        return code;
    launching.places = malloc((calls.count + 1) * sizeof *launching.places);
    if ((!launching.places || operators_add_calls(&names, &calls, launching.places) != 0) &&
        (code = error_short_memory(err, "for the CUDA calls")) != 0)
        goto done;
    code = operators_add_work(&names, operators_gpu_call_of, &launching, err);
done:
    operators_pool_free(&names);
    calls_free(&calls);
    free(launching.places);
    return code;
}
