/* See name_pattern.h. The parser writes steps of an automaton behind each other; jumps are relative, so a part of the
 * expression can be moved and copied. Matching follows all ways at once: the set of steps that are active is a bitmap.
 */
#include "name_pattern.h"

#include <string.h>

#include "base/array.h"
#include "base/regex/regex_parts.h"

enum name_pattern_kind { STEP_BYTE, STEP_ANY, STEP_SET, STEP_JUMP, STEP_SPLIT, STEP_ASSERT, STEP_MATCH };
enum { GROUPS_MOST = 32, NO_LIMIT = -1 };

/* ---- The parser ------------------------------------------------------------------------------------------------ */

struct name_pattern_parser {
    struct name_pattern *pattern;
    const char *at, *end;
    const char *wrong; /* NULL: nothing so far */
    int depth;
};

static int name_pattern_fail(struct name_pattern_parser *parser, const char *wrong)
{
    if (!parser->wrong)
        parser->wrong = wrong;
    return 0;
}

/* 1, or 0 if there is no room. */
static int name_pattern_add_step(struct name_pattern_parser *parser, enum name_pattern_kind kind, unsigned operand,
                                 long to)
{
    struct name_pattern *pattern = parser->pattern;

    if (pattern->count == NAME_PATTERN_STEPS)
        return name_pattern_fail(parser, "the expression is too long");
    pattern->steps[pattern->count++] = (struct name_step){ (uint8_t)kind, (uint8_t)operand, (int16_t)to };
    return 1;
}

/* Before the steps from `start` on. */
static int insert_split(struct name_pattern_parser *parser, size_t start, long to)
{
    struct name_pattern *pattern = parser->pattern;

    if (!name_pattern_add_step(parser, STEP_SPLIT, 0, to))
        return 0;
    struct name_step split = pattern->steps[pattern->count - 1];
    memmove(&pattern->steps[start + 1], &pattern->steps[start], (pattern->count - 1 - start) * sizeof split);
    pattern->steps[start] = split;
    return 1;
}

static int name_pattern_is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static int name_pattern_is_word(unsigned char c)
{
    return name_pattern_is_digit((char)c) || ((c | 32) >= 'a' && (c | 32) <= 'z') || c == '_';
}

/* ---- Sets ---- */

static void name_pattern_add_range(uint64_t *set, unsigned first, unsigned last)
{
    for (unsigned c = first; c <= last; c++)
        set[c / 64] |= UINT64_C(1) << c % 64;
}

static void name_pattern_add_named(uint64_t *set, const struct regex_named_set *named, int is_negated)
{
    uint64_t own[4] = { 0 };

    for (size_t i = 0; i < named->count; i++)
        name_pattern_add_range(own, named->ranges[i].first, named->ranges[i].last);
    for (size_t i = 0; i < 4; i++)
        set[i] |= is_negated ? ~own[i] : own[i];
}

/* \d, \W and the like: 1 if the letter names a set. */
static int add_escaped_set(uint64_t *set, char letter)
{
    const struct regex_named_set *named = regex_sets_find_escape((char)(letter | 32));

    if (named)
        name_pattern_add_named(set, named, !(letter & 32));
    return named != NULL;
}

/* The byte that a backslash and this letter stand for. */
static unsigned char escaped(char letter)
{
    static const char letters[] = "tnrfv", bytes[] = "\t\n\r\f\v";
    const char *found = letter ? strchr(letters, letter) : NULL;

    return (unsigned char)(found ? bytes[found - letters] : letter);
}

/* A set for the next step; NULL if there is no room. */
static uint64_t *new_set(struct name_pattern_parser *parser)
{
    struct name_pattern *pattern = parser->pattern;

    if (pattern->set_count == NAME_PATTERN_SETS) {
        name_pattern_fail(parser, "the expression has too many sets of characters");
        return NULL;
    }
    if (!name_pattern_add_step(parser, STEP_SET, (unsigned)pattern->set_count, 0))
        return NULL;
    return memset(pattern->sets[pattern->set_count++], 0, sizeof *pattern->sets);
}

