/* Regular expressions: the syntax, compared with Python's re and glibc's regexec() on generated expressions, and
 * hostile expressions, which must stay within the bounds. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>
#include <regex.h>

#include "base/array.h"
#include "base/regex/regex.h"
#include "rounds.h"

/* Returns 0 or 1, or -1 if the expression is rejected. */
static int match(const char *pattern, unsigned flags, const char *text, size_t length)
{
    struct error err = { 0 };
    struct regex *regex = regex_compile(pattern, strlen(pattern), flags, &err);

    if (!regex) {
        assert_int_equal(err.code, ERR_BAD_ARGUMENT);
        assert_true(strlen(err.text) > 5);
        return -1;
    }
    int is_match = regex_matches(regex, text, length);
    assert_int_equal(regex_matches(regex, text, length), is_match); /* now with a warm cache */
    regex_free(regex);
    return is_match;
}

static void expect(int wanted, const char *pattern, unsigned flags, const char *text)
{
    int found = match(pattern, flags, text, strlen(text));

    if (found != wanted)
        fail_msg("'%s' in '%s': %d, expected %d", pattern, text, found, wanted);
}

static void the_syntax(void **state)
{
    static const struct {
        const char *pattern, *in, *not_in; /* texts */
    } cases[] = {
        { "", "anything", NULL },
        { "gemm", "ampere_sgemm_128", "conv" },
        { "^aten::(add|mul)_?$", "aten::mul_", "aten::mul_out" },
        { "a.c", "abc", "ac" },
        { "^...$", "d\xc3\xa9j", "d\xc3\xa9j\xc3\xa0" }, /* characters, not bytes */
        { "^.$", "\xff", "\xff\xff" },                   /* a stray byte is one */
        { "[a-c]x", "cx", "dx" },
        { "[^a-c]x", "dx", "cx" },
        { "[]x]y", "]y", "[y" },
        { "[^]x]y", "ay", "]y" },
        { "[a-]1", "-1", "b1" },
        { "[[:digit:]_]z", "_z", "az" },
        { "[\\w.]!", "_!", "-!" },
        { "[\\]]", "]", "\\" },
        { "\\d{2,3}x", "123x", "1x" },
        { "^\\d{2,3}$", "123", "1234" },
        { "^(ab){2}$", "abab", "ab" },
        { "^x{,2}$", "xx", "xxx" },
        { "^(?:ab)+$", "abab", "aba" },
        { "\\bcat\\b", "a cat.", "concat" },
        { "\\Bcat", "concat", "a cat" },
        { "\\<cat\\>", "a cat", "cats" },
        { "<.+?>", "a<b>", "a<>" }, /* lazy */
        { "^a+?$", "aa", "" },
        { "^a*+$", "aa", "ab" },
        { "a|b|", "c", NULL },
        { "operator()", "operator", "operato" },
        { "f\\(\\)", "f()", "f" },
        { "a{b}", "a{b}", "ab" }, /* not a count: literal braces */
        { "x)", "x)", "x" },      /* as POSIX has it */
        { "a\\tb", "a\tb", "atb" },
        { "\\.cu$", "a.cu", "acu" },
        { "[[.-.]]", "-", "." },
        { "[\xc3\xa9-\xc3\xab]", "\xc3\xaa", "e" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        expect(1, cases[i].pattern, 0, cases[i].in);
        if (cases[i].not_in)
            expect(0, cases[i].pattern, 0, cases[i].not_in);
    }
    expect(1, "gEmM[a-c]\\S", REGEX_IGNORE_CASE, "GeMmBz");
    expect(0, "[^a]", REGEX_IGNORE_CASE, "aA");
    expect(0, "\xc3\xa9", REGEX_IGNORE_CASE, "\xc3\x89"); /* letters of ASCII alone */
    assert_int_equal(match("a.b", 0, "xa\0by", 5), 1);
    assert_int_equal(match("^[^x]b$", 0, "\0b", 2), 1);
}

static void basic_expressions(void **state)
{
    static const struct {
        const char *pattern, *in, *not_in;
    } cases[] = {
        { "CUPTI_.*_KERNEL$", "CUPTI_ACTIVITY_KIND_KERNEL", "CUPTI_ACTIVITY_KIND_KERNELS" },
        { "batch [0-9]*$", "batch 12", "batch 1 of 2" },
        { "a+(b)?{2}|", "a+(b)?{2}|", "aab" },
        { "\\(ab\\)\\{2\\}", "abab", "ab" },
        { "^ab\\+c\\?d\\|x$", "abbd", "ad" },
        { "*a", "*a", "a" },
        { "\\(*a\\|^*b\\)", "*b", "b" },
        { "a^b$c", "a^b$c", "ab" },
        { "x\\(^a\\|b$\\)", "xb", "xa" },
        { "[\\.]", "\\", "a" }, /* a backslash is literal inside brackets */
        { "\\w\\b", "a", "-" },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        expect(1, cases[i].pattern, REGEX_BASIC, cases[i].in);
        expect(0, cases[i].pattern, REGEX_BASIC, cases[i].not_in);
    }
}

static void what_is_refused(void **state)
{
    static const struct {
        const char *pattern;
        unsigned flags;
        const char *reason; /* a part of it */
    } cases[] = {
        { "(a)\\1", 0, "back-references such as \\1 are not supported" },
        { "\\(a\\)\\2", REGEX_BASIC, "back-references such as \\2" },
        { "(?=a)", 0, "look-around" },
        { "(?<!a)", 0, "look-around" },
        { "(?i)a", 0, "not supported" },
        { "[", 0, "Unmatched [" },
        { "[a", 0, "Unmatched [" },
        { "[]", 0, "Unmatched [" },
        { "[a-", 0, "Unmatched [" },
        { "[[:alpha:]", 0, "Unmatched [" },
        { "[[:alpha", 0, "Unmatched [" },
        { "[\\", 0, "Unmatched [" },
        { "[[:letter:]]", 0, "Invalid character class name" },
        { "[[.space.]]", 0, "Invalid collation character" },
        { "[z-a]", 0, "Invalid range end" },
        { "[\\d-z]", 0, "Invalid range end" },
        { "(a", 0, "Unmatched (" },
        { "\\(a", REGEX_BASIC, "Unmatched (" },
        { "a\\)", REGEX_BASIC, "Unmatched )" },
        { "a\\", 0, "Trailing backslash" },
        { "*a", 0, "Invalid preceding" },
        { "a|+", 0, "Invalid preceding" },
        { "(?:*)", 0, "Invalid preceding" },
        { "^*", 0, "Invalid preceding" },
        { "{2}", 0, "Invalid preceding" },
        { "a{3,2}", 0, "Invalid content" },
        { "a\\{x\\}", REGEX_BASIC, "Invalid content" },
        { "\\q", 0, "unknown escape \\q" },
        { "a{10001}", 0, "more than 10000 parts" },
        { "a{99999999999999999999}", 0, "more than 10000 parts" },
        { "a{1000}{1000}", 0, "more than 10000 parts" },
        { "(((a{10}){10}){10}){11}", 0, "more than 10000 parts" },
        { "(a{100}|b{100}){100}", 0, "more than 10000 parts" },
    };
    char deep[2 * REGEX_GROUPS_MOST + 4], *long_one = malloc(REGEX_LONGEST + 2);
    struct error err;

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        err = (struct error){ 0 };
        assert_null(regex_compile(cases[i].pattern, strlen(cases[i].pattern), cases[i].flags, &err));
        if (err.code != ERR_BAD_ARGUMENT || !strstr(err.text, cases[i].reason))
            fail_msg("'%s': %d '%s', expected '%s'", cases[i].pattern, err.code, err.text, cases[i].reason);
    }
    memset(deep, '(', REGEX_GROUPS_MOST + 1);
    memset(deep + REGEX_GROUPS_MOST + 1, ')', REGEX_GROUPS_MOST + 1);
    deep[2 * REGEX_GROUPS_MOST + 2] = 0;
    expect(-1, deep, 0, "");
    deep[2 * REGEX_GROUPS_MOST + 1] = 0;
    expect(1, deep + 1, 0, "");
    assert_non_null(long_one);
    memset(long_one, 'x', REGEX_LONGEST + 1);
    assert_null(regex_compile(long_one, REGEX_LONGEST + 1, 0, &err));
    struct regex *longest = regex_compile(long_one, REGEX_LONGEST, 0, &err);
    assert_non_null(longest);
    assert_int_equal(regex_matches(longest, long_one, REGEX_LONGEST + 1), 1);
    assert_int_equal(regex_matches(longest, long_one, REGEX_LONGEST - 1), 0);
    regex_free(longest);
    free(long_one);
}

