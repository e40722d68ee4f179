/* Symbol tables of ELF files, and the search for wanted addresses in them: see symbol_names.h. */
#include "symbol_names.h"

#include <lzma.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define UNPACKED_MAX (256u << 20)
#define UNPACKER_MEMORY (128u << 20)
#define TEXT_MAX (64u << 10)
#define STEPS_MAX (1u << 26) /* symbols that claim the whole file would visit all addresses each */
#define TEXTS_MAX (256u << 20)

int symbol_names_begin(struct symbol_names *names, const uint64_t *addresses, size_t count)
{
    *names = (struct symbol_names){ .addresses = addresses,
                                    .count = count,
                                    .found = calloc(count + 1, sizeof *names->found) };
    return names->found ? 0 : -1;
}

void symbol_names_free(struct symbol_names *names)
{
    free(names->found);
    arena_free(&names->arena);
    *names = (struct symbol_names){ 0 };
}

/* A symbol that begins closer to the address is inside one that begins before; at the same start the rank decides. */
static int symbol_names_is_better(const struct symbol_names *names, const struct symbol_name *known, uint64_t start,
                                  uint32_t rank)
{
    if (!known->text || names->last_wins)
        return !known->text || rank > known->rank;
    return start != known->start ? start > known->start : rank > known->rank;
}

static void symbol_names_take(struct symbol_names *names, struct symbol_name *known, const struct symbol_name *offered,
                              size_t room)
{
    if (!symbol_names_is_better(names, known, offered->start, offered->rank) || names->arena.total > TEXTS_MAX)
        return;
    const char *copy = arena_copy(&names->arena, offered->text,
                                  strnlen(offered->text, room < TEXT_MAX ? room : TEXT_MAX));
    if (copy)
        *known = (struct symbol_name){ copy, offered->start, offered->end, offered->rank };
}

void symbol_names_add(struct symbol_names *names, const struct symbol_names_entry *symbol)
{
    uint64_t start = symbol->start, size = symbol->size;
    const struct symbol_name offered = { symbol->text, start, symbol->end ? symbol->end : UINT64_MAX, symbol->rank };
    size_t first = array_first_not_below(names->addresses, names->count, start);
    if (first == names->count || names->steps > STEPS_MAX)
        return;
    if (start > names->found[first].closest)
        names->found[first].closest = start;
    if (size == 0)
        symbol_names_take(names, &names->found[first].before, &offered, symbol->room);
    for (size_t i = first; i < names->count && names->addresses[i] - start < size; i++, names->steps++)
        symbol_names_take(names, &names->found[i].inside, &offered, symbol->room);
}

/* Labels of assembly have no size: they extend to the next function, or to the end of their section. */
void symbol_names_settle(struct symbol_names *names)
{
    for (size_t i = 1; i < names->count; i++) {
        struct symbol_name_choice *known = &names->found[i], *previous = &names->found[i - 1];
        if (!known->closest) {
            known->closest = previous->closest;
            known->before = previous->before;
        }
    }
}

const char *symbol_names_get(const struct symbol_names *names, size_t number)
{
    const struct symbol_name_choice *found = &names->found[number];
    if (found->inside.text)
        return found->inside.text;
    int reaches = found->before.text && found->before.start == found->closest &&
                  names->addresses[number] < found->before.end;
    return reaches ? found->before.text : NULL;
}

/* ---- From files ------------------------------------------------------------------------------------------------ */

static const char *string_at(const struct elf_piece *strings, uint32_t at, size_t *room)
{
    *room = at < strings->size ? strings->size - at : 0;
    return *room ? (const char *)strings->bytes + at : NULL;
}

static int is_code(const struct elf_image *image, uint16_t section)
{
    return section >= image->section_count || image->sections[section].sh_flags & SHF_EXECINSTR;
}

/* Code has functions and labels; data, in which locks are looked up, has variables with a size. */
static int names_something(const struct elf_image *image, const Elf64_Sym *symbol, const char *text)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    if (!is_code(image, symbol->st_shndx))
        return type == STT_OBJECT && symbol->st_size;
    return type == STT_FUNC || type == STT_GNU_IFUNC || (type == STT_NOTYPE && text[0] != '.');
}

