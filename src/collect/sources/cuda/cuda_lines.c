/* Line tables of cubins: see cuda_lines.h. Versions 2 to 4 of DWARF, of which ptxas writes 2. */
#include "cuda_lines.h"

#include <elf.h>
#include <string.h>

#include "symbols/elf/byte_cursor.h"

#define TEXT ".text."

/* The table of one source file that was compiled. */
struct cuda_lines_unit {
    struct byte_cursor at;                /* the line program */
    const unsigned char *folders, *files; /* the tables of names */
    const unsigned char *program;         /* after them */
    int8_t line_base;
    uint8_t line_range, opcode_base, least_step;
    uint8_t lengths[256];                 /* number of arguments, by standard opcode */
};

struct cuda_lines_reader {
    const struct cuda_code *code;
    struct cuda_code_section table, relocations, symbols, texts;
    const char *function;
    void (*visit)(void *context, const struct cuda_line *line);
    void *context;
    size_t count;
};

struct state {
    uint64_t address, file;
    int64_t line;
    int is_wanted; /* the sequence belongs to the function */
};

/* ---- Bytes ----------------------------------------------------------------------------------------------------- */

static const char *text(struct byte_cursor *cursor)
{
    const char *start = (const char *)cursor->at;
    const unsigned char *end = memchr(cursor->at, 0, cursor_left(cursor));

    if (!end) {
        cursor->failed = 1;
        return "";
    }
    cursor->at = end + 1;
    return start;
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

static const char *folder_of(const struct cuda_lines_unit *unit, uint64_t number)
{
    struct byte_cursor cursor = unit->at;
    const char *name = "";

    cursor.at = unit->folders;
    cursor.end = unit->program;
    for (uint64_t i = 1; i <= number; i++)
        if (*(name = text(&cursor)) == 0)
            return NULL;
    return number ? name : NULL;
}

static void set_file(const struct cuda_lines_unit *unit, uint64_t number, struct cuda_line *line)
{
    struct byte_cursor cursor = unit->at;

    line->file = "";
    line->folder = NULL;
    cursor.at = unit->files;
    cursor.end = unit->program;
    for (uint64_t i = 1; !cursor.failed; i++) {
        const char *name = text(&cursor);
        uint64_t folder = *name ? cursor_uleb(&cursor) : 0;
        if (!*name)
            return;
        cursor_uleb(&cursor); /* time */
        cursor_uleb(&cursor); /* size */
        if (i == number) {
            line->file = name;
            line->folder = name[0] == '/' ? NULL : folder_of(unit, folder);
            return;
        }
    }
}

/* ---- Functions ------------------------------------------------------------------------------------------------- */

static const char *symbol_name(const struct cuda_lines_reader *reader, uint64_t number)
{
    Elf64_Sym symbol;
    const char *name;

    if (number >= reader->symbols.size / sizeof symbol)
        return NULL;
    memcpy(&symbol, reader->symbols.bytes + number * sizeof symbol, sizeof symbol);
    if (ELF64_ST_TYPE(symbol.st_info) == STT_SECTION) {
        name = cuda_code_section_name(reader->code, symbol.st_shndx);
        return name && strncmp(name, TEXT, strlen(TEXT)) == 0 ? name + strlen(TEXT) : NULL;
    }
    if (symbol.st_name >= reader->texts.size ||
        !memchr(reader->texts.bytes + symbol.st_name, 0, reader->texts.size - symbol.st_name))
        return NULL;
    return (const char *)reader->texts.bytes + symbol.st_name;
}

/* The relocation of the address at this offset of the table decides whose sequence begins. */
static void cuda_lines_begin(const struct cuda_lines_reader *reader, struct state *state, uint64_t offset,
                             uint64_t address)
{
    Elf64_Rela relocation = { 0 };
    uint64_t step = reader->relocations.entry_size, size = step < sizeof relocation ? step : sizeof relocation;

    state->is_wanted = 0;
    state->address = address;
    for (uint64_t at = 0; step && reader->relocations.size - at >= step; at += step) {
        memcpy(&relocation, reader->relocations.bytes + at, size);
        const char *name = relocation.r_offset == offset ? symbol_name(reader, ELF64_R_SYM(relocation.r_info)) : NULL;
        if (!name || strcmp(name, reader->function) != 0)
            continue;
        state->is_wanted = 1;
        state->address = address + (uint64_t)relocation.r_addend;
        return;
    }
}

/* ---- The line program ------------------------------------------------------------------------------------------ */

static void cuda_lines_add_row(struct cuda_lines_reader *reader, const struct cuda_lines_unit *unit,
                               const struct state *state, int ends)
{
    struct cuda_line line = { .offset = state->address, .file = "" };

    if (!state->is_wanted)
        return;
    if (!ends && state->line > 0 && state->line <= UINT32_MAX) {
        line.line = (uint32_t)state->line;
        set_file(unit, state->file, &line);
    }
    reader->visit(reader->context, &line);
    reader->count++;
}

static void extended(struct cuda_lines_reader *reader, struct cuda_lines_unit *unit, struct state *state)
{
    enum { END = 1, SET_ADDRESS = 2 };
    struct byte_cursor *cursor = &unit->at;
    uint64_t length = cursor_uleb(cursor);
    struct byte_cursor start = *cursor;
    uint64_t opcode = length ? cursor_number(cursor, 1) : 0;

    if (cursor->failed || length > cursor_left(&start)) {
        cursor->failed = 1;
        return;
    }
    if (opcode == END) {
        cuda_lines_add_row(reader, unit, state, 1);
        *state = (struct state){ .file = 1, .line = 1 };
    } else if (opcode == SET_ADDRESS && length <= 9) {
        uint64_t offset = (uint64_t)(cursor->at - reader->table.bytes);
        cuda_lines_begin(reader, state, offset, cursor_number(cursor, (unsigned)length - 1));
    }
    cursor->at = start.at + length; /* others, such as NVIDIA's on inlined calls, are skipped */
}

static void standard(struct cuda_lines_reader *reader, struct cuda_lines_unit *unit, struct state *state,
                     uint8_t opcode)
{
    enum { COPY = 1, ADVANCE_PC, ADVANCE_LINE, SET_FILE, ADD_PC = 8, FIXED_PC };
    struct byte_cursor *cursor = &unit->at;

    switch (opcode) {
    case COPY: cuda_lines_add_row(reader, unit, state, 0); return;
    case ADVANCE_PC: state->address += cursor_uleb(cursor) * unit->least_step; return;
    case ADVANCE_LINE: state->line = (int64_t)((uint64_t)state->line + (uint64_t)cursor_sleb(cursor)); return;
    case SET_FILE: state->file = cursor_uleb(cursor); return;
    case ADD_PC: state->address += (uint64_t)(255 - unit->opcode_base) / unit->line_range * unit->least_step; return;
    case FIXED_PC: state->address += cursor_number(cursor, 2); return;
    }
    for (unsigned i = 0; i < unit->lengths[opcode]; i++)
        cursor_uleb(cursor);
}

static void cuda_lines_run(struct cuda_lines_reader *reader, struct cuda_lines_unit *unit)
{
    struct state state = { .file = 1, .line = 1 };

    unit->at.at = unit->program;
    while (!unit->at.failed && unit->at.at < unit->at.end) {
        uint8_t opcode = (uint8_t)cursor_number(&unit->at, 1);
        if (opcode == 0) {
            extended(reader, unit, &state);
        } else if (opcode < unit->opcode_base) {
            standard(reader, unit, &state, opcode);
        } else {
            unsigned step = opcode - unit->opcode_base;
            state.address += (uint64_t)(step / unit->line_range) * unit->least_step;
            state.line += unit->line_base + (int)(step % unit->line_range);
            cuda_lines_add_row(reader, unit, &state, 0);
        }
    }
}

/* Reads the head of a unit: 1, or 0 if it is of another version or damaged. */
static int open_unit(struct cuda_lines_unit *unit)
{
    struct byte_cursor *cursor = &unit->at;
    uint64_t version = cursor_number(cursor, 2), head = cursor_number(cursor, 4);

    if (cursor->failed || version < 2 || version > 4 || head > cursor_left(cursor))
        return 0;
    unit->program = cursor->at + head;
    unit->least_step = (uint8_t)cursor_number(cursor, 1);
    if (version == 4)
        cursor_number(cursor, 1); /* operations in an instruction */
    cursor_number(cursor, 1);     /* is_stmt */
    unit->line_base = (int8_t)cursor_number(cursor, 1);
    unit->line_range = (uint8_t)cursor_number(cursor, 1);
    unit->opcode_base = (uint8_t)cursor_number(cursor, 1);
    for (unsigned i = 1; i < unit->opcode_base; i++)
        unit->lengths[i] = (uint8_t)cursor_number(cursor, 1);
    unit->folders = cursor->at;
    while (!cursor->failed && *text(cursor))
        ;
    unit->files = cursor->at;
    return !cursor->failed && unit->line_range && unit->opcode_base && unit->files <= unit->program;
}

size_t cuda_lines_read(const struct cuda_code *code, const char *function,
                       void (*visit)(void *context, const struct cuda_line *line), void *context)
{
    struct cuda_lines_reader reader = { .code = code, .function = function, .visit = visit, .context = context };

    if (cuda_code_section(code, ".debug_line", &reader.table) != 0 ||
        (cuda_code_section(code, ".rela.debug_line", &reader.relocations) != 0 &&
         cuda_code_section(code, ".rel.debug_line", &reader.relocations) != 0) ||
        cuda_code_section(code, ".symtab", &reader.symbols) != 0 ||
        cuda_code_section(code, ".strtab", &reader.texts) != 0)
        return 0;
    struct byte_cursor all = { .at = reader.table.bytes, .end = reader.table.bytes + reader.table.size };
    while (cursor_left(&all) > 4) {
        uint64_t length = cursor_number(&all, 4);
        if (length > cursor_left(&all)) /* also the mark of 64-bit DWARF */
            break;
        struct cuda_lines_unit unit = { .at = { .at = all.at, .end = all.at + length } };
        all.at += length;
        if (open_unit(&unit))
            cuda_lines_run(&reader, &unit);
    }
    return reader.count;
}
