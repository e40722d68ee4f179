/* The entries of .eh_frame and .debug_frame: finds the one that covers an address, and parses it up to its program. */
#ifndef TACHO_SYMBOLS_CFI_CFI_INDEX_H
#define TACHO_SYMBOLS_CFI_CFI_INDEX_H

#include "symbols/elf/byte_cursor.h"
#include "symbols/elf/elf_image.h"

/* where code begins, and where in the section its entry lies */
struct cfi_entry {
    uint64_t start, offset;
};

struct cfi_section {
    struct elf_piece piece;
    uint64_t address;          /* where the section is loaded */
    int is_debug_frame;
    struct elf_piece header;   /* .eh_frame_hdr, if its table is one that we can search */
    uint64_t header_address;
    struct cfi_entry *entries; /* without that: our own, sorted */
    size_t entry_count;
};

struct cfi {
    uint16_t machine;
    struct cfi_section sections[2];
};

/* Takes what there is from the file. Never fails: without information lookups find nothing. */
void cfi_open(struct cfi *cfi, const struct elf_image *image);
void cfi_close(struct cfi *cfi);

struct cfi_code {
    uint64_t start, size; /* of the function */
    uint64_t code_unit;
    int64_t data_unit;
    uint64_t return_register;
    uint8_t encoding;        /* of addresses */
    int is_signal, has_data; /* augmentation data comes before the program */
    const unsigned char *initial, *initial_end, *program, *program_end;
};

/* 0, or -1 for none. */
int cfi_index_find(const struct cfi_section *section, uint64_t address, struct cfi_code *code);

/* An address as the section spells it (DW_EH_PE_*). */
uint64_t cfi_pointer(const struct cfi_section *section, uint8_t encoding, struct byte_cursor *cursor);

#endif
