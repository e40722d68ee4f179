/* JSON, read where it lies and only as far as it is needed: no tree, no copies. It is lenient, because traces are
 * written by hand-made printers: a quote inside a string that is not escaped, control characters, NaN and Infinity are
 * taken as they are meant. All functions want SCAN_GUARD readable zeros behind the end. */
#ifndef TACHO_BASE_JSON_SCAN_H
#define TACHO_BASE_JSON_SCAN_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "text.h"

enum { SCAN_GUARD = 16 };

/* What a function found: a value; an end of the bytes before the end of the value; something that is not JSON. */
enum { SCAN_OK = 0, SCAN_CUT = 1, SCAN_BAD = 2 };

struct scan {
    const char *at, *end;
    int whole;         /* nothing follows the end */
    int levels;        /* of brackets that a value may have; 0: as many as the scanner can count */
    uint64_t repaired; /* quotes that should have been escaped */
};

/* A piece of the text: a value as it stands there, a string with its quotes. */
struct slice {
    const char *bytes;
    size_t length;
};

/* Where a string stands tells what may follow it. */
enum place { PLACE_KEY, PLACE_OBJECT, PLACE_ARRAY };

void json_scan_space(struct scan *scan);
/* A string with its quotes; at is on the first one. */
int json_scan_string(struct scan *scan, enum place place, struct slice *out);
/* Any value. */
int json_scan_value(struct scan *scan, enum place place, struct slice *out);
/* Behind the colon or comma; SCAN_BAD if another character is there. */
int json_scan_mark(struct scan *scan, char mark);

/* The parts of an object or an array, one after another: its members or elements; 0 at its end. name is that of a
 * member, as it stands there. */
struct scan json_slice_parts(struct slice slice);
int json_scan_part(struct scan *scan, int is_object, struct slice *name, struct slice *value);

static inline int json_slice_is_string(struct slice slice)
{
    return slice.length >= 2 && slice.bytes[0] == '"';
}
/* What is between the quotes, without a look at what is escaped there. */
static inline struct slice json_slice_inside(struct slice slice)
{
    return json_slice_is_string(slice) ? (struct slice){ slice.bytes + 1, slice.length - 2 } : slice;
}
/* A literal as a slice, for tables of names. */
#define SLICE(literal) { literal, sizeof literal - 1 }
static inline int json_slice_equal(struct slice a, struct slice b)
{
    return a.length == b.length && a.bytes && memcmp(a.bytes, b.bytes, b.length) == 0;
}
/* Whether that string is between the quotes. */
static inline int json_slice_is(struct slice slice, const char *string)
{
    return json_slice_equal(json_slice_inside(slice), (struct slice){ string, strlen(string) });
}

/* The integer, whole or in quotes; 0 if it is none or does not fit. */
int json_slice_integer(struct slice slice, int64_t *out);
/* Microseconds with decimals, as ns, exactly; what is below 1 ns is cut off. 0 if it is no number or does not fit. */
int json_slice_ns(struct slice slice, int64_t *out);
/* The string with its escapes resolved; it lies in the slice itself where nothing is escaped, else in scratch. */
struct slice json_slice_text(struct slice slice, struct text *scratch);

#endif
