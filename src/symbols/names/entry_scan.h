/* The functions of one unit of .debug_info (DWARF 3 to 5) whose code may contain wanted addresses.
 *
 * libdw decodes the attributes of each entry one by one, also of the thousands of types beside a unit's functions; this
 * was most of what the child of ours did. This scan knows the size of most entries from their abbreviation and skips
 * them whole. What it does not know it refuses: then libdw walks through the unit. Nothing in the sections is trusted.
 */
#ifndef TACHO_SYMBOLS_NAMES_ENTRY_SCAN_H
#define TACHO_SYMBOLS_NAMES_ENTRY_SCAN_H

#include "line_table.h"

struct entry_scan_sections {
    struct line_table_bytes entries, abbreviations; /* .debug_info, .debug_abbrev */
};

struct entry_scan {
    uint64_t *functions; /* where their entries are in .debug_info, in its order; those inside functions are left out */
    size_t count, room;
};

/* Scans the unit that begins at an offset of .debug_info. addresses are sorted. 0, or -1 if libdw has to read it. Free
 * the scan in both cases. */
int entry_scan_read(struct entry_scan *scan, const struct entry_scan_sections *sections, uint64_t unit,
                    const uint64_t *addresses, size_t count);
void entry_scan_free(struct entry_scan *scan);

#endif
