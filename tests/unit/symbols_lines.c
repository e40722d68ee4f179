/* The line number tables and the functions of files, against what libdw reads from them: of this program, or of the
 * files that it is given. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>
#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>

#include "base/array.h"
#include "symbols/names/entry_scan.h"
#include "symbols/names/line_table.h"

static const char *const own_file[] = { "/proc/self/exe", NULL };
static const char *const *files = own_file;

struct opened {
    int file;
    Elf *elf;
    Dwarf *dwarf;
    struct line_table_sections sections;
    struct entry_scan_sections tree;
};

static struct line_table_bytes bytes_of(Elf *elf, const char *name)
{
    size_t names;
    Elf_Scn *section = NULL;
    assert_int_equal(elf_getshdrstrndx(elf, &names), 0);
    while ((section = elf_nextscn(elf, section)) != NULL) {
        Elf64_Shdr *head = elf64_getshdr(section);
        if (strcmp(elf_strptr(elf, names, head->sh_name), name) == 0) {
            const Elf_Data *data = elf_rawdata(section, NULL);
            return (struct line_table_bytes){ data->d_buf, data->d_size };
        }
    }
    return (struct line_table_bytes){ 0 };
}

static struct opened open_file(const char *path)
{
    struct opened opened = { .file = open(path, O_RDONLY | O_CLOEXEC) };
    elf_version(EV_CURRENT);
    opened.elf = elf_begin(opened.file, ELF_C_READ_MMAP, NULL);
    opened.dwarf = dwarf_begin_elf(opened.elf, DWARF_C_READ, NULL);
    assert_non_null(opened.dwarf);
    opened.sections = (struct line_table_sections){ bytes_of(opened.elf, ".debug_line"),
                                                    bytes_of(opened.elf, ".debug_line_str"),
                                                    bytes_of(opened.elf, ".debug_str") };
    opened.tree = (struct entry_scan_sections){ bytes_of(opened.elf, ".debug_info"),
                                                bytes_of(opened.elf, ".debug_abbrev") };
    return opened;
}

static void close_file(struct opened *opened)
{
    dwarf_end(opened->dwarf);
    elf_end(opened->elf);
    close(opened->file);
}

static int by_address(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Addresses at some rows of a unit, between them, and beside the ends of sequences. */
static size_t addresses_of(Dwarf_Die *unit, size_t apart, uint64_t **addresses)
{
    Dwarf_Lines *lines;
    size_t line_count, count = 0, kept = 0;
    if (dwarf_getsrclines(unit, &lines, &line_count) != 0)
        return 0;
    *addresses = calloc(3 * line_count + 1, sizeof **addresses);
    assert_non_null(*addresses);
    for (size_t i = 0; i < line_count; i++) {
        Dwarf_Addr address;
        bool is_end;
        Dwarf_Line *line = dwarf_onesrcline(lines, i);
        dwarf_lineaddr(line, &address);
        dwarf_lineendsequence(line, &is_end);
        for (uint64_t at = address - (address > 0); (is_end || i % apart == 0) && at <= address + 1; at++)
            (*addresses)[count++] = at;
    }
    qsort(*addresses, count, sizeof **addresses, by_address);
    for (size_t i = 0; i < count; i++)
        if (!kept || (*addresses)[i] != (*addresses)[kept - 1])
            (*addresses)[kept++] = (*addresses)[i];
    return kept;
}

static void expect_line(Dwarf_Die *unit, const struct line_table *table, size_t i, uint64_t address)
{
    Dwarf_Line *expected = dwarf_getsrc_die(unit, address);
    struct text path = { 0 };
    int line = 0;
    assert_int_equal(table->rows[i].is_known, expected != NULL);
    if (!expected)
        return;
    const char *file = dwarf_linesrc(expected, NULL, NULL);
    dwarf_lineno(expected, &line);
    assert_int_equal(table->rows[i].line, line);
    assert_int_equal(line_table_add_path(table, table->rows[i].file, &path), file ? 0 : -1);
    if (file)
        assert_string_equal(text_string(&path), file);
    text_free(&path);
}

static void expect_files(Dwarf_Die *unit, const struct line_table *table)
{
    Dwarf_Files *expected;
    size_t count;
    assert_int_equal(dwarf_getsrcfiles(unit, &expected, &count), 0);
    assert_int_equal(table->file_count, count);
    for (size_t i = 0; i < count; i++) {
        struct text path = { 0 };
        const char *file = dwarf_filesrc(expected, i, NULL, NULL);
        assert_int_equal(line_table_add_path(table, i, &path), 0);
        assert_string_equal(text_string(&path), file ? file : "none");
        text_free(&path);
    }
}

