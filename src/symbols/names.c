/* Symbol tables of ELF files, and looking things up in sorted tables: see names.h. */
#include "names.h"

#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NAMES_MAX (1u << 25)
#define UNPACKED_MAX (256u << 20)
#define UNPACKER_MEMORY (128u << 20)
#define LOOK_BACK 16 /* functions that begin inside others: as many are looked at */

void names_free(struct names *names)
{
    free(names->entries);
    arena_free(&names->arena);
    for (size_t i = 0; i < names->piece_count; i++)
        piece_free(&names->pieces[i]);
    free(names->unpacked);
    *names = (struct names){0};
}

void names_add(struct names *names, uint64_t start, uint64_t size, const char *text, uint32_t rank)
{
    if (names->count == names->capacity) {
        size_t capacity = names->capacity ? 2 * names->capacity : 1024;
        struct name *more = capacity <= NAMES_MAX ? realloc(names->entries, capacity * sizeof *more) : NULL;
        if (!more)
            return;
        names->entries = more;
        names->capacity = capacity;
    }
    uint64_t end = size > UINT64_MAX - start ? UINT64_MAX : start + size;
    names->entries[names->count++] = (struct name){start, end, text, rank};
}

static int by_place(const void *a, const void *b)
{
    const struct name *x = a, *y = b;
    if (x->start != y->start)
        return x->start < y->start ? -1 : 1;
    return (x->rank < y->rank) - (x->rank > y->rank);
}

void names_sort(struct names *names)
{
    if (names->count)
        qsort(names->entries, names->count, sizeof *names->entries, by_place);
    /* Labels of assembly have no size: they reach to the next. */
    uint64_t next = names->last;
    for (size_t i = names->count; i-- > 0;) {
        struct name *entry = &names->entries[i];
        if (entry->end == entry->start && next > entry->start)
            entry->end = next;
        if (i && names->entries[i - 1].start != entry->start)
            next = entry->start;
    }
}

const struct name *names_find(const struct names *names, uint64_t address)
{
    size_t low = 0, high = names->count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (names->entries[middle].start <= address)
            low = middle + 1;
        else
            high = middle;
    }
    const struct name *found = NULL;
    for (size_t back = 0; low-- > 0 && back < LOOK_BACK; back++) {
        const struct name *entry = &names->entries[low];
        if (found && entry->start != found->start)
            break;
        if (address < entry->end)
            found = entry; /* of equal ones the first */
    }
    return found;
}

/* ---- From files ------------------------------------------------------------------------------------------------------------ */

static const char *string_at(const struct piece *strings, uint32_t at)
{
    if (at >= strings->size || !memchr(strings->bytes + at, 0, strings->size - at))
        return NULL;
    return (const char *)strings->bytes + at;
}

/* What a symbol's name is worth: a function's before a label's, a public one's before a private one's. 0: it names no code. */
static uint32_t rank_of(const Elf64_Sym *symbol, const char *text)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info), binding = ELF64_ST_BIND(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || !text || !*text || text[0] == '$')
        return 0;
    if (type != STT_FUNC && type != STT_GNU_IFUNC && (type != STT_NOTYPE || text[0] == '.'))
        return 0;
    uint32_t rank = binding == STB_GLOBAL ? 3 : binding == STB_WEAK ? 2 : 1;
    return rank + (type == STT_NOTYPE ? 0 : 10) + (symbol->st_size ? 5 : 0);
}

static int is_code(const struct image *image, uint16_t section)
{
    return section >= image->section_count || image->sections[section].sh_flags & SHF_EXECINSTR;
}

static void add_table(struct names *names, const struct image *image, const Elf64_Shdr *section)
{
    struct piece symbols, strings;
    if (section->sh_link >= image->section_count || names->piece_count == sizeof names->pieces / sizeof *names->pieces
        || image_section_piece(image, section, &symbols) != 0)
        return;
    if (image_section_piece(image, &image->sections[section->sh_link], &strings) == 0) {
        names->pieces[names->piece_count++] = strings;
        for (size_t i = 0; i + 1 <= symbols.size / sizeof(Elf64_Sym); i++) {
            Elf64_Sym symbol;
            memcpy(&symbol, symbols.bytes + i * sizeof symbol, sizeof symbol);
            const char *text = string_at(&strings, symbol.st_name);
            uint32_t rank = rank_of(&symbol, text);
            if (rank && is_code(image, symbol.st_shndx))
                names_add(names, symbol.st_value, symbol.st_size, text, rank);
        }
    }
    piece_free(&symbols);
}

