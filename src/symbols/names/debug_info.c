/* Queries libdw: see debug_info.h. This runs in a child process of ours, so it may crash and need not free.
 *
 * Units whose code contains none of the addresses are skipped. In the others a scan finds the functions that may
 * contain one, and only these are walked through. */
#include "debug_info.h"

#include <dwarf.h>
#include <elfutils/libdw.h>
#include <libelf.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/newfile.h"
#include "base/text.h"
#include "entry_scan.h"
#include "line_table.h"

#define DEEPEST 256

/* A function around an address, and the call site if it was inlined. */
struct around {
    const char *name;
    uint64_t call_file; /* its number; NO_FILE: unknown */
    uint32_t call_line;
};
#define NO_FILE UINT64_MAX

struct debug_info_place {
    struct around functions[DEBUG_INFO_INLINED_MAX]; /* outermost first */
    uint32_t count;
};

struct debug_info_unit {
    Dwarf_Die *die;                   /* for its lines and files */
    const uint64_t *addresses;
    struct debug_info_place **places; /* by address; NULL: nothing known yet */
    size_t count;
    struct line_table table;
    int has_table;                    /* else libdw reads lines and files */
    Dwarf_Files *files;
    size_t file_count;
    struct text path;
};

static const char *function_name(Dwarf_Die *die)
{
    static const unsigned kinds[] = { DW_AT_linkage_name, DW_AT_MIPS_linkage_name, DW_AT_name };
    Dwarf_Attribute attribute;
    for (size_t i = 0; i < COUNT_OF(kinds); i++) {
        const char *name = dwarf_formstring(dwarf_attr_integrate(die, kinds[i], &attribute));
        if (name)
            return name;
    }
    return "";
}

static uint64_t debug_info_number_of(Dwarf_Die *die, unsigned kind)
{
    Dwarf_Attribute attribute;
    Dwarf_Word value = 0;
    return dwarf_formudata(dwarf_attr(die, kind, &attribute), &value) == 0 ? value : 0;
}

static void debug_info_add_function(struct debug_info_unit *unit, size_t i, const struct around *around, int is_inlined)
{
    if (!unit->places[i])
        unit->places[i] = calloc(1, sizeof **unit->places);
    struct debug_info_place *place = unit->places[i];
    if (!place)
        return;
    if (!is_inlined)
        place->count = 0; /* functions inlined so far belong to this one */
    if (place->count < DEBUG_INFO_INLINED_MAX)
        place->functions[place->count++] = *around;
}

/* Adds the entry to each address in its code. Returns 1 if there was any. */
static int visit_code(struct debug_info_unit *unit, Dwarf_Die *die, int tag)
{
    Dwarf_Addr base, start, end;
    struct around around = { 0 };
    int any = 0, is_function = tag == DW_TAG_subprogram || tag == DW_TAG_inlined_subroutine;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;) {
        size_t i = array_first_not_below(unit->addresses, unit->count, start);
        for (; i < unit->count && unit->addresses[i] < end; i++) {
            if (!any && is_function) {
                around.name = function_name(die);
                around.call_file = dwarf_hasattr(die, DW_AT_call_file) ? debug_info_number_of(die, DW_AT_call_file)
                                                                       : NO_FILE; /* 0 may be a file (DWARF 5) */
                around.call_line = (uint32_t)debug_info_number_of(die, DW_AT_call_line);
            }
            any = 1;
            if (is_function)
                debug_info_add_function(unit, i, &around, tag == DW_TAG_inlined_subroutine);
        }
    }
    return any;
}

static void debug_info_visit(struct debug_info_unit *unit, Dwarf_Die *parent, int depth)
{
    Dwarf_Die die;
    if (depth > DEEPEST || dwarf_child(parent, &die) != 0)
        return;
    do {
        switch (dwarf_tag(&die)) {
        case DW_TAG_subprogram:
        case DW_TAG_inlined_subroutine:
        case DW_TAG_lexical_block:
        case DW_TAG_try_block:
        case DW_TAG_catch_block:
            if (visit_code(unit, &die, dwarf_tag(&die)))
                debug_info_visit(unit, &die, depth + 1);
            break;
        case DW_TAG_namespace:
        case DW_TAG_module:
        case DW_TAG_class_type:
        case DW_TAG_structure_type: debug_info_visit(unit, &die, depth + 1); break;
        }
    } while (dwarf_siblingof(&die, &die) == 0);
}

struct debug_info_sections {
    struct line_table_sections lines;
    struct entry_scan_sections tree;
};

