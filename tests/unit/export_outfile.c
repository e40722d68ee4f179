/* A file that a thread of its own writes: the bytes are those that were given, in their order, and a failure of the
 * thread comes back to the caller. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <zlib.h>

#include "export/outfile.h"

enum { PIECES = 2000, AT_LEAST = 1000 };

static void add_piece(struct text *text, int i)
{
    text_addf(text, "%d,", i);
    text_add_repeat(text, (char)('a' + i % 26), (size_t)(i * 7 % 300));
}

/* context: how many pieces outfile_put() took before it failed. */
static int put_pieces(void *context, struct outfile *output, struct error *err)
{
    int *taken = context, code = 0;
    struct text text = { 0 };

    for (*taken = 0; *taken < PIECES && code == 0; *taken += code == 0) {
        add_piece(&text, *taken);
        code = outfile_put(output, &text, AT_LEAST, err);
    }
    if (code == 0)
        code = outfile_put(output, &text, 0, err);
    text_free(&text);
    return code;
}

/* gzread() reads plain files, too. */
static void all_bytes_arrive(void **state)
{
    (void)state;
    struct text expected = { 0 };
    for (int i = 0; i < PIECES; i++)
        add_piece(&expected, i);
    char *got = malloc(expected.length + 1);
    assert_non_null(got);
    for (int gzip = 0; gzip < 2; gzip++) {
        char path[] = "/tmp/tacho-test-XXXXXX";
        struct error err = { 0 };
        int taken;
        close(mkstemp(path));
        assert_int_equal(outfile_write(path, gzip, put_pieces, &taken, &err), 0);
        gzFile file = gzopen(path, "rb");
        assert_int_equal(gzread(file, got, (unsigned)expected.length + 1), expected.length);
        assert_int_equal(gzdirect(file), !gzip);
        gzclose(file);
        assert_memory_equal(got, expected.bytes, expected.length);
        unlink(path);
    }
    free(got);
    text_free(&expected);
}

/* The caller hears of it before it has made everything; but gzip may keep all its bytes until the end. */
static void a_full_disk_is_told(void **state)
{
    (void)state;
    for (int gzip = 0; gzip < 2; gzip++) {
        struct error err = { 0 };
        int taken;
        assert_int_equal(outfile_write("/dev/full", gzip, put_pieces, &taken, &err), ERR_NO_SPACE);
        assert_string_equal(err.text, "cannot write '/dev/full': No space left on device");
        assert_true(gzip || taken < PIECES);
    }
}

static int put_little(void *context, struct outfile *output, struct error *err)
{
    struct text text = { 0 };
    (void)context;
    text_add(&text, "a");
    int code = outfile_put(output, &text, 0, err);
    text_free(&text);
    return code;
}

/* Bytes that stay in a buffer until the file is closed fail only then. */
static void a_full_disk_is_told_at_the_end(void **state)
{
    (void)state;
    for (int gzip = 0; gzip < 2; gzip++) {
        struct error err = { 0 };
        assert_int_equal(outfile_write("/dev/full", gzip, put_little, NULL, &err), ERR_NO_SPACE);
    }
}

static int give_up(void *context, struct outfile *output, struct error *err)
{
    put_little(context, output, err);
    return error_set(err, ERR_CANCELLED, "enough");
}

static void the_callers_own_error_stays(void **state)
{
    (void)state;
    struct error err = { 0 };
    assert_int_equal(outfile_write("/dev/full", 0, give_up, NULL, &err), ERR_CANCELLED);
    assert_string_equal(err.text, "enough");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_bytes_arrive),
        cmocka_unit_test(a_full_disk_is_told),
        cmocka_unit_test(a_full_disk_is_told_at_the_end),
        cmocka_unit_test(the_callers_own_error_stays),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
