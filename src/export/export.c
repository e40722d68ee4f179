/* The list of exporters, and the care that each file gets: written under another name, renamed when it is whole. */
#include "export.h"

#include <stdio.h>
#include <string.h>
#include <unistd.h>

const struct exporter *const exporters[] = { &export_sqlite, NULL };

const struct exporter *exporter_find(const char *name)
{
    for (const struct exporter *const *at = exporters; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

int export_file(const struct exporter *exporter, struct report *report, const char *path, int overwrite, struct error *err)
{
    char unfinished[4096];

    if (!overwrite && access(path, F_OK) == 0)
        return error_set(err, ERR_EXISTS, "'%s' exists already; -f true overwrites it", path);
    if (snprintf(unfinished, sizeof unfinished, "%s.%d.unfinished", path, (int)getpid()) >= (int)sizeof unfinished)
        return error_set(err, ERR_BAD_ARGUMENT, "the name of the output is too long");
    int code = exporter->export_report(report, unfinished, err);
    if (code == 0 && rename(unfinished, path) != 0)
        code = error_set_errno(err, "cannot write '%s'", path);
    if (code != 0)
        unlink(unfinished);
    return code;
}