/* Visits the functions of a unit: those that our own scan finds, or else all that libdw sees. */
static void debug_info_visit_unit(struct debug_info_unit *unit, Dwarf_Die *tree,
                                  const struct debug_info_sections *sections)
{
    struct entry_scan scan = { 0 };
    Dwarf_Die die;
    if (tree != unit->die || entry_scan_read(&scan, &sections->tree, dwarf_dieoffset(tree) - dwarf_cuoffset(tree),
                                             unit->addresses, unit->count) != 0)
        debug_info_visit(unit, tree, 0);
    else
        for (size_t i = 0; i < scan.count; i++)
            if (dwarf_offdie(dwarf_cu_getdwarf(tree->cu), scan.functions[i], &die) &&
                visit_code(unit, &die, DW_TAG_subprogram))
                debug_info_visit(unit, &die, 1);
    entry_scan_free(&scan);
}

/* ---- Output to the parent -------------------------------------------------------------------------------------- */

static void tell_number(struct text *out, uint32_t number)
{
    text_add_bytes(out, &number, sizeof number);
}

static void tell_line(struct text *out, uint32_t line, const char *name, const char *file)
{
    tell_number(out, line);
    tell_number(out, (uint32_t)strlen(name));
    text_add(out, name);
    tell_number(out, file ? (uint32_t)strlen(file) : 0);
    text_add(out, file ? file : "");
}

static int debug_info_flush(struct text *out, int to)
{
    if (newfile_write(to, out->bytes, out->length) != 0)
        return -1;
    text_clear(out);
    return 0;
}

/* The path of a file of the unit, until the next call; NULL: unknown. */
static const char *file_path(struct debug_info_unit *unit, uint64_t file)
{
    if (!unit->has_table)
        return file < unit->file_count ? dwarf_filesrc(unit->files, file, NULL, NULL) : NULL;
    text_clear(&unit->path);
    return line_table_add_path(&unit->table, file, &unit->path) == 0 ? text_string(&unit->path) : NULL;
}

/* The file of an address, or NULL, and its line, or 0. */
static const char *line_of(struct debug_info_unit *unit, size_t i, int *line)
{
    *line = 0;
    if (unit->has_table) {
        const struct line_table_row *row = &unit->table.rows[i];
        if (row->is_known)
            *line = (int)row->line;
        return row->is_known ? file_path(unit, row->file) : NULL;
    }
    Dwarf_Line *found = dwarf_getsrc_die(unit->die, unit->addresses[i]);
    if (found)
        dwarf_lineno(found, line);
    return found ? dwarf_linesrc(found, NULL, NULL) : NULL;
}

static void tell_address(struct debug_info_unit *unit, size_t i, uint32_t number, struct text *out)
{
    const struct debug_info_place *place = unit->places[i];
    int line;
    const char *file = line_of(unit, i, &line);
    if (!place && !file)
        return;
    uint32_t count = place ? place->count : 1;
    tell_number(out, number);
    tell_number(out, count);
    for (uint32_t k = count; k-- > 0;) {
        tell_line(out, (uint32_t)line, place ? place->functions[k].name : "", file);
        if (place && k) {
            file = file_path(unit, place->functions[k].call_file);
            line = (int)place->functions[k].call_line;
        }
    }
}

/* Lines and files by our own reader, or else by libdw, which takes several times as long. */
static void read_lines(struct debug_info_unit *unit, const struct line_table_sections *sections)
{
    Dwarf_Attribute attribute;
    Dwarf_Word offset;
    const char *folder = dwarf_formstring(dwarf_attr(unit->die, DW_AT_comp_dir, &attribute));
    unit->has_table = dwarf_formudata(dwarf_attr(unit->die, DW_AT_stmt_list, &attribute), &offset) == 0 &&
                      line_table_read(&unit->table, sections, offset, folder, unit->addresses, unit->count) == 0;
    if (!unit->has_table && dwarf_getsrcfiles(unit->die, &unit->files, &unit->file_count) != 0)
        unit->file_count = 0;
}

/* The addresses in the code of one unit. */
struct debug_info_part {
    uint64_t *addresses;
    uint32_t *numbers;
    unsigned char *is_taken;
    size_t count;
};

static int tell_part(Dwarf_Die *die, Dwarf_Die *tree, const struct debug_info_part *part,
                     const struct debug_info_sections *sections, struct text *out, int to)
{
    struct debug_info_unit unit = { .die = die, .addresses = part->addresses, .count = part->count };
    unit.places = calloc(part->count, sizeof *unit.places);
    if (!unit.places)
        return -1;
    read_lines(&unit, &sections->lines);
    debug_info_visit_unit(&unit, tree, sections);
    for (size_t i = 0; i < part->count; i++) {
        tell_address(&unit, i, part->numbers[i], out);
        free(unit.places[i]);
    }
    line_table_free(&unit.table);
    text_free(&unit.path);
    free(unit.places);
    return debug_info_flush(out, to);
}

