/* A one-pass compiler. Quantifiers and alternatives wrap steps that are already emitted, by inserting and appending
 * others; offsets are relative, so that {m,n} can copy steps. There is no recursion, and the program never grows beyond
 * REGEX_PARTS_MOST steps. Error messages are those of glibc where it rejects the same expressions. */
#include "regex_parse.h"

#include <stdlib.h>
#include <string.h>

#include "base/utf8.h"
#include "regex_limits.h"

enum { WITHOUT_END = -1, COUNT_MOST = REGEX_PARTS_MOST + 1 };

size_t regex_decode(const char *bytes, size_t length, uint32_t *code)
{
    size_t taken = utf8_decode(bytes, length, code);

    if (taken)
        return taken;
    *code = REGEX_STRAY_BYTE((unsigned char)*bytes);
    return 1;
}

/* ---- Steps ----------------------------------------------------------------------------------------------------- */

enum token_kind { TOKEN_SET, TOKEN_ASSERT, TOKEN_OPEN, TOKEN_CLOSE, TOKEN_BAR, TOKEN_REPEAT };

struct token {
    enum token_kind kind;
    int32_t value;       /* number of the set, or enum regex_assertion */
    int32_t least, most; /* of TOKEN_REPEAT */
};

struct regex_parse_group {
    uint32_t start, branch; /* first step of the group, and of the current alternative */
    int32_t jump; /* last of the jumps to the end, linked by their operands until they are patched; -1: none */
};

struct regex_parse_parser {
    const char *at, *end;
    unsigned flags;
    struct regex_program *program;
    struct regex_sets *sets;
    int asks_for_words;
    struct regex_parse_group groups[REGEX_GROUPS_MOST + 1]; /* the first one is the whole expression */
    int depth;
    uint32_t atom;                                          /* first step of what a quantifier would repeat */
    int has_atom;
    int is_fresh;                                           /* at the beginning of an alternative */
    struct error *err;
};

static int regex_parse_refuse(struct regex_parse_parser *parser, const char *reason)
{
    return error_set(parser->err, ERR_BAD_ARGUMENT, "%s", reason);
}

static int refuse_size(struct regex_parse_parser *parser)
{
    return error_set(parser->err, ERR_BAD_ARGUMENT, "it has more than %d parts once its repetitions are expanded",
                     REGEX_PARTS_MOST);
}

/* Inserts a step before index `at`. */
static int insert_step(struct regex_parse_parser *parser, uint32_t at, enum regex_step_kind kind, int64_t operand)
{
    struct regex_program *program = parser->program;

    if (program->count == REGEX_PARTS_MOST)
        return refuse_size(parser);
    memmove(program->steps + at + 1, program->steps + at, (program->count - at) * sizeof *program->steps);
    program->steps[at] = (struct regex_step){ (uint8_t)kind, (int32_t)operand };
    program->count++;
    return 0;
}

static int regex_parse_add_step(struct regex_parse_parser *parser, enum regex_step_kind kind, int64_t operand)
{
    return insert_step(parser, parser->program->count, kind, operand);
}

/* Emits m copies of the atom, then n - m copies that a split can skip to the end. */
static int repeat_counted(struct regex_parse_parser *parser, int32_t least, int32_t most)
{
    struct regex_program *program = parser->program;
    uint32_t start = parser->atom, length = program->count - start;
    uint64_t total = (uint64_t)length * (uint32_t)most + (uint32_t)(most - least);
    int code = 0;

    if (start + total > REGEX_PARTS_MOST)
        return refuse_size(parser);
    if (least == 0)
        code = insert_step(parser, start, STEP_SPLIT, (int64_t)total);
    uint32_t template = start + (least == 0);
    for (int32_t i = 1; i < most && code == 0; i++) {
        if (i >= least)
            code = regex_parse_add_step(parser, STEP_SPLIT, (int64_t)(start + total) - program->count);
        memcpy(program->steps + program->count, program->steps + template, length * sizeof *program->steps);
        program->count += length;
    }
    return code;
}

