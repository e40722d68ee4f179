/* Entries of call frame information: see cfi_index.h. All offsets come from the file, so each is checked where it is
 * used. */
#include "cfi_index.h"

#include <stdlib.h>

#include "base/array.h"

#define DW_OMITTED 0xff
#define TABLE_ENCODING 0x3b /* signed 32 bits, relative to the header: the only encoding that linkers write */
#define ENTRIES_MAX (1u << 24)

uint64_t cfi_pointer(const struct cfi_section *section, uint8_t encoding, struct byte_cursor *cursor)
{
    enum { RELATIVE_TO_ITSELF = 0x10, RELATIVE_TO_DATA = 0x30, INDIRECT = 0x80 };
    const unsigned char *place = cursor->at;
    uint64_t value;
    switch (encoding & 0x0f) {
    case 0x00:
    case 0x04:
    case 0x0c: value = cursor_number(cursor, 8); break;
    case 0x01: value = cursor_uleb(cursor); break;
    case 0x02: value = cursor_number(cursor, 2); break;
    case 0x03: value = cursor_number(cursor, 4); break;
    case 0x09: value = (uint64_t)cursor_sleb(cursor); break;
    case 0x0a: value = (uint64_t)cursor_signed(cursor, 2); break;
    case 0x0b: value = (uint64_t)cursor_signed(cursor, 4); break;
    default: cursor->failed = 1; return 0;
    }
    switch (encoding & 0xf0) {
    case 0: return value;
    case RELATIVE_TO_ITSELF: return value + section->address + (uint64_t)(place - section->piece.bytes);
    case RELATIVE_TO_DATA: return value + section->header_address;
    default: /* INDIRECT and others: used only for personality routines, which are not needed */
        cursor->failed |= !(encoding & INDIRECT);
        return value;
    }
}

/* Reads an entry's length and moves past it. */
static int open_entry(const struct cfi_section *section, uint64_t offset, struct byte_cursor *entry, unsigned *word)
{
    const struct elf_piece *piece = &section->piece;
    if (offset >= piece->size)
        return -1;
    *entry = (struct byte_cursor){ piece->bytes + offset, piece->bytes + piece->size, 0 };
    uint64_t length = cursor_number(entry, 4);
    *word = 4;
    if (length == UINT32_MAX) {
        length = cursor_number(entry, 8);
        *word = 8;
    }
    if (entry->failed || length > cursor_left(entry))
        return -1;
    entry->end = entry->at + length;
    return 0;
}

static void read_augmentation(const struct cfi_section *section, const char *letters, struct byte_cursor *cursor,
                              struct cfi_code *code)
{
    if (*letters != 'z')
        return;
    code->has_data = 1;
    uint64_t bytes = cursor_uleb(cursor);
    const unsigned char *data = cursor->at;
    cursor_skip(cursor, bytes);
    struct byte_cursor inside = { data, cursor->at, 0 };
    for (letters++; *letters && !inside.failed; letters++) {
        switch (*letters) {
        case 'R': code->encoding = (uint8_t)cursor_number(&inside, 1); break;
        case 'L': cursor_skip(&inside, 1); break;
        case 'P': {
            uint8_t encoding = (uint8_t)cursor_number(&inside, 1);
            if (encoding != DW_OMITTED)
                cfi_pointer(section, encoding, &inside);
            break;
        }
        case 'S': code->is_signal = 1; break;
        default: break; /* 'B', 'G': keys of pointer authentication, memory tags */
        }
    }
}

