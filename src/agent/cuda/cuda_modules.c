/* The machine code of modules: CUDA loads a module at the first use of one of its kernels, and CUPTI then shows the
 * image. It is scanned right there, in the thread that loads it, because it may be gone afterwards. That takes a tenth
 * of a millisecond for a megabyte, once for each module, and holds no lock. An image that cannot be read is skipped. */
#include "abi/cuda_code.h"
#include "cuda_agent.h"

#define BATCH 32 /* kernels in a record */

void cuda_modules_enable(void)
{
    cuda.cupti.cuptiEnableCallback(1, cuda.subscriber, CUPTI_DOMAIN_RESOURCE, CUPTI_RESOURCE_MODULE_LOADED);
}

static void cuda_modules_emit(unsigned sm, const uint64_t *words, uint16_t count)
{
    if (count)
        cuda_emit(
            &(struct cuda_note){ .type = WIRE_CUDA_CODE, .a = (uint16_t)sm, .words = words, .word_count = count });
}

void cuda_module_loaded(const struct cupti_module_data *module)
{
    uint64_t words[BATCH];
    uint16_t count = 0;
    struct cuda_code code;
    struct cuda_code_kernel kernel;

    if (!module || cuda_code_open(&code, module->cubin, module->cubin_bytes) != 0)
        return;
    while (cuda_code_next(&code, &kernel)) {
        if (!kernel.types && !cuda_code_is_complete(code.sm))
            continue;
        words[count++] = wire_cuda_code(kernel.name, kernel.types);
        if (count == BATCH) {
            cuda_modules_emit(code.sm, words, count);
            count = 0;
        }
    }
    cuda_modules_emit(code.sm, words, count);
    cuda_cubin_loaded(module, &code);
}
