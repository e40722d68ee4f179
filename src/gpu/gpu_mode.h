/* The modes of tacho-gpu: the first word of its command line. Words behind it are options of the form name=value,
 * written by tacho and not by users. */
#ifndef TACHO_GPU_GPU_MODE_H
#define TACHO_GPU_GPU_MODE_H

#include <stdint.h>

/* Each returns the exit status: 0, or GPU_MODE_REFUSED with a frame that says why. */
enum { GPU_MODE_REFUSED = 3 };
#define GPU_MODE(name, needs_rights) int gpu_mode_##name(char **options);
#include "gpu_modes.def"
#undef GPU_MODE

/* The value of an option; NULL: it is not there. */
const char *gpu_option(char **options, const char *name);
uint64_t gpu_option_number(char **options, const char *name, uint64_t fallback);
/* The number that begins at *at, which moves behind it. */
uint64_t gpu_option_digits(const char **at);

#endif
