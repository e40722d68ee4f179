/* Formats that a report becomes: one file and one row each. */
#ifndef TACHO_EXPORT_EXPORT_H
#define TACHO_EXPORT_EXPORT_H

#include "../base/error.h"
#include "../report/reader.h"

struct exporter {
    const char *name; /* "sqlite" */
    const char *help;
    const char *extension;
    /* Writes the report to a file that must not exist. On failure nothing is left behind. */
    int (*export_report)(struct report *report, const char *path, struct error *err);
};

extern const struct exporter *const exporters[]; /* NULL-terminated */
const struct exporter *exporter_find(const char *name);

/* Exports to path; an existing file is ERR_EXISTS unless overwrite, and is kept if the export fails. */
int export_file(const struct exporter *exporter, struct report *report, const char *path, int overwrite, struct error *err);

extern const struct exporter export_sqlite;

#endif