/* Expressions that take a backtracking engine exponential time, or that have a DFA of exponential size. */
static void hostile_expressions_terminate(void **state)
{
    enum { LENGTH = 100000 };
    static const struct {
        const char *pattern;
        int is_match; /* in a text of many a */
    } cases[] = {
        { "(a*)*b", 0 },
        { "^(a+)+$", 1 },
        { "^(a|a)*b$", 0 },
        { "^(a|aa)+c", 0 },
        { "((((((((((a*)*)*)*)*)*)*)*)*)*b)", 0 },
        { "a+++++++++++++++++++++++++++++b", 0 },
        { "(((((((((((((((((((a)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+)+b", 0 },
        { "(a?){1000}a{1000}b", 0 },
        { "^((a?b?)*){60}c$", 0 },
        { "(\\ba?){100}c", 0 },
        { "((a|b)*a(a|b){30}){30}c", 0 },
        { "(){1000}{1000}{1000}{1000}b", 0 },
        { "(((){99}){99}|a){2000}b", 0 },
    };
    char *text = malloc(LENGTH);

    (void)state;
    assert_non_null(text);
    memset(text, 'a', LENGTH);
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (match(cases[i].pattern, 0, text, LENGTH) != cases[i].is_match)
            fail_msg("'%s': expected %d", cases[i].pattern, cases[i].is_match);
    free(text);
}