/* [:alpha:] inside of brackets: 1 if there is one here. */
static int pass_class(struct name_pattern_parser *parser, uint64_t *set)
{
    size_t left = (size_t)(parser->end - parser->at);
    const char *name = parser->at + 2, *colon = left > 4 && name[-1] == ':' ? memchr(name, ':', left - 3) : NULL;
    const struct regex_named_set *named = colon && colon[1] == ']' ? regex_sets_find_name(name, (size_t)(colon - name))
                                                                   : NULL;

    if (!named)
        return 0;
    name_pattern_add_named(set, named, 0);
    parser->at = colon + 2;
    return 1;
}

/* One character of a set; *is_set: it was a set of its own, which begins no range. */
static unsigned char pass_member(struct name_pattern_parser *parser, uint64_t *set, int *is_set)
{
    char c = *parser->at++;

    *is_set = 0;
    if (c != '\\' || parser->at == parser->end)
        return (unsigned char)c;
    c = *parser->at++;
    *is_set = add_escaped_set(set, c);
    return escaped(c);
}

/* Behind the '['. */
static int pass_set(struct name_pattern_parser *parser)
{
    uint64_t *set = new_set(parser);
    int is_negated = parser->at < parser->end && *parser->at == '^', is_set;

    if (!set)
        return 0;
    parser->at += is_negated;
    for (const char *first = parser->at; parser->at < parser->end && (*parser->at != ']' || parser->at == first);) {
        if (*parser->at == '[' && pass_class(parser, set))
            continue;
        unsigned char from = pass_member(parser, set, &is_set), to = from;
        if (is_set)
            continue;
        if (parser->end - parser->at > 1 && parser->at[0] == '-' && parser->at[1] != ']') {
            parser->at++;
            to = pass_member(parser, set, &is_set);
        }
        if (to < from)
            return name_pattern_fail(parser, "a range of characters is the wrong way round");
        name_pattern_add_range(set, from, to);
    }
    if (parser->at == parser->end)
        return name_pattern_fail(parser, "a '[' has no ']'");
    parser->at++;
    for (size_t i = 0; i < 4 && is_negated; i++)
        set[i] = ~set[i];
    return 1;
}

/* ---- Parts and how often ---- */

static int pass_alternatives(struct name_pattern_parser *parser);

/* Behind the '('. */
static int pass_group(struct name_pattern_parser *parser)
{
    if (parser->end - parser->at > 1 && parser->at[0] == '?') {
        if (parser->at[1] != ':')
            return name_pattern_fail(parser, "look-around and named groups are not supported");
        parser->at += 2;
    }
    if (++parser->depth > GROUPS_MOST)
        return name_pattern_fail(parser, "groups are nested too deeply");
    if (!pass_alternatives(parser))
        return 0;
    parser->depth--;
    if (parser->at == parser->end)
        return name_pattern_fail(parser, "a '(' has no ')'");
    parser->at++;
    return 1;
}

/* Behind the backslash. */
static int pass_escape(struct name_pattern_parser *parser)
{
    static const struct {
        char letter;
        enum regex_assertion assertion;
    } assertions[] = {
        { 'b', ASSERT_BORDER }, { 'B', ASSERT_NO_BORDER }, { '<', ASSERT_WORD_BEGIN }, { '>', ASSERT_WORD_END }
    };

    if (parser->at == parser->end)
        return name_pattern_fail(parser, "a backslash is the last character");
    char c = *parser->at++;
    for (size_t i = 0; i < COUNT_OF(assertions); i++)
        if (c == assertions[i].letter)
            return name_pattern_add_step(parser, STEP_ASSERT, assertions[i].assertion, 0);
    if (c >= '1' && c <= '9')
        return name_pattern_fail(parser, "back-references are not supported");
    if (strchr("dswDSW", c)) {
        uint64_t *set = new_set(parser);
        return set ? add_escaped_set(set, c) : 0;
    }
    return name_pattern_add_step(parser, STEP_BYTE, escaped(c), 0);
}

static int pass_part(struct name_pattern_parser *parser)
{
    char c = *parser->at++;

    switch (c) {
    case '(': return pass_group(parser);
    case '[': return pass_set(parser);
    case '\\': return pass_escape(parser);
    case '.': return name_pattern_add_step(parser, STEP_ANY, 0, 0);
    case '^': return name_pattern_add_step(parser, STEP_ASSERT, ASSERT_BEGIN, 0);
    case '$': return name_pattern_add_step(parser, STEP_ASSERT, ASSERT_END, 0);
    case '*':
    case '+':
    case '?': return name_pattern_fail(parser, "there is nothing to repeat before a quantifier");
    default: return name_pattern_add_step(parser, STEP_BYTE, (unsigned char)c, 0);
    }
}

