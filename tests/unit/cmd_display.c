/* Names that we tell a user to type: bash must read them back as they are, and a terminal must not obey them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cmd/print/display.h"

/* What bash makes of the quoted word. */
static void as_bash_reads_it(const char *quoted, char *out, size_t size)
{
    setenv("QUOTED", quoted, 1);
    FILE *bash = popen("bash -c 'eval \"printf %s $QUOTED\"'", "r");
    assert_non_null(bash);
    out[fread(out, 1, size - 1, bash)] = 0;
    pclose(bash);
}

static void test_bash_reads_back_what_was_quoted(void **state)
{
    static const char *const words[] = {
        "report1.tacho", "a b.tacho",   "it's",      "$HOME",       "a;b",          "é.tacho", "back\\slash", "*", "~",
        "(x)",           "\033[31mred", "new\nline", "bad\377byte", "tab\t'quote'", "!x"
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(words); i++) {
        struct text quoted = { 0 };
        char got[256];
        display_add_quoted(&quoted, words[i]);
        for (const char *at = text_string(&quoted); *at; at++)
            assert_true((unsigned char)*at >= 0x20 && *at != 0x7f);
        as_bash_reads_it(text_string(&quoted), got, sizeof got);
        assert_string_equal(got, words[i]);
        text_free(&quoted);
    }
}

static void test_plain_names_stay_plain(void **state)
{
    struct text quoted = { 0 };

    (void)state;
    display_add_quoted(&quoted, "build/bin/tacho");
    assert_string_equal(text_string(&quoted), "build/bin/tacho");
    text_free(&quoted);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_bash_reads_back_what_was_quoted),
        cmocka_unit_test(test_plain_names_stay_plain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