static void add_tables(struct names *names, const struct image *image)
{
    for (size_t i = 0; i < image->section_count; i++)
        if (image->sections[i].sh_type == SHT_SYMTAB || image->sections[i].sh_type == SHT_DYNSYM)
            add_table(names, image, &image->sections[i]);
}

/* Stripped files of some distributions carry a small ELF file with the rest of their symbols, packed with LZMA. */
static void add_packed(struct names *names, const struct image *image)
{
    const Elf64_Shdr *section = image_section(image, ".gnu_debugdata");
    struct piece packed;
    if (!section || names->unpacked || image_section_piece(image, section, &packed) != 0)
        return;
    lzma_stream stream = LZMA_STREAM_INIT;
    size_t capacity = packed.size * 8 < UNPACKED_MAX ? packed.size * 8 + 4096 : UNPACKED_MAX;
    unsigned char *bytes = malloc(capacity);
    if (bytes && lzma_stream_decoder(&stream, UNPACKER_MEMORY, 0) == LZMA_OK) {
        lzma_ret result = LZMA_OK;
        stream.next_in = packed.bytes;
        stream.avail_in = packed.size;
        while (result == LZMA_OK) {
            stream.next_out = bytes + stream.total_out;
            stream.avail_out = capacity - stream.total_out;
            result = lzma_code(&stream, LZMA_FINISH);
            if (result != LZMA_OK || stream.avail_out || capacity >= UNPACKED_MAX)
                break;
            unsigned char *more = realloc(bytes, 2 * capacity);
            if (!more)
                break;
            bytes = more;
            capacity *= 2;
        }
        struct image inner;
        if (result == LZMA_STREAM_END && image_open_memory(&inner, bytes, stream.total_out) == 0) {
            add_tables(names, &inner);
            image_close(&inner);
            names->unpacked = bytes; /* the tables of strings lie in there */
            bytes = NULL;
        }
    }
    lzma_end(&stream);
    free(bytes);
    piece_free(&packed);
}

/* Entries of the procedure linkage table stand in the order of its relocations: each is called after what it leads to. */
static void add_linkage(struct names *names, const struct image *image)
{
    const Elf64_Shdr *relocations = image_section(image, ".rela.plt"), *table = image_section(image, ".plt.sec");
    uint64_t head = 0;
    if (!table) {
        table = image_section(image, ".plt");
        head = image->machine == EM_AARCH64 ? 32 : 16;
    }
    struct piece entries, symbols, strings;
    if (!relocations || !table || relocations->sh_link >= image->section_count || table->sh_size < head
        || image_section_piece(image, relocations, &entries) != 0)
        return;
    const Elf64_Shdr *symbol_section = &image->sections[relocations->sh_link];
    int has_symbols = symbol_section->sh_link < image->section_count && image_section_piece(image, symbol_section, &symbols) == 0;
    if (has_symbols && image_section_piece(image, &image->sections[symbol_section->sh_link], &strings) == 0) {
        for (size_t i = 0; i < entries.size / sizeof(Elf64_Rela) && i < (table->sh_size - head) / 16; i++) {
            Elf64_Rela relocation;
            Elf64_Sym symbol;
            memcpy(&relocation, entries.bytes + i * sizeof relocation, sizeof relocation);
            uint64_t number = ELF64_R_SYM(relocation.r_info);
            if (number >= symbols.size / sizeof symbol)
                continue;
            memcpy(&symbol, symbols.bytes + number * sizeof symbol, sizeof symbol);
            const char *text = string_at(&strings, symbol.st_name);
            char *shown = text && *text ? arena_alloc(&names->arena, strlen(text) + sizeof "@plt") : NULL;
            if (shown) {
                sprintf(shown, "%s@plt", text);
                names_add(names, table->sh_addr + head + 16 * i, 16, shown, 1);
            }
        }
        piece_free(&strings);
    }
    if (has_symbols)
        piece_free(&symbols);
    piece_free(&entries);
}

void names_add_image(struct names *names, const struct image *image)
{
    add_tables(names, image);
    add_packed(names, image);
    add_linkage(names, image);
    for (size_t i = 0; i < image->segment_count; i++) {
        const Elf64_Phdr *segment = &image->segments[i];
        uint64_t end = segment->p_vaddr + segment->p_memsz;
        if (segment->p_type == PT_LOAD && segment->p_flags & PF_X && end > names->last && end > segment->p_vaddr)
            names->last = end;
    }
}
