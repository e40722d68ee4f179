/* Results of NVML in words. */
#ifndef TACHO_ABI_NVML_RESULTS_H
#define TACHO_ABI_NVML_RESULTS_H

#include <stdint.h>

/* A word or two; valid until the next call. */
const char *nvml_result_text(uint32_t result);

#endif
