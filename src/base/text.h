/* A text that grows: for messages, tables and files that are put together piece by piece.
 *
 * When memory runs out it stops growing and remembers; ask text_failed() once, at the end. */
#ifndef TACHO_BASE_TEXT_H
#define TACHO_BASE_TEXT_H

#include <stdarg.h>
#include <stddef.h>

struct text {
    char *bytes; /* a NUL follows; NULL while nothing was added */
    size_t length, capacity;
    int failed;
};

/* {0} is an empty text too. */
void text_init(struct text *text);
void text_free(struct text *text);

void text_add(struct text *text, const char *string);
void text_add_bytes(struct text *text, const void *bytes, size_t length);
void text_add_char(struct text *text, char c);
void text_add_repeat(struct text *text, char c, size_t count);
void text_addf(struct text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void text_addv(struct text *text, const char *format, va_list arguments);

/* Forgets the content, keeps the memory. */
void text_clear(struct text *text);
/* The same from a length on; a shorter text stays. */
void text_cut(struct text *text, size_t length);

/* Never NULL. */
const char *text_string(const struct text *text);
int text_failed(const struct text *text);

/* Hands the bytes (always NUL-terminated) to the caller, who frees them; the text is empty again. NULL if it failed. */
char *text_take(struct text *text);

#endif
