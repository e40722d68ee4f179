/* Files of a process with another root folder: where its links lead, with and without openat2(), and
 * whose perf maps are read. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "symbols/proc_maps.h"
#include "symbols/runtime_names.h"
#include "symbols/symbols_state.h"

#define PID 12345

static char root[] = "/tmp/tacho-unit-XXXXXX";

static void write_file(const char *name, const char *text)
{
    int folder = open(root, O_PATH | O_DIRECTORY), file = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL, 0644);
    assert_true(file >= 0);
    assert_int_equal(write(file, text, strlen(text)), strlen(text));
    close(file);
    close(folder);
}

static int make_root(void **state)
{
    static const char *const folders[] = { "usr", "usr/lib", "tmp" };
    static const struct {
        const char *target, *name;
    } links[] = {
        { "usr/lib", "lib" },
        { "/usr/lib", "lib64" },
        { "file", "usr/lib/same" },
        { "/lib64/same", "usr/lib/absolute" },
        { "../../../../../../usr/lib/file", "usr/lib/above" },
        { "around", "usr/around" },
        { "./../lib/./file", "usr/lib/dots" },
    };
    assert_non_null(mkdtemp(root));
    int folder = open(root, O_PATH | O_DIRECTORY);
    for (size_t i = 0; i < COUNT_OF(folders); i++)
        assert_int_equal(mkdirat(folder, folders[i], 0755), 0);
    for (size_t i = 0; i < COUNT_OF(links); i++)
        assert_int_equal(symlinkat(links[i].target, folder, links[i].name), 0);
    write_file("usr/lib/file", "inside");
    close(folder);
    return 0;
}

static int remove_root(void **state)
{
    char command[64];
    snprintf(command, sizeof command, "rm -r %s", root);
    return system(command);
}

static struct symbols_process process_there(void)
{
    return (
        struct symbols_process){ .pid = PID, .inner_pid = PID, .root = open(root, O_PATH | O_DIRECTORY), .user = 1234 };
}

/* How many of them lead elsewhere than they should. */
static int wrong_paths(void)
{
    static const struct {
        const char *path;
        int flags, error;
    } paths[] = {
        { "/usr/lib/file", 0, 0 },
        { "//usr///lib/file", 0, 0 },
        { "/lib/file", 0, 0 },
        { "/lib64/file", 0, 0 },
        { "/lib64/same", 0, 0 },
        { "/usr/lib/absolute", 0, 0 },
        { "/usr/lib/above", 0, 0 },
        { "/usr/lib/dots", 0, 0 },
        { "/../../lib/../lib/./file", 0, 0 },
        { "/lib64/file", O_NOFOLLOW, 0 },
        { "/usr/lib/same", O_NOFOLLOW, ELOOP },
        { "/usr/around", 0, ELOOP },
        { "/usr/lib/none", 0, ENOENT },
        { "/usr/none/file", 0, ENOENT },
        { "/usr/lib/file/file", 0, ENOTDIR },
        { "/proc/self/exe", 0, ENOENT },
    };
    struct symbols_process process = process_there();
    int wrong = 0;
    for (size_t i = 0; i < COUNT_OF(paths); i++) {
        char text[16] = "";
        int file = proc_maps_open(&process, paths[i].path, paths[i].flags), error = file < 0 ? errno : 0;
        if (file >= 0 && read(file, text, sizeof text - 1) < 0)
            error = errno;
        if (error != paths[i].error || strcmp(text, error ? "" : "inside") != 0) {
            print_error("%s: error %d, should be %d; '%s'\n", paths[i].path, error, paths[i].error, text);
            wrong++;
        }
        close(file);
    }
    close(process.root);
    return wrong;
}

static void test_links_stay_inside(void **state)
{
    assert_int_equal(wrong_paths(), 0);
}

static void refuse_openat2(void)
{
    struct sock_filter program[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_openat2, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog filter = { COUNT_OF(program), program };
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0 ||
        syscall(SYS_openat2, -1, "", NULL, 0) != -1 || errno != ENOSYS)
        _exit(99);
}

