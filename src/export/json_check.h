/* JSON that other programs accept: the output is valid whatever the bytes of the input. */
#ifndef TACHO_EXPORT_JSON_CHECK_H
#define TACHO_EXPORT_JSON_CHECK_H

#include <stddef.h>
#include <stdint.h>

#include "base/json_write.h"

/* Whether the text is JSON by every rule: one value, or the members of an object without its braces. */
int json_is_value(const char *bytes, size_t length);
int json_is_members(const char *bytes, size_t length);

/* Adds text that is almost JSON: repairs quotes inside strings, NaN and control characters. A value that is no JSON at
 * all becomes a string; only members that can be read are added. */
void json_add_mended_value(struct text *out, const char *bytes, size_t length);
void json_add_mended_members(struct text *out, const char *bytes, size_t length);

#endif
