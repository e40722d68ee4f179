/* Exporters: the formats that a report can be written in, one file and one row each. */
#ifndef TACHO_EXPORT_EXPORT_H
#define TACHO_EXPORT_EXPORT_H

#include "export_options.h"

struct exporter {
    const char *name;      /* "sqlite" */
    const char *help;
    const char *extension; /* extension of the file, or of the folder if `folder` is set */
    const char *folder;    /* writes a folder of files with this ending, or one file if the options select a single
                            * table; NULL: writes one file */
    int gzips;             /* supports export_options.gzip */
    int limits;            /* supports export_options.max_bytes */
    int appends;           /* supports export_options.append: path is then a copy of the existing file */
    int needs_file;        /* cannot write to stdout */
    /* Writes the report to a file (or folder) that must not exist, or to stdout ("-"). The caller removes an incomplete
     * file after a failure. */
    int (*export_report)(struct report *report, const char *path, const struct export_options *options,
                         struct error *err);
};

extern const struct exporter *const exporters[]; /* NULL-terminated */
const struct exporter *exporter_find(const char *name);

/* Exports to path, or to stdout if it is "-". An existing file is ERR_EXISTS unless overwrite or options->append is
 * set, and is kept if the export fails. options may be NULL. */
int export_file(const struct exporter *exporter, struct report *report, const char *path, int overwrite,
                const struct export_options *options, struct error *err);

#define EXPORTER(name) extern const struct exporter export_##name;
#include "exporters.def"
#undef EXPORTER

#endif
