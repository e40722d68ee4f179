/* Who may ask the server: names in Host and Origin, and the token. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "base/array.h"
#include "serve/access.h"

static const char *const allowed[] = { "hub.example", "[fd00::5]" };

static struct access_guard make(int open)
{
    struct access_guard guard = { .hosts = allowed, .host_count = 2, .open = open };
    struct error err;

    assert_int_equal(access_init(&guard, &err), 0);
    return guard;
}

static void hosts_by_name(void **state)
{
    static const struct {
        const char *host;
        int loopback, open;
    } cases[] = {
        { "localhost", 1, 1 },
        { "LocalHost:1", 1, 1 },
        { "127.0.0.1:65535", 1, 1 },
        { "[::1]", 1, 1 },
        { "[::1]:7", 1, 1 },
        { "hub.example:443", 1, 1 },
        { "[fd00::5]:1", 1, 1 },
        { "10.0.0.7:80", 0, 1 },
        { "[fd00::6]", 0, 1 },
        { "::1", 0, 0 },
        { "[::1", 0, 0 },
        { "[]", 0, 0 },
        { "[", 0, 0 },
        { "", 0, 0 },
        { ":80", 0, 0 },
        { "localhost:8o", 0, 0 },
        { "localhost:123456", 0, 0 },
        { "localhost:-1", 0, 0 },
        { "localhost ", 0, 0 },
        { "localhost.", 0, 0 },
        { "evil.example", 0, 0 },
        { "localhost.evil.example", 0, 0 },
        { "localhost/x", 0, 0 },
        { "a@localhost", 0, 0 },
        { "10.0.0.7.evil.example", 0, 0 },
        { "0x7f.1", 0, 0 },
        { "2130706433", 0, 0 },
    };
    struct access_guard closed = make(0), open = make(1);

    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        if (access_host(&closed, cases[i].host) != cases[i].loopback ||
            access_host(&open, cases[i].host) != cases[i].open)
            fail_msg("'%s' on loopback: %d, open: %d", cases[i].host, access_host(&closed, cases[i].host),
                     access_host(&open, cases[i].host));
    }
}

static void long_names_are_none(void **state)
{
    struct access_guard guard = make(1);
    char name[70000];

    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_int_equal(access_host(&guard, name), 0);
    name[0] = '[';
    assert_int_equal(access_host(&guard, name), 0);
    name[sizeof name - 2] = ']';
    assert_int_equal(access_host(&guard, name), 0);
}

static void origins_have_a_scheme(void **state)
{
    static const struct {
        const char *origin;
        int good;
    } cases[] = {
        { "http://localhost:9", 1 },
        { "https://hub.example", 1 },
        { "http://[::1]:9", 1 },
        { "null", 0 },
        { "", 0 },
        { "file://", 0 },
        { "http://", 0 },
        { "ftp://localhost", 0 },
        { "http://localhost/", 0 },
        { "http://evil.example", 0 },
        { "http://evil.example#http://localhost", 0 },
    };
    struct access_guard guard = make(0);

    for (size_t i = 0; i < COUNT_OF(cases); i++)
        if (access_origin(&guard, cases[i].origin) != cases[i].good)
            fail_msg("'%s': %d", cases[i].origin, !cases[i].good);
}

static void tokens_are_random_and_compared_whole(void **state)
{
    struct access_guard guard = make(0), other = make(0);
    char changed[sizeof guard.token];

    assert_int_equal(strlen(guard.token), 32);
    assert_string_not_equal(guard.token, other.token);
    assert_int_equal(access_token(&guard, guard.token), 1);
    assert_int_equal(access_token(&guard, other.token), 0);
    assert_int_equal(access_token(&guard, ""), 0);
    for (size_t i = 0; i < 32; i++) {
        memcpy(changed, guard.token, sizeof changed);
        changed[i] = changed[i] == '0' ? '1' : '0';
        assert_int_equal(access_token(&guard, changed), 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(hosts_by_name),
        cmocka_unit_test(long_names_are_none),
        cmocka_unit_test(origins_have_a_scheme),
        cmocka_unit_test(tokens_are_random_and_compared_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