/* Ranks symbols: functions before labels, global before local. 0: it names neither code nor a variable. */
static uint32_t symbol_names_rank_of(const struct elf_image *image, const Elf64_Sym *symbol, const char *text)
{
    unsigned type = ELF64_ST_TYPE(symbol->st_info), binding = ELF64_ST_BIND(symbol->st_info);
    if (symbol->st_shndx == SHN_UNDEF || symbol->st_shndx == SHN_ABS || !text || !*text || text[0] == '$' ||
        !names_something(image, symbol, text))
        return 0;
    uint32_t rank = binding == STB_GLOBAL ? 3 : binding == STB_WEAK ? 2 : 1;
    return rank + (type == STT_NOTYPE ? 0 : 10) + (symbol->st_size ? 5 : 0);
}

static uint64_t symbol_names_end_of(const struct elf_image *image, uint16_t section)
{
    return section < image->section_count ? image->sections[section].sh_addr + image->sections[section].sh_size : 0;
}

static void visit_table(const struct elf_image *image, const Elf64_Shdr *section, symbol_names_visitor visit,
                        void *context)
{
    struct elf_piece symbols, strings;
    if (section->sh_link >= image->section_count || elf_image_section_piece(image, section, &symbols) != 0)
        return;
    if (elf_image_section_piece(image, &image->sections[section->sh_link], &strings) == 0) {
        for (size_t i = 0; i < symbols.size / sizeof(Elf64_Sym); i++) {
            Elf64_Sym symbol;
            size_t room;
            memcpy(&symbol, symbols.bytes + i * sizeof symbol, sizeof symbol);
            const char *text = string_at(&strings, symbol.st_name, &room);
            uint32_t rank = symbol_names_rank_of(image, &symbol, text);
            if (rank)
                visit(context,
                      &(struct symbol_names_entry){ symbol.st_value, symbol.st_size,
                                                    symbol_names_end_of(image, symbol.st_shndx), text, room, rank });
        }
        elf_piece_free(&strings);
    }
    elf_piece_free(&symbols);
}

static void visit_tables(const struct elf_image *image, symbol_names_visitor visit, void *context)
{
    for (size_t i = 0; i < image->section_count; i++)
        if (image->sections[i].sh_type == SHT_SYMTAB || image->sections[i].sh_type == SHT_DYNSYM)
            visit_table(image, &image->sections[i], visit, context);
}

/* Stripped files of some distributions contain a small ELF file with the rest of their symbols, compressed with
 * LZMA. */
static void visit_packed(const struct elf_image *image, symbol_names_visitor visit, void *context)
{
    const Elf64_Shdr *section = elf_image_section(image, ".gnu_debugdata");
    struct elf_piece packed;
    if (!section || elf_image_section_piece(image, section, &packed) != 0)
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
            if (result != LZMA_OK || stream.avail_out ||
                array_reserve_up_to(&bytes, &capacity, capacity + 1, UNPACKED_MAX, 1) != 0)
                break;
        }
        struct elf_image inner;
        if (result == LZMA_STREAM_END && elf_image_open_memory(&inner, bytes, stream.total_out) == 0) {
            visit_tables(&inner, visit, context);
            elf_image_close(&inner);
        }
    }
    lzma_end(&stream);
    free(bytes);
    elf_piece_free(&packed);
}

