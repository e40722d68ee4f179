/* Why data of GPUs is not available: one table of sentences, for tacho-gpu, captures, monitors and `tacho doctor`. */
#ifndef TACHO_ABI_GPU_REFUSALS_H
#define TACHO_ABI_GPU_REFUSALS_H

#include <stddef.h>
#include <stdint.h>

enum gpu_refusal_id {
    GPU_REFUSAL_NONE, /* nothing was refused */
#define GPU_REFUSAL(id, sentence, allow) GPU_REFUSAL_##id,
#include "gpu_refusals.def"
#undef GPU_REFUSAL
    GPU_REFUSALS
};

/* Writes the sentence, cut to its room. texts: for each {} of the sentence in turn; a NULL is empty. */
void gpu_refusal_write(char *out, size_t bytes, enum gpu_refusal_id id, uint32_t gpu, const char *const texts[2]);

/* What to type or set to allow it, a line each; "": nothing that is known. */
const char *gpu_refusal_allow(enum gpu_refusal_id id);

/* The refusal that a result of CUPTI means for a GPU's counters; GPU_REFUSAL_NONE: another one. */
enum gpu_refusal_id gpu_refusal_of_cupti(int result);

#endif
