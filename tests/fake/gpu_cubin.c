/* Images of modules as CUPTI shows them: a cubin for sm_90 with a section .text.NAME for each kernel. A kernel with
 * "hmma" in its name has an instruction of tensor cores. */
#include <elf.h>
#include <stdlib.h>
#include <string.h>

#include "gpu_state.h"

enum { MACHINE_CUDA = 190, ABI_CUDA = 51, SM = 90, CODE_WORDS = 4 };

static const uint64_t plain[CODE_WORDS] = { 0x000000020205a223, 0x000fe20000000003,  /* FFMA, EXIT */
                                            0x000000000000794d, 0x000fea0003800000 };
static const uint64_t tensor[CODE_WORDS] = { 0x000000082010723c, 0x000fe20000041810, /* HMMA.16816.F32.BF16, EXIT */
                                             0x000000000000794d, 0x000fea0003800000 };

/* Names are texts one behind the other, bytes in all. The section names come first, then a section for each kernel. */
char *gpu_cubin(const char *names, size_t bytes, size_t *size)
{
    size_t count = 0;
    for (const char *name = names; name < names + bytes; name += strlen(name) + 1)
        count++;
    size_t sections = sizeof(Elf64_Ehdr), texts = sections + (count + 1) * sizeof(Elf64_Shdr);
    size_t code = (texts + 1 + bytes + count * strlen(".text.") + 7) / 8 * 8;
    *size = code + count * sizeof plain;
    char *image = calloc(1, *size);
    Elf64_Ehdr *head = (Elf64_Ehdr *)image;
    Elf64_Shdr *section = (Elf64_Shdr *)(image + sections);
    char *text = image + texts + 1;

    memcpy(head->e_ident, ELFMAG, SELFMAG);
    head->e_ident[EI_CLASS] = ELFCLASS64;
    head->e_ident[EI_DATA] = ELFDATA2LSB;
    head->e_ident[EI_OSABI] = ABI_CUDA;
    head->e_ident[EI_ABIVERSION] = 7;
    head->e_machine = MACHINE_CUDA;
    head->e_flags = SM << 16 | SM;
    head->e_shoff = sections;
    head->e_shentsize = sizeof *section;
    head->e_shnum = (Elf64_Half)(count + 1);
    *section++ = (Elf64_Shdr){ .sh_type = SHT_STRTAB, .sh_offset = texts, .sh_size = code - texts };
    for (const char *name = names; name < names + bytes; name += strlen(name) + 1) {
        *section++ = (Elf64_Shdr){ .sh_name = (Elf64_Word)(text - image - (ptrdiff_t)texts),
                                   .sh_type = SHT_PROGBITS,
                                   .sh_flags = SHF_ALLOC | SHF_EXECINSTR,
                                   .sh_offset = code,
                                   .sh_size = sizeof plain };
        memcpy(image + code, strstr(name, "hmma") ? tensor : plain, sizeof plain);
        code += sizeof plain;
        text = stpcpy(stpcpy(text, ".text."), name) + 1;
    }
    return image;
}

char *gpu_cubin_names(const char *image, size_t *size)
{
    const Elf64_Ehdr *head = (const Elf64_Ehdr *)image;
    if (memcmp(image, ELFMAG, SELFMAG) != 0)
        return NULL;
    const Elf64_Shdr *sections = (const Elf64_Shdr *)(image + head->e_shoff);
    const char *texts = image + sections[head->e_shstrndx].sh_offset;
    char *names = calloc(1, sections[head->e_shstrndx].sh_size + 1);
    for (size_t i = 0; i < head->e_shnum; i++)
        if (strncmp(texts + sections[i].sh_name, ".text.", 6) == 0)
            strcat(strcat(names, names[0] ? "\n" : ""), texts + sections[i].sh_name + 6);
    *size = head->e_shoff + head->e_shnum * sizeof *sections;
    if (head->e_phoff + head->e_phnum * sizeof(Elf64_Phdr) > *size)
        *size = head->e_phoff + head->e_phnum * sizeof(Elf64_Phdr);
    return names;
}
