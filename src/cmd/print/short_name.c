/* Shortens the names of C++ functions step by step, each step a function from one text to the next. A name that is not
 * C++ passes them unchanged. Names that tools left mangled, and calls with the version of their interface, are first
 * made readable. */
#include "short_name.h"

#include <string.h>

#include "base/utf8.h"
#include "display.h"
#include "symbols/names/demangle.h"

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

/* ---- Reading --------------------------------------------------------------------------------------------------- */

/* "_ZN2at3addEv", "_ZN2at3addEv@plt" of the linker's table, and "__device_stub__ZN2at3addEv(…)", the function on the
 * host that stands for a kernel and has its name. */
static void add_demangled(struct text *out, const char *bytes, size_t length)
{
    static const char stub[] = "__device_stub_";
    size_t start = text_bytes_begin_with(bytes, length, stub) ? sizeof stub - 1 : 0, end = start;
    struct text mangled = { 0 }, name = { 0 };

    while (end < length && in_identifier(bytes[end]))
        end++;
    text_add_bytes(&mangled, bytes + start, end - start);
    if (text_bytes_begin_with(bytes + start, length - start, "_Z") && symbol_demangle(text_string(&mangled), &name)) {
        text_add(out, text_string(&name));
        if (end < length && bytes[end] == '@')
            text_add_bytes(out, bytes + end, length - end);
    } else {
        text_add_bytes(out, bytes, length);
    }
    text_free(&mangled);
    text_free(&name);
}

/* The length of "cudaMemcpy_v3020" without the version of CUDA's interface. */
static size_t without_version(const char *name, size_t length)
{
    size_t end = length;

    while (end > 0 && name[end - 1] >= '0' && name[end - 1] <= '9')
        end--;
    int has_version = length - end >= 4 && text_bytes_begin_with(name, length, "cu") && ends_with(name, end, "_v");
    return has_version ? end - strlen("_v") : length;
}

void short_name_drop_versions(struct text *out, const char *bytes, size_t length)
{
    for (size_t at = 0, end; at < length; at = end) {
        for (end = at; end < length && in_identifier(bytes[end]);)
            end++;
        text_add_bytes(out, bytes + at, without_version(bytes + at, end - at));
        if (end < length)
            text_add_char(out, bytes[end++]);
    }
}

static void add_readable(struct text *out, const char *bytes, size_t length)
{
    struct text demangled = { 0 };

    add_demangled(&demangled, bytes, length);
    short_name_drop_versions(out, text_string(&demangled), demangled.length);
    text_free(&demangled);
}

/* ---- Shortening ------------------------------------------------------------------------------------------------ */

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

/* The start of the last word outside of all brackets: the text before it is the return type. */
static size_t short_name_find_name(const char *bytes, size_t length)
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
    size_t name = parameters < end ? short_name_find_name(bytes, parameters) : 0;

    text_add_bytes(out, bytes + name, (parameters < end ? parameters : length) - name);
}

