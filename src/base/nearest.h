/* The name that someone meant: suggestions for names of commands, options, reports and tables that do not exist. */
#ifndef TACHO_BASE_NEAREST_H
#define TACHO_BASE_NEAREST_H

#include <stddef.h>

/* Of a NULL-terminated list, the name that is closest to `name`, or NULL if none is close; the first of those that are
 * as close. A name is close if it differs by few letters, starts with `name`, or has all of its words, one of them with
 * a wrong letter: cuda_kern_sum and cuda_kern_smu are close to cuda_gpu_kern_sum. Upper and lower case are the same. */
const char *nearest_name(const char *name, const char *const *names);

/* The number of insertions, deletions, changes and swaps of neighbours between two names. */
size_t nearest_distance(const char *a, const char *b);

#endif
