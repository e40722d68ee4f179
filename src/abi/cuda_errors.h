/* What CUDA calls the values that its functions return: a number alone tells nobody why a call failed. */
#ifndef TACHO_ABI_CUDA_ERRORS_H
#define TACHO_ABI_CUDA_ERRORS_H

#include <stdint.h>

/* As the runtime has it, whose numbers are the driver's too; "" if it has none. */
const char *cuda_error_name(int64_t number);

#endif
