/* Parses the texts that other profilers write about kernels. */
#ifndef TACHO_IMPORT_KERNEL_TEXT_H
#define TACHO_IMPORT_KERNEL_TEXT_H

#include "base/json_scan.h"

/* The name before its parameters and templates, without the scopes around it. */
struct json_slice kernel_short_name(struct json_slice name);

/* The three numbers of [x, y, z] or (x, y, z); 0 where there are fewer. */
void kernel_dimensions(struct json_slice slice, int64_t out[3]);

#endif
