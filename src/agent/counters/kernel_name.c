/* A reader of mangled names (the Itanium C++ ABI). It builds nothing: the name of the function stands in the symbol as
 * it is, after its length, so all else is only skipped. The collector demangles with libiberty (symbols/names), which
 * needs a kilobyte of stack for each character of a name; hooks have a few in all. */
#include "kernel_name.h"

#include <string.h>

#include "base/array.h"

enum { DEPTH_MOST = 64 };

struct mangled {
    const char *at;
    const char *name; /* the last one that was passed on the outermost level; NULL: none yet */
    size_t length;
    int depth, is_wrong;
};

static void pass_type(struct mangled *m);
static void pass_name(struct mangled *m);
static void pass_encoding(struct mangled *m);

static int kernel_name_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static int is_lower(char c)
{
    return c >= 'a' && c <= 'z';
}

static void kernel_name_fail(struct mangled *m)
{
    m->is_wrong = 1;
}

static int kernel_name_passes(struct mangled *m, char c)
{
    if (*m->at != c)
        return 0;
    m->at++;
    return 1;
}

static void expect(struct mangled *m, char c)
{
    if (!kernel_name_passes(m, c))
        kernel_name_fail(m);
}

/* Skips the number of a substitution, a parameter or the like, and the '_' after it. */
static void kernel_name_pass_number(struct mangled *m)
{
    while (kernel_name_is_digit(*m->at) || is_upper(*m->at))
        m->at++;
    expect(m, '_');
}

/* Calls pass() up to the 'E', one level deeper. */
static void pass_until_end(struct mangled *m, void (*pass)(struct mangled *m))
{
    if (++m->depth > DEPTH_MOST)
        kernel_name_fail(m);
    while (!m->is_wrong && *m->at && *m->at != 'E')
        pass(m);
    m->depth--;
    expect(m, 'E');
}

static void pass_source_name(struct mangled *m)
{
    size_t length = 0;

    for (; kernel_name_is_digit(*m->at) && length < 1 << 20; m->at++)
        length = length * 10 + (size_t)(*m->at - '0');
    if (!length || strnlen(m->at, length) < length) {
        kernel_name_fail(m);
        return;
    }
    if (m->depth == 0) {
        m->name = m->at;
        m->length = length;
    }
    m->at += length;
}

/* ---- Template arguments and expressions ------------------------------------------------------------------------ */

/* Behind the 'L'. */
static void pass_literal(struct mangled *m)
{
    if (m->at[0] == '_' && m->at[1] == 'Z') {
        m->at += 2;
        pass_encoding(m);
    } else {
        pass_type(m);
        while (kernel_name_is_digit(*m->at) || is_lower(*m->at) || *m->at == '_')
            m->at++;
    }
    expect(m, 'E');
}

static void pass_argument(struct mangled *m);

static void pass_arguments_here(struct mangled *m)
{
    if (kernel_name_passes(m, 'I'))
        pass_until_end(m, pass_argument);
}

static void pass_substitution(struct mangled *m)
{
    expect(m, 'S');
    if (is_lower(*m->at))
        m->at++;
    else
        kernel_name_pass_number(m);
}

static void pass_operator(struct mangled *m);

static void pass_expression(struct mangled *m)
{
    switch (*m->at) {
    case 'L':
        m->at++;
        pass_literal(m);
        break;
    case 'T':
        m->at++;
        kernel_name_pass_number(m);
        break;
    case 'S': pass_substitution(m); break;
    case 'N':
    case 'Z': pass_name(m); break;
    case 'I': pass_arguments_here(m); break;
    case 'J':
        m->at++;
        pass_until_end(m, pass_argument);
        break;
    case 'X':
        m->at++;
        pass_until_end(m, pass_expression);
        break;
    default:
        if (kernel_name_is_digit(*m->at))
            pass_source_name(m);
        else
            pass_operator(m);
    }
}

/* Skips the two letters of an operator, and its type and its list if it has them. Operands follow as expressions of
 * their own. */