static int tell_unit(Dwarf_Die *die, Dwarf_Die *tree, const uint64_t *addresses, size_t count,
                     struct debug_info_part *part, const struct debug_info_sections *sections, struct text *out, int to)
{
    Dwarf_Addr base, start, end;
    size_t low = count, high = 0;
    for (ptrdiff_t at = 0; (at = dwarf_ranges(die, at, &base, &start, &end)) > 0;)
        for (size_t i = array_first_not_below(addresses, count, start); i < count && addresses[i] < end; i++) {
            part->is_taken[i] = 1;
            low = i < low ? i : low;
            high = i + 1 > high ? i + 1 : high;
        }
    part->count = 0;
    for (size_t i = low; i < high; i++)
        if (part->is_taken[i]) {
            part->addresses[part->count] = addresses[i];
            part->numbers[part->count++] = (uint32_t)i;
            part->is_taken[i] = 0;
        }
    return part->count ? tell_part(die, tree, part, sections, out, to) : 0;
}

/* ---- The file -------------------------------------------------------------------------------------------------- */

typedef void (*section_visitor)(Elf_Scn *section, const char *name, void *context);

static void visit_sections(Elf *elf, section_visitor visit, void *context)
{
    size_t names;
    if (!elf || elf_getshdrstrndx(elf, &names) != 0)
        return;
    for (Elf_Scn *section = NULL; (section = elf_nextscn(elf, section)) != NULL;) {
        const Elf64_Shdr *head = elf64_getshdr(section);
        const char *name = head ? elf_strptr(elf, names, head->sh_name) : NULL;
        if (name)
            visit(section, name, context);
    }
}

/* libdw decompresses all sections that it knows when it opens a file. What it takes for empty it leaves alone. */
static void leave_out(Elf_Scn *section, const char *name, void *unused)
{
    static const char *const unused_sections[] = { "_aranges", "_frame",        "_loc",         "_loclists",
                                                   "_macinfo", "_macro",        "_pubnames",    "_pubtypes",
                                                   "_names",   "_gnu_pubnames", "_gnu_pubtypes" };
    const char *kind = text_begins_with(name, ".debug") ? name + 6 : text_begins_with(name, ".zdebug") ? name + 7 : "";
    for (size_t i = 0; i < COUNT_OF(unused_sections); i++)
        if (strcmp(kind, unused_sections[i]) == 0)
            elf64_getshdr(section)->sh_type = SHT_NOBITS;
}

/* Finds what libdw has decompressed. */
static void note_section(Elf_Scn *section, const char *name, void *context)
{
    struct debug_info_sections *sections = context;
    const struct {
        const char *kind;
        struct line_table_bytes *noted;
    } wanted[] = {
        { "line", &sections->lines.lines },          { "line_str", &sections->lines.line_strings },
        { "str", &sections->lines.strings },         { "info", &sections->tree.entries },
        { "abbrev", &sections->tree.abbreviations },
    };
    const char *kind = text_begins_with(name, ".debug_")    ? name + 7
                       : text_begins_with(name, ".zdebug_") ? name + 8
                                                            : "";
    const Elf64_Shdr *head = elf64_getshdr(section);
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        struct line_table_bytes *noted = wanted[i].noted;
        if (strcmp(kind, wanted[i].kind) != 0 || noted->bytes || head->sh_type == SHT_NOBITS ||
            head->sh_flags & SHF_COMPRESSED)
            continue;
        const Elf_Data *data = elf_rawdata(section, NULL);
        if (data && data->d_buf)
            *noted = (struct line_table_bytes){ data->d_buf, data->d_size };
    }
}

int debug_info_tell(int file, const uint64_t *addresses, size_t count, int to)
{
    elf_version(EV_CURRENT);
    Elf *elf = elf_begin(file, ELF_C_READ_MMAP_PRIVATE, NULL);
    visit_sections(elf, leave_out, NULL);
    Dwarf *dwarf = elf ? dwarf_begin_elf(elf, DWARF_C_READ, NULL) : NULL;
    struct debug_info_part part = { .addresses = calloc(count, sizeof *part.addresses),
                                    .numbers = calloc(count, sizeof *part.numbers),
                                    .is_taken = calloc(count, 1) };
    struct debug_info_sections sections = { 0 };
    struct text out = { 0 };
    Dwarf_CU *unit = NULL;
    Dwarf_Die die, split;
    uint8_t kind;
    visit_sections(dwarf ? elf : NULL, note_section, &sections);
    int result = dwarf && part.addresses && part.numbers && part.is_taken ? 0 : -1;
    while (result == 0 && dwarf_get_units(dwarf, unit, &unit, NULL, &kind, &die, &split) == 0) {
        int is_skeleton = kind == DW_UT_skeleton && split.addr;
        if (dwarf_tag(&die) == DW_TAG_compile_unit || dwarf_tag(&die) == DW_TAG_skeleton_unit)
            result = tell_unit(&die, is_skeleton ? &split : &die, addresses, count, &part, &sections, &out, to);
    }
    tell_number(&out, DEBUG_INFO_END);
    if (result == 0)
        result = debug_info_flush(&out, to);
    return result;
}