/* The common entry (CIE) that an entry refers to. */
static int read_common(const struct cfi_section *section, uint64_t offset, struct cfi_code *code)
{
    struct byte_cursor cursor;
    unsigned word;
    if (open_entry(section, offset, &cursor, &word) != 0)
        return -1;
    uint64_t id = cursor_number(&cursor, word);
    uint64_t expected = !section->is_debug_frame ? 0 : word == 8 ? UINT64_MAX : UINT32_MAX;
    uint64_t version = cursor_number(&cursor, 1);
    const char *letters = (const char *)cursor.at;
    const void *nul = memchr(cursor.at, 0, cursor_left(&cursor));
    if (cursor.failed || id != expected || !nul || (version != 1 && version != 3 && version != 4))
        return -1;
    cursor.at = (const unsigned char *)nul + 1;
    /* The size of an address, and of a segment selector. */
    if (version == 4 && (cursor_number(&cursor, 1) != 8 || cursor_number(&cursor, 1) != 0))
        return -1;
    *code = (struct cfi_code){ .code_unit = cursor_uleb(&cursor) };
    code->data_unit = cursor_sleb(&cursor);
    code->return_register = version == 1 ? cursor_number(&cursor, 1) : cursor_uleb(&cursor);
    read_augmentation(section, letters, &cursor, code);
    code->initial = cursor.at;
    code->initial_end = cursor.end;
    return cursor.failed ? -1 : 0;
}

/* Reads the entry (FDE) at an offset; -1 if there is none. */
static int cfi_index_read_entry(const struct cfi_section *section, uint64_t offset, struct cfi_code *code)
{
    struct byte_cursor cursor;
    unsigned word;
    if (open_entry(section, offset, &cursor, &word) != 0)
        return -1;
    uint64_t place = (uint64_t)(cursor.at - section->piece.bytes), id = cursor_number(&cursor, word);
    if (section->is_debug_frame ? id == (word == 8 ? UINT64_MAX : UINT32_MAX) : id == 0 || id > place)
        return -1;
    if (read_common(section, section->is_debug_frame ? id : place - id, code) != 0)
        return -1;
    code->start = cfi_pointer(section, code->encoding, &cursor);
    code->size = cfi_pointer(section, code->encoding & 0x0f, &cursor);
    if (code->has_data)
        cursor_skip(&cursor, cursor_uleb(&cursor));
    code->program = cursor.at;
    code->program_end = cursor.end;
    return cursor.failed ? -1 : 0;
}

/* ---- Searching ------------------------------------------------------------------------------------------------- */

static int32_t table_word(const struct cfi_section *section, size_t i)
{
    int32_t value;
    memcpy(&value, section->header.bytes + 4 * i, sizeof value);
    return value;
}

/* take_header() has reduced .eh_frame_hdr to its table of pairs of words. */
static int find_by_header(const struct cfi_section *section, uint64_t address, uint64_t *offset)
{
    size_t after = BISECT(0, section->header.size / 8, i,
                          section->header_address + (uint64_t)(int64_t)table_word(section, 2 * i) <= address);

    if (after == 0)
        return -1;
    *offset = section->header_address + (uint64_t)(int64_t)table_word(section, 2 * (after - 1) + 1) - section->address;
    return 0;
}

static int find_by_entries(const struct cfi_section *section, uint64_t address, uint64_t *offset)
{
    size_t after = BISECT(0, section->entry_count, i, section->entries[i].start <= address);

    if (after == 0)
        return -1;
    *offset = section->entries[after - 1].offset;
    return 0;
}

int cfi_index_find(const struct cfi_section *section, uint64_t address, struct cfi_code *code)
{
    uint64_t offset;
    if ((section->header.bytes ? find_by_header : find_by_entries)(section, address, &offset) != 0)
        return -1;
    return cfi_index_read_entry(section, offset, code) == 0 && address - code->start < code->size ? 0 : -1;
}

/* ---- Opening --------------------------------------------------------------------------------------------------- */

static int cfi_index_by_start(const void *a, const void *b)
{
    uint64_t x = ((const struct cfi_entry *)a)->start, y = ((const struct cfi_entry *)b)->start;
    return (x > y) - (x < y);
}