static uint64_t random_state = 7;
static uint32_t random_below(uint32_t count)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return (uint32_t)(random_state >> 33) % count;
}

/* This DFA has 2^13 states, one for each combination of the last 13 characters: more than the cache holds. */
static void more_states_than_the_cache_holds(void **state)
{
    enum { BEHIND = 12, LENGTH = 200000 };
    struct error err = { 0 };
    char pattern[] = "^(a|b)*a(a|b){12}$", *text = malloc(LENGTH);
    struct regex *regex = regex_compile(pattern, strlen(pattern), 0, &err);

    (void)state;
    assert_non_null(regex);
    assert_non_null(text);
    for (size_t i = 0; i < LENGTH; i++)
        text[i] = "ab"[random_below(2)];
    for (size_t length = LENGTH - 20; length < LENGTH; length++)
        assert_int_equal(regex_matches(regex, text, length), text[length - BEHIND - 1] == 'a');
    regex_free(regex);
    free(text);
}

/* ---- The C library --------------------------------------------------------------------------------------------- */

struct made {
    char bytes[2000];
    size_t length;
    int is_basic;
};

static void add(struct made *made, const char *text)
{
    size_t length = strlen(text);

    assert_true(made->length + length < sizeof made->bytes);
    memcpy(made->bytes + made->length, text, length + 1);
    made->length += length;
}

/* Adds an operator, with a backslash in basic expressions. */
static void add_operator(struct made *made, const char *text)
{
    add(made, made->is_basic ? "\\" : "");
    add(made, text);
}

static void add_expression(struct made *made, int depth);

static void add_atom(struct made *made, int depth)
{
    static const char *const atoms[] = {
        "a", "b",   "A",   ".",   "[ab]", "[^a]", "[a-c]", "[[:alpha:]]", "[[:digit:]_]", "[^[:space:]b]",
        "1", "\\.", "\\w", "\\W",
    };

    if (depth == 0 || random_below(3)) {
        add(made, atoms[random_below(COUNT_OF(atoms))]);
        return;
    }
    add_operator(made, "(");
    add_expression(made, depth - 1);
    add_operator(made, ")");
}

static void add_repeat(struct made *made)
{
    static const char *const counts[] = { "{2", "{0,1", "{1,2", "{2," };

    switch (random_below(8)) {
    case 0: add(made, "*"); break;
    case 1: add_operator(made, "+"); break;
    case 2: add_operator(made, "?"); break;
    case 3:
        add_operator(made, counts[random_below(4)]);
        add_operator(made, "}");
        break;
    default: break;
    }
}

