/* UTF-8: what is text, and what other programs get in place of what is not. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/utf8.h"

static void valid_length_stops_at_the_first_bad_byte(void **state)
{
    static const struct {
        const char *bytes;
        size_t length, valid;
    } cases[] = {
        { "", 0, 0 },
        { "plain ASCII of more than eight bytes", 36, 36 },
        { "zero\0inside", 11, 11 },
        { "\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80", 9, 9 },
        { "12345678\xff", 9, 8 },
        { "1234567\xc3", 8, 7 },      /* cut in the middle */
        { "\xe2\x82", 2, 0 },
        { "\xc0\xaf", 2, 0 },         /* longer than it need be */
        { "\xe0\x80\xaf", 3, 0 },
        { "\xed\xa0\x80", 3, 0 },     /* half of a pair of UTF-16 */
        { "\xf4\x90\x80\x80", 4, 0 }, /* beyond the last code point */
        { "\x80", 1, 0 },
    };

    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++)
        assert_int_equal(utf8_valid_length(cases[i].bytes, cases[i].length), cases[i].valid);
}

static void bad_bytes_become_the_replacement_character(void **state)
{
    struct text text = { 0 };

    (void)state;
    utf8_add(&text,
             "a\xff\xfe"
             "b\xc3\xa9\xc3",
             7);
    assert_string_equal(text_string(&text), "a\xef\xbf\xbd\xef\xbf\xbd"
                                            "b\xc3\xa9\xef\xbf\xbd");
    text_free(&text);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_length_stops_at_the_first_bad_byte),
        cmocka_unit_test(bad_bytes_become_the_replacement_character),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