/* The length of the text without the namespace at its end. A class, which begins with a capital, stays. */
static size_t without_namespace(const char *bytes, size_t length)
{
    static const char *const anonymous[] = { "(anonymous namespace)", "<unnamed>" };
    size_t at = length;

    for (size_t i = 0; i < COUNT_OF(anonymous); i++)
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

/* The template arguments of a member function's class matter less than the function. */
static void drop_arguments_of_class(struct text *out, const char *bytes, size_t length)
{
    size_t opened = 0;
    int depth = 0;

    for (size_t at = 0; at < length; at++) {
        int opens = opens_arguments(bytes, at), closes = depth > 0 && closes_arguments(bytes, at);
        text_add_char(out, bytes[at]);
        depth += opens - closes;
        if (opens && depth == 1)
            opened = out->length;
        if (closes && depth == 0 && text_bytes_begin_with(bytes + at + 1, length - at - 1, "::")) {
            text_cut(out, opened);
            text_add(out, "…>");
        }
    }
}

/* The length without the line of the source after a function: " (queue.c:32)". */
static size_t without_place(const char *bytes, size_t length)
{
    size_t at = length;

    if (length == 0 || bytes[--at] != ')')
        return length;
    while (at > 0 && bytes[at - 1] >= '0' && bytes[at - 1] <= '9')
        at--;
    if (at == length - 1 || at == 0 || bytes[at - 1] != ':')
        return length;
    while (at > 0 && bytes[at - 1] != ' ' && bytes[at - 1] != '(')
        at--;
    return ends_with(bytes, at, " (") ? at - strlen(" (") : length;
}

static void (*const steps[])(struct text *out, const char *bytes, size_t length) = {
    drop_signature,
    drop_namespaces,
    drop_inner_arguments,
    drop_arguments_of_class,
};
enum { STEPS = COUNT_OF(steps), STEPS_OF_CUT = 2 };

/* Adds the readable name after as many steps as it needs to fit, at most so many, and the line of the source as it is.
 * columns 0: all of these steps. */
static void short_name_add_steps(struct text *out, const char *bytes, size_t length, size_t most, size_t columns)
{
    struct text now = { 0 }, next = { 0 };
    size_t name = without_place(bytes, length), place = display_columns(bytes + name, length - name);
    size_t room = columns > place ? columns - place : 0;

    add_readable(&now, bytes, name);
    for (size_t i = 0; i < most && !(columns && display_fits(text_string(&now), now.length, room)); i++) {
        struct text last = now;
        text_clear(&next);
        steps[i](&next, text_string(&now), now.length);
        now = next;
        next = last;
    }
    text_add_bytes(out, text_string(&now), now.length);
    text_add_bytes(out, bytes + name, length - name);
    text_free(&now);
    text_free(&next);
}

/* Adds a name that no step shortens any more: its end is cut where it has template arguments, else its middle. */
static size_t add_cut_name(struct text *out, const char *bytes, size_t length, size_t columns)
{
    return ends_with(bytes, length, ">") ? display_add(out, bytes, length, columns)
                                         : display_add_middle(out, bytes, length, columns);
}

size_t short_name_add(struct text *out, const char *bytes, size_t length, size_t columns)
{
    struct text shown = { 0 };

    short_name_add_steps(&shown, bytes, length, columns ? STEPS : 0, columns);
    const char *text = text_string(&shown);
    size_t name = without_place(text, shown.length), place = display_columns(text + name, shown.length - name);
    size_t name_columns = display_columns(text, name), half = columns / 2;
    if (columns && name_columns + place > columns) { /* each has half of the room, and what the other does not need */
        size_t most = name_columns < columns - half ? columns - name_columns : half;
        place = place < most ? place : most;
        name_columns = columns - place;
    }
    size_t taken = add_cut_name(out, text, name, name_columns);
    if (place)
        taken += display_add_elided(out, text + name, shown.length - name, place, strlen(" ("));
    text_free(&shown);
    return taken;
}

/* ---- Telling apart --------------------------------------------------------------------------------------------- */

/* The place where two texts differ, or the start of the word there, if it is near; SIZE_MAX if they are equal. */
static size_t find_difference(const struct text *a, const struct text *b)
{
    enum { NEAR = 12 };
    const char *bytes = text_string(a), *other = text_string(b);
    size_t at = 0;

    while (at < a->length && at < b->length && bytes[at] == other[at])
        at++;
    if (at == a->length && at == b->length)
        return SIZE_MAX;
    for (int i = 0; i < NEAR && at > 0 && in_identifier(bytes[at - 1]) && bytes[at - 1] != '_'; i++)
        at--;
    return at < a->length && utf8_continues(bytes[at]) ? utf8_before(bytes, at) : at;
}

int short_name_differ(const struct table_cell *a, const struct table_cell *b, struct short_name_cut *out)
{
    size_t from = SIZE_MAX;

    for (size_t left = STEPS_OF_CUT + 1; left-- > 0 && from == SIZE_MAX;) {
        struct text one = { 0 }, other = { 0 };
        short_name_add_steps(&one, a->text.bytes, a->text.length, left, 0);
        short_name_add_steps(&other, b->text.bytes, b->text.length, left, 0);
        from = find_difference(&one, &other);
        *out = (struct short_name_cut){ .is_cut = 1, .steps = left, .from = from };
        text_free(&one);
        text_free(&other);
    }
    return from != SIZE_MAX;
}

size_t short_name_add_cut(struct text *out, const char *bytes, size_t length, size_t columns,
                          const struct short_name_cut *cut)
{
    struct text name = { 0 };

    short_name_add_steps(&name, bytes, length, cut->steps, 0);
    size_t from = cut->from < name.length ? cut->from : name.length, least = columns / 3;
    const char *end = text_string(&name) + from;
    size_t wanted = display_columns(end, name.length - from);
    size_t head = wanted + 1 + least < columns ? columns - wanted - 1 : least;
    size_t taken = display_add_elided(out, text_string(&name), from, head + 1, head);
    if (taken < columns)
        taken += display_add(out, end, name.length - from, columns - taken);
    text_free(&name);
    return taken;
}
