/* Bad ELF files: this program, cut, with bytes changed and with its headers' counts made huge, in many ways. What must
 * not happen is in tests/fuzz/fuzz_symbols.c; and debug information that lies does no harm to who asks. */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#include "../fuzz/fuzz_symbols.c"
#include "base/array.h"
#include "symbols/names/debug_info.h"

static uint64_t random_number(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* A small file of the system with all that we read: frames, symbols, notes, linkage. */
static unsigned char *read_file(const char *path, size_t *size)
{
    FILE *file = fopen(path, "r");
    if (!file)
        return NULL;
    fseek(file, 0, SEEK_END);
    *size = (size_t)ftell(file);
    unsigned char *bytes = malloc(*size);
    rewind(file);
    assert_int_equal(fread(bytes, 1, *size, file), *size);
    fclose(file);
    return bytes;
}

static void write_small(unsigned char *bytes, size_t size, uint64_t *seed)
{
    static const uint64_t numbers[] = { 0, 1, 0x7f, 0xff, 0x7fffffff, 0xffffffff, UINT64_MAX, INT64_MAX, 1ull << 40 };
    size_t width = (size_t)1 << random_number(seed) % 4, at = random_number(seed) % (size - 8);
    uint64_t value = random_number(seed) % 3 ? numbers[random_number(seed) % (COUNT_OF(numbers))] : random_number(seed);
    memcpy(bytes + at, &value, width);
}

static void changed_files_do_no_harm(void **state)
{
    size_t size;
    uint64_t seed = 88172645463325252u;
    unsigned char *bytes = read_file("/proc/self/exe", &size), *copy = malloc(size);
    struct elf_image image;
    assert_int_equal(elf_image_open_memory(&image, bytes, size), 0);
    const Elf64_Shdr *frames = elf_image_section(&image, ".eh_frame"), *symbols = elf_image_section(&image, ".dynsym");
    size_t parts[][2] = { { 0, 4096 },
                          { image.sections ? size - image.section_count * sizeof(Elf64_Shdr) : 0,
                            image.section_count * sizeof(Elf64_Shdr) },
                          { frames->sh_offset, frames->sh_size },
                          { symbols->sh_offset, symbols->sh_size } };
    for (int round = 0; round < 400; round++) {
        memcpy(copy, bytes, size);
        size_t part = random_number(&seed) % 4;
        for (uint64_t changes = 1 + random_number(&seed) % 8; changes; changes--)
            write_small(copy + parts[part][0], parts[part][1], &seed);
        LLVMFuzzerTestOneInput(copy, size);
    }
    for (int round = 0; round < 200; round++) { /* exactly as large as its memory: a sanitizer
                                                 * sees what is read behind it */
        size_t cut = round < 100 ? (size_t)round * 2 : random_number(&seed) % size;
        unsigned char *short_copy = malloc(cut ? cut : 1);
        memcpy(short_copy, bytes, cut);
        LLVMFuzzerTestOneInput(short_copy, cut);
        free(short_copy);
    }
    elf_image_close(&image);
    free(bytes);
    free(copy);
}

/* ---- What libdw is asked --------------------------------------------------------------------------------------- */

static size_t ask(const unsigned char *bytes, size_t size, const uint64_t *addresses, size_t count, int *result)
{
    int file = memfd_create("changed", MFD_CLOEXEC);
    struct debug_lines *found = calloc(count, sizeof *found);
    struct arena arena = { 0 };
    struct elf_image image;
    size_t lines = 0;
    assert_int_equal(write(file, bytes, size), size);
    assert_int_equal(elf_image_open(&image, file), 0);
    *result = debug_info_find(&image, addresses, count, found, &arena, &(int64_t){ 0 });
    for (size_t i = 0; i < count; i++)
        for (uint32_t k = 0; k < found[i].count; k++, lines++)
            if (strlen(found[i].lines[k].name) > size || strlen(found[i].lines[k].file) > size)
                fail();
    elf_image_close(&image);
    arena_free(&arena);
    free(found);
    return lines;
}

extern const char __executable_start; /* of the linker: where this program lies */

static void debug_information_that_lies_does_no_harm(void **state)
{
    size_t size, told = 0;
    uint64_t seed = 88172645463325252u, addresses[32];
    unsigned char *bytes = read_file("/proc/self/exe", &size), *copy = malloc(size);
    struct elf_image image;
    const size_t count = COUNT_OF(addresses);
    int result;
    assert_int_equal(elf_image_open_memory(&image, bytes, size), 0);
    for (size_t i = 0; i < count; i++) /* of this very function: what a sanitizer links in has no debug information */
        addresses[i] = (uintptr_t)debug_information_that_lies_does_no_harm - (uintptr_t)&__executable_start +
                       elf_image_first_address(&image) + 8 * i;
    if (!elf_image_section(&image, ".debug_info")) {
        print_message("skipped: this test was built without debug information\n");
        skip();
    }
    assert_true(ask(bytes, size, addresses, count, &result) > 0);
    assert_int_equal(result, 0);
    static const char *const sections[] = { ".debug_info", ".debug_abbrev", ".debug_line", ".debug_str" };
    for (int round = 0; round < 40; round++) {
        memcpy(copy, bytes, size);
        const Elf64_Shdr *section = elf_image_section(&image, sections[round % 4]);
        for (int changes = 0; section && changes < 64; changes++)
            write_small(copy + section->sh_offset, section->sh_size, &seed);
        told += ask(copy, size, addresses, count, &result);
    }
    assert_true(told > 0); /* not all was lost */
    elf_image_close(&image);
    free(bytes);
    free(copy);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(changed_files_do_no_harm),
        cmocka_unit_test(debug_information_that_lies_does_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