/* The steps from `start` on, so often. */
static int name_pattern_repeat(struct name_pattern_parser *parser, size_t start, int least, int most)
{
    struct name_pattern *pattern = parser->pattern;
    size_t length = pattern->count - start, source = start;
    int copies = most != NO_LIMIT ? most : least > 0 ? least : 1;

    if (copies == 0)
        pattern->count = start;
    for (int i = 0; i < copies; i++) {
        size_t at = i ? pattern->count : start;
        for (size_t k = 0; i && k < length; k++) {
            struct name_step step = pattern->steps[source + k];
            if (!name_pattern_add_step(parser, (enum name_pattern_kind)step.kind, step.operand, step.to))
                return 0;
        }
        if (i < least)
            continue;
        if (!insert_split(parser, at, (long)length + 1 + (most == NO_LIMIT)))
            return 0;
        source += i == 0;
        if (most == NO_LIMIT && !name_pattern_add_step(parser, STEP_JUMP, 0, -(long)length - 1))
            return 0;
    }
    return most != NO_LIMIT || least == 0 || name_pattern_add_step(parser, STEP_SPLIT, 0, -(long)length);
}

static int name_pattern_pass_number(struct name_pattern_parser *parser, int otherwise)
{
    int number = name_pattern_is_digit(*parser->at) ? 0 : otherwise;

    for (; parser->at < parser->end && name_pattern_is_digit(*parser->at); parser->at++)
        number = number > NAME_PATTERN_STEPS ? number : number * 10 + (*parser->at - '0');
    return number;
}

/* Whether {m}, {m,}, {,n} or {m,n} stands here; any other brace is a character. */
static int is_interval(const struct name_pattern_parser *parser)
{
    const char *at = parser->at + 1;
    size_t digits = 0, commas = 0;

    for (; at < parser->end && (name_pattern_is_digit(*at) || *at == ','); at++) {
        digits += name_pattern_is_digit(*at);
        commas += *at == ',';
    }
    return digits && commas < 2 && at < parser->end && *at == '}';
}

/* The quantifiers behind a part. */
static int pass_quantifiers(struct name_pattern_parser *parser, size_t start)
{
    while (parser->at < parser->end) {
        char c = *parser->at;
        int least = c == '+', most = c == '?' ? 1 : NO_LIMIT;
        if (c == '{' && is_interval(parser)) {
            parser->at++;
            least = most = name_pattern_pass_number(parser, 0);
            if (*parser->at == ',') {
                parser->at++;
                most = name_pattern_pass_number(parser, NO_LIMIT);
            }
            if (most != NO_LIMIT && most < least)
                return name_pattern_fail(parser, "the limits of a repetition are the wrong way round");
        } else if (c != '*' && c != '+' && c != '?') {
            return 1;
        }
        parser->at++;
        if (!name_pattern_repeat(parser, start, least, most))
            return 0;
        if (parser->at < parser->end && *parser->at == '?') /* lazy: the same for a search */
            parser->at++;
    }
    return 1;
}

static int pass_sequence(struct name_pattern_parser *parser)
{
    while (parser->at < parser->end && *parser->at != '|' && (*parser->at != ')' || !parser->depth)) {
        size_t start = parser->pattern->count;
        if (*parser->at == ')')
            return name_pattern_fail(parser, "a ')' has no '('");
        if (!pass_part(parser) || !pass_quantifiers(parser, start))
            return 0;
    }
    return 1;
}

static int pass_alternatives(struct name_pattern_parser *parser)
{
    struct name_pattern *pattern = parser->pattern;
    size_t start = pattern->count;

    if (!pass_sequence(parser))
        return 0;
    while (parser->at < parser->end && *parser->at == '|') {
        parser->at++;
        if (!insert_split(parser, start, (long)(pattern->count - start) + 2) ||
            !name_pattern_add_step(parser, STEP_JUMP, 0, 0))
            return 0;
        size_t jump = pattern->count - 1;
        if (!pass_sequence(parser))
            return 0;
        pattern->steps[jump].to = (int16_t)(pattern->count - jump);
    }
    return 1;
}

