/* Extracts the bare name of a function from its demangled form; see demangle.h.
 *
 * The name stands before the parameters: after the last "::" or space that is outside of all brackets. If a function is
 * only the scope of what follows, as in f(int)::{lambda()#1}::operator()() const, the last one counts. */
#include <ctype.h>
#include <string.h>

#include "demangle.h"

#define DEEPEST 1024 /* nested brackets; deeper ones are not parsed */

static int demangle_short_is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_' || c == '$' || c == '.' || (unsigned char)c >= 0x80;
}

static const char *skip_spaces(const char *at)
{
    return at + strspn(at, " ");
}

static const char *after_word(const char *at, const char *word)
{
    size_t length = strlen(word);
    return strncmp(at, word, length) == 0 && !demangle_short_is_word(at[length]) ? at + length : NULL;
}

/* The end of an operator's symbol, which may consist of brackets; at is after the word "operator". */
static const char *after_operator(const char *at)
{
    static const char *const spelled[] = { "()", "[]", "new[]", "delete[]", "<=>", "<<=", ">>=", "->*",
                                           "->", "<<", ">>",    "<=",       ">=",  "<",   ">" };
    const char *sign = skip_spaces(at);
    for (size_t i = 0; i < COUNT_OF(spelled); i++) {
        if (strncmp(sign, spelled[i], strlen(spelled[i])) == 0)
            return sign + strlen(spelled[i]);
    }
    if (strncmp(sign, "\"\"", 2) == 0) { /* of literals */
        sign = skip_spaces(sign + 2);
        while (demangle_short_is_word(*sign))
            sign++;
        return sign;
    }
    size_t signs = strspn(sign, "+-*/%^&|~!=,");
    return signs ? sign + signs : at;
}

/* If the word "operator" begins a name here, returns the end of that name; else NULL. */
static const char *operator_name(const char *name, const char *at)
{
    const char *behind = at == name || !demangle_short_is_word(at[-1]) ? after_word(at, "operator") : NULL;
    return behind ? after_operator(behind) : NULL;
}

static char closing(char c)
{
    return c == '(' ? ')' : c == '<' ? '>' : c == '[' ? ']' : c == '{' ? '}' : 0;
}

/* The position after the bracket that closes the one at open; the end of the name if none does. A '<' may be a sign, so
 * the bracket around it closes it, too; and a '>' that closes nothing is a sign. */
static const char *after_group(const char *open)
{
    char waiting[DEEPEST];
    size_t depth = 0;
    for (const char *at = open; *at; at++) {
        const char *operator= operator_name(open, at);
        if (operator) {
            at = operator- 1;
        } else if (closing(*at)) {
            if (depth == DEEPEST)
                break;
            waiting[depth++] = closing(*at);
        } else if (*at == '>') {
            depth -= at[-1] != '-' && waiting[depth - 1] == '>';
        } else if (*at == ')' || *at == ']' || *at == '}') {
            size_t left = depth;
            while (left > 0 && waiting[left - 1] == '>')
                left--;
            if (left > 0 && waiting[left - 1] == *at)
                depth = left - 1;
        }
        if (depth == 0)
            return at + 1;
    }
    return open + strlen(open);
}

/* If the function with these parameters is the last part of a scope, the position after that scope; NULL if it is the
 * function itself. */
static const char *after_scope(const char *parameters)
{
    static const char *const qualifiers[] = { "const", "volatile", "noexcept", "&&", "&" };
    const char *at = after_group(parameters);
    for (size_t i = 0; i < COUNT_OF(qualifiers); i++) {
        if (*at == ' ' && strncmp(at + 1, qualifiers[i], strlen(qualifiers[i])) == 0)
            at += 1 + strlen(qualifiers[i]);
    }
    return strncmp(at, "::", 2) == 0 ? at + 2 : NULL;
}

struct demangle_short_name {
    const char *begin, *end; /* equal: none yet */
};

static const char *begin_name(struct demangle_short_name *name, const char *at)
{
    name->begin = name->end = at;
    return at;
}

/* Continues from a '(' outside of other brackets; NULL if the name is complete. */
static const char *pass_parenthesis(struct demangle_short_name *name, const char *at)
{
    /* An unnamed namespace, a type, or a function that returns a pointer to a function. */
    if (name->begin == name->end) {
        if (at[1] == '*' || at[1] == '&')
            return begin_name(name, at + 1 + strspn(at + 1, "*& "));
        return begin_name(name, after_group(at));
    }
    if (name->end - name->begin == 8 && strncmp(name->begin, "decltype", 8) == 0)
        return begin_name(name, after_group(at));
    const char *scope = after_scope(at);
    return scope ? begin_name(name, scope) : NULL;
}

/* Continues from any character outside of brackets; NULL if the name is complete. */
static const char *pass(struct demangle_short_name *name, const char *at)
{
    const char *operator= at == name->begin ? operator_name(at, at) : NULL;
    if (operator) {
        /* A conversion operator has no symbol of its own: its name extends to the parameters. */
        int sign = operator> at + strlen("operator");
        return name->end = sign ? operator: operator+ strcspn(operator, "(<");
    }
    if (strncmp(at, "::", 2) == 0)
        return begin_name(name, at + 2);
    if (*at == '(')
        return pass_parenthesis(name, at);
    if (strncmp(at, " [clone", 7) == 0)
        return NULL;
    if (*at == ' ' && at[1] == '<') /* operator< <int> */
        return at + 1;
    if (*at == ' ')
        return begin_name(name, at + 1);
    if (closing(*at)) {
        const char *behind = after_group(at);
        if (at == name->begin) /* {lambda()#1}, <unnamed> */
            name->end = behind;
        return behind;
    }
    name->end = at + 1;
    return at + 1;
}

void symbol_short(const char *demangled, struct text *out)
{
    struct demangle_short_name name = { demangled, demangled };
    for (const char *at = demangled; at && *at;)
        at = pass(&name, at);
    if (name.begin == name.end)
        text_add(out, demangled);
    else
        text_add_bytes(out, name.begin, (size_t)(name.end - name.begin));
}
