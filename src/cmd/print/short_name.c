/* Shortens the names of C++ functions step by step, each step a function from one text to the next. A name that is not
 * C++ passes them unchanged. */
#include "short_name.h"

#include <string.h>

#include "display.h"

static int in_identifier(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '$' ||
           (unsigned char)c >= 0x80;
}

static int ends_with(const char *bytes, size_t length, const char *ending)
{
    size_t size = strlen(ending);

    return length >= size && memcmp(bytes + length - size, ending, size) == 0;
}

/* Whether the bracket at a place opens a list of template arguments, or closes one: not so in operator<< and ->. */
static int opens_arguments(const char *bytes, size_t at)
{
    return bytes[at] == '<' && !ends_with(bytes, at, "operator") && !ends_with(bytes, at, "operator<");
}

static int closes_arguments(const char *bytes, size_t at)
{
    return bytes[at] == '>' && at > 0 && bytes[at - 1] != '-';
}

/* The place of the parenthesis that the last one of the text closes, or the length if the text has no parameters. */
static size_t find_parameters(const char *bytes, size_t length)
{
    int depth = 0;

    if (length == 0 || bytes[length - 1] != ')')
        return length;
    for (size_t at = length; at-- > 0;) {
        depth += (bytes[at] == ')') - (bytes[at] == '(');
        if (depth)
            continue;
        int is_named = at > 0 && (in_identifier(bytes[at - 1]) || bytes[at - 1] == '>') &&
                       !ends_with(bytes, at, "operator");
        return is_named || ends_with(bytes, at, "operator()") ? at : length;
    }
    return length;
}

/* The begin of the last word outside of all brackets: what stands before it is the type that is returned. */
static size_t find_name(const char *bytes, size_t length)
{
    size_t name = 0;
    int depth = 0;

    for (size_t at = 0; at < length; at++) {
        depth += (bytes[at] == '(') - (bytes[at] == ')') + opens_arguments(bytes, at) -
                 (depth > 0 && closes_arguments(bytes, at));
        int of_operator = ends_with(bytes, at, "operator") || ends_with(bytes, at, "<<"); /* operator<< <int> */
        if (bytes[at] == ' ' && depth == 0 && !of_operator)
            name = at + 1;
    }
    return name;
}

static void drop_signature(struct text *out, const char *bytes, size_t length)
{
    size_t end = ends_with(bytes, length, " const") ? length - strlen(" const") : length;
    size_t parameters = find_parameters(bytes, end);
    size_t name = parameters < end ? find_name(bytes, parameters) : 0;

    text_add_bytes(out, bytes + name, (parameters < end ? parameters : length) - name);
}

/* The length of the text without the namespace at its end. A class, which begins with a capital, stays. */
static size_t without_namespace(const char *bytes, size_t length)
{
    static const char *const anonymous[] = { "(anonymous namespace)", "<unnamed>" };
    size_t at = length;

    for (size_t i = 0; i < sizeof anonymous / sizeof anonymous[0]; i++)
        if (ends_with(bytes, length, anonymous[i]))
            return length - strlen(anonymous[i]);
    while (at > 0 && in_identifier(bytes[at - 1]))
        at--;
    return at < length && (bytes[at] < 'A' || bytes[at] > 'Z') ? at : length;
}

static void drop_namespaces(struct text *out, const char *bytes, size_t length)
{
    for (size_t at = 0; at < length; at++) {
        if (bytes[at] == ':' && at + 1 < length && bytes[at + 1] == ':') {
            size_t kept = without_namespace(text_string(out), out->length);
            if (kept < out->length)
                text_cut(out, kept);
            else
                text_add(out, "::");
            at++;
            continue;
        }
        text_add_char(out, bytes[at]);
    }
}

static void drop_inner_arguments(struct text *out, const char *bytes, size_t length)
{
    int depth = 0;

    for (size_t at = 0; at < length; at++) {
        int opens = opens_arguments(bytes, at), closes = depth > 0 && closes_arguments(bytes, at);
        depth -= closes;
        if (depth < 2)
            text_add_char(out, bytes[at]);
        if (opens && depth == 1)
            text_add(out, "…");
        depth += opens;
    }
}

size_t short_name_add(struct text *out, const char *bytes, size_t length, size_t columns, size_t before)
{
    static void (*const steps[])(struct text *out, const char *bytes, size_t length) = {
        drop_signature,
        drop_namespaces,
        drop_inner_arguments,
    };
    struct text now = { 0 }, next = { 0 };

    text_add_bytes(&now, bytes, length);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && !display_fits(now.bytes, now.length, columns); i++) {
        struct text last = now;
        text_clear(&next);
        steps[i](&next, text_string(&now), now.length);
        now = next;
        next = last;
    }
    size_t taken = before ? display_add_elided(out, text_string(&now), now.length, columns, before)
                   : now.length && memchr(now.bytes, '<', now.length)
                       ? display_add(out, now.bytes, now.length, columns)
                       : display_add_middle(out, text_string(&now), now.length, columns);
    text_free(&now);
    text_free(&next);
    return taken;
}
