/* The lines of dmon and pmon: in nvidia-smi's columns, as csv, and as JSON.
 *
 * Columns, widths and blanks are those of nvidia-smi as of 2025 and 2026 (tests/golden/monitors.py cites it), so that a
 * script that reads one reads the other.
 */
#ifndef TACHO_COMPAT_SMI_MONITOR_TABLE_H
#define TACHO_COMPAT_SMI_MONITOR_TABLE_H

#include "base/text.h"
#include "wire/wire_gpu.h"

struct monitor_column {
    char letter;              /* letter of -s; 0: it is chosen in another way */
    const char *name, *unit;
    int heading_width, width; /* negative: the text is on the left, and the column is the last */
    double scale;             /* the unit of columns and csv in base units: 1e6 for MHz. JSON has base units */
};

/* A value in base units (NaN: not available), or a text. */
struct monitor_cell {
    double value;
    const char *text;
};

enum { MONITOR_COLUMNS_MOST = 128 };

struct monitor_table {
    const struct monitor_column *columns[MONITOR_COLUMNS_MOST];
    size_t count;
    int is_csv, is_json, without_names, without_units, has_date, has_time;
    unsigned lines_per_heading, lines; /* 0: one heading, at the top */
    int has_heading;
};

/* Adds the columns of letters, in the order of the letters; NULL, or the letter that no column has. */
const char *monitor_table_select(struct monitor_table *table, const struct monitor_column *columns, size_t count,
                                 const char *letters);
/* Adds one; a column that is there already stays where it is. */
void monitor_table_add(struct monitor_table *table, const struct monitor_column *column);

/* Adds a line, and the heading before it where that is due. `cells` are in the order of the columns. */
void monitor_table_line(struct text *out, struct monitor_table *table, const struct gpu_device *gpu, int64_t utc_ns,
                        const struct monitor_cell *cells);

#endif
