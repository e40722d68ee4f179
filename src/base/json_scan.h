/* A scanner for JSON that reads the text in place and only as far as needed: no tree, no copies.
 *
 * The scanner is lenient, because many traces come from printers written by hand: it accepts an unescaped quote
 * inside a string, control characters, NaN and Infinity. All functions need SCAN_GUARD readable zeros behind the
 * end. */
#ifndef TACHO_BASE_JSON_SCAN_H
#define TACHO_BASE_JSON_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "text.h"

enum { SCAN_GUARD = 16 };

/* The result of a function: a value; the bytes end before the value does; the bytes are not JSON. */
enum { SCAN_OK = 0, SCAN_CUT = 1, SCAN_BAD = 2 };

struct json_scan {
    const char *at, *end;
    int whole;         /* nothing follows the end */
    int levels;        /* nesting levels that a value may have; 0: as many as the scanner can count */
    uint64_t repaired; /* quotes that should have been escaped */
};

/* A piece of the text: a value, or a string with its quotes. */
struct json_slice {
    const char *bytes;
    size_t length;
};

/* The place of a string determines what may follow it. */
enum json_place { PLACE_KEY, PLACE_OBJECT, PLACE_ARRAY };

void json_scan_space(struct json_scan *scan);
/* Scans a string with its quotes; `at` is on the first one. */
int json_scan_string(struct json_scan *scan, enum json_place place, struct json_slice *out);
/* Scans any value. */
int json_scan_value(struct json_scan *scan, enum json_place place, struct json_slice *out);
/* Steps over a colon or comma; SCAN_BAD if another character is there. */
int json_scan_mark(struct json_scan *scan, char mark);

/* Iterates over the members of an object or the elements of an array; 0 at the end. `name` is the name of a member,
 * with its quotes. */
struct json_scan json_slice_parts(struct json_slice slice);
int json_scan_part(struct json_scan *scan, int is_object, struct json_slice *name, struct json_slice *value);

static inline int json_slice_is_string(struct json_slice slice)
{
    return slice.length >= 2 && slice.bytes[0] == '"';
}
/* The bytes between the quotes, with escapes unresolved. */
static inline struct json_slice json_slice_inside(struct json_slice slice)
{
    return json_slice_is_string(slice) ? (struct json_slice){ slice.bytes + 1, slice.length - 2 } : slice;
}
/* A literal as a slice, for tables of names. */
#define SLICE(literal) { literal, sizeof literal - 1 }
static inline int json_slice_equal(struct json_slice a, struct json_slice b)
{
    return a.length == b.length && a.bytes && memcmp(a.bytes, b.bytes, b.length) == 0;
}
/* Whether the bytes between the quotes are this string. */
static inline int json_slice_is(struct json_slice slice, const char *string)
{
    return json_slice_equal(json_slice_inside(slice), (struct json_slice){ string, strlen(string) });
}

/* The integer, bare or in quotes; 0 if the value is no integer or does not fit. */
int json_slice_integer(struct json_slice slice, int64_t *out);
/* Microseconds with decimals, as ns: exact, and truncated below 1 ns. 0 if the value is no number or does not fit. */
int json_slice_ns(struct json_slice slice, int64_t *out);
/* The string with its escapes resolved. The result lies in the slice itself if nothing is escaped, else in scratch. */
struct json_slice json_slice_text(struct json_slice slice, struct text *scratch);

#endif
