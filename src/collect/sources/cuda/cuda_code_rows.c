/* The machine code of kernels: the agent reports which instructions the kernels of a module have when CUDA loads it,
 * long before most of them run. Rows are written for those that ran, once their names are known. */
#include "abi/cuda_code.h"
#include "base/text.h"
#include "cuda_state.h"

#define KERNELS_MAX (1u << 20)

/* NULL: there are too many, or memory is short. */
static struct cuda_code_seen *seen_of(struct cuda_process *cuda, uint64_t name)
{
    struct cuda_code_seen *seen = cuda_code_map_find(&cuda->code, name);

    if (seen || !name || cuda->code.count >= KERNELS_MAX)
        return seen;
    return cuda_code_map_add(&cuda->code, &(struct cuda_code_seen){ .name = name });
}

CUDA_TOLD(cuda_code_told)
{
    (void)tid;
    for (uint32_t i = 0; i + WIRE_HEAD_WORDS < words; i++) {
        uint64_t word = record->body[i];
        uint16_t types = (uint16_t)(word & WIRE_CUDA_CODE_TYPES);
        struct cuda_code_seen *seen = seen_of(cuda, word & ~WIRE_CUDA_CODE_TYPES);

        if (!(word & ~WIRE_CUDA_CODE_TYPES))
            return -1;
        if (!seen)
            continue;
        seen->is_mixed |= seen->is_told && !seen->types != !types;
        seen->is_told = 1;
        seen->types |= types;
        seen->sm = record->a;
    }
    return 0;
}

void cuda_code_run(struct cuda_process *cuda, const char *name, int64_t text_id)
{
    struct cuda_code_seen *seen = seen_of(cuda, wire_cuda_code(name, 0));

    if (!seen)
        return;
    seen->is_run = 1;
    seen->text_id = text_id;
}

static void types_text(struct text *text, unsigned types)
{
    static const char *const names[] = {
#define NAME(id, name) name,
        CUDA_CODE_TYPES(NAME)
#undef NAME
    };
    for (unsigned i = 0; i < CUDA_CODE_TYPE_COUNT; i++)
        if (types >> i & 1)
            text_addf(text, "%s%s", text->length ? "," : "", names[i]);
}

static void cuda_code_rows_write_row(struct cuda_process *cuda, const struct cuda_code_seen *seen)
{
    struct row_TACHO_KERNEL_CODE row = { 0 };
    struct text types = { 0 };

    ROW_SET(&row, TACHO_KERNEL_CODE, globalPid, cuda->setup.global_pid);
    ROW_SET(&row, TACHO_KERNEL_CODE, mangledName, seen->text_id);
    ROW_SET(&row, TACHO_KERNEL_CODE, sm, seen->sm);
    types_text(&types, seen->types);
    if (types.length)
        ROW_SET(&row, TACHO_KERNEL_CODE, tensorTypes, writer_string(cuda->writer, types.bytes, types.length));
    if (seen->is_mixed)
        ROW_SET(&row, TACHO_KERNEL_CODE, isMixed, 1);
    writer_append(cuda->writer, TABLE_TACHO_KERNEL_CODE, &row);
    text_free(&types);
}

void cuda_code_finish(struct cuda_process *cuda)
{
    const struct cuda_code_seen *seen = NULL;

    while ((seen = cuda_code_map_next(&cuda->code, seen)))
        if (seen->is_run && seen->is_told)
            cuda_code_rows_write_row(cuda, seen);
}

void cuda_code_free(struct cuda_process *cuda)
{
    cuda_code_map_free(&cuda->code);
}
