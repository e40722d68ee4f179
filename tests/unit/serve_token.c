/* Tokens that last: the same for the same file, another one for any other, and none from a key that others could know.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "serve/durable_token.h"
#include "serve/sha256.h"

static char folder[] = "/tmp/tacho-unit-XXXXXX";
static char token[2 * GUARD_TOKEN_BYTES + 1], again[sizeof token];

static const char *inside(const char *name)
{
    static char path[2][128];
    static int turn;

    turn = !turn;
    snprintf(path[turn], sizeof path[turn], "%s/%s", folder, name);
    return path[turn];
}

static void write_file(const char *name, const char *text, mode_t mode)
{
    FILE *file = fopen(inside(name), "w");

    assert_non_null(file);
    fputs(text, file);
    fclose(file);
    assert_int_equal(chmod(inside(name), mode), 0);
}

static int make_folder(void **state)
{
    if (!mkdtemp(folder))
        return -1;
    setenv("XDG_STATE_HOME", folder, 1);
    return 0;
}

static int remove_folder(void **state)
{
    char command[64];

    snprintf(command, sizeof command, "rm -r %s", folder);
    return system(command);
}

static void expect_hex(const unsigned char *bytes, const char *hex)
{
    char got[2 * SHA256_BYTES + 1];

    for (int i = 0; i < SHA256_BYTES; i++)
        sprintf(got + 2 * i, "%02x", bytes[i]);
    assert_string_equal(got, hex);
}

/* Vectors of FIPS 180-4; of lengths around a block, coreutils' sha256sum says the same. */
static void sha256_vectors(void **state)
{
    unsigned char out[SHA256_BYTES];
    char many[1000];

    sha256("abc", 3, out);
    expect_hex(out, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    sha256("", 0, out);
    expect_hex(out, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    sha256("abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq", 56, out);
    expect_hex(out, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    memset(many, 'a', sizeof many);
    sha256(many, sizeof many, out);
    expect_hex(out, "41edece42d63e8d9bf515a9ba6932e1c20cbc9f5a5d134645adb5db1b9737ea3");
}

static void same_file_same_token(void **state)
{
    struct error err = { 0 };
    struct stat about;

    write_file("a", "one", 0600);
    write_file("b", "one", 0600);
    assert_int_equal(durable_token(inside("a"), token, &err), 0);
    assert_int_equal(strlen(token), 2 * GUARD_TOKEN_BYTES);
    assert_int_equal(durable_token(inside("a"), again, &err), 0);
    assert_string_equal(token, again);
    assert_int_equal(durable_token(inside("b"), again, &err), 0);
    assert_string_not_equal(token, again);
    write_file("a", "longer", 0600);
    assert_int_equal(durable_token(inside("a"), again, &err), 0);
    assert_string_not_equal(token, again);
    assert_int_equal(stat(inside("tacho/view.key"), &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    assert_int_equal(about.st_size, SHA256_BYTES);
}

/* The key decides: without it the identity of the file tells nothing. */
static void another_key_another_token(void **state)
{
    struct error err = { 0 };

    write_file("c", "x", 0600);
    assert_int_equal(durable_token(inside("c"), token, &err), 0);
    assert_int_equal(unlink(inside("tacho/view.key")), 0);
    assert_int_equal(durable_token(inside("c"), again, &err), 0);
    assert_string_not_equal(token, again);
}

static void no_token_from_a_known_key(void **state)
{
    struct error err = { 0 };

    write_file("c", "x", 0600);
    assert_int_equal(durable_token(inside("c"), token, &err), 0);
    assert_int_equal(chmod(inside("tacho/view.key"), 0644), 0);
    assert_int_equal(durable_token(inside("c"), token, &err), ERR_BAD_ARGUMENT);
    assert_non_null(strstr(err.text, "mode 0600"));
    assert_int_equal(unlink(inside("tacho/view.key")), 0);
    assert_int_equal(symlink(inside("c"), inside("tacho/view.key")), 0);
    assert_int_equal(durable_token(inside("c"), token, &err), ERR_BAD_ARGUMENT);
    assert_int_equal(unlink(inside("tacho/view.key")), 0);
    write_file("tacho/view.key", "short", 0600);
    assert_int_equal(durable_token(inside("c"), token, &err), ERR_BAD_ARGUMENT);
    assert_int_equal(unlink(inside("tacho/view.key")), 0);
    assert_int_equal(durable_token(inside("nothing"), token, &err), ERR_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sha256_vectors),
        cmocka_unit_test(same_file_same_token),
        cmocka_unit_test(another_key_another_token),
        cmocka_unit_test(no_token_from_a_known_key),
    };

    return cmocka_run_group_tests(tests, make_folder, remove_folder);
}
