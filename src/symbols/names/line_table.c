/* Runs line number programs: see line_table.h.
 *
 * A row covers the code from its address to the next row in order of addresses; among rows of one address the last one
 * of the program counts, and the end of a sequence comes before them. So each row is offered to the first wanted
 * address that is not below it, and in the end each address takes what is better of its own and its predecessor's. */
#include "line_table.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define FIELDS_MAX 8 /* of an entry of DWARF 5 */

struct line_program {
    struct byte_cursor header, code;
    const struct line_table_sections *sections;
    unsigned version, offset_bytes, address_bytes;
    unsigned instruction_bytes, range, first_special;
    int base;
    const unsigned char *lengths; /* operands of the standard operations, from 1 on */
};

/* ---- The head -------------------------------------------------------------------------------------------------- */

static const char *line_table_text(struct byte_cursor *cursor)
{
    const unsigned char *start = cursor->at, *end = memchr(start, 0, cursor_left(cursor));
    cursor_skip(cursor, end ? (size_t)(end - start) + 1 : cursor_left(cursor) + 1);
    return end ? (const char *)start : NULL;
}

static const char *text_of_section(const struct line_table_bytes *section, uint64_t offset)
{
    if (offset >= section->size || !memchr(section->bytes + offset, 0, section->size - offset))
        return NULL;
    return (const char *)section->bytes + offset;
}

/* What the operations of all known compilers have. With other numbers of operands libdw reads the table. */
static int has_usual_lengths(const struct line_program *program)
{
    static const unsigned char usual[] = { 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1 };
    return program->first_special >= 10 && program->first_special <= COUNT_OF(usual) + 1 &&
           memcmp(program->lengths, usual, program->first_special - 1) == 0;
}

/* Reads the head up to the folders. */
static int begin_program(struct line_program *program, uint64_t offset)
{
    const struct line_table_bytes *lines = &program->sections->lines;
    if (!lines->bytes || offset >= lines->size)
        return -1;
    struct byte_cursor all = { lines->bytes + offset, lines->bytes + lines->size, 0 };
    uint64_t length = cursor_number(&all, 4);
    program->offset_bytes = length == 0xffffffff ? 8 : 4;
    if (program->offset_bytes == 8)
        length = cursor_number(&all, 8);
    if (all.failed || length > cursor_left(&all) || (program->offset_bytes == 4 && length >= 0xfffffff0))
        return -1;
    all.end = all.at + length;
    program->version = (unsigned)cursor_number(&all, 2);
    program->address_bytes = 8;
    if (program->version < 2 || program->version > 5)
        return -1;
    if (program->version == 5) {
        program->address_bytes = (unsigned)cursor_number(&all, 1);
        if (cursor_number(&all, 1) != 0) /* segments */
            return -1;
    }
    uint64_t head_bytes = cursor_number(&all, program->offset_bytes);
    if (all.failed || head_bytes > cursor_left(&all))
        return -1;
    program->header = (struct byte_cursor){ all.at, all.at + head_bytes, 0 };
    program->code = (struct byte_cursor){ all.at + head_bytes, all.end, 0 };
    struct byte_cursor *head = &program->header;
    program->instruction_bytes = (unsigned)cursor_number(head, 1);
    unsigned operations = program->version >= 4 ? (unsigned)cursor_number(head, 1) : 1;
    cursor_skip(head, 1); /* whether rows are statements */
    program->base = (int)cursor_signed(head, 1);
    program->range = (unsigned)cursor_number(head, 1);
    program->first_special = (unsigned)cursor_number(head, 1);
    program->lengths = head->at;
    cursor_skip(head, program->first_special ? program->first_special - 1u : 0);
    if (head->failed || operations != 1 || program->range == 0 || program->address_bytes != 8 ||
        !has_usual_lengths(program))
        return -1;
    return 0;
}

static int line_table_add_folder(struct line_table *table, const char *folder)
{
    if (array_reserve(&table->folders, &table->folder_room, table->folder_count + 1, sizeof *table->folders) != 0)
        return -1;
    table->folders[table->folder_count++] = folder;
    return 0;
}

static int line_table_add_file(struct line_table *table, const char *name, uint64_t folder)
{
    if (!name || folder >= table->folder_count ||
        array_reserve(&table->files, &table->file_room, table->file_count + 1, sizeof *table->files) != 0)
        return -1;
    table->files[table->file_count++] = (struct line_table_file){ name, table->folders[folder] };
    return 0;
}

