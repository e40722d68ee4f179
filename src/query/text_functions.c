/* Replacements for SQLite's functions that search one text for another. SQLite's compare at every place: with two
 * long texts a single call takes minutes, and nothing can interrupt it. These give the same results in time that is
 * linear in the text. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "query_state.h"

/* A text and its length; NULL only when memory is short. */
static const unsigned char *text_functions_of(sqlite3_value *value, size_t *length)
{
    const unsigned char *text = sqlite3_value_text(value);

    *length = (size_t)sqlite3_value_bytes(value);
    return text;
}

static const unsigned char *text_functions_bytes_of(sqlite3_value *value, size_t *length)
{
    const unsigned char *bytes = sqlite3_value_blob(value);

    *length = (size_t)sqlite3_value_bytes(value);
    return bytes ?: (const unsigned char *)"";
}

static int any_is_null(int count, sqlite3_value **values)
{
    for (int i = 0; i < count; i++)
        if (sqlite3_value_type(values[i]) == SQLITE_NULL)
            return 1;
    return 0;
}

/* instr(X, Y): the place of Y in X, from 1; in bytes if both are blobs, else in characters. */
static void instr(sqlite3_context *context, int count, sqlite3_value **values)
{
    int is_blob = sqlite3_value_type(values[0]) == SQLITE_BLOB && sqlite3_value_type(values[1]) == SQLITE_BLOB;
    size_t length, wanted_length;

    if (any_is_null(count, values))
        return;
    const unsigned char *text = (is_blob ? text_functions_bytes_of : text_functions_of)(values[0], &length),
                        *wanted = (is_blob ? text_functions_bytes_of : text_functions_of)(values[1], &wanted_length);
    if (!text || !wanted) {
        sqlite3_result_error_nomem(context);
        return;
    }
    /* A pattern that starts with a continuation byte matches only at offset 0. */
    size_t searched = !is_blob && wanted_length && utf8_continues((char)wanted[0]) && length > wanted_length
                          ? wanted_length
                          : length;
    const unsigned char *found = wanted_length ? memmem(text, searched, wanted, wanted_length) : text;
    sqlite3_result_int64(context, !found          ? 0
                                  : is_blob       ? found - text + 1
                                  : found == text ? 1
                                                  : 1 + (sqlite3_int64)utf8_characters((const char *)text + 1,
                                                                                       (size_t)(found - text)));
}

/* replace(X, Y, Z): X with Z for each Y. */
static void text_functions_replace(sqlite3_context *context, int count, sqlite3_value **values)
{
    size_t length, old_length, new_length, occurrences = 0;

    if (any_is_null(2, values))
        return;
    const unsigned char *text = text_functions_of(values[0], &length), *old = text_functions_of(values[1], &old_length),
                        *new = text_functions_of(values[2], &new_length);
    if (old && !old[0]) {
        sqlite3_result_value(context, values[0]);
        return;
    }
    if (any_is_null(count, values))
        return;
    if (!text || !old || !new) {
        sqlite3_result_error_nomem(context);
        return;
    }
    const unsigned char *end = text + length;
    for (const unsigned char *at = text; (at = memmem(at, (size_t)(end - at), old, old_length)); at += old_length)
        occurrences++;
    uint64_t size = length - occurrences * old_length + (uint64_t)occurrences * new_length;
    if (size > (uint64_t)sqlite3_limit(sqlite3_context_db_handle(context), SQLITE_LIMIT_LENGTH, -1)) {
        sqlite3_result_error_toobig(context);
        return;
    }
    char *made = malloc(size + 1), *to = made;
    for (const unsigned char *at = text; made && at;) {
        const unsigned char *found = memmem(at, (size_t)(end - at), old, old_length);
        size_t before = (size_t)((found ? found : end) - at);
        memcpy(to, at, before);
        to += before;
        if (found) {
            memcpy(to, new, new_length);
            to += new_length;
        }
        at = found ? found + old_length : NULL;
    }
    if (made)
        sqlite3_result_text64(context, made, size, free, SQLITE_UTF8);
    else
        sqlite3_result_error_nomem(context);
}

enum { TRIM_FRONT = 1, TRIM_BACK = 2, MOST_TRIMMED = 256, CHARACTER_BYTES = 4 };

