/* Finding the program as a shell does, and seeing what would keep the agent out of it. */
#include <elf.h>
#include <fcntl.h>
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

#include "collect/collect.h"
#include "collect/process/program_file.h"
#include "wire/wire_marks.h"

static char folder[64];

static const char *in_folder(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void make_file(const char *name, const void *bytes, size_t length, int mode)
{
    int file = open(in_folder(name), O_WRONLY | O_CREAT | O_TRUNC, 0600);
    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, length), length);
    assert_int_equal(fchmod(file, (mode_t)mode), 0);
    close(file);
}

static int group_setup(void **state)
{
    strcpy(folder, "/tmp/tacho-unit-XXXXXX");
    return mkdtemp(folder) ? 0 : -1;
}

static int group_teardown(void **state)
{
    char command[128];
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

static void expect_failure(const char *name, const char *search_path, int code, int exit_status, const char *word)
{
    struct program_file program;
    struct error err = { 0 };
    int status = 0;
    assert_int_equal(program_file_find(&program, name, search_path, &status, &err), code);
    assert_int_equal(status, exit_status);
    if (!strstr(err.text, word))
        fail_msg("\"%s\" does not say \"%s\"", err.text, word);
}

static void what_is_not_there_is_127(void **state)
{
    expect_failure("tacho-no-such-program", "/usr/bin:/bin", ERR_NOT_FOUND, 127, "no such program");
    expect_failure("./tacho/no/such", "/usr/bin", ERR_NOT_FOUND, 127, "no such program");
    expect_failure("", "/usr/bin", ERR_NOT_FOUND, 127, "no such program");
}

static void what_cannot_be_run_is_126(void **state)
{
    make_file("plain", "text", 4, 0644);
    expect_failure(in_folder("plain"), NULL, ERR_DENIED, 126, "not executable");
    expect_failure("plain", folder, ERR_DENIED, 126, "not executable");
    expect_failure(folder, NULL, ERR_DENIED, 126, "directory");
}

static void builtins_get_a_hint(void **state)
{
    expect_failure("cd", folder, ERR_NOT_FOUND, 127, "builtin");
}

static void the_first_executable_along_the_path_wins(void **state)
{
    struct program_file program;
    char path[160];
    int status;
    make_file("tool", "#!/bin/sh\n", 10, 0755);
    snprintf(path, sizeof path, "/no/such:%s:/usr/bin", folder);
    assert_int_equal(program_file_find(&program, "tool", path, &status, NULL), 0);
    assert_string_equal(program.path, in_folder("tool"));
}

/* A 64-bit ELF file with an interpreter (if there is one) and nothing else. */
static void make_elf(const char *name, int elf_class, int machine, const char *interpreter)
{
    struct {
        Elf64_Ehdr header;
        Elf64_Phdr part;
        char text[64];
    } file = { 0 };
    memcpy(file.header.e_ident, ELFMAG, SELFMAG);
    file.header.e_ident[EI_CLASS] = (unsigned char)elf_class;
    file.header.e_ident[EI_DATA] = ELFDATA2LSB;
    file.header.e_machine = (Elf64_Half)machine;
    file.header.e_phoff = offsetof(__typeof__(file), part);
    file.header.e_phentsize = sizeof file.part;
    file.header.e_phnum = 1;
    file.part.p_type = interpreter ? PT_INTERP : PT_LOAD;
    file.part.p_offset = offsetof(__typeof__(file), text);
    file.part.p_filesz = interpreter ? strlen(interpreter) + 1 : 0;
    strcpy(file.text, interpreter ? interpreter : "");
    make_file(name, &file, sizeof file, 0755);
}

#if defined(__x86_64__)
#define OWN EM_X86_64
#define OTHER EM_AARCH64
#else
#define OWN EM_AARCH64
#define OTHER EM_X86_64
#endif

/* cause: UNKNOWN, if it takes the agent. */
static void expect_warning(const char *name, const char *word, enum wire_cause cause)
{
    struct program_file program;
    int status;
    assert_int_equal(program_file_find(&program, in_folder(name), NULL, &status, NULL), 0);
    program_file_inspect(&program, "/usr/bin:/bin");
    if (*word ? !strstr(program.warning, word) : program.warning[0])
        fail_msg("\"%s\" instead of something with \"%s\"", program.warning, word);
    assert_int_equal(program.cause, cause);
    assert_int_equal(program.no_preload, cause == WIRE_CAUSE_FOREIGN);
}

static void each_kind_of_program_is_told_apart(void **state)
{
    make_elf("dynamic", ELFCLASS64, OWN, "/lib64/ld-linux-x86-64.so.2");
    make_elf("static", ELFCLASS64, OWN, NULL);
    make_elf("small", ELFCLASS32, EM_386, NULL);
    make_elf("foreign", ELFCLASS64, OTHER, "/lib/ld.so");
    expect_warning("dynamic", "", WIRE_CAUSE_UNKNOWN);
    expect_warning("static", "static program", WIRE_CAUSE_STATIC);
    expect_warning("small", "32-bit", WIRE_CAUSE_FOREIGN);
    expect_warning("foreign", "another architecture", WIRE_CAUSE_FOREIGN);
}

static void scripts_are_judged_by_their_interpreter(void **state)
{
    char line[160];
    make_elf("static", ELFCLASS64, OWN, NULL);
    snprintf(line, sizeof line, "#! %s -x\n", in_folder("static"));
    make_file("script", line, strlen(line), 0755);
    expect_warning("script", "static program", WIRE_CAUSE_STATIC);
}

static void damaged_headers_are_no_reason_to_fail(void **state)
{
    unsigned char bytes[4096];
    for (unsigned seed = 0; seed < 200; seed++) {
        srand(seed);
        for (size_t i = 0; i < sizeof bytes; i++)
            bytes[i] = (unsigned char)rand();
        memcpy(bytes, ELFMAG, SELFMAG);
        bytes[EI_CLASS] = ELFCLASS64;
        ((Elf64_Ehdr *)bytes)->e_machine = OWN;
        ((Elf64_Ehdr *)bytes)->e_phentsize = sizeof(Elf64_Phdr);
        ((Elf64_Ehdr *)bytes)->e_phoff = 64;
        make_file("random", bytes, 64 + seed * 20, 0755);
        struct program_file program;
        int status;
        assert_int_equal(program_file_find(&program, in_folder("random"), NULL, &status, NULL), 0);
        program_file_inspect(&program, NULL);
        assert_true(memchr(program.warning, 0, sizeof program.warning) != NULL);
    }
}

static void signals_have_names_and_numbers(void **state)
{
    assert_int_equal(collect_signal_number("none"), 0);
    assert_int_equal(collect_signal_number("sigkill"), 9);
    assert_int_equal(collect_signal_number("SIGTERM"), 15);
    assert_int_equal(collect_signal_number("int"), 2);
    assert_int_equal(collect_signal_number("12"), 12);
    assert_int_equal(collect_signal_number("9x"), -1);
    assert_int_equal(collect_signal_number("frobnicate"), -1);
    assert_int_equal(collect_signal_number("4000"), -1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_not_there_is_127),
        cmocka_unit_test(what_cannot_be_run_is_126),
        cmocka_unit_test(builtins_get_a_hint),
        cmocka_unit_test(the_first_executable_along_the_path_wins),
        cmocka_unit_test(each_kind_of_program_is_told_apart),
        cmocka_unit_test(scripts_are_judged_by_their_interpreter),
        cmocka_unit_test(damaged_headers_are_no_reason_to_fail),
        cmocka_unit_test(signals_have_names_and_numbers),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
