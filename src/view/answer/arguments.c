/* Parses requests. They come from the network, so every number is checked. */
#include "arguments.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

static int hex_digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : (c | 0x20) >= 'a' && (c | 0x20) <= 'f' ? (c | 0x20) - 'a' + 10 : -1;
}

/* Decodes up to an end (a separator or NUL) in place: %XX and + for a space. The length, or -1. */
static ptrdiff_t arguments_decode(char *from, const char *end)
{
    char *out = from;

    for (const char *at = from; at < end; at++) {
        if (*at == '%') {
            int high = end - at > 2 ? hex_digit(at[1]) : -1, low = high >= 0 ? hex_digit(at[2]) : -1;
            if (low < 0)
                return -1;
            *out++ = (char)(high << 4 | low);
            at += 2;
        } else
            *out++ = *at == '+' ? ' ' : *at;
    }
    return out - from;
}

/* One "name=value" that ends at end. */
static int arguments_add_argument(struct arguments *arguments, char *from, char *end, struct error *err)
{
    char *equals = memchr(from, '=', (size_t)(end - from)), *name_end = equals ? equals : end,
         *value = equals ? equals + 1 : end;

    if (from == end)
        return 0;
    if (arguments->count == MOST_ARGUMENTS)
        return error_set(err, ERR_BAD_ARGUMENT, "a request has at most %d arguments", MOST_ARGUMENTS);
    ptrdiff_t name_length = arguments_decode(from, name_end), length = arguments_decode(value, end);
    if (name_length < 0 || length < 0)
        return error_set(err, ERR_BAD_ARGUMENT, "a %% in a request must be followed by two hexadecimal digits");
    value[length] = 0; /* for a bare name, this is its separator */
    from[name_length] = 0;
    arguments->list[arguments->count++] = (struct argument){ from, value, (size_t)length };
    return 0;
}

int arguments_parse(struct arguments *arguments, const char *request, const char *body, size_t body_length,
                    struct error *err)
{
    size_t length = strlen(request);
    int code;

    *arguments = (struct arguments){ .body = body, .body_length = body_length, .bytes = malloc(length + 1) };
    if (!arguments->bytes)
        return error_no_memory(err);
    memcpy(arguments->bytes, request, length + 1);
    arguments->request = arguments->bytes;
    char *at = strchr(arguments->bytes, '?'), *end = arguments->bytes + length;
    if (at)
        *at++ = 0;
    while (at && at < end) {
        char *separator = strchr(at, '&');
        separator = separator ? separator : end;
        if ((code = arguments_add_argument(arguments, at, separator, err)) != 0) {
            arguments_free(arguments);
            return code;
        }
        at = separator + 1;
    }
    return 0;
}

void arguments_free(struct arguments *arguments)
{
    free(arguments->bytes);
    *arguments = (struct arguments){ 0 };
}

const char *argument_text(const struct arguments *arguments, const char *name, size_t *length)
{
    for (size_t i = 0; i < arguments->count; i++)
        if (strcmp(arguments->list[i].name, name) == 0) {
            if (length)
                *length = arguments->list[i].length;
            return arguments->list[i].value;
        }
    return NULL;
}

/* Parses a whole number; *end is the first character after it. */
static int parse_int(const char *text, const char **end, int64_t *out)
{
    char *behind;

    if (!isdigit((unsigned char)*text) && *text != '-')
        return ERR_BAD_ARGUMENT;
    errno = 0;
    *out = strtoll(text, &behind, 10);
    *end = behind;
    return errno || behind == text ? ERR_BAD_ARGUMENT : 0;
}

int argument_int(const struct arguments *arguments, const char *name, int64_t least, int64_t most, int64_t *out,
                 struct error *err)
{
    const char *text = argument_text(arguments, name, NULL), *end;
    int64_t value;

    if (!text)
        return 0;
    if (parse_int(text, &end, &value) != 0 || *end || value < least || value > most)
        return error_set(err, ERR_BAD_ARGUMENT, "%s=%.40s: must be a whole number from %lld to %lld", name, text,
                         (long long)least, (long long)most);
    *out = value;
    return 0;
}

int argument_int_needed(const struct arguments *arguments, const char *name, int64_t least, int64_t most, int64_t *out,
                        struct error *err)
{
    if (!argument_text(arguments, name, NULL))
        return error_set(err, ERR_BAD_ARGUMENT, "%s: the argument %s is missing", arguments->request, name);
    return argument_int(arguments, name, least, most, out, err);
}

int argument_list_next(const char **at, int64_t least, int64_t most, int64_t *out, struct error *err)
{
    const char *end;

    if (!**at)
        return 0;
    if (parse_int(*at, &end, out) != 0 || (*end && *end != ',') || *out < least || *out > most)
        return error_set(err, ERR_BAD_ARGUMENT, "%.40s: must be a list of whole numbers from %lld to %lld", *at,
                         (long long)least, (long long)most);
    *at = *end ? end + 1 : end;
    return 1;
}