/* DWARF 2 to 4: names one after another, ended by an empty one. Folder 0 is that of the unit, and no file is 0. */
static int read_old_files(struct line_table *table, struct line_program *program, const char *folder)
{
    struct byte_cursor *head = &program->header;
    const char *name;
    if (line_table_add_folder(table, folder) != 0)
        return -1;
    while ((name = line_table_text(head)) != NULL && *name)
        if (line_table_add_folder(table, name) != 0)
            return -1;
    if (!name || line_table_add_file(table, "???", 0) != 0)
        return -1;
    table->files[0].folder = NULL;
    while ((name = line_table_text(head)) != NULL && *name) {
        uint64_t number = cursor_uleb(head);
        cursor_uleb(head); /* when it was modified */
        cursor_uleb(head); /* its size */
        if (head->failed || line_table_add_file(table, name, number) != 0)
            return -1;
    }
    return name ? 0 : -1;
}

struct line_table_field {
    uint64_t kind, form;
};

/* Reads a value; returns -1 for forms that no compiler uses there. */
static int read_field(struct line_program *program, uint64_t form, const char **text, uint64_t *number)
{
    struct byte_cursor *head = &program->header;
    *text = NULL;
    *number = 0;
    switch (form) {
    case DW_FORM_string: *text = line_table_text(head); break;
    case DW_FORM_line_strp:
        *text = text_of_section(&program->sections->line_strings, cursor_number(head, program->offset_bytes));
        break;
    case DW_FORM_strp:
        *text = text_of_section(&program->sections->strings, cursor_number(head, program->offset_bytes));
        break;
    case DW_FORM_udata: *number = cursor_uleb(head); break;
    case DW_FORM_data1: *number = cursor_number(head, 1); break;
    case DW_FORM_data2: *number = cursor_number(head, 2); break;
    case DW_FORM_data4: *number = cursor_number(head, 4); break;
    case DW_FORM_data8: *number = cursor_number(head, 8); break;
    case DW_FORM_data16: cursor_skip(head, 16); break;
    default: return -1;
    }
    return head->failed ? -1 : 0;
}

/* DWARF 5: the entries describe their fields. */
static int read_new_entries(struct line_table *table, struct line_program *program, int are_files)
{
    struct line_table_field fields[FIELDS_MAX];
    struct byte_cursor *head = &program->header;
    size_t field_count = (size_t)cursor_number(head, 1);
    if (head->failed || field_count > FIELDS_MAX)
        return -1;
    for (size_t i = 0; i < field_count; i++) {
        fields[i].kind = cursor_uleb(head);
        fields[i].form = cursor_uleb(head);
    }
    uint64_t count = cursor_uleb(head);
    if (head->failed || count > cursor_left(head)) /* an entry has a name, of a byte at least */
        return -1;
    for (uint64_t i = 0; i < count; i++) {
        const char *name = NULL, *text;
        uint64_t folder = 0, number;
        for (size_t k = 0; k < field_count; k++) {
            if (read_field(program, fields[k].form, &text, &number) != 0)
                return -1;
            if (fields[k].kind == DW_LNCT_path)
                name = text;
            if (fields[k].kind == DW_LNCT_directory_index)
                folder = number;
        }
        if (!name || (are_files ? line_table_add_file(table, name, folder) : line_table_add_folder(table, name)) != 0)
            return -1;
    }
    return 0;
}

/* ---- The program ----------------------------------------------------------------------------------------------- */

/* The state of the program, and where its rows go. */
struct line_run {
    uint64_t address;
    uint32_t file, line;
    const uint64_t *wanted;
    size_t count, place; /* place: the first wanted address that is not below `address` */
    struct line_table_row *rows;
    struct line_table_row last;
};

/* Does the new row come after one that is known, in order of addresses? */
static int is_later(const struct line_table_row *known, uint64_t address, int is_end)
{
    if (!known->is_known || address != known->address)
        return !known->is_known || address > known->address;
    return !is_end || known->is_end;
}

static void emit_row(struct line_run *run, int is_end)
{
    size_t at = run->place;
    if ((at < run->count && run->wanted[at] < run->address) || (at && run->wanted[at - 1] >= run->address))
        at = run->place = array_first_not_below(run->wanted, run->count, run->address);
    const struct line_table_row row = { run->address, run->file, run->line, 1, (uint8_t)is_end };
    if (is_later(&run->last, run->address, is_end))
        run->last = row;
    if (at < run->count && is_later(&run->rows[at], run->address, is_end))
        run->rows[at] = row;
}

