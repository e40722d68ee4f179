/* Importers: files of other profilers that become reports, one source file and one row each. */
#ifndef TACHO_IMPORT_IMPORT_H
#define TACHO_IMPORT_IMPORT_H

#include <stddef.h>
#include <stdint.h>

#include "base/error.h"

struct writer;

struct importer {
    const char *name;      /* "nsys-sqlite" */
    const char *help;
    const char *extension; /* "sqlite" */
    /* Whether the first bytes of a file look like this format; any length is allowed. */
    int (*recognise)(const void *bytes, size_t length);
    int (*import)(const char *path, const char *out_path, int overwrite, struct error *err);
};

extern const struct importer *const importers[]; /* NULL-terminated */

/* Finds the importer by the file's first bytes; NULL if none recognises them, or the file cannot be read. */
const struct importer *importer_for(const char *path);

/* Notes data that was not imported, or only with a change; without a column, of the whole table. Below 0 the count is
 * not known. */
void import_note(struct writer *writer, const char *table, const char *column, const char *reason, int64_t count);

extern const struct importer import_nsys_sqlite, import_ncu, import_kineto;

#endif
