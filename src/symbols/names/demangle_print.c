/* Prints names as CUDA's tools do: parameters of templates by number (T1), constants with their type ((int)3),
 * qualifiers first, and <unnamed>, [lambda(int) (instance 1)], operator ().
 *
 * The tree is libiberty's. The form of each component is a row of a table. A component without a row leaves the
 * whole name to libiberty's own printer, so that no name mixes both forms. */
#include "demangle_print.h"

#include <libiberty/demangle.h>
#include <stdlib.h>
#include <string.h>

#define DEEPEST 1000
#define MOST_PARTS 1000000 /* a part may be shared, and is visited in each place */

struct print {
    struct text *out;
    size_t end; /* the limit of out's length */
    int depth, parts, failed;
};

typedef const struct demangle_component component;
typedef void print_part(struct print *print, component *part);
static print_part any;

static component *left(component *part)
{
    return part->u.s_binary.left;
}

static component *right(component *part)
{
    return part->u.s_binary.right;
}

static void demangle_print_add(struct print *print, const char *string)
{
    text_add(print->out, string);
}

static void demangle_print_name(struct print *print, component *part)
{
    static const char unnamed[] = "(anonymous namespace)";
    if (part->u.s_name.len == sizeof unnamed - 1 && memcmp(part->u.s_name.s, unnamed, sizeof unnamed - 1) == 0)
        demangle_print_add(print, "<unnamed>");
    else
        text_add_bytes(print->out, part->u.s_name.s, (size_t)part->u.s_name.len);
}

static void standard_name(struct print *print, component *part)
{
    text_add_bytes(print->out, part->u.s_string.string, (size_t)part->u.s_string.len);
}

static void scoped_name(struct print *print, component *part)
{
    any(print, left(part));
    demangle_print_add(print, "::");
    any(print, right(part));
}

static void template_parameter(struct print *print, component *part)
{
    text_addf(print->out, "T%ld", part->u.s_number.number + 1);
}

static void arguments(struct print *print, component *list, enum demangle_component_type type)
{
    const char *between = "";
    for (; list && list->type == type; list = right(list)) {
        component *argument = left(list);
        if (!argument || (argument->type == type && !left(argument))) /* an empty list or pack */
            continue;
        demangle_print_add(print, between);
        between = ", ";
        any(print, argument);
    }
}

static void template_arguments(struct print *print, component *list)
{
    arguments(print, list, DEMANGLE_COMPONENT_TEMPLATE_ARGLIST);
}

static void template(struct print *print, component *part)
{
    any(print, left(part));
    demangle_print_add(print, "<");
    any(print, right(part));
    demangle_print_add(print, ">");
}

/* Prints components that only libiberty can print: builtin types and operators. */
static char *leaf(component *part)
{
    size_t size;
    return cplus_demangle_print(DMGL_PARAMS, (struct demangle_component *)part, 16, &size);
}

static void builtin_type(struct print *print, component *part)
{
    char *type = leaf(part);
    print->failed |= !type;
    demangle_print_add(print, type ? type : "");
    free(type);
}

static void operator(struct print *print, component *part)
{
    char *sign = leaf(part);
    const char *bare = sign && strncmp(sign, "operator", 8) == 0 ? sign + 8 : NULL;
    print->failed |= !bare;
    if (bare)
        text_addf(print->out, "operator%s%s", *bare == ' ' ? "" : " ", bare);
    free(sign);
}

static void parameters(struct print *print, component *list)
{
    size_t start = print->out->length;
    demangle_print_add(print, "(");
    arguments(print, list, DEMANGLE_COMPONENT_ARGLIST);
    if (!print->out->failed && strcmp(print->out->bytes + start, "(void") == 0) {
        print->out->length = start;
        demangle_print_add(print, "(");
    }
    demangle_print_add(print, ")");
}

/* libiberty drops the result's type if a function is the scope of something. The parts of a tree lie in one array in
 * the order in which they were parsed, with a function's type last. Right after a name there is the result, or its
 * first part, or, if that was no new part, the first parameter. Returns it if it is a builtin type and belongs to no
 * other part, else NULL. */
static component *forgotten_result(struct print *print, component *named, component *type)
{
    component *behind = named + 1;
    if (named->type != DEMANGLE_COMPONENT_TEMPLATE || type <= behind || behind->type != DEMANGLE_COMPONENT_BUILTIN_TYPE)
        return NULL;
    for (component *other = behind + 1; other < type; other++) {
        if (left(other) == behind || ++print->parts > MOST_PARTS)
            return NULL;
    }
    return behind;
}

static int is_template(component *named)
{
    if (named->type == DEMANGLE_COMPONENT_CONST_THIS)
        named = left(named);
    while (named && named->type == DEMANGLE_COMPONENT_QUAL_NAME)
        named = right(named);
    return named && named->type == DEMANGLE_COMPONENT_TEMPLATE;
}

