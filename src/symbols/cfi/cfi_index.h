/* The entries of .eh_frame and .debug_frame: finds the one that covers an address, and parses it up to its program. */
#ifndef TACHO_SYMBOLS_CFI_CFI_INDEX_H
#define TACHO_SYMBOLS_CFI_CFI_INDEX_H

#include "symbols/elf/byte_cursor.h"
#include "symbols/elf/elf_image.h"

/* The start of the code, and the offset of its entry in the section. */
struct cfi_entry {
    uint64_t start, offset;
};

struct cfi_section {
    struct elf_piece piece;
    uint64_t address;          /* load address of the section */
    int is_debug_frame;
    struct elf_piece header;   /* .eh_frame_hdr, if its table can be searched */
    uint64_t header_address;
    struct cfi_entry *entries; /* our own sorted table, if there is no header */
    size_t entry_count;
};

struct cfi {
    uint16_t machine;
    struct cfi_section sections[2];
};

/* Opens the sections that the file has. Never fails: without information lookups find nothing. */
void cfi_open(struct cfi *cfi, const struct elf_image *image);
void cfi_close(struct cfi *cfi);

struct cfi_code {
    uint64_t start, size; /* of the function */
    uint64_t code_unit;
    int64_t data_unit;
    uint64_t return_register;
    uint8_t encoding;        /* of addresses */
    int is_signal, has_data; /* has_data: augmentation data comes before the program */
    const unsigned char *initial, *initial_end, *program, *program_end;
};

/* 0, or -1 if there is none. */
int cfi_index_find(const struct cfi_section *section, uint64_t address, struct cfi_code *code);

/* Reads an address in the section's encoding (DW_EH_PE_*). */
uint64_t cfi_pointer(const struct cfi_section *section, uint8_t encoding, struct byte_cursor *cursor);

#endif