static void pass_operator(struct mangled *m)
{
    static const struct {
        char letters[3];
        int has_type, has_end;
    } operators[] = { { "cl", 0, 1 }, { "il", 0, 1 }, { "tl", 1, 1 }, { "cv", 1, 0 },
                      { "st", 1, 0 }, { "at", 1, 0 }, { "ti", 1, 0 }, { "sr", 1, 0 } };

    if (!is_lower(m->at[0]) || !m->at[1]) {
        kernel_name_fail(m);
        return;
    }
    const char *letters = m->at;
    m->at += 2;
    if (letters[0] == 'f' && (letters[1] == 'p' || letters[1] == 'L')) { /* a parameter: fp_, fp0_, fL0p_ */
        while (*m->at && *m->at != '_')
            m->at++;
        expect(m, '_');
        return;
    }
    for (size_t i = 0; i < COUNT_OF(operators); i++) {
        if (memcmp(letters, operators[i].letters, 2) != 0)
            continue;
        if (operators[i].has_type)
            pass_type(m);
        if (operators[i].has_end || (letters[0] == 'c' && letters[1] == 'v' && kernel_name_passes(m, '_')))
            pass_until_end(m, pass_expression);
    }
}

static void pass_argument(struct mangled *m)
{
    if (kernel_name_passes(m, 'L'))
        pass_literal(m);
    else if (kernel_name_passes(m, 'X'))
        pass_until_end(m, pass_expression);
    else if (kernel_name_passes(m, 'J'))
        pass_until_end(m, pass_argument);
    else
        pass_type(m);
}

/* ---- Types ----------------------------------------------------------------------------------------------------- */

/* Behind the 'D'. */
static void pass_d_type(struct mangled *m)
{
    switch (*m->at++) {
    case 'p':
    case 'o': pass_type(m); break;
    case 't':
    case 'T': pass_until_end(m, pass_expression); break;
    case 'v':
        kernel_name_pass_number(m);
        pass_type(m);
        break;
    case 'F':
        while (kernel_name_is_digit(*m->at))
            m->at++;
        m->at += *m->at == '_' || *m->at == 'b' || *m->at == 'x';
        break;
    case 0:
        m->at--;
        kernel_name_fail(m);
        break;
    default: break; /* decltype(nullptr), auto, char16_t and the like */
    }
}

static void pass_array(struct mangled *m)
{
    if (kernel_name_is_digit(*m->at) || *m->at == '_') {
        kernel_name_pass_number(m);
    } else {
        while (!m->is_wrong && *m->at && *m->at != '_')
            pass_expression(m);
        expect(m, '_');
    }
    pass_type(m);
}

static void pass_parameter(struct mangled *m)
{
    if ((m->at[0] == 'R' || m->at[0] == 'O') && m->at[1] == 'E') /* f() & */
        m->at++;
    else
        pass_type(m);
}

static void pass_named_type(struct mangled *m)
{
    m->depth++;
    if (m->at[0] == 'S' && m->at[1] != 't')
        pass_substitution(m);
    else
        pass_name(m);
    pass_arguments_here(m);
    m->depth--;
}

static void pass_type(struct mangled *m)
{
    while (*m->at && strchr("PROKVrGC", *m->at)) /* pointers, references, qualifiers */
        m->at++;
    if (++m->depth > DEPTH_MOST)
        kernel_name_fail(m);
    if (m->is_wrong)
        return;
    switch (*m->at) {
    case 'A':
        m->at++;
        pass_array(m);
        break;
    case 'M':
        m->at++;
        pass_type(m);
        pass_type(m);
        break;
    case 'F':
        m->at++;
        kernel_name_passes(m, 'Y');
        pass_until_end(m, pass_parameter);
        break;
    case 'D':
        m->at++;
        pass_d_type(m);
        break;
    case 'T':
        m->at++;
        kernel_name_pass_number(m);
        pass_arguments_here(m);
        break;
    case 'u':
        m->at++;
        pass_source_name(m);
        pass_arguments_here(m);
        break;
    case 'U':
        if (m->at[1] == 'l' || m->at[1] == 't') {
            pass_named_type(m);
        } else {
            m->at++;
            pass_source_name(m);
            pass_arguments_here(m);
            pass_type(m);
        }
        break;
    default:
        if (is_lower(*m->at))
            m->at++;
        else
            pass_named_type(m);
    }
    m->depth--;
}

