/* Cubins: see cuda_code.h.
 *
 * An instruction has 128 bits: the opcode in bits 0 to 11 and 91. Opcodes of tensor cores, which
 * tests/gpu/tensor_cores.py holds against the GPU's counters:
 *
 *     HMMA 236 (sm_70), 23c      IMMA 237      BMMA 23d      DMMA 23f      QMMA 27a, 47a, 47e      OMMA 47f
 *     HGMMA 15f0, 19f0, 1df0     IGMMA …f1     BGMMA …f2     QGMMA …f3     UTCHMMA 15ea, 19ea */
#include "cuda_code.h"

#include <elf.h>
#include <string.h>

#include "base/array.h"

#define MACHINE_CUDA 190
#define ABI_VERSION_FLAGS_HIGH 8 /* from CUDA 13 on, e_flags has the architecture in bits 8 to 15, before in 0 to 7 */
#define FIRST_SM 70              /* instructions of 128 bits; no tensor cores before */
#define INSTRUCTION_BYTES 16
#define TEXT ".text."
#define TEXT_LENGTH (sizeof TEXT - 1)

/* Where the instruction has the type of its operands. */
enum type_place { FIXED, BITS_82, BITS_76 };

struct opcode {
    uint16_t number; /* with bit 91 as bit 12 */
    uint16_t types;  /* if they are fixed */
    uint8_t place;
};
static const struct opcode opcodes[] = {
    { 0x236, CUDA_CODE_FP16, FIXED },
    { 0x23c, 0, BITS_82 },
    { 0x237, CUDA_CODE_INT8, FIXED },
    { 0x23d, CUDA_CODE_BINARY, FIXED },
    { 0x23f, CUDA_CODE_FP64, FIXED },
    { 0x27a, CUDA_CODE_FP8, FIXED },
    { 0x47a, CUDA_CODE_FP8, FIXED },
    { 0x47e, CUDA_CODE_FP8, FIXED },
    { 0x47f, CUDA_CODE_FP4, FIXED },
    { 0x15f0, 0, BITS_76 },
    { 0x19f0, 0, BITS_76 },
    { 0x1df0, 0, BITS_76 },
    { 0x15f1, CUDA_CODE_INT8, FIXED },
    { 0x19f1, CUDA_CODE_INT8, FIXED },
    { 0x1df1, CUDA_CODE_INT8, FIXED },
    { 0x15f2, CUDA_CODE_BINARY, FIXED },
    { 0x19f2, CUDA_CODE_BINARY, FIXED },
    { 0x1df2, CUDA_CODE_BINARY, FIXED },
    { 0x15f3, CUDA_CODE_FP8, FIXED },
    { 0x19f3, CUDA_CODE_FP8, FIXED },
    { 0x1df3, CUDA_CODE_FP8, FIXED },
    { 0x15ea, CUDA_CODE_OTHER, FIXED },
    { 0x19ea, CUDA_CODE_OTHER, FIXED },
};

/* Whether an opcode may be one of those above, by its low byte: a load and a branch for nearly all instructions. */
static const uint8_t candidates[256] = {
    [0x36] = 1, [0x37] = 1, [0x3c] = 1, [0x3d] = 1, [0x3f] = 1, [0x7a] = 1, [0x7e] = 1,
    [0x7f] = 1, [0xea] = 1, [0xf0] = 1, [0xf1] = 1, [0xf2] = 1, [0xf3] = 1,
};

int cuda_code_is_complete(unsigned sm)
{
    return sm >= FIRST_SM && sm <= 90;
}

static int cuda_code_is_inside(const struct cuda_code *code, uint64_t offset, uint64_t size)
{
    return offset <= code->size && size <= code->size - offset;
}

static Elf64_Shdr section(const struct cuda_code *code, uint32_t index)
{
    Elf64_Shdr header;

    memcpy(&header, code->image + code->sections + (uint64_t)index * sizeof header, sizeof header);
    return header;
}

int cuda_code_open(struct cuda_code *code, const void *image, size_t size)
{
    Elf64_Ehdr head;

    if (!image || size < sizeof head)
        return -1;
    memcpy(&head, image, sizeof head);
    if (memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 || head.e_ident[EI_CLASS] != ELFCLASS64 ||
        head.e_ident[EI_DATA] != ELFDATA2LSB || head.e_machine != MACHINE_CUDA ||
        head.e_shentsize != sizeof(Elf64_Shdr) || head.e_shstrndx >= head.e_shnum)
        return -1;
    *code = (struct cuda_code){
        .image = image,
        .size = size,
        .sm = (head.e_ident[EI_ABIVERSION] >= ABI_VERSION_FLAGS_HIGH ? head.e_flags >> 8 : head.e_flags) & 0xff,
        .sections = head.e_shoff,
        .section_count = head.e_shnum
    };
    if (code->sm < FIRST_SM || !cuda_code_is_inside(code, head.e_shoff, (uint64_t)head.e_shnum * sizeof(Elf64_Shdr)))
        return -1;
    Elf64_Shdr names = section(code, head.e_shstrndx);
    if (!cuda_code_is_inside(code, names.sh_offset, names.sh_size) || names.sh_size == 0 ||
        code->image[names.sh_offset + names.sh_size - 1] != 0)
        return -1;
    code->names = names.sh_offset;
    code->names_size = names.sh_size;
    return 0;
}