/* Entries of the procedure linkage table are in the order of its relocations: each is named after its target. */
static void visit_linkage(const struct elf_image *image, symbol_names_visitor visit, void *context)
{
    const Elf64_Shdr *relocations = elf_image_section(image, ".rela.plt"),
                     *table = elf_image_section(image, ".plt.sec");
    uint64_t head = 0;
    if (!table) {
        table = elf_image_section(image, ".plt");
        head = image->machine == EM_AARCH64 ? 32 : 16;
    }
    struct elf_piece entries, symbols, strings;
    if (!relocations || !table || relocations->sh_link >= image->section_count || table->sh_size < head ||
        elf_image_section_piece(image, relocations, &entries) != 0)
        return;
    const Elf64_Shdr *symbol_section = &image->sections[relocations->sh_link];
    int has_symbols = symbol_section->sh_link < image->section_count &&
                      elf_image_section_piece(image, symbol_section, &symbols) == 0;
    if (has_symbols && elf_image_section_piece(image, &image->sections[symbol_section->sh_link], &strings) == 0) {
        for (size_t i = 0; i < entries.size / sizeof(Elf64_Rela) && i < (table->sh_size - head) / 16; i++) {
            Elf64_Rela relocation;
            Elf64_Sym symbol;
            memcpy(&relocation, entries.bytes + i * sizeof relocation, sizeof relocation);
            uint64_t number = ELF64_R_SYM(relocation.r_info);
            if (number >= symbols.size / sizeof symbol)
                continue;
            memcpy(&symbol, symbols.bytes + number * sizeof symbol, sizeof symbol);
            size_t room;
            char shown[1024];
            const char *text = string_at(&strings, symbol.st_name, &room);
            if (!text || !*text)
                continue;
            snprintf(shown, sizeof shown, "%.*s@plt", (int)(room < sizeof shown - 8 ? room : sizeof shown - 8), text);
            visit(context, &(struct symbol_names_entry){
                               .start = table->sh_addr + head + 16 * i,
                               .size = 16,
                               .text = shown,
                               .room = sizeof shown,
                               .rank = 1,
                           });
        }
        elf_piece_free(&strings);
    }
    if (has_symbols)
        elf_piece_free(&symbols);
    elf_piece_free(&entries);
}

void symbol_names_visit_image(const struct elf_image *image, symbol_names_visitor visit, void *context)
{
    visit_tables(image, visit, context);
    visit_packed(image, visit, context);
    visit_linkage(image, visit, context);
}

/* ---- Of wanted addresses --------------------------------------------------------------------------------------- */

static void add_visited(void *names, const struct symbol_names_entry *symbol)
{
    symbol_names_add(names, symbol);
}

/* Is a wanted address inside the symbol, or may the symbol be a label that reaches to one? The texts of all others are
 * not read: in libraries of C++ they are most of the file. */
static int symbol_names_may_hit(const struct symbol_names *names, const Elf64_Sym *symbol)
{
    size_t first = array_first_not_below(names->addresses, names->count, symbol->st_value);
    return first < names->count &&
           (symbol->st_size == 0 || names->addresses[first] - symbol->st_value < symbol->st_size);
}

/* A function of which only the start counts: no label before it reaches beyond it. */
static void symbol_names_note_start(struct symbol_names *names, uint64_t start)
{
    size_t first = array_first_not_below(names->addresses, names->count, start);
    if (first < names->count && start > names->found[first].closest)
        names->found[first].closest = start;
}

/* Reads the text of a symbol: 0, or -1 if it is not in the file or memory is short. */
static int read_text(const struct elf_image *image, const Elf64_Shdr *strings, uint32_t at, struct elf_piece *text)
{
    for (uint64_t room = 256;; room *= 16) {
        uint64_t rest = at < strings->sh_size ? strings->sh_size - at : 0, size = room < rest ? room : rest;
        if (!rest || strings->sh_offset > UINT64_MAX - at ||
            elf_image_piece(image, strings->sh_offset + at, size, text) != 0)
            return -1;
        if (size == rest || size >= TEXT_MAX || memchr(text->bytes, 0, size))
            return 0;
        elf_piece_free(text);
    }
}

/* A table that is read for wanted addresses. */
struct symbol_names_scan {
    struct symbol_names *names;
    const struct elf_image *image;
    const Elf64_Shdr *strings;
    /* Texts that named nothing, by their place: on aarch64 each function has labels "$x" and "$d". */
    uint32_t nothing[4];
    unsigned next_nothing;
};