static int regex_parse_repeat(struct regex_parse_parser *parser, int32_t least, int32_t most)
{
    struct regex_program *program = parser->program;
    uint32_t start = parser->atom, length = program->count - start;

    if (length == 0)
        return 0;
    if (most == 0) {
        program->count = start;
        return 0;
    }
    if (most != WITHOUT_END)
        return repeat_counted(parser, least, most);
    if (least == 0) {
        int code = insert_step(parser, start, STEP_SPLIT, length + 2);
        return code == 0 ? regex_parse_add_step(parser, STEP_JUMP, -(int64_t)length - 1) : code;
    }
    int code = repeat_counted(parser, least, least);
    return code == 0 ? regex_parse_add_step(parser, STEP_SPLIT, -(int64_t)length) : code;
}

static void begin_branch(struct regex_parse_parser *parser)
{
    parser->groups[parser->depth].branch = parser->program->count;
    parser->has_atom = 0;
    parser->is_fresh = 1;
}

static int open_group(struct regex_parse_parser *parser)
{
    if (parser->depth == REGEX_GROUPS_MOST)
        return error_set(parser->err, ERR_BAD_ARGUMENT, "more than %d nested groups", REGEX_GROUPS_MOST);
    parser->groups[++parser->depth] = (struct regex_parse_group){ .start = parser->program->count, .jump = -1 };
    begin_branch(parser);
    return 0;
}

/* At a bar: a split before the alternative leads to the next one, a jump behind it to the end of the group. */
static int end_branch(struct regex_parse_parser *parser)
{
    struct regex_parse_group *group = &parser->groups[parser->depth];
    uint32_t length = parser->program->count - group->branch;
    int code = insert_step(parser, group->branch, STEP_SPLIT, length + 2);

    if (code == 0)
        code = regex_parse_add_step(parser, STEP_JUMP, group->jump);
    if (code != 0)
        return code;
    group->jump = (int32_t)parser->program->count - 1;
    begin_branch(parser);
    return 0;
}

