/* Cubins: kernels with and without instructions of tensor cores, in images made here byte by byte, and damaged ones. */
#include <elf.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "abi/cuda_code.h"

#include "base/array.h"

enum { SECTIONS = 5, INSTRUCTIONS = 4, CODE_BYTES = INSTRUCTIONS * 16 };

/* Instructions as nvdisasm -hex shows them: low word, high word. */
#define FFMA 0x000000020205a223, 0x000fe20000000003
#define EXIT 0x000000000000794d, 0x000fea0003800000
#define HMMA_16816_F16 0x000000082010723c, 0x000fe20000001810
#define HMMA_16816_BF16 0x000000082010723c, 0x000fe20000041810
#define HMMA_1688_TF32 0x000000082010723c, 0x000fe20000081010
#define IMMA_16832 0x0000000820107237, 0x000fe20000001810
#define HGMMA_F16 0x00e00000041879f0, 0x000fe20008700818
#define QGMMA 0x00e00000041879f3, 0x000fe20008700818
/* The same low word without bit 91 is another instruction. */
#define NOT_HGMMA 0x00e00000041879f0, 0x000fe20000700818

struct image {
    Elf64_Ehdr head;
    Elf64_Shdr sections[SECTIONS];
    char names[64];
    uint64_t first[2 * INSTRUCTIONS], second[2 * INSTRUCTIONS];
};

/* Two kernels, "first" and "second", and a section that is no code. */
static struct image make_image(unsigned sm, int abi_version)
{
    struct image image = {
        .head = { .e_ident = { ELFMAG0, ELFMAG1, ELFMAG2, ELFMAG3, ELFCLASS64, ELFDATA2LSB, EV_CURRENT, 51, 0 },
                  .e_machine = 190,
                  .e_flags = abi_version >= 8 ? sm << 8 | 4 : sm << 16 | 0x500 | sm,
                  .e_shoff = offsetof(struct image, sections),
                  .e_shentsize = sizeof(Elf64_Shdr),
                  .e_shnum = SECTIONS,
                  .e_shstrndx = 1 },
        .names = "\0.shstrtab\0.text.first\0.nv.info\0.text.second",
        .first = { FFMA, EXIT, EXIT, EXIT },
        .second = { FFMA, EXIT, EXIT, EXIT },
    };

    image.head.e_ident[EI_ABIVERSION] = (unsigned char)abi_version;
    image.sections[1] = (Elf64_Shdr){
        .sh_name = 1, .sh_type = SHT_STRTAB, .sh_offset = offsetof(struct image, names), .sh_size = sizeof image.names
    };
    image.sections[2] = (Elf64_Shdr){ .sh_name = 11,
                                      .sh_type = SHT_PROGBITS,
                                      .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                      .sh_offset = offsetof(struct image, first),
                                      .sh_size = CODE_BYTES };
    image.sections[3] = (Elf64_Shdr){ .sh_name = 23, .sh_type = SHT_PROGBITS, .sh_size = 16 };
    image.sections[4] = image.sections[2];
    image.sections[4].sh_name = 32;
    image.sections[4].sh_offset = offsetof(struct image, second);
    return image;
}

static void put(uint64_t *instruction, uint64_t low, uint64_t high)
{
    instruction[0] = low;
    instruction[1] = high;
}

static void kernels_are_found_by_their_sections(void **state)
{
    struct image image = make_image(90, 7);
    struct cuda_code code;
    struct cuda_code_kernel kernel;

    (void)state;
    put(image.second + 2, HMMA_16816_F16);
    assert_int_equal(cuda_code_open(&code, &image, sizeof image), 0);
    assert_int_equal(code.sm, 90);
    assert_int_equal(cuda_code_next(&code, &kernel), 1);
    assert_string_equal(kernel.name, "first");
    assert_int_equal(kernel.types, 0);
    assert_int_equal(cuda_code_next(&code, &kernel), 1);
    assert_string_equal(kernel.name, "second");
    assert_int_equal(kernel.types, CUDA_CODE_FP16);
    assert_int_equal(cuda_code_next(&code, &kernel), 0);
}

static void instructions_tell_the_types_of_operands(void **state)
{
    static const struct {
        uint64_t low, high;
        unsigned types;
    } cases[] = {
        { HMMA_16816_F16, CUDA_CODE_FP16 },
        { HMMA_16816_BF16, CUDA_CODE_BF16 },
        { HMMA_1688_TF32, CUDA_CODE_TF32 },
        { IMMA_16832, CUDA_CODE_INT8 },
        { HGMMA_F16, CUDA_CODE_FP16 },
        { QGMMA, CUDA_CODE_FP8 },
        { NOT_HGMMA, 0 },
        { FFMA, 0 },
    };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct image image = make_image(90, 7);
        struct cuda_code code;
        struct cuda_code_kernel kernel;

        put(image.first + 2 * (i % INSTRUCTIONS), cases[i].low, cases[i].high);
        assert_int_equal(cuda_code_open(&code, &image, sizeof image), 0);
        assert_int_equal(cuda_code_next(&code, &kernel), 1);
        assert_int_equal(kernel.types, cases[i].types);
    }
}

static void both_layouts_of_the_flags_are_read(void **state)
{
    static const struct {
        unsigned sm;
        int abi_version, result, is_complete;
    } cases[] = { { 75, 7, 0, 1 },  { 90, 7, 0, 1 },  { 90, 8, 0, 1 },
                  { 61, 7, -1, 0 }, { 100, 8, 0, 0 }, { 120, 8, 0, 0 } };

    (void)state;
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        struct image image = make_image(cases[i].sm, cases[i].abi_version);
        struct cuda_code code;

        assert_int_equal(cuda_code_open(&code, &image, sizeof image), cases[i].result);
        if (cases[i].result == 0)
            assert_int_equal(code.sm, cases[i].sm);
        assert_int_equal(cuda_code_is_complete(cases[i].sm), cases[i].is_complete);
    }
}

static void read_all(const void *bytes, size_t size)
{
    struct cuda_code code;
    struct cuda_code_kernel kernel;
    size_t letters = 0;

    if (cuda_code_open(&code, bytes, size) != 0)
        return;
    while (cuda_code_next(&code, &kernel))
        letters += strlen(kernel.name);
    assert_true(letters <= size * SECTIONS);
}

/* Under a sanitizer every read outside of the bytes is an error. */
static void damaged_images_do_no_harm(void **state)
{
    uint64_t seed = 88172645463325252u;

    (void)state;
    for (size_t cut = 0; cut <= sizeof(struct image); cut++) {
        struct image image = make_image(90, 7);
        unsigned char *copy = malloc(cut ? cut : 1);

        memcpy(copy, &image, cut);
        read_all(copy, cut);
        free(copy);
    }
    for (int round = 0; round < 100000; round++) {
        struct image image = make_image(90, 7);
        unsigned char *copy = malloc(sizeof image);

        memcpy(copy, &image, sizeof image);
        for (int change = 0; change < 3; change++) {
            seed ^= seed << 13, seed ^= seed >> 7, seed ^= seed << 17;
            copy[seed % sizeof image] = (unsigned char)(seed >> 32);
        }
        read_all(copy, sizeof image);
        free(copy);
    }
    read_all(NULL, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kernels_are_found_by_their_sections),
        cmocka_unit_test(instructions_tell_the_types_of_operands),
        cmocka_unit_test(both_layouts_of_the_flags_are_read),
        cmocka_unit_test(damaged_images_do_no_harm),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