enum { DEPTH = 3 };

/* Anchors stand outside of groups only: glibc 2.36 finds wrong matches when it repeats a group that contains one. */
static void add_expression(struct made *made, int depth)
{
    int branches = random_below(4) ? 1 : 2;

    for (int branch = 0; branch < branches; branch++) {
        if (branch)
            add_operator(made, "|");
        if (depth == DEPTH && random_below(4) == 0)
            add(made, "^");
        for (uint32_t count = random_below(4) + !made->is_basic; count > 0; count--) {
            add_atom(made, depth);
            add_repeat(made);
        }
        if (depth == DEPTH && random_below(4) == 0)
            add(made, "$");
    }
}

static void as_the_c_library_has_it(void **state)
{
    int step = rounds_step(ROUNDS_ENDLESS), compared = 0, matches = 0;

    (void)state;
    for (int round = 0; round < 20000 / step; round++) {
        struct made made = { .is_basic = round & 1 };
        unsigned flags = (made.is_basic ? REGEX_BASIC : 0) | (round & 2 ? REGEX_IGNORE_CASE : 0);
        regex_t truth;
        struct error err = { 0 };

        add_expression(&made, DEPTH);
        int code = regcomp(&truth, made.bytes,
                           REG_NOSUB | (made.is_basic ? 0 : REG_EXTENDED) | (round & 2 ? REG_ICASE : 0));
        if (code != 0)
            continue;
        struct regex *regex = regex_compile(made.bytes, made.length, flags, &err);
        if (!regex)
            fail_msg("'%s': %s", made.bytes, err.text);
        for (int i = 0; i < 8; i++) {
            char text[12];
            uint32_t length = random_below(sizeof text);
            for (uint32_t at = 0; at < length; at++)
                text[at] = "aabbABc1_. "[random_below(11)];
            text[length] = 0;
            int wanted = regexec(&truth, text, 0, NULL, 0) == 0, found = regex_matches(regex, text, length);
            if (found != wanted)
                fail_msg("%s '%s' in '%s': %d, expected %d", made.is_basic ? "basic" : "extended", made.bytes, text,
                         found, wanted);
            compared++;
            matches += wanted;
        }
        regex_free(regex);
        regfree(&truth);
    }
    print_message("%d texts compared, %d match\n", compared, matches);
    assert_true(matches > compared / 10 && matches < compared * 9 / 10);
}

/* ---- Python ---------------------------------------------------------------------------------------------------- */

static size_t read_hex(const char *hex, char *out)
{
    size_t length = 0;

    for (hex++; hex[0] && hex[1]; hex += 2) {
        char digits[] = { hex[0], hex[1], 0 };
        out[length++] = (char)strtoul(digits, NULL, 16);
    }
    return length;
}

static void as_python_has_it(void **state)
{
    static char line[20000], pattern[10000], text[10000], hex[2][10000];
    int step = rounds_step(ROUNDS_ENDLESS), compared = 0, is_match;
    const char *source = getenv("SOURCE");
    unsigned flags;

    (void)state;
    snprintf(line, sizeof line, "python3 '%s/tests/unit/regex_truth.py' 5 %d", source ? source : ".", 10000 / step);
    FILE *truth = popen(line, "r");
    assert_non_null(truth);
    while (fgets(line, sizeof line, truth)) {
        assert_int_equal(sscanf(line, "%u %9999s %9999s %d", &flags, hex[0], hex[1], &is_match), 4);
        size_t pattern_length = read_hex(hex[0], pattern), length = read_hex(hex[1], text);
        pattern[pattern_length] = text[length] = 0;
        int found = match(pattern, flags, text, length);
        if (found != is_match)
            fail_msg("'%s' in '%s' (flags %u): %d, expected %d", pattern, text, flags, found, is_match);
        compared++;
    }
    assert_int_equal(pclose(truth), 0);
    assert_int_equal(compared, 10000 / step * 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_syntax),
        cmocka_unit_test(basic_expressions),
        cmocka_unit_test(what_is_refused),
        cmocka_unit_test(hostile_expressions_terminate),
        cmocka_unit_test(more_states_than_the_cache_holds),
        cmocka_unit_test(as_the_c_library_has_it),
        cmocka_unit_test(as_python_has_it),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
