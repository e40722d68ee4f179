/* The list of importers, the search for the one that recognises a file, and the notes that all of them write. */
#include "import.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "report/schema/schema.h"
#include "report/writer/writer.h"

const struct importer *const importers[] = { &import_nsys_sqlite, &import_ncu, &import_kineto, NULL };

const struct importer *importer_for(const char *path)
{
    char bytes[4096];                                       /* the program of ncu may have printed before the table */
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK); /* does not block on a pipe, which is no file */

    if (fd < 0)
        return NULL;
    ssize_t length = read(fd, bytes, sizeof bytes);
    close(fd);
    for (const struct importer *const *at = importers; *at && length > 0; at++)
        if ((*at)->recognise(bytes, (size_t)length))
            return *at;
    return NULL;
}

void import_note(struct writer *writer, const char *table, const char *column, const char *reason, int64_t count)
{
    struct row_TACHO_IMPORT row = { 0 };

    ROW_SET(&row, TACHO_IMPORT, tableName, writer_string(writer, table, strlen(table)));
    if (column)
        ROW_SET(&row, TACHO_IMPORT, columnName, writer_string(writer, column, strlen(column)));
    ROW_SET(&row, TACHO_IMPORT, reason, writer_string(writer, reason, strlen(reason)));
    if (count >= 0)
        ROW_SET(&row, TACHO_IMPORT, count, count);
    writer_append(writer, TABLE_TACHO_IMPORT, &row);
}
