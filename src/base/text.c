/* A growable string; see text.h. */
#include "text.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void text_init(struct text *text)
{
    *text = (struct text){ 0 };
}

void text_free(struct text *text)
{
    free(text->bytes);
    text_init(text);
}

/* The room includes the NUL behind the bytes. */
char *text_grow(struct text *text, size_t extra)
{
    if (text->failed)
        return NULL;
    if (extra < text->capacity - text->length)
        return text->bytes + text->length;
    size_t capacity = text->capacity ? text->capacity : 64;
    while (capacity - text->length <= extra) {
        if (capacity > SIZE_MAX / 2) {
            text->failed = 1;
            return NULL;
        }
        capacity *= 2;
    }
    char *bytes = realloc(text->bytes, capacity);
    if (!bytes) {
        text->failed = 1;
        return NULL;
    }
    text->bytes = bytes;
    text->capacity = capacity;
    return bytes + text->length;
}

void text_add_bytes(struct text *text, const void *bytes, size_t length)
{
    char *end = text_room(text, length);
    if (!end)
        return;
    if (length)
        memcpy(end, bytes, length);
    end[length] = 0;
    text->length += length;
}

void text_add(struct text *text, const char *string)
{
    text_add_bytes(text, string, strlen(string));
}

void text_add_char(struct text *text, char c)
{
    text_add_bytes(text, &c, 1);
}

void text_add_repeat(struct text *text, char c, size_t count)
{
    char *end = text_room(text, count);
    if (!end)
        return;
    memset(end, c, count);
    end[count] = 0;
    text->length += count;
}

void text_addv(struct text *text, const char *format, va_list arguments)
{
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    char *end = length < 0 ? NULL : text_room(text, (size_t)length);
    if (end) {
        vsnprintf(end, (size_t)length + 1, format, again);
        text->length += (size_t)length;
    }
    va_end(again);
}

void text_addf(struct text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    text_addv(text, format, arguments);
    va_end(arguments);
}

void text_clear(struct text *text)
{
    text_cut(text, 0);
}

void text_cut(struct text *text, size_t length)
{
    text->length = length < text->length ? length : text->length;
    if (text->bytes)
        text->bytes[text->length] = 0;
}

const char *text_string(const struct text *text)
{
    return text->bytes ? text->bytes : "";
}

int text_failed(const struct text *text)
{
    return text->failed;
}

char *text_take(struct text *text)
{
    text_add_bytes(text, "", 0);
    char *bytes = text->failed ? NULL : text->bytes;
    if (text->failed)
        free(text->bytes);
    text_init(text);
    return bytes;
}

int text_add_file(struct text *text, const char *path)
{
    char bytes[65536];
    FILE *file = fopen(path, "re");
    size_t got;

    while (file && (got = fread(bytes, 1, sizeof bytes, file)) > 0)
        text_add_bytes(text, bytes, got);
    int failed = !file || ferror(file);
    if (file)
        fclose(file);
    return failed ? -1 : 0;
}

int text_write_file(const struct text *text, const char *path)
{
    FILE *file = text_failed(text) ? NULL : fopen(path, "we");
    int failed = !file || fwrite(text_string(text), 1, text->length, file) != text->length;

    if (file)
        failed |= fclose(file) != 0;
    return failed ? -1 : 0;
}

int text_begins_with(const char *string, const char *start)
{
    return strncmp(string, start, strlen(start)) == 0;
}

int text_begins_with_one(const char *string, const char *const *starts)
{
    while (*starts && !text_begins_with(string, *starts))
        starts++;
    return *starts != NULL;
}

int text_ends_with(const char *string, const char *end)
{
    size_t length = strlen(string), tail = strlen(end);

    return length >= tail && strcmp(string + length - tail, end) == 0;
}

int text_bytes_begin_with(const char *bytes, size_t length, const char *start)
{
    size_t wanted = strlen(start);

    return length >= wanted && memcmp(bytes, start, wanted) == 0;
}