/* ---- Names ----------------------------------------------------------------------------------------------------- */

/* Skips a lambda or another type without a name, after its 'U'. */
static void pass_unnamed(struct mangled *m)
{
    if (kernel_name_passes(m, 'l'))
        pass_until_end(m, pass_type);
    else
        expect(m, 't');
    kernel_name_pass_number(m);
}

/* operator() and the like: of a function around, for a kernel is none. */
static void pass_function_sign(struct mangled *m)
{
    int is_conversion = m->at[0] == 'c' && m->at[1] == 'v';

    if (m->depth == 0 || !is_lower(m->at[0]) || !m->at[1]) {
        kernel_name_fail(m);
        return;
    }
    m->at += 2;
    if (is_conversion)
        pass_type(m);
}

/* A part of a name that is nested, or the whole of one that is not. */
static void pass_component(struct mangled *m)
{
    switch (*m->at) {
    case 'I': pass_arguments_here(m); break;
    case 'S': pass_substitution(m); break;
    case 'T':
        m->at++;
        kernel_name_pass_number(m);
        break;
    case 'U':
        m->at++;
        pass_unnamed(m);
        break;
    case 'L':
        m->at++;
        pass_source_name(m);
        break;                /* of a static function */
    case 'M': m->at++; break; /* of a lambda in the initializer of a member */
    case 'B':
        m->at++;
        m->depth++;
        pass_source_name(m);
        m->depth--;
        break;
    case 'C':
    case 'D':
        if (kernel_name_is_digit(m->at[1]))
            m->at += 2; /* a constructor or destructor */
        else
            pass_type(m);
        break;
    default:
        if (kernel_name_is_digit(*m->at))
            pass_source_name(m);
        else
            pass_function_sign(m);
    }
}

static void pass_nested(struct mangled *m)
{
    while (*m->at && strchr("rVKRO", *m->at))
        m->at++;
    while (!m->is_wrong && *m->at && *m->at != 'E')
        pass_component(m);
    expect(m, 'E');
}

/* Skips a local name, after its 'Z'. */
static void pass_local(struct mangled *m)
{
    if (++m->depth > DEPTH_MOST)
        kernel_name_fail(m);
    else
        pass_encoding(m);
    m->depth--;
    expect(m, 'E');
    if (kernel_name_passes(m, 'd'))
        kernel_name_pass_number(m);
    if (kernel_name_passes(m, 's'))
        return;
    if (m->is_wrong || *m->at == 'Z') { /* what is local to several functions is written as ZZ…E…E */
        kernel_name_fail(m);
        return;
    }
    pass_name(m);
    if (m->at[0] == '_' && (m->at[1] == '_' || kernel_name_is_digit(m->at[1]))) { /* which of several */
        m->at += 1 + (m->at[1] == '_');
        while (kernel_name_is_digit(*m->at))
            m->at++;
        kernel_name_passes(m, '_');
    }
}

static void pass_name(struct mangled *m)
{
    if (kernel_name_passes(m, 'N')) {
        pass_nested(m);
    } else if (kernel_name_passes(m, 'Z')) {
        pass_local(m);
    } else {
        if (m->at[0] == 'S' && m->at[1] == 't')
            m->at += 2;
        pass_component(m);
        while (*m->at == 'B')
            pass_component(m);
    }
}

/* A function: its name, and what it takes and returns. */
static void pass_encoding(struct mangled *m)
{
    pass_name(m);
    pass_arguments_here(m);
    while (!m->is_wrong && *m->at && *m->at != 'E' && *m->at != '.')
        pass_type(m);
}

const char *kernel_function_name(const char *symbol, size_t *length)
{
    struct mangled m = { .at = symbol };

    *length = strlen(symbol);
    if (symbol[0] != '_' || symbol[1] != 'Z')
        return symbol;
    m.at += 2;
    pass_name(&m);
    if (m.is_wrong || !m.name)
        return symbol;
    *length = m.length;
    return m.name;
}
