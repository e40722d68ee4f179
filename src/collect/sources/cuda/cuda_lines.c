/* Line tables of cubins: see cuda_lines.h. Versions 2 to 4 of DWARF, of which ptxas writes 2. */
#include "cuda_lines.h"

#include <elf.h>
#include <string.h>

#define TEXT ".text."

/* Bytes of the table; `bad` once a read went beyond the end, and all later reads return 0. */
struct cursor {
    const unsigned char *bytes;
    uint64_t at, end;
    int bad;
};

/* The table of one source file that was compiled. */
struct unit {
    struct cursor at;        /* the line program */
    uint64_t folders, files; /* offsets of the tables of names */
    uint64_t program;        /* offset behind them */
    int8_t line_base;
    uint8_t line_range, opcode_base, least_step;
    uint8_t lengths[256];    /* number of arguments, by standard opcode */
};

struct reader {
    const struct cuda_code *code;
    struct cuda_code_section relocations, symbols, texts;
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

static uint64_t fixed(struct cursor *cursor, unsigned width)
{
    uint64_t value = 0;

    if (cursor->bad || cursor->end - cursor->at < width) {
        cursor->bad = 1;
        return 0;
    }
    memcpy(&value, cursor->bytes + cursor->at, width);
    cursor->at += width;
    return value;
}

static uint64_t leb(struct cursor *cursor, int is_signed)
{
    uint64_t value = 0, byte;
    unsigned shift = 0;

    do {
        byte = fixed(cursor, 1);
        value |= shift < 64 ? (byte & 0x7f) << shift : 0;
        shift += 7;
    } while (byte & 0x80);
    return is_signed && (byte & 0x40) && shift < 64 ? value | UINT64_MAX << shift : value;
}

static const char *text(struct cursor *cursor)
{
    const char *start = (const char *)cursor->bytes + cursor->at;
    const char *end = cursor->bad ? NULL : memchr(start, 0, cursor->end - cursor->at);

    if (!end) {
        cursor->bad = 1;
        return "";
    }
    cursor->at += (uint64_t)(end - start) + 1;
    return start;
}

/* ---- Files ----------------------------------------------------------------------------------------------------- */

static const char *folder_of(const struct unit *unit, uint64_t number)
{
    struct cursor cursor = unit->at;
    const char *name = "";

    cursor.at = unit->folders;
    cursor.end = unit->program;
    for (uint64_t i = 1; i <= number; i++)
        if (*(name = text(&cursor)) == 0)
            return NULL;
    return number ? name : NULL;
}

static void set_file(const struct unit *unit, uint64_t number, struct cuda_line *line)
{
    struct cursor cursor = unit->at;

    line->file = "";
    line->folder = NULL;
    cursor.at = unit->files;
    cursor.end = unit->program;
    for (uint64_t i = 1; !cursor.bad; i++) {
        const char *name = text(&cursor);
        uint64_t folder = *name ? leb(&cursor, 0) : 0;
        if (!*name)
            return;
        leb(&cursor, 0); /* time */
        leb(&cursor, 0); /* size */
        if (i == number) {
            line->file = name;
            line->folder = name[0] == '/' ? NULL : folder_of(unit, folder);
            return;
        }
    }
}

/* ---- Functions ------------------------------------------------------------------------------------------------- */

static const char *symbol_name(const struct reader *reader, uint64_t number)
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
static void begin(const struct reader *reader, struct state *state, uint64_t offset, uint64_t address)
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

static void add_row(struct reader *reader, const struct unit *unit, const struct state *state, int ends)
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

static void extended(struct reader *reader, struct unit *unit, struct state *state)
{
    enum { END = 1, SET_ADDRESS = 2 };
    struct cursor *cursor = &unit->at;
    uint64_t length = leb(cursor, 0), start = cursor->at;
    uint64_t opcode = length ? fixed(cursor, 1) : 0;

    if (cursor->bad || length > cursor->end - start) {
        cursor->bad = 1;
        return;
    }
    if (opcode == END) {
        add_row(reader, unit, state, 1);
        *state = (struct state){ .file = 1, .line = 1 };
    } else if (opcode == SET_ADDRESS && length <= 9) {
        uint64_t offset = cursor->at;
        begin(reader, state, offset, fixed(cursor, (unsigned)length - 1));
    }
    cursor->at = start + length; /* others, such as NVIDIA's on inlined calls, are skipped */
}

static void standard(struct reader *reader, struct unit *unit, struct state *state, uint8_t opcode)
{
    enum { COPY = 1, ADVANCE_PC, ADVANCE_LINE, SET_FILE, ADD_PC = 8, FIXED_PC };
    struct cursor *cursor = &unit->at;

    switch (opcode) {
    case COPY: add_row(reader, unit, state, 0); return;
    case ADVANCE_PC: state->address += leb(cursor, 0) * unit->least_step; return;
    case ADVANCE_LINE: state->line = (int64_t)((uint64_t)state->line + leb(cursor, 1)); return;
    case SET_FILE: state->file = leb(cursor, 0); return;
    case ADD_PC: state->address += (uint64_t)(255 - unit->opcode_base) / unit->line_range * unit->least_step; return;
    case FIXED_PC: state->address += fixed(cursor, 2); return;
    }
    for (unsigned i = 0; i < unit->lengths[opcode]; i++)
        leb(cursor, 0);
}

static void run(struct reader *reader, struct unit *unit)
{
    struct state state = { .file = 1, .line = 1 };

    unit->at.at = unit->program;
    while (!unit->at.bad && unit->at.at < unit->at.end) {
        uint8_t opcode = (uint8_t)fixed(&unit->at, 1);
        if (opcode == 0) {
            extended(reader, unit, &state);
        } else if (opcode < unit->opcode_base) {
            standard(reader, unit, &state, opcode);
        } else {
            unsigned step = opcode - unit->opcode_base;
            state.address += (uint64_t)(step / unit->line_range) * unit->least_step;
            state.line += unit->line_base + (int)(step % unit->line_range);
            add_row(reader, unit, &state, 0);
        }
    }
}

/* Reads the head of a unit: 1, or 0 if it is of another version or damaged. */
static int open_unit(struct unit *unit)
{
    struct cursor *cursor = &unit->at;
    uint64_t version = fixed(cursor, 2), head = fixed(cursor, 4);

    unit->program = cursor->at + head;
    if (cursor->bad || version < 2 || version > 4 || head > cursor->end - cursor->at)
        return 0;
    unit->least_step = (uint8_t)fixed(cursor, 1);
    if (version == 4)
        fixed(cursor, 1); /* operations in an instruction */
    fixed(cursor, 1);     /* is_stmt */
    unit->line_base = (int8_t)fixed(cursor, 1);
    unit->line_range = (uint8_t)fixed(cursor, 1);
    unit->opcode_base = (uint8_t)fixed(cursor, 1);
    for (unsigned i = 1; i < unit->opcode_base; i++)
        unit->lengths[i] = (uint8_t)fixed(cursor, 1);
    unit->folders = cursor->at;
    while (!cursor->bad && *text(cursor))
        ;
    unit->files = cursor->at;
    return !cursor->bad && unit->line_range && unit->opcode_base && unit->files <= unit->program;
}

size_t cuda_lines_read(const struct cuda_code *code, const char *function,
                       void (*visit)(void *context, const struct cuda_line *line), void *context)
{
    struct reader reader = { .code = code, .function = function, .visit = visit, .context = context };
    struct cuda_code_section table;

    if (cuda_code_section(code, ".debug_line", &table) != 0 ||
        (cuda_code_section(code, ".rela.debug_line", &reader.relocations) != 0 &&
         cuda_code_section(code, ".rel.debug_line", &reader.relocations) != 0) ||
        cuda_code_section(code, ".symtab", &reader.symbols) != 0 ||
        cuda_code_section(code, ".strtab", &reader.texts) != 0)
        return 0;
    struct cursor all = { .bytes = table.bytes, .end = table.size };
    while (!all.bad && all.end - all.at > 4) {
        uint64_t length = fixed(&all, 4);
        struct unit unit = { .at = { .bytes = table.bytes, .at = all.at, .end = all.at + length } };
        if (length > all.end - all.at) /* also the mark of 64-bit DWARF */
            break;
        all.at += length;
        if (open_unit(&unit))
            run(&reader, &unit);
    }
    return reader.count;
}
