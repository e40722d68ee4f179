/* Fuzzes the regex engine. The input is a byte of flags, the expression up to a zero byte, and the text. The result
 * must not depend on the state of the cache: an expression that has matched other texts before must agree with a new
 * one. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/regex/regex.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int match_with_a_new_one(const char *pattern, size_t length, unsigned flags, const char *text,
                                size_t text_length)
{
    struct regex *regex = regex_compile(pattern, length, flags, NULL);
    int is_match = regex ? regex_matches(regex, text, text_length) : -1;

    regex_free(regex);
    return is_match;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct error err = { 0 };

    if (size == 0)
        return 0;
    unsigned flags = *data & (REGEX_BASIC | REGEX_IGNORE_CASE);
    const char *pattern = (const char *)data + 1, *text = memchr(pattern, 0, size - 1);
    size_t length = text ? (size_t)(text - pattern) : size - 1, text_length = text ? size - 2 - length : 0;
    text = text ? text + 1 : "";

    struct regex *regex = regex_compile(pattern, length, flags, &err);
    if (!regex)
        return err.text[0] ? 0 : (abort(), 0);
    for (size_t cut = 0; cut <= text_length; cut += 1 + text_length / 4)
        if (regex_matches(regex, text + cut, text_length - cut) !=
            match_with_a_new_one(pattern, length, flags, text + cut, text_length - cut))
            abort();
    regex_free(regex);
    return 0;
}
