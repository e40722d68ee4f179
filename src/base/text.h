/* A growing string, for messages, tables and files that are built piece by piece.
 *
 * When memory runs out the text stops growing and remembers the failure; call text_failed() once, at the end. */
#ifndef TACHO_BASE_TEXT_H
#define TACHO_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>

#include "array.h"

struct text {
    char *bytes; /* a NUL follows; NULL while nothing was added */
    size_t length, capacity;
    int failed;
};

/* {0} is a valid empty text. */
void text_init(struct text *text);
void text_free(struct text *text);

void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t length);
void text_add_char(struct text *text, char c);
void text_add_repeat(struct text *text, char c, size_t count);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_addv(struct text *text, const char *format, va_list arguments);

/* For writers of many small pieces: a pointer to room for `extra` bytes behind the content, or NULL once memory ran
 * out. The caller writes there, and text_commit() sets the new end. */
char *text_grow(struct text *text, size_t extra);
static inline char *text_room(struct text *text, size_t extra)
{
    return !text->failed && extra < text->capacity - text->length ? text->bytes + text->length : text_grow(text, extra);
}
static inline void text_commit(struct text *text, char *end)
{
    text->length = (size_t)(end - text->bytes);
    *end = 0;
}

/* Removes the content, keeps the memory. */
void text_clear(struct text *text);
/* Truncates to a length; a shorter text stays as it is. */
void text_cut(struct text *text, size_t length);

/* Never NULL. */
const char *text_string(const struct text *text);
int text_failed(const struct text *text);

/* Hands the bytes (always NUL-terminated) to the caller, who frees them; the text is empty again. NULL if it failed. */
char *text_take(struct text *text);

/* ---- files ----------------------------------------------------------------------------------------------------- */

/* Appends the content of a file: 0, or -1 and errno. */
int text_add_file(struct text *text, const char *path);
/* Makes it the content of a file, which may exist: 0, or -1 and errno. */
int text_write_file(const struct text *text, const char *path);

/* ---- strings of others ----------------------------------------------------------------------------------------- */

/* Whether a string begins like this. */
int text_begins_with(const char *string, const char *start);
/* Whether it begins like one of a list that ends with NULL. */
int text_begins_with_one(const char *string, const char *const *starts);
/* Whether it ends like this. */
int text_ends_with(const char *string, const char *end);
/* Whether bytes begin like this, which need no NUL behind them. */
int text_bytes_begin_with(const char *bytes, size_t length, const char *start);

#endif
