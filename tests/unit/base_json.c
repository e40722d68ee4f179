/* Writing JSON by a format: what each conversion becomes, and where commas come. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/json_write.h"

static void conversions(void **state)
{
    struct text out = { 0 };
    const char *volatile none = NULL; /* the compiler takes the format for printf()'s */

    json_addf(&out, "{'text':%s,'none':%s,'part':%.*s,'empty':''}", "a\"b\\\n", none, 2, "xyz");
    json_addf(&out, "{'int':%d,'unsigned':%u,'long':%jd,'count':%ju,'size':%zu}", -1, UINT32_MAX, INT64_MIN,
              UINT64_C(7), (size_t)8);
    json_addf(&out, "{'yes':%i,'no':%i,'real':%g,'nan':%g}", 2, 0, 0.1, NAN);
    assert_string_equal(text_string(&out),
                        "{\"text\":\"a\\\"b\\\\\\u000a\",\"none\":null,\"part\":\"xy\",\"empty\":\"\"},"
                        "{\"int\":-1,\"unsigned\":4294967295,\"long\":-9223372036854775808,\"count\":7,\"size\":8},"
                        "{\"yes\":true,\"no\":false,\"real\":0.1,\"nan\":null}");
    text_free(&out);
}

static void commas(void **state)
{
    struct text out = { 0 };

    json_addf(&out, "{'list':[");
    for (int i = 0; i < 3; i++)
        json_addf(&out, "%d", i);
    json_addf(&out, "],'objects':[");
    for (int i = 0; i < 2; i++)
        json_addf(&out, "\n {%s:%s}", "name", i ? "{" : "[,:"); /* the end of a string is no bracket */
    json_addf(&out, "]");
    json_addf(&out, ", 'own': ");
    json_addf(&out, "null");
    json_addf(&out, "}\n");
    json_addf(&out, "{}");
    assert_string_equal(text_string(&out), "{\"list\":[0,1,2],\"objects\":[\n {\"name\":\"[,:\"},\n {\"name\":\"{\"}], "
                                           "\"own\": null}\n{}");
    text_free(&out);
}

int main(void)
{
    const struct CMUnitTest tests[] = { cmocka_unit_test(conversions), cmocka_unit_test(commas) };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
