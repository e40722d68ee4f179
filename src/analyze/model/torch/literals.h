/* Scans Python literals, and JSON where it looks the same: dicts, lists, tuples, strings, numbers. The values are
 * slices of the text; nothing is copied, and any bytes are accepted. */
#ifndef TACHO_ANALYZE_MODEL_TORCH_LITERALS_H
#define TACHO_ANALYZE_MODEL_TORCH_LITERALS_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"

struct literal {
    const char *bytes;
    size_t length; /* 0: there is none */
};

struct literal_scan {
    const char *at, *end;
};

/* The parts of a dict, a list or a tuple: literal_member() and literal_element() return them one by one, 0 at the end
 * or where the text is damaged. */
struct literal_scan literal_parts(struct literal whole);
int literal_element(struct literal_scan *scan, struct literal *value);
int literal_member(struct literal_scan *scan, struct literal *name, struct literal *value);

/* The member of a dict, or one without bytes. */
struct literal literal_find(struct literal dict, const char *name);

int literal_is_string(struct literal value);
/* Whether it is a string with these characters. */
int literal_is(struct literal value, const char *characters);
/* Adds the characters of a string, with its escapes resolved; any other value as it is spelt. */
void literal_add(struct text *out, struct literal value);
/* 1 and the number if the value is a whole one. */
int literal_integer(struct literal value, int64_t *out);

#endif
