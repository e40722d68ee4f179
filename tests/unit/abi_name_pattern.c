/* Expressions of ncu's filters, compared with Python's re, and names that must match exactly. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "abi/counters/name_pattern.h"
#include "base/array.h"
#include "rounds.h"

static struct name_pattern pattern;

static void names_and_expressions(void **state)
{
    static const struct {
        const char *spec, *in, *not_in;
    } cases[] = {
        { "gemm", "gemm", "sgemm" },
        { "gemm", "gemm", "gem" },
        { "ge.m", "ge.m", "gemm" },
        { "regex:gemm", "ampere_sgemm_128", "conv" },
        { "regex:^foo|bar$", "foo1", "bar1" },
        { "regex:Foo|Bar", "xBarx", "foo" },
        { "regex:^.*foo$", "a_foo", "foo_a" },
        { "regex:k[0-9]+_(fwd|bwd)\\b", "k12_fwd", "k_fwd" },
        { "regex:[[:upper:]]{2,3}$", "aBC", "aBc" },
        { "regex:^a{b}$", "a{b}", "ab" },
        { "regex:", "anything", NULL },
        { "regex:^(a|b)*$", "abba", "abc" },
        { "regex:^(a*)*$", "aaa", "ab" },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *wrong = name_pattern_read(&pattern, cases[i].spec, strlen(cases[i].spec));
        if (wrong)
            fail_msg("%s: %s", cases[i].spec, wrong);
        if (!name_pattern_matches(&pattern, cases[i].in, strlen(cases[i].in)))
            fail_msg("%s does not match '%s'", cases[i].spec, cases[i].in);
        if (cases[i].not_in && name_pattern_matches(&pattern, cases[i].not_in, strlen(cases[i].not_in)))
            fail_msg("%s matches '%s'", cases[i].spec, cases[i].not_in);
    }
}

static void wrong_expressions(void **state)
{
    static const struct {
        const char *spec, *says;
    } cases[] = {
        { "regex:(a", "a '(' has no ')'" },
        { "regex:a)", "a ')' has no '('" },
        { "regex:[a", "a '[' has no ']'" },
        { "regex:[z-a]", "the wrong way round" },
        { "regex:a{3,2}", "the wrong way round" },
        { "regex:*a", "nothing to repeat" },
        { "regex:a|+", "nothing to repeat" },
        { "regex:^(?!foo)", "look-around" },
        { "regex:(a)\\1", "back-references" },
        { "regex:a\\", "a backslash is the last character" },
        { "regex:(a{30}){30}", "too long" },
        { "regex:((((((((((((((((((((((((((((((((((a))))))))))))))))))))))))))))))))))", "too deeply" },
    };

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const char *wrong = name_pattern_read(&pattern, cases[i].spec, strlen(cases[i].spec));
        if (!wrong || !strstr(wrong, cases[i].says))
            fail_msg("%s: '%s', not '%s'", cases[i].spec, wrong ? wrong : "taken", cases[i].says);
    }
}

static size_t read_hex(const char *hex, char *out)
{
    size_t length = 0;

    for (hex++; hex[0] && hex[1]; hex += 2) {
        char digits[] = { hex[0], hex[1], 0 };
        out[length++] = (char)strtoul(digits, NULL, 16);
    }
    return length;
}

static int is_ascii(const char *text, size_t length)
{
    for (size_t i = 0; i < length; i++)
        if (text[i] & 0x80)
            return 0;
    return 1;
}

/* Of the generated ones, those without other letters than ASCII's, and with regard to case. */
static void as_python_has_it(void **state)
{
    static char line[20000], expression[10000], text[10000], hex[2][10000];
    int compared = 0, too_long = 0, is_match, rounds = 10000 / rounds_step(10000);
    const char *source = getenv("SOURCE");
    unsigned flags;

    snprintf(line, sizeof line, "python3 '%s/tests/unit/regex_truth.py' 7 %d", source ? source : ".", rounds);
    FILE *truth = popen(line, "r");
    assert_non_null(truth);
    while (fgets(line, sizeof line, truth)) {
        assert_int_equal(sscanf(line, "%u %9999s %9999s %d", &flags, hex[0], hex[1], &is_match), 4);
        size_t expression_length = read_hex(hex[0], expression), length = read_hex(hex[1], text);
        expression[expression_length] = text[length] = 0;
        if (flags || !is_ascii(expression, expression_length) || !is_ascii(text, length))
            continue;
        const char *wrong = name_pattern_compile(&pattern, expression, expression_length);
        if (wrong && (strstr(wrong, "too long") || strstr(wrong, "too many sets"))) {
            too_long++;
            continue;
        }
        if (wrong)
            fail_msg("'%s': %s", expression, wrong);
        if (name_pattern_matches(&pattern, text, length) != is_match)
            fail_msg("'%s' in '%s': %d, expected %d", expression, text, !is_match, is_match);
        compared++;
    }
    assert_int_equal(pclose(truth), 0);
    print_message("%d compared, %d too long\n", compared, too_long);
    assert_true(compared > rounds && too_long < compared / 10);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(names_and_expressions), cmocka_unit_test(wrong_expressions),
                                        cmocka_unit_test(as_python_has_it) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
