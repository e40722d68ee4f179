/* The line number table of one unit (.debug_line, DWARF 2 to 5), read for a few addresses.
 *
 * libdw makes a list of all rows of a table and sorts it, which is most of the time that the child of ours needs. This
 * reader keeps the best row for each wanted address in one pass, and gives what dwarf_getsrc_die() and dwarf_filesrc()
 * give. What it does not know it refuses: then libdw is asked. Nothing in the table is trusted. */
#ifndef TACHO_SYMBOLS_NAMES_LINE_TABLE_H
#define TACHO_SYMBOLS_NAMES_LINE_TABLE_H

#include <stddef.h>
#include <stdint.h>

#include "base/text.h"
#include "symbols/elf/byte_cursor.h"

struct line_table_bytes {
    const unsigned char *bytes;
    size_t size;
};

struct line_table_sections {
    struct line_table_bytes lines, line_strings, strings; /* .debug_line, .debug_line_str, .debug_str */
};

struct line_table_row {
    uint64_t address;
    uint32_t file, line;
    uint8_t is_known, is_end; /* is_end: of a sequence; no code follows */
};

struct line_table_file {
    const char *name, *folder; /* folder NULL: unknown */
};

struct line_table {
    struct line_table_row *rows; /* by wanted address: is_known if it has a line */
    struct line_table_file *files;
    size_t file_count, file_room;
    const char **folders;
    size_t folder_count, folder_room;
};

/* Reads the table at an offset of .debug_line. folder: where the unit was compiled, or NULL. addresses are sorted and
 * distinct. 0, or -1 if libdw has to read it. Free the table in both cases. */
int line_table_read(struct line_table *table, const struct line_table_sections *sections, uint64_t offset,
                    const char *folder, const uint64_t *addresses, size_t count);
void line_table_free(struct line_table *table);

/* Adds the path of a file to a text: 0, or -1 if there is no such file. */
int line_table_add_path(const struct line_table *table, uint64_t file, struct text *path);

#endif
