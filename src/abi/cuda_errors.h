/* Names of CUDA's error numbers. A number alone does not tell a user why a call failed. */
#ifndef TACHO_ABI_CUDA_ERRORS_H
#define TACHO_ABI_CUDA_ERRORS_H

#include <stdint.h>

/* The runtime's name of an error, whose numbers are the driver's too; "" if there is none. */
const char *cuda_error_name(int64_t number);

#endif