/* Returns whether our reader knows the unit's table. */
static int expect_unit(const struct opened *opened, Dwarf_Die *unit)
{
    Dwarf_Attribute attribute;
    Dwarf_Word offset;
    struct line_table table;
    uint64_t *addresses = NULL;
    if (dwarf_formudata(dwarf_attr(unit, DW_AT_stmt_list, &attribute), &offset) != 0)
        return 0;
    size_t count = addresses_of(unit, 7, &addresses);
    const char *folder = dwarf_formstring(dwarf_attr(unit, DW_AT_comp_dir, &attribute));
    int is_read = line_table_read(&table, &opened->sections, offset, folder, addresses, count) == 0;
    for (size_t i = 0; is_read && i < count; i++)
        expect_line(unit, &table, i, addresses[i]);
    if (is_read && count)
        expect_files(unit, &table);
    line_table_free(&table);
    free(addresses);
    return is_read && count;
}

static void test_lines_are_those_of_libdw(void **state)
{
    for (size_t i = 0; files[i]; i++) {
        struct opened opened = open_file(files[i]);
        Dwarf_CU *unit = NULL;
        Dwarf_Die die, split;
        uint8_t kind;
        size_t read = 0, all = 0;
        while (dwarf_get_units(opened.dwarf, unit, &unit, NULL, &kind, &die, &split) == 0)
            if (dwarf_tag(&die) == DW_TAG_compile_unit) {
                all++;
                read += (size_t)expect_unit(&opened, &die);
            }
        print_message("%s: %zu of %zu units\n", files[i], read, all);
        assert_in_range(read, 1, all);
        close_file(&opened);
    }
}

/* No byte of a table is trusted: a damaged one gives other lines, or none. */
static void test_damage(void **state)
{
    enum { BYTES_MAX = 4096, ROUNDS = 4000, ADDRESSES = 16 };
    struct opened opened = open_file(own_file[0]);
    struct line_table_sections sections = opened.sections;
    uint64_t addresses[ADDRESSES];
    uint32_t random = 1;
    size_t size = opened.sections.lines.size < BYTES_MAX ? opened.sections.lines.size : BYTES_MAX;
    for (size_t i = 0; i < ADDRESSES; i++)
        addresses[i] = i << 12;
    for (int round = 0; round < ROUNDS; round++) {
        unsigned char *bytes = malloc(size);
        struct line_table table;
        assert_non_null(bytes);
        memcpy(bytes, opened.sections.lines.bytes, size);
        for (int i = 0; i < 3; i++) {
            random = random * 1664525u + 1013904223u;
            bytes[4 + (random >> 8) % (i ? 200 : size - 4)] ^= (unsigned char)(1u << (random & 7));
        }
        const uint32_t length = (uint32_t)size - 4;
        memcpy(bytes, &length, sizeof length); /* else most rounds would end there */
        sections.lines = (struct line_table_bytes){ bytes, size };
        line_table_read(&table, &sections, 0, "/", addresses, ADDRESSES);
        for (size_t i = 0; i < table.file_count; i++) {
            struct text path = { 0 };
            assert_int_equal(line_table_add_path(&table, i, &path), 0);
            text_free(&path);
        }
        line_table_free(&table);
        free(bytes);
    }
    close_file(&opened);
}

/* ---- Functions ------------------------------------------------------------------------------------------------- */

static int contains_some(Dwarf_Die *die, const uint64_t *addresses, size_t count)
{
    Dwarf_Addr base, start, end;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;) {
        size_t i = array_first_not_below(addresses, count, start);
        if (i < count && addresses[i] < end)
            return 1;
    }
    return 0;
}

struct functions {
    const uint64_t *addresses;
    size_t address_count;
    uint64_t *found; /* those that contain an address, outside of functions */
    size_t count, room;
    size_t all;
};