static void make_entries(struct cfi_section *section)
{
    size_t capacity = 0;
    for (uint64_t offset = 0; offset < section->piece.size && section->entry_count < ENTRIES_MAX;) {
        struct byte_cursor cursor;
        unsigned word;
        if (open_entry(section, offset, &cursor, &word) != 0)
            break;
        struct cfi_code code;
        if (cursor.end > cursor.at && cfi_index_read_entry(section, offset, &code) == 0 && code.size) {
            if (array_reserve(&section->entries, &capacity, section->entry_count + 1, sizeof *section->entries) != 0)
                break;
            section->entries[section->entry_count++] = (struct cfi_entry){ code.start, offset };
        }
        offset = (uint64_t)(cursor.end - section->piece.bytes);
    }
    if (section->entry_count)
        qsort(section->entries, section->entry_count, sizeof *section->entries, cfi_index_by_start);
}

/* Keeps only the table. address is that of the header's first byte. */
static int take_header(struct cfi_section *section, struct elf_piece *header, uint64_t address,
                       uint64_t *frames_address)
{
    struct cfi_section itself = { .piece = *header, .address = address, .header_address = address };
    struct byte_cursor cursor = { header->bytes, header->bytes + header->size, 0 };
    uint64_t version = cursor_number(&cursor, 1);
    uint8_t frames_encoding = (uint8_t)cursor_number(&cursor, 1), count_encoding = (uint8_t)cursor_number(&cursor, 1);
    uint8_t table_encoding = (uint8_t)cursor_number(&cursor, 1);
    if (version != 1 || frames_encoding == DW_OMITTED)
        return -1;
    *frames_address = cfi_pointer(&itself, frames_encoding, &cursor);
    if (count_encoding == DW_OMITTED || table_encoding != TABLE_ENCODING)
        return -1;
    uint64_t count = cfi_pointer(&itself, count_encoding, &cursor);
    if (cursor.failed || count == 0 || count > cursor_left(&cursor) / 8)
        return -1;
    section->header = (struct elf_piece){ cursor.at, 8 * count, header->owned };
    section->header_address = address;
    header->owned = NULL;
    return 0;
}

static int piece_at(const struct elf_image *image, uint64_t address, struct elf_piece *piece)
{
    uint64_t offset, following;
    return elf_image_offset_of(image, address, &offset, &following) == 0
               ? elf_image_piece(image, offset, following, piece)
               : -1;
}

static void open_eh_frame(struct cfi_section *section, const struct elf_image *image)
{
    uint64_t frames_address = 0;
    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        struct elf_piece header;
        if (segment->p_type != PT_GNU_EH_FRAME ||
            elf_image_piece(image, segment->p_offset, segment->p_filesz, &header) != 0)
            continue;
        take_header(section, &header, segment->p_vaddr, &frames_address);
        elf_piece_free(&header);
        break;
    }
    const Elf64_Shdr *named = elf_image_section(image, ".eh_frame");
    if (named && elf_image_section_piece(image, named, &section->piece) == 0)
        section->address = named->sh_addr;
    else if (frames_address && piece_at(image, frames_address, &section->piece) == 0)
        section->address = frames_address;
    if (section->piece.bytes && !section->header.bytes)
        make_entries(section);
}

void cfi_open(struct cfi *cfi, const struct elf_image *image)
{
    *cfi = (struct cfi){ .machine = image->machine };
    open_eh_frame(&cfi->sections[0], image);
    struct cfi_section *debug = &cfi->sections[1];
    debug->is_debug_frame = 1;
    const Elf64_Shdr *named = elf_image_section(image, ".debug_frame");
    if (named && elf_image_section_piece(image, named, &debug->piece) == 0)
        make_entries(debug);
}

void cfi_close(struct cfi *cfi)
{
    for (size_t i = 0; i < 2; i++) {
        elf_piece_free(&cfi->sections[i].piece);
        elf_piece_free(&cfi->sections[i].header);
        free(cfi->sections[i].entries);
    }
    *cfi = (struct cfi){ 0 };
}