static void line_table_reset(struct line_run *run)
{
    run->address = 0;
    run->file = run->line = 1;
}

/* Operations after a zero and their length: -1 for one that libdw has to read. */
static int run_extended(struct line_program *program, struct line_run *run)
{
    struct byte_cursor *code = &program->code;
    uint64_t length = cursor_uleb(code);
    if (code->failed || length == 0 || length > cursor_left(code))
        return -1;
    const unsigned char *end = code->at + length;
    switch (cursor_number(code, 1)) {
    case DW_LNE_end_sequence:
        emit_row(run, 1);
        line_table_reset(run);
        break;
    case DW_LNE_set_address:
        if (length != 9)
            return -1;
        run->address = cursor_number(code, 8);
        break;
    case DW_LNE_set_discriminator: cursor_uleb(code); break;
    default: return -1;
    }
    return code->failed || code->at != end ? -1 : 0;
}

static int run_standard(struct line_program *program, struct line_run *run, unsigned operation)
{
    struct byte_cursor *code = &program->code;
    switch (operation) {
    case DW_LNS_copy: emit_row(run, 0); break;
    case DW_LNS_advance_pc: run->address += cursor_uleb(code) * program->instruction_bytes; break;
    case DW_LNS_advance_line: run->line += (uint32_t)cursor_sleb(code); break;
    case DW_LNS_set_file: run->file = (uint32_t)cursor_uleb(code); break;
    case DW_LNS_set_column:
    case DW_LNS_set_isa: cursor_uleb(code); break;
    case DW_LNS_const_add_pc:
        run->address += (uint64_t)((255 - program->first_special) / program->range) * program->instruction_bytes;
        break;
    case DW_LNS_fixed_advance_pc: run->address += cursor_number(code, 2); break;
    default: break; /* what concerns statements, blocks, prologues */
    }
    return code->failed ? -1 : 0;
}

static int run_program(struct line_program *program, struct line_run *run)
{
    struct byte_cursor *code = &program->code;
    line_table_reset(run);
    while (code->at < code->end) {
        unsigned operation = *code->at++;
        if (operation >= program->first_special) {
            unsigned step = operation - program->first_special;
            run->address += (uint64_t)(step / program->range) * program->instruction_bytes;
            run->line += (uint32_t)(program->base + (int)(step % program->range));
            emit_row(run, 0);
        } else if ((operation ? run_standard(program, run, operation) : run_extended(program, run)) != 0) {
            return -1;
        }
    }
    return 0;
}

/* The last row of all ends the unit, whatever it says. */
static void settle_rows(struct line_run *run)
{
    for (size_t i = 1; i < run->count; i++)
        if (!run->rows[i].is_known)
            run->rows[i] = run->rows[i - 1];
    for (size_t i = 0; i < run->count; i++)
        run->rows[i].is_known &= !run->rows[i].is_end && run->rows[i].address != run->last.address;
}

/* ---- The interface --------------------------------------------------------------------------------------------- */

int line_table_read(struct line_table *table, const struct line_table_sections *sections, uint64_t offset,
                    const char *folder, const uint64_t *addresses, size_t count)
{
    struct line_program program = { .sections = sections };
    *table = (struct line_table){ 0 };
    if (begin_program(&program, offset) != 0)
        return -1;
    int failed = program.version < 5 ? read_old_files(table, &program, folder)
                                     : read_new_entries(table, &program, 0) || read_new_entries(table, &program, 1);
    struct line_run run = { .wanted = addresses, .count = count, .rows = calloc(count + 1, sizeof *run.rows) };
    table->rows = run.rows;
    if (failed || !run.rows || run_program(&program, &run) != 0)
        return -1;
    settle_rows(&run);
    return 0;
}

void line_table_free(struct line_table *table)
{
    free(table->rows);
    free(table->files);
    free(table->folders);
    *table = (struct line_table){ 0 };
}

int line_table_add_path(const struct line_table *table, uint64_t file, struct text *path)
{
    if (file >= table->file_count)
        return -1;
    const struct line_table_file *found = &table->files[file];
    if (found->folder && *found->name != '/') {
        text_add(path, found->folder);
        text_add(path, "/");
    }
    text_add(path, found->name);
    return 0;
}