const char *name_pattern_compile(struct name_pattern *pattern, const char *expression, size_t length)
{
    struct name_pattern_parser parser = { pattern, expression, expression + length, NULL, 0 };

    pattern->exact = NULL;
    pattern->count = pattern->set_count = 0;
    if (pass_alternatives(&parser))
        name_pattern_add_step(&parser, STEP_MATCH, 0, 0);
    return parser.wrong;
}

const char *name_pattern_read(struct name_pattern *pattern, const char *text, size_t length)
{
    static const char prefix[] = "regex:";

    if (length >= sizeof prefix - 1 && memcmp(text, prefix, sizeof prefix - 1) == 0)
        return name_pattern_compile(pattern, text + sizeof prefix - 1, length - (sizeof prefix - 1));
    pattern->exact = text;
    pattern->exact_length = length;
    return NULL;
}

/* ---- Matching -------------------------------------------------------------------------------------------------- */

static enum regex_side name_pattern_side_of(const char *text, size_t length, size_t at)
{
    return at >= length ? SIDE_END : name_pattern_is_word((unsigned char)text[at]) ? SIDE_WORD : SIDE_OTHER;
}

static size_t name_pattern_add_pending(struct name_pattern *pattern, size_t count, size_t step)
{
    uint64_t bit = UINT64_C(1) << step % 64;

    if (pattern->seen[step / 64] & bit)
        return count;
    pattern->seen[step / 64] |= bit;
    pattern->pending[count] = (uint16_t)step;
    return count + 1;
}

/* Adds all steps that are reached without a character: 1 if the end is one of them. */
static int name_pattern_reach(struct name_pattern *pattern, size_t step, enum regex_side before, enum regex_side after)
{
    size_t count = name_pattern_add_pending(pattern, 0, step);

    while (count > 0) {
        size_t at = pattern->pending[--count];
        const struct name_step *one = &pattern->steps[at];
        if (one->kind == STEP_MATCH)
            return 1;
        if (one->kind == STEP_JUMP || one->kind == STEP_SPLIT)
            count = name_pattern_add_pending(pattern, count, at + (size_t)one->to);
        if (one->kind == STEP_SPLIT ||
            (one->kind == STEP_ASSERT && regex_holds((enum regex_assertion)one->operand, before, after)))
            count = name_pattern_add_pending(pattern, count, at + 1);
    }
    return 0;
}

static int takes(const struct name_pattern *pattern, const struct name_step *step, unsigned char c)
{
    return step->kind == STEP_ANY || (step->kind == STEP_BYTE && step->operand == c) ||
           (step->kind == STEP_SET && pattern->sets[step->operand][c / 64] >> c % 64 & 1);
}

/* What is active behind the character. */
static void name_pattern_advance(struct name_pattern *pattern, unsigned char c)
{
    memset(pattern->entered, 0, sizeof pattern->entered);
    for (size_t i = 0; i < pattern->count; i++)
        if (pattern->seen[i / 64] >> i % 64 & 1 && takes(pattern, &pattern->steps[i], c))
            pattern->entered[(i + 1) / 64] |= UINT64_C(1) << (i + 1) % 64;
}

int name_pattern_matches(struct name_pattern *pattern, const char *name, size_t length)
{
    if (pattern->exact)
        return length == pattern->exact_length && memcmp(name, pattern->exact, length) == 0;
    memset(pattern->entered, 0, sizeof pattern->entered);
    for (size_t at = 0;; at++) {
        enum regex_side before = at ? name_pattern_side_of(name, length, at - 1) : SIDE_END,
                        after = name_pattern_side_of(name, length, at);
        memset(pattern->seen, 0, sizeof pattern->seen);
        pattern->entered[0] |= 1; /* a match may begin anywhere */
        for (size_t i = 0; i < pattern->count; i++)
            if (pattern->entered[i / 64] >> i % 64 & 1 && name_pattern_reach(pattern, i, before, after))
                return 1;
        if (at == length)
            return 0;
        name_pattern_advance(pattern, (unsigned char)name[at]);
    }
}
