/* An ELF file, read piece by piece with every offset checked: 64 bits, little-endian, x86_64 or aarch64.
 *
 * Pieces are copies, never a mapping of the file: somebody may truncate the file while we read it. */
#ifndef TACHO_SYMBOLS_ELF_ELF_IMAGE_H
#define TACHO_SYMBOLS_ELF_ELF_IMAGE_H

#include <elf.h>
#include <stddef.h>
#include <stdint.h>

#define ELF_IMAGE_BUILD_ID_MAX 64

struct elf_piece {
    const unsigned char *bytes; /* NULL: none */
    size_t size;
    void *owned;                /* to free with it; NULL: belongs to the image */
};

struct elf_image {
    int file; /* -1: in memory */
    const unsigned char *memory;
    uint64_t size;
    uint16_t machine;
    Elf64_Phdr *segments;
    size_t segment_count;
    Elf64_Shdr *sections;
    size_t section_count;
    struct elf_piece section_names;
};

/* Opens an image: 0, or -1 if it is not such a file; then nothing needs to be closed. The image takes over the
 * descriptor, which is closed in any case. Memory still belongs to the caller. */
int elf_image_open(struct elf_image *image, int file);
int elf_image_open_memory(struct elf_image *image, const void *memory, size_t size);
void elf_image_close(struct elf_image *image);

/* Reads a piece of the file; -1 if it is not inside the file, or out of memory. */
int elf_image_piece(const struct elf_image *image, uint64_t offset, uint64_t size, struct elf_piece *piece);
void elf_piece_free(struct elf_piece *piece);

/* A section by name, or NULL; and its bytes, decompressed if necessary. */
const Elf64_Shdr *elf_image_section(const struct elf_image *image, const char *name);
int elf_image_section_piece(const struct elf_image *image, const Elf64_Shdr *section, struct elf_piece *piece);

/* Converts a file offset to its load address and back, with the number of bytes that follow it there: 0, or -1 if it
 * is not loaded. */
int elf_image_address_of(const struct elf_image *image, uint64_t offset, uint64_t *address);
int elf_image_offset_of(const struct elf_image *image, uint64_t address, uint64_t *offset, uint64_t *following);
uint64_t elf_image_first_address(const struct elf_image *image); /* the lowest load address */

/* The size of the build-id in bytes; 0: none. */
size_t elf_image_build_id(const struct elf_image *image, unsigned char id[ELF_IMAGE_BUILD_ID_MAX]);

#endif