static int names_nothing(const struct symbol_names_scan *scan, uint32_t text)
{
    for (size_t i = 0; i < COUNT_OF(scan->nothing); i++)
        if (scan->nothing[i] == text)
            return 1;
    return 0;
}

static void add_symbol(struct symbol_names_scan *scan, const Elf64_Sym *symbol)
{
    struct symbol_names *names = scan->names;
    struct elf_piece text;
    if (names_nothing(scan, symbol->st_name) || names->steps > STEPS_MAX ||
        !symbol_names_rank_of(scan->image, symbol, "f"))
        return;
    if (ELF64_ST_TYPE(symbol->st_info) != STT_NOTYPE && !symbol_names_may_hit(names, symbol)) {
        symbol_names_note_start(names, symbol->st_value);
        return;
    }
    if (read_text(scan->image, scan->strings, symbol->st_name, &text) != 0)
        return;
    uint32_t rank = symbol_names_rank_of(scan->image, symbol, (const char *)text.bytes);
    if (rank)
        symbol_names_add(names, &(struct symbol_names_entry){ symbol->st_value, symbol->st_size,
                                                              symbol_names_end_of(scan->image, symbol->st_shndx),
                                                              (const char *)text.bytes, text.size, rank });
    else
        scan->nothing[scan->next_nothing++ % COUNT_OF(scan->nothing)] = symbol->st_name;
    elf_piece_free(&text);
}

/* Reads a table in parts, so that their memory stays in the cache. */
static void add_table(struct symbol_names *names, const struct elf_image *image, const Elf64_Shdr *section)
{
    enum { PART = 8192 * sizeof(Elf64_Sym) };
    if (section->sh_link >= image->section_count || section->sh_type == SHT_NOBITS ||
        image->sections[section->sh_link].sh_type == SHT_NOBITS)
        return;
    struct symbol_names_scan scan = { .names = names, .image = image, .strings = &image->sections[section->sh_link] };
    for (uint64_t done = 0; done < section->sh_size; done += PART) {
        struct elf_piece part;
        uint64_t size = section->sh_size - done < PART ? section->sh_size - done : PART;
        if (section->sh_offset > UINT64_MAX - done ||
            elf_image_piece(image, section->sh_offset + done, size, &part) != 0)
            return;
        for (size_t i = 0; i < size / sizeof(Elf64_Sym); i++) {
            Elf64_Sym symbol;
            memcpy(&symbol, part.bytes + i * sizeof symbol, sizeof symbol);
            add_symbol(&scan, &symbol);
        }
        elf_piece_free(&part);
    }
}

static void symbol_names_add_tables(struct symbol_names *names, const struct elf_image *image)
{
    for (size_t i = 0; i < image->section_count; i++) {
        const Elf64_Shdr *section = &image->sections[i];
        if (section->sh_type != SHT_SYMTAB && section->sh_type != SHT_DYNSYM)
            continue;
        int is_packed = section->sh_flags & SHF_COMPRESSED ||
                        (section->sh_link < image->section_count &&
                         image->sections[section->sh_link].sh_flags & SHF_COMPRESSED);
        if (is_packed)
            visit_table(image, section, add_visited, names);
        else
            add_table(names, image, section);
    }
}

/* Is a wanted address in the procedure linkage table? Most modules have few frames there, and their names need three
 * sections. */
static int wants_linkage(const struct symbol_names *names, const struct elf_image *image)
{
    static const char *const tables[] = { ".plt", ".plt.sec" };
    for (size_t i = 0; i < COUNT_OF(tables); i++) {
        const Elf64_Shdr *table = elf_image_section(image, tables[i]);
        size_t first = table ? array_first_not_below(names->addresses, names->count, table->sh_addr) : names->count;
        if (first < names->count && names->addresses[first] - table->sh_addr < table->sh_size)
            return 1;
    }
    return 0;
}

void symbol_names_add_image(struct symbol_names *names, const struct elf_image *image)
{
    symbol_names_add_tables(names, image);
    visit_packed(image, add_visited, names);
    if (wants_linkage(names, image))
        visit_linkage(image, add_visited, names);
}