/* Characters in ascending order, so that a search takes as long for 256 of them as for a few: the bytes, the length,
 * and in the lowest eight bits the place in Y. The first in Y that fits is trimmed, as SQLite does it: in damaged UTF-8
 * one may be the beginning of another. */
struct character_set {
    uint64_t list[MOST_TRIMMED];
    size_t count;
    unsigned lengths; /* bit n: there are characters of n bytes */
};

static uint64_t pack_character(const unsigned char *bytes, size_t length)
{
    uint64_t packed = 0;

    for (size_t i = 0; i < length; i++)
        packed = packed << 8 | bytes[i];
    return packed << 16 | length << 8;
}

/* 0: there are more characters than fit, or one is not UTF-8. */
static int split_characters(struct character_set *set, const unsigned char *text, size_t length)
{
    set->count = set->lengths = 0;
    for (size_t at = 0, next; at < length; at = next) {
        next = at + 1;
        if (text[at] >= 0xc0)
            while (next < length && utf8_continues((char)text[next]))
                next++;
        if (set->count == MOST_TRIMMED || next - at > CHARACTER_BYTES)
            return 0;
        set->list[set->count] = pack_character(text + at, next - at) | set->count;
        set->count++;
        set->lengths |= 1u << (next - at);
    }
    qsort(set->list, set->count, sizeof *set->list, array_by_uint64);
    return 1;
}

/* The place in Y of a packed character; MOST_TRIMMED: it is not there. */
static unsigned place_in_set(const struct character_set *set, uint64_t packed)
{
    size_t first = BISECT(0, set->count, i, set->list[i] < packed);

    return first < set->count && (set->list[first] & ~(uint64_t)0xff) == packed ? set->list[first] & 0xff
                                                                                : MOST_TRIMMED;
}

/* How many bytes one of the characters has at the front, or at the back; 0: none is there. */
static size_t trimmed(const struct character_set *set, const unsigned char *text, size_t length, int side)
{
    unsigned first = MOST_TRIMMED;
    size_t found = 0;

    for (size_t n = 1; n <= CHARACTER_BYTES && n <= length; n++) {
        unsigned place = set->lengths & 1u << n
                             ? place_in_set(set, pack_character(side == TRIM_FRONT ? text : text + length - n, n))
                             : MOST_TRIMMED;
        if (place < first) {
            first = place;
            found = n;
        }
    }
    return found;
}

/* trim(X, Y), ltrim and rtrim: X without the characters of Y at its ends. */
static void text_functions_trim(sqlite3_context *context, int count, sqlite3_value **values)
{
    int sides = (int)(intptr_t)sqlite3_user_data(context);
    struct character_set characters;
    size_t length, set_length, part;

    if (any_is_null(count, values))
        return;
    const unsigned char *text = text_functions_of(values[0], &length), *set = text_functions_of(values[1], &set_length);
    if (!text || !set) {
        sqlite3_result_error_nomem(context);
        return;
    }
    if (!split_characters(&characters, set, set_length)) {
        sqlite3_result_error(context, "trim, ltrim and rtrim take at most 256 characters of UTF-8", -1);
        return;
    }
    while (sides & TRIM_FRONT && (part = trimmed(&characters, text, length, TRIM_FRONT)) != 0) {
        text += part;
        length -= part;
    }
    while (sides & TRIM_BACK && (part = trimmed(&characters, text, length, TRIM_BACK)) != 0)
        length -= part;
    sqlite3_result_text64(context, (const char *)text, length, SQLITE_TRANSIENT, SQLITE_UTF8);
}

int query_add_functions(sqlite3 *database)
{
    static const struct {
        const char *name;
        int arguments;
        intptr_t data;
        void (*run)(sqlite3_context *, int, sqlite3_value **);
    } functions[] = {
        { "instr", 2, 0, instr },
        { "replace", 3, 0, text_functions_replace },
        { "trim", 2, TRIM_FRONT | TRIM_BACK, text_functions_trim },
        { "ltrim", 2, TRIM_FRONT, text_functions_trim },
        { "rtrim", 2, TRIM_BACK, text_functions_trim },
    };

    for (size_t i = 0; i < COUNT_OF(functions); i++)
        if (sqlite3_create_function(database, functions[i].name, functions[i].arguments,
                                    SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS, (void *)functions[i].data,
                                    functions[i].run, NULL, NULL) != SQLITE_OK)
            return ERR_NO_MEMORY;
    return 0;
}