static void end_group(struct regex_parse_parser *parser)
{
    const struct regex_parse_group *group = &parser->groups[parser->depth];
    struct regex_program *program = parser->program;

    for (int32_t at = group->jump; at >= 0;) {
        int32_t before = program->steps[at].operand;
        program->steps[at].operand = (int32_t)program->count - at;
        at = before;
    }
    parser->atom = group->start;
    parser->has_atom = 1;
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

static int is_basic(const struct regex_parse_parser *parser)
{
    return (parser->flags & REGEX_BASIC) != 0;
}

static int regex_parse_is_next(const struct regex_parse_parser *parser, const char *text)
{
    size_t length = strlen(text);

    return (size_t)(parser->end - parser->at) >= length && memcmp(parser->at, text, length) == 0;
}

static uint32_t take_code(struct regex_parse_parser *parser)
{
    uint32_t code;

    parser->at += regex_decode(parser->at, (size_t)(parser->end - parser->at), &code);
    return code;
}

static void give_set(struct regex_parse_parser *parser, struct token *token, int is_negated)
{
    int ignores_case = (parser->flags & REGEX_IGNORE_CASE) != 0;

    *token = (struct token){ .kind = TOKEN_SET, .value = regex_sets_end(parser->sets, is_negated, ignores_case) };
}

static void give_range(struct regex_parse_parser *parser, struct token *token, uint32_t first, uint32_t last)
{
    regex_sets_begin(parser->sets);
    regex_sets_add(parser->sets, first, last);
    give_set(parser, token, 0);
}

static void give_assertion(struct token *token, enum regex_assertion assertion)
{
    *token = (struct token){ .kind = TOKEN_ASSERT, .value = assertion };
}

static void give_repeat(struct token *token, int32_t least, int32_t most)
{
    *token = (struct token){ .kind = TOKEN_REPEAT, .least = least, .most = most };
}

/* Parses a number; returns `none` if there is none. */
static int32_t regex_parse_take_number(struct regex_parse_parser *parser, int32_t none)
{
    int32_t number = 0;

    if (parser->at == parser->end || *parser->at < '0' || *parser->at > '9')
        return none;
    for (; parser->at < parser->end && *parser->at >= '0' && *parser->at <= '9'; parser->at++)
        number = number < COUNT_MOST ? number * 10 + (*parser->at - '0') : COUNT_MOST;
    return number < COUNT_MOST ? number : COUNT_MOST;
}

/* Parses m}, m,} or m,n} behind the brace. Returns 0 and consumes nothing if it is none of these. */
static int regex_parse_take_counts(struct regex_parse_parser *parser, const char *close, struct token *token)
{
    const char *start = parser->at;
    int32_t least = regex_parse_take_number(parser, -1), most = least;

    if (regex_parse_is_next(parser, ",")) {
        parser->at++;
        most = regex_parse_take_number(parser, WITHOUT_END);
        least = least < 0 ? 0 : least;
    }
    if (least < 0 || !regex_parse_is_next(parser, close)) {
        parser->at = start;
        return 0;
    }
    parser->at += strlen(close);
    give_repeat(token, least, most);
    return 1;
}

static int is_letter(char c)
{
    return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}

/* Behind a backslash: \d, \w, \s, or their complements \D, \W, \S. Returns 0 if it is none of these. */
static int take_set_escape(struct regex_parse_parser *parser)
{
    char letter = *parser->at;
    const struct regex_named_set *named = is_letter(letter) ? regex_sets_find_escape((char)(letter | 0x20)) : NULL;

    if (!named)
        return 0;
    parser->at++;
    regex_sets_add_named(parser->sets, named, (letter & 0x20) == 0);
    return 1;
}

/* Behind a backslash: an escape for a single character. */
static int take_quoted(struct regex_parse_parser *parser, uint32_t *code)
{
    static const char letters[] = "tnvfr", meant[] = "\t\n\v\f\r";
    char letter = *parser->at;
    const char *control = letter ? strchr(letters, letter) : NULL;

    if (letter >= '0' && letter <= '9')
        return error_set(parser->err, ERR_BAD_ARGUMENT, "back-references such as \\%c are not supported", letter);
    if (is_letter(letter) && !control)
        return error_set(parser->err, ERR_BAD_ARGUMENT, "unknown escape \\%c", letter);
    *code = take_code(parser);
    if (control)
        *code = (uint32_t)meant[control - letters];
    return 0;
}

/* Behind a backslash: the escapes that basic and extended expressions share. */
static int take_escape(struct regex_parse_parser *parser, struct token *token)
{
    static const struct {
        char letter;
        enum regex_assertion assertion;
    } assertions[] = {
        { 'b', ASSERT_BORDER },   { 'B', ASSERT_NO_BORDER }, { '<', ASSERT_WORD_BEGIN },
        { '>', ASSERT_WORD_END }, { '`', ASSERT_BEGIN },     { '\'', ASSERT_END },
    };
    uint32_t character = 0;

    for (size_t i = 0; i < COUNT_OF(assertions); i++)
        if (assertions[i].letter == *parser->at) {
            parser->at++;
            parser->asks_for_words |= assertions[i].assertion > ASSERT_END;
            give_assertion(token, assertions[i].assertion);
            return 0;
        }
    regex_sets_begin(parser->sets);
    if (!take_set_escape(parser)) {
        int code = take_quoted(parser, &character);
        if (code != 0)
            return code;
        regex_sets_add(parser->sets, character, character);
    }
    give_set(parser, token, 0);
    return 0;
}

static int take_extended(struct regex_parse_parser *parser, struct token *token)
{
    char c = *parser->at;

    switch (c) {
    case '\\':
        parser->at++;
        return parser->at == parser->end ? regex_parse_refuse(parser, "Trailing backslash")
                                         : take_escape(parser, token);
    case '(':
        parser->at++;
        token->kind = TOKEN_OPEN;
        if (!regex_parse_is_next(parser, "?"))
            return 0;
        if (!regex_parse_is_next(parser, "?:"))
            return regex_parse_refuse(parser, "look-around and other groups that begin with (? are not supported");
        parser->at += 2;
        return 0;
    case ')':
        if (parser->depth == 0)
            break;
        parser->at++;
        token->kind = TOKEN_CLOSE;
        return 0;
    case '|':
        parser->at++;
        token->kind = TOKEN_BAR;
        return 0;
    case '*':
    case '+':
    case '?':
        parser->at++;
        give_repeat(token, c == '+', c == '?' ? 1 : WITHOUT_END);
        return 0;
    case '{':
        parser->at++;
        if (regex_parse_take_counts(parser, "}", token))
            return 0;
        parser->at--;
        break;
    case '^':
    case '$':
        parser->at++;
        give_assertion(token, c == '^' ? ASSERT_BEGIN : ASSERT_END);
        return 0;
    default: break;
    }
    uint32_t code = take_code(parser);
    give_range(parser, token, code, code);
    return 0;
}

/* Behind a backslash: in basic expressions it makes operators of ordinary characters. */
static int take_basic_operator(struct regex_parse_parser *parser, struct token *token)
{
    char c = *parser->at++;

    switch (c) {
    case '(': token->kind = TOKEN_OPEN; return 0;
    case ')': token->kind = TOKEN_CLOSE; return 0;
    case '|': token->kind = TOKEN_BAR; return 0;
    case '{':
        return regex_parse_take_counts(parser, "\\}", token) ? 0
                                                             : regex_parse_refuse(parser, "Invalid content of \\{\\}");
    case '+':
    case '?':
        give_repeat(token, c == '+', c == '?' ? 1 : WITHOUT_END);
        if (!parser->has_atom)
            give_range(parser, token, (unsigned char)c, (unsigned char)c);
        return 0;
    default: parser->at--; return take_escape(parser, token);
    }
}

static int take_basic(struct regex_parse_parser *parser, struct token *token)
{
    char c = *parser->at++;

    if (c == '\\')
        return parser->at == parser->end ? regex_parse_refuse(parser, "Trailing backslash")
                                         : take_basic_operator(parser, token);
    if (c == '*' && parser->has_atom) {
        give_repeat(token, 0, WITHOUT_END);
    } else if (c == '^' && parser->is_fresh) {
        give_assertion(token, ASSERT_BEGIN);
    } else if (c == '$' && (parser->at == parser->end || regex_parse_is_next(parser, "\\)") ||
                            regex_parse_is_next(parser, "\\|"))) {
        give_assertion(token, ASSERT_END);
    } else {
        parser->at--;
        uint32_t code = take_code(parser);
        give_range(parser, token, code, code);
    }
    return 0;
}

/* ---- Brackets -------------------------------------------------------------------------------------------------- */

static const char no_bracket[] = "Unmatched [, [^, [:, [., or [=";

/* [:name:] */
static int regex_parse_take_named(struct regex_parse_parser *parser)
{
    const char *start = parser->at;

    while (parser->at < parser->end && !regex_parse_is_next(parser, ":]"))
        parser->at++;
    if (parser->at == parser->end)
        return regex_parse_refuse(parser, no_bracket);
    const struct regex_named_set *named = regex_sets_find_name(start, (size_t)(parser->at - start));
    if (!named)
        return regex_parse_refuse(parser, "Invalid character class name");
    parser->at += 2;
    regex_sets_add_named(parser->sets, named, 0);
    return 0;
}

/* [.x.] and [=x=] with a single character. */
static int take_collating(struct regex_parse_parser *parser, char mark, uint32_t *code)
{
    const char close[] = { mark, ']', 0 };

    if (parser->at == parser->end)
        return regex_parse_refuse(parser, no_bracket);
    *code = take_code(parser);
    if (!regex_parse_is_next(parser, close))
        return regex_parse_refuse(parser, "Invalid collation character");
    parser->at += 2;
    return 0;
}

/* Parses a character, or a class (is_set), which is added at once. */
static int take_element(struct regex_parse_parser *parser, uint32_t *code, int *is_set)
{
    *is_set = 0;
    if (regex_parse_is_next(parser, "[:")) {
        parser->at += 2;
        *is_set = 1;
        return regex_parse_take_named(parser);
    }
    if (regex_parse_is_next(parser, "[.") || regex_parse_is_next(parser, "[=")) {
        parser->at += 2;
        return take_collating(parser, parser->at[-1], code);
    }
    if (*parser->at != '\\' || is_basic(parser)) {
        *code = take_code(parser);
        return 0;
    }
    if (++parser->at == parser->end)
        return regex_parse_refuse(parser, no_bracket);
    *is_set = take_set_escape(parser);
    return *is_set ? 0 : take_quoted(parser, code);
}

/* Parses a character, a range or a class. */
static int take_item(struct regex_parse_parser *parser)
{
    uint32_t first = 0, last;
    int is_set, code = take_element(parser, &first, &is_set);

    if (code != 0)
        return code;
    if (!regex_parse_is_next(parser, "-") || regex_parse_is_next(parser, "-]")) {
        if (!is_set)
            regex_sets_add(parser->sets, first, first);
        return 0;
    }
    int is_last_set = 0;
    last = first;
    if (++parser->at < parser->end)
        code = take_element(parser, &last, &is_last_set);
    if (code != 0)
        return code;
    if (is_set || is_last_set || last < first)
        return regex_parse_refuse(parser, "Invalid range end");
    regex_sets_add(parser->sets, first, last);
    return 0;
}

static int take_bracket(struct regex_parse_parser *parser, struct token *token)
{
    int code = 0, is_negated;

    parser->at++;
    is_negated = regex_parse_is_next(parser, "^");
    parser->at += is_negated;
    regex_sets_begin(parser->sets);
    do {
        code = parser->at < parser->end ? take_item(parser) : regex_parse_refuse(parser, no_bracket);
    } while (code == 0 && !regex_parse_is_next(parser, "]"));
    if (code != 0)
        return code;
    parser->at++;
    give_set(parser, token, is_negated);
    return 0;
}

/* ---- The whole ------------------------------------------------------------------------------------------------- */

static int take_token(struct regex_parse_parser *parser, struct token *token)
{
    if (*parser->at == '[')
        return take_bracket(parser, token);
    if (*parser->at == '.') {
        parser->at++;
        give_range(parser, token, 0, REGEX_LAST_CODE);
        return 0;
    }
    return is_basic(parser) ? take_basic(parser, token) : take_extended(parser, token);
}

static int add_repeat(struct regex_parse_parser *parser, const struct token *token)
{
    if (!parser->has_atom)
        return regex_parse_refuse(parser, "Invalid preceding regular expression");
    if (token->most != WITHOUT_END && token->least > token->most)
        return regex_parse_refuse(parser, "Invalid content of \\{\\}");
    if (!is_basic(parser) && regex_parse_is_next(parser, "?"))
        parser->at++; /* a lazy quantifier finds another match, but matches the same texts */
    return regex_parse_repeat(parser, token->least, token->most);
}

static int add_token(struct regex_parse_parser *parser, const struct token *token)
{
    parser->is_fresh = 0;
    switch (token->kind) {
    case TOKEN_OPEN: return open_group(parser);
    case TOKEN_BAR: return end_branch(parser);
    case TOKEN_REPEAT: return add_repeat(parser, token);
    case TOKEN_CLOSE:
        if (parser->depth == 0)
            return regex_parse_refuse(parser, "Unmatched ) or \\)");
        end_group(parser);
        parser->depth--;
        return 0;
    case TOKEN_ASSERT: parser->has_atom = 0; return regex_parse_add_step(parser, STEP_ASSERT, token->value);
    default:
        parser->atom = parser->program->count;
        parser->has_atom = 1;
        return regex_parse_add_step(parser, STEP_SET, token->value);
    }
}

static int regex_parse_read_all(struct regex_parse_parser *parser)
{
    struct token token;
    int code = 0;

    parser->groups[0] = (struct regex_parse_group){ .jump = -1 };
    begin_branch(parser);
    while (code == 0 && parser->at < parser->end) {
        code = take_token(parser, &token);
        if (code == 0)
            code = add_token(parser, &token);
    }
    if (code != 0)
        return code;
    if (parser->depth > 0)
        return regex_parse_refuse(parser, "Unmatched ( or \\(");
    end_group(parser);
    return 0;
}

int regex_parse(struct regex_program *program, struct regex_sets *sets, const char *pattern, size_t length,
                unsigned flags, struct error *err)
{
    struct regex_parse_parser parser = {
        .at = pattern,
        .end = pattern + length,
        .flags = flags,
        .program = program,
        .sets = sets,
        .err = err,
    };

    *program = (struct regex_program){ .word = -1 };
    if (length > REGEX_LONGEST)
        return error_set(err, ERR_BAD_ARGUMENT, "it has more than %d bytes", REGEX_LONGEST);
    program->steps = malloc((REGEX_PARTS_MOST + 1) * sizeof *program->steps);
    if (!program->steps)
        return error_no_memory(err);
    int code = regex_parse_read_all(&parser);
    if (code != 0)
        return code;
    program->steps[program->count++] = (struct regex_step){ .kind = STEP_MATCH };
    if (parser.asks_for_words) {
        regex_sets_begin(sets);
        regex_sets_add_named(sets, regex_sets_find_escape('w'), 0);
        program->word = regex_sets_end(sets, 0, 0);
    }
    return 0;
}