/* Prints a function: its type, with the name between result and parameters, and the qualifiers of *this at the end. */
static void function(struct print *print, component *part)
{
    component *named = left(part), *type = right(part), *last = named;
    while (last && last->type == DEMANGLE_COMPONENT_LOCAL_NAME)
        last = right(last);
    if (!last || !type || type->type != DEMANGLE_COMPONENT_FUNCTION_TYPE) {
        print->failed = 1;
        return;
    }
    component *result = left(type);
    if (!result && is_template(last)) {
        result = forgotten_result(print, last, type);
        print->failed |= !result;
    }
    if (result) {
        any(print, result);
        demangle_print_add(print, " ");
    }
    any(print, named);
    parameters(print, right(type));
    if (last->type == DEMANGLE_COMPONENT_CONST_THIS)
        demangle_print_add(print, " const");
}

static void name_of_const(struct print *print, component *part)
{
    any(print, left(part)); /* the function prints the qualifier after its parameters */
}

static void lambda(struct print *print, component *part)
{
    demangle_print_add(print, "[lambda");
    parameters(print, part->u.s_unary_num.sub);
    text_addf(print->out, " (instance %d)]", part->u.s_unary_num.num + 1);
}

static void demangle_print_constant(struct print *print, component *part)
{
    demangle_print_add(print, "(");
    any(print, left(part));
    demangle_print_add(print, part->type == DEMANGLE_COMPONENT_LITERAL_NEG ? ")-" : ")");
    any(print, right(part));
}

static int is_indirect(component *part)
{
    return part && (part->type == DEMANGLE_COMPONENT_POINTER || part->type == DEMANGLE_COMPONENT_REFERENCE ||
                    part->type == DEMANGLE_COMPONENT_RVALUE_REFERENCE);
}

/* Pointers to functions, members and arrays wrap around their names, and there is no example of that form. */
static void indirect(struct print *print, component *part)
{
    component *to = left(part);
    print->failed |= !to || to->type == DEMANGLE_COMPONENT_FUNCTION_TYPE || to->type == DEMANGLE_COMPONENT_ARRAY_TYPE;
    any(print, to);
    demangle_print_add(print, is_indirect(to) ? "" : " ");
    demangle_print_add(print, part->type == DEMANGLE_COMPONENT_POINTER     ? "*"
                              : part->type == DEMANGLE_COMPONENT_REFERENCE ? "&"
                                                                           : "&&");
}

static void qualified(struct print *print, component *part)
{
    const char *word = part->type == DEMANGLE_COMPONENT_CONST ? "const" : "volatile";
    int behind = is_indirect(left(part));
    if (!behind)
        text_addf(print->out, "%s ", word);
    any(print, left(part));
    if (behind)
        demangle_print_add(print, word);
}

static void demangle_print_pack(struct print *print, component *part)
{
    any(print, left(part));
    demangle_print_add(print, "...");
}

static print_part *const printers[] = {
    [DEMANGLE_COMPONENT_NAME] = demangle_print_name,
    [DEMANGLE_COMPONENT_SUB_STD] = standard_name,
    [DEMANGLE_COMPONENT_QUAL_NAME] = scoped_name,
    [DEMANGLE_COMPONENT_LOCAL_NAME] = scoped_name,
    [DEMANGLE_COMPONENT_CONST_THIS] = name_of_const,
    [DEMANGLE_COMPONENT_TYPED_NAME] = function,
    [DEMANGLE_COMPONENT_TEMPLATE] = template,
    [DEMANGLE_COMPONENT_TEMPLATE_PARAM] = template_parameter,
    [DEMANGLE_COMPONENT_TEMPLATE_ARGLIST] = template_arguments,
    [DEMANGLE_COMPONENT_BUILTIN_TYPE] = builtin_type,
    [DEMANGLE_COMPONENT_OPERATOR] = operator,
    [DEMANGLE_COMPONENT_LAMBDA] = lambda,
    [DEMANGLE_COMPONENT_LITERAL] = demangle_print_constant,
    [DEMANGLE_COMPONENT_LITERAL_NEG] = demangle_print_constant,
    [DEMANGLE_COMPONENT_POINTER] = indirect,
    [DEMANGLE_COMPONENT_REFERENCE] = indirect,
    [DEMANGLE_COMPONENT_RVALUE_REFERENCE] = indirect,
    [DEMANGLE_COMPONENT_CONST] = qualified,
    [DEMANGLE_COMPONENT_VOLATILE] = qualified,
    [DEMANGLE_COMPONENT_PACK_EXPANSION] = demangle_print_pack,
};

static void any(struct print *print, component *part)
{
    print_part *printer = part && (size_t)part->type < COUNT_OF(printers) ? printers[part->type] : NULL;
    if (!printer || print->depth == DEEPEST || ++print->parts > MOST_PARTS || print->out->length > print->end)
        print->failed = 1;
    if (print->failed)
        return;
    print->depth++;
    printer(print, part);
    print->depth--;
}

int symbol_print(const char *mangled, size_t limit, struct text *out)
{
    struct print print = { .out = out, .end = out->length + limit };
    void *memory = NULL;
    component *tree = cplus_demangle_v3_components(mangled, DMGL_PARAMS | DMGL_NO_RECURSE_LIMIT, &memory);
    if (!tree)
        return 0;
    any(&print, tree);
    free(memory);
    return !print.failed && !out->failed && out->length <= print.end;
}