static void find_functions(Dwarf_Die *parent, struct functions *functions)
{
    Dwarf_Die die;
    if (dwarf_child(parent, &die) != 0)
        return;
    do {
        int tag = dwarf_tag(&die);
        if (tag == DW_TAG_namespace || tag == DW_TAG_module || tag == DW_TAG_class_type || tag == DW_TAG_structure_type)
            find_functions(&die, functions);
        functions->all += tag == DW_TAG_subprogram;
        if (tag == DW_TAG_subprogram && contains_some(&die, functions->addresses, functions->address_count)) {
            assert_int_equal(array_reserve(&functions->found, &functions->room, functions->count + 1,
                                           sizeof *functions->found),
                             0);
            functions->found[functions->count++] = dwarf_dieoffset(&die);
        }
    } while (dwarf_siblingof(&die, &die) == 0);
}

/* Of the scan's functions those that contain an address are all that do, in the same order. */
static int expect_functions(const struct opened *opened, Dwarf_Die *unit, const uint64_t *addresses, size_t count)
{
    struct functions expected = { .addresses = addresses, .address_count = count };
    struct entry_scan scan;
    size_t same = 0;
    if (entry_scan_read(&scan, &opened->tree, dwarf_dieoffset(unit) - dwarf_cuoffset(unit), addresses, count) != 0) {
        entry_scan_free(&scan);
        return 0;
    }
    find_functions(unit, &expected);
    for (size_t i = 0; i < scan.count; i++) {
        Dwarf_Die die;
        assert_non_null(dwarf_offdie(opened->dwarf, scan.functions[i], &die));
        assert_int_equal(dwarf_tag(&die), DW_TAG_subprogram);
        if (!contains_some(&die, addresses, count))
            continue;
        assert_true(same < expected.count);
        assert_int_equal(scan.functions[i], expected.found[same]);
        same++;
    }
    assert_int_equal(same, expected.count);
    assert_in_range(scan.count, 0, expected.all);
    entry_scan_free(&scan);
    free(expected.found);
    return 1;
}

static void test_functions_are_those_of_libdw(void **state)
{
    for (size_t i = 0; files[i]; i++) {
        struct opened opened = open_file(files[i]);
        Dwarf_CU *unit = NULL;
        Dwarf_Die die, split;
        uint8_t kind;
        size_t read = 0, all = 0;
        while (dwarf_get_units(opened.dwarf, unit, &unit, NULL, &kind, &die, &split) == 0) {
            uint64_t *addresses = NULL;
            if (dwarf_tag(&die) != DW_TAG_compile_unit)
                continue;
            size_t count = addresses_of(&die, 97, &addresses);
            all++;
            read += (size_t)expect_functions(&opened, &die, addresses, count);
            expect_functions(&opened, &die, addresses, count > 0);
            free(addresses);
        }
        print_message("%s: %zu of %zu units\n", files[i], read, all);
        assert_in_range(read, 1, all);
        close_file(&opened);
    }
}

/* No byte of the sections is trusted: of a damaged unit other functions are found, or none, and all of them inside. */
static void test_damaged_units(void **state)
{
    enum { ROUNDS = 400 };
    struct opened opened = open_file(own_file[0]);
    const uint64_t addresses[] = { 0x1000, 0x2000, 0x3000 };
    uint32_t random = 1;
    for (int round = 0; round < ROUNDS; round++) {
        struct entry_scan_sections sections = opened.tree;
        struct line_table_bytes *damaged = round % 2 ? &sections.entries : &sections.abbreviations;
        struct entry_scan scan;
        size_t size = damaged->size < 20000 ? damaged->size : 20000;
        unsigned char *bytes = malloc(size);
        assert_non_null(bytes);
        memcpy(bytes, damaged->bytes, size);
        for (int i = 0; i < 3; i++) {
            random = random * 1664525u + 1013904223u;
            bytes[4 + (random >> 8) % (size - 4)] ^= (unsigned char)(1u << (random & 7));
        }
        const uint32_t length = (uint32_t)size - 4;
        if (round % 2)
            memcpy(bytes, &length, sizeof length); /* else most rounds would end there */
        *damaged = (struct line_table_bytes){ bytes, size };
        entry_scan_read(&scan, &sections, 0, addresses, COUNT_OF(addresses));
        for (size_t i = 0; i < scan.count; i++)
            assert_in_range(scan.functions[i], 1, sections.entries.size - 1);
        entry_scan_free(&scan);
        free(bytes);
    }
    close_file(&opened);
}

int main(int count, char **arguments)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_lines_are_those_of_libdw),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_functions_are_those_of_libdw),
        cmocka_unit_test(test_damaged_units),
    };
    if (count > 1)
        files = (const char *const *)arguments + 1;
    return cmocka_run_group_tests(tests, NULL, NULL);
}