static unsigned types_of(const struct opcode *opcode, uint64_t high)
{
    static const uint16_t formats[] = { CUDA_CODE_FP16, CUDA_CODE_BF16, CUDA_CODE_TF32, CUDA_CODE_OTHER };

    return opcode->place == BITS_82   ? formats[high >> (82 - 64) & 3]
           : opcode->place == BITS_76 ? formats[high >> (76 - 64) & 3]
                                      : opcode->types;
}

static unsigned types_at(const unsigned char *instruction)
{
    uint64_t low, high;

    memcpy(&low, instruction, sizeof low);
    memcpy(&high, instruction + sizeof low, sizeof high);
    unsigned number = (unsigned)(low & 0xfff) | (unsigned)(high >> (91 - 64) & 1) << 12;
    for (size_t i = 0; i < COUNT_OF(opcodes); i++)
        if (opcodes[i].number == number)
            return types_of(&opcodes[i], high);
    return 0;
}

static unsigned scan(const unsigned char *bytes, uint64_t size)
{
    unsigned types = 0;

    for (uint64_t at = 0; size - at >= INSTRUCTION_BYTES; at += INSTRUCTION_BYTES)
        if (candidates[bytes[at]])
            types |= types_at(bytes + at);
    return types;
}

int cuda_code_next(struct cuda_code *code, struct cuda_code_kernel *kernel)
{
    while (code->next < code->section_count) {
        Elf64_Shdr header = section(code, code->next++);
        const char *names = (const char *)code->image + code->names;

        if (header.sh_type != SHT_PROGBITS || !(header.sh_flags & SHF_EXECINSTR) ||
            header.sh_name >= code->names_size || !cuda_code_is_inside(code, header.sh_offset, header.sh_size) ||
            strncmp(names + header.sh_name, TEXT, TEXT_LENGTH) != 0)
            continue;
        kernel->name = names + header.sh_name + TEXT_LENGTH;
        kernel->types = scan(code->image + header.sh_offset, header.sh_size);
        return 1;
    }
    return 0;
}

const char *cuda_code_section_name(const struct cuda_code *code, uint32_t index)
{
    uint64_t name = index < code->section_count ? section(code, index).sh_name : UINT64_MAX;

    return name < code->names_size ? (const char *)code->image + code->names + name : NULL;
}

static int cuda_code_find(const struct cuda_code *code, const char *name, Elf64_Shdr *out)
{
    for (uint32_t i = 0; i < code->section_count; i++) {
        const char *its = cuda_code_section_name(code, i);
        Elf64_Shdr header = section(code, i);
        if (its && strcmp(its, name) == 0 && header.sh_type != SHT_NOBITS &&
            cuda_code_is_inside(code, header.sh_offset, header.sh_size)) {
            *out = header;
            return 0;
        }
    }
    return -1;
}

int cuda_code_section(const struct cuda_code *code, const char *name, struct cuda_code_section *out)
{
    Elf64_Shdr header;

    if (cuda_code_find(code, name, &header) != 0)
        return -1;
    *out = (struct cuda_code_section){ code->image + header.sh_offset, header.sh_size, header.sh_entsize };
    return 0;
}

unsigned cuda_code_line_parts(const struct cuda_code *code, struct cuda_code_part parts[CUDA_CODE_LINE_PARTS])
{
    static const char *const sections[] = { ".debug_line", ".rela.debug_line", ".rel.debug_line", ".symtab",
                                            ".strtab" };
    unsigned count = 0;
    Elf64_Shdr header;

    if (cuda_code_find(code, sections[0], &header) != 0)
        return 0;
    parts[count++] = (struct cuda_code_part){ 0, sizeof(Elf64_Ehdr) };
    parts[count++] = (struct cuda_code_part){ code->sections, (uint64_t)code->section_count * sizeof(Elf64_Shdr) };
    parts[count++] = (struct cuda_code_part){ code->names, code->names_size };
    for (size_t i = 0; i < COUNT_OF(sections); i++)
        if (cuda_code_find(code, sections[i], &header) == 0)
            parts[count++] = (struct cuda_code_part){ header.sh_offset, header.sh_size };
    return count;
}
