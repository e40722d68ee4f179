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
    for (size_t i = 0; i < COUNT_OF(cases); i++)
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

/* One, two, three and four bytes, and a byte that belongs to no character. */
static const char five_characters[] = "a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80\xff";
static const size_t places[] = { 0, 1, 3, 6, 10, 11 };

static void stepping_goes_from_character_to_character(void **state)
{
    (void)state;
    assert_int_equal(utf8_characters(five_characters, 11), 5);
    for (size_t i = 0; i < 5; i++) {
        assert_int_equal(utf8_behind(five_characters, 11, places[i]), places[i + 1]);
        assert_int_equal(utf8_before(five_characters, places[i + 1]), places[i]);
    }
}

static void stepping_stays_inside_the_text(void **state)
{
    (void)state;
    assert_int_equal(utf8_before(five_characters, 0), 0);
    assert_int_equal(utf8_behind(five_characters, 11, 11), 11);
    assert_int_equal(utf8_behind(five_characters, 5, 3), 5); /* cut inside a character: its rest is not read */
    assert_int_equal(utf8_before(five_characters + 2, 1), 0);
    assert_int_equal(utf8_before(NULL, 0), 0);
    assert_int_equal(utf8_behind(NULL, 0, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(valid_length_stops_at_the_first_bad_byte),
        cmocka_unit_test(bad_bytes_become_the_replacement_character),
        cmocka_unit_test(stepping_goes_from_character_to_character),
        cmocka_unit_test(stepping_stays_inside_the_text),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
