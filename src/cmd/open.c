/* Foreign files become a report in a temporary file that has no name any more once it is open. */
#include "open.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../import/import.h"
#include "nsys_rep.h"

static int import_to_temporary(const char *path, const struct importer *importer, struct report **out, struct error *err)
{
    const char *folder = getenv("TMPDIR");
    char name[4096];

    if (snprintf(name, sizeof name, "%s/tacho-import-XXXXXX", folder && *folder ? folder : "/tmp") >= (int)sizeof name)
        return error_set(err, ERR_BAD_ARGUMENT, "TMPDIR is too long");
    int fd = mkstemp(name);
    if (fd < 0)
        return error_set_errno(err, "cannot make a temporary file in %s for the import", folder && *folder ? folder : "/tmp");
    close(fd);
    int code = importer->import(path, name, 1, err);
    if (code == 0)
        code = report_open(name, out, err);
    unlink(name);
    return code;
}

int open_report(const char *path, struct report **out, struct error *err)
{
    struct text found = {0};
    int code = nsys_rep_find(path, NULL, &found, err);

    if (code == 0) {
        const struct importer *importer = importer_for(text_string(&found));
        code = importer ? import_to_temporary(text_string(&found), importer, out, err) : report_open(text_string(&found), out, err);
    }
    text_free(&found);
    return code;
}