static void test_links_stay_inside_before_linux_5_6(void **state)
{
    int status;
    pid_t child = fork();
    if (child == 0) {
        refuse_openat2();
        _exit(wrong_paths());
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* The name that the map gives to an address, if it is read. */
static int is_read(void)
{
    static const uint64_t address[] = { 0x1000 };
    struct symbols_process process = process_there();
    struct symbol_names names;
    assert_int_equal(symbol_names_begin(&names, address, 1), 0);
    uint64_t bytes;
    names_add_made(&names, &process, &bytes);
    assert_int_equal(bytes, names_made_bytes(&process));
    symbol_names_settle(&names);
    int found = symbol_names_get(&names, 0) != NULL;
    symbol_names_free(&names);
    close(process.root);
    return found;
}

static void test_perf_maps_of_others_are_not_read(void **state)
{
    static const struct {
        uid_t owner;
        int is_read;
    } owners[] = { { 0, 1 }, { 1234, 1 }, { 1235, 0 }, { 65534, 0 } };
    char path[64];
    snprintf(path, sizeof path, "%s/tmp/perf-%d.map", root, PID);
    write_file("tmp/made", "1000 10 made\n");
    assert_int_equal(symlink("made", path), 0);
    assert_false(is_read()); /* through a link */
    unlink(path);
    snprintf(path, sizeof path, "tmp/perf-%d.map", PID);
    write_file(path, "1000 10 made\n");
    assert_true(is_read()); /* ours */
    if (geteuid() != 0)
        return;
    snprintf(path, sizeof path, "%s/tmp/perf-%d.map", root, PID);
    for (size_t i = 0; i < COUNT_OF(owners); i++) {
        assert_int_equal(chown(path, owners[i].owner, (gid_t)-1), 0);
        assert_int_equal(is_read(), owners[i].is_read);
    }
}

/* Pieces of lines, right and wrong, in any order. A text that is found ends, and belongs to the map. */
static void test_hostile_perf_maps_do_no_harm(void **state)
{
    static const char *const pieces[] = { "1000 10 made\n",
                                          "1000",
                                          " ",
                                          "10",
                                          "ffffffffffffffff",
                                          "\n",
                                          "0 ",
                                          "-1 ",
                                          "0x20 ",
                                          "name\twith\ttabs",
                                          "\x01\xff\xfe",
                                          "2000 fffffffffffff000 wide\n",
                                          "  ",
                                          "zz " };
    static const uint64_t addresses[] = { 0, 0x1000, 0x1008, 0x2000, UINT64_MAX };
    enum { ADDRESSES = COUNT_OF(addresses), PIECES = COUNT_OF(pieces) };
    unsigned seed = 20261116;
    for (int round = 0; round < 300; round++) {
        char path[64];
        snprintf(path, sizeof path, "%s/tmp/perf-%d.map", root, PID);
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        for (int count = rand_r(&seed) % 60; count > 0; count--)
            fputs(pieces[(unsigned)rand_r(&seed) % PIECES], file);
        for (int count = round % 50 == 0 ? 200000 : 0; count > 0; count--) /* a line that is longer than any */
            fputc('a', file);
        fclose(file);
        struct symbols_process process = process_there();
        struct symbol_names names;
        uint64_t bytes;
        assert_int_equal(symbol_names_begin(&names, addresses, ADDRESSES), 0);
        assert_int_equal(names_add_made(&names, &process, &bytes), 0);
        symbol_names_settle(&names);
        for (size_t i = 0; i < ADDRESSES; i++)
            if (symbol_names_get(&names, i))
                assert_in_range(strlen(symbol_names_get(&names, i)), 1, 65536);
        symbol_names_free(&names);
        close(process.root);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_links_stay_inside),
        cmocka_unit_test(test_links_stay_inside_before_linux_5_6),
        cmocka_unit_test(test_perf_maps_of_others_are_not_read),
        cmocka_unit_test(test_hostile_perf_maps_do_no_harm),
    };
    return cmocka_run_group_tests(tests, make_root, remove_root);
}
