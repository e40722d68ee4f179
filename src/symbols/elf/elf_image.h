/* An ELF file, read piece by piece with every offset checked: 64 bits, little-endian, x86_64 or aarch64.
 *
 * Pieces are copies, never a mapping of the file: somebody may truncate the file while we read it. */
#ifndef TACHO_SYMBOLS_ELF_ELF_IMAGE_H
#define TACHO_SYMBOLS_ELF_ELF_IMAGE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#define IMAGE_BUILD_ID_MAX 64

struct piece {
    const unsigned char *bytes; /* NULL: there is none */
    size_t size;
    void *owned;                /* to be freed with it; NULL: the image's */
};

struct image {
    int file; /* -1: in memory */
    const unsigned char *memory;
    uint64_t size;
    uint16_t machine;
    Elf64_Phdr *segments;
    size_t segment_count;
    Elf64_Shdr *sections;
    size_t section_count;
    struct piece section_names;
};

/* 0, or -1 if it is no such file; then nothing needs to be closed. The descriptor is the image's from then on, and
 * closed in any case; memory stays the caller's. */
int elf_image_open(struct image *image, int file);
int elf_image_open_memory(struct image *image, const void *memory, size_t size);
void elf_image_close(struct image *image);

/* A piece of the file; -1 if it does not lie within it, or memory is short. */
int elf_image_piece(const struct image *image, uint64_t offset, uint64_t size, struct piece *piece);
void piece_free(struct piece *piece);

/* NULL if there is none of this name. And its bytes, unpacked if they were packed. */
const Elf64_Shdr *elf_image_section(const struct image *image, const char *name);
int elf_image_section_piece(const struct image *image, const Elf64_Shdr *section, struct piece *piece);

/* Where a byte of the file is loaded, and the other way, with the number of bytes that follow it
 * there: 0, or -1 for nowhere. */
int elf_image_address_of(const struct image *image, uint64_t offset, uint64_t *address);
int elf_image_offset_of(const struct image *image, uint64_t address, uint64_t *offset, uint64_t *following);
uint64_t elf_image_first_address(const struct image *image); /* the lowest that is loaded */

/* Bytes of the build-id, 0 for none. */
size_t elf_image_build_id(const struct image *image, unsigned char id[IMAGE_BUILD_ID_MAX]);

#endif
