/* What a new file does to the name that it gets. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/array.h"
#include "base/newfile.h"

static char folder[] = "/tmp/tacho-unit-XXXXXX";

static int enter(void **state)
{
    umask(022);
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static int leave(void **state)
{
    static const char *const names[] = { "old", "link", "new", "pipe", "inner" };
    for (size_t i = 0; i < COUNT_OF(names); i++)
        remove(names[i]);
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void make(const char *path, int overwrite)
{
    int file = newfile_open(path, O_WRONLY, 0600, overwrite);
    struct stat status;
    assert_true(file >= 0);
    assert_int_equal(newfile_write(file, "new", 3), 0);
    close(file);
    assert_int_equal(lstat(path, &status), 0);
    assert_int_equal(status.st_mode, S_IFREG | 0600);
    assert_int_equal(status.st_size, 3);
}

static void fails(const char *path, int overwrite, int error)
{
    errno = 0;
    assert_int_equal(newfile_open(path, O_WRONLY, 0600, overwrite), -1);
    assert_int_equal(errno, error);
}

static off_t size_of(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 ? status.st_size : -1;
}

static void test_a_name_that_is_taken(void **state)
{
    make("new", 0);
    fails("new", 0, EEXIST);
    make("new", 1);
}

static void test_writing_fails_with_the_cause(void **state)
{
    int file = open("/dev/full", O_WRONLY);
    assert_int_equal(newfile_write(file, "new", 3), -1);
    assert_int_equal(errno, ENOSPC);
    close(file);
}

/* A device that takes nothing and gives no cause. */
static int takes_nothing;

ssize_t write(int file, const void *bytes, size_t length)
{
    return takes_nothing ? 0 : syscall(SYS_write, file, bytes, length);
}

static void test_writing_ends_where_nothing_is_taken(void **state)
{
    takes_nothing = 1;
    int written = newfile_write(STDOUT_FILENO, "new", 3), error = errno;
    takes_nothing = 0;
    assert_int_equal(written, -1);
    assert_int_equal(error, EIO);
}

static void test_links_are_replaced_not_followed(void **state)
{
    int file = open("old", O_WRONLY | O_CREAT, 0644);
    assert_int_equal(write(file, "precious", 8), 8);
    close(file);
    assert_int_equal(symlink("old", "link"), 0);
    fails("link", 0, EEXIST);
    make("link", 1);
    assert_int_equal(size_of("old"), 8);
    unlink("link");
    assert_int_equal(symlink("nothing", "link"), 0);
    make("link", 1);
    assert_int_equal(size_of("nothing"), -1);
    unlink("link");
    assert_int_equal(link("old", "link"), 0);
    make("link", 1);
    assert_int_equal(size_of("old"), 8);
}

static void test_what_is_no_file(void **state)
{
    int file = newfile_open("/dev/null", O_WRONLY, 0600, 1);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(mkfifo("pipe", 0600), 0);
    int reader = open("pipe", O_RDONLY | O_NONBLOCK);
    file = newfile_open("pipe", O_WRONLY, 0600, 1);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(mkdir("inner", 0755), 0);
    fails("inner", 1, EISDIR);
    if (geteuid() != 0) {
        close(reader);
        return;
    }
    assert_int_equal(symlink("/dev/null", "old.link"), 0); /* root's: as /dev/stdout is */
    file = newfile_open("old.link", O_WRONLY, 0600, 1);
    assert_true(file >= 0);
    close(file);
    assert_int_equal(lchown("old.link", 65534, 65534), 0);
    make("old.link", 1); /* anyone's may lead to a disk */
    unlink("old.link");
    assert_int_equal(chown("pipe", 65534, 65534), 0);
    fails("pipe", 1, EPERM);
    close(reader);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_a_name_that_is_taken),
        cmocka_unit_test(test_writing_fails_with_the_cause),
        cmocka_unit_test(test_writing_ends_where_nothing_is_taken),
        cmocka_unit_test(test_links_are_replaced_not_followed),
        cmocka_unit_test(test_what_is_no_file),
    };
    return cmocka_run_group_tests(tests, enter, leave);
}
