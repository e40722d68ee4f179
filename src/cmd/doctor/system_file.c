/* Small files of the system: see system_file.h. */
#include "system_file.h"

#include <stdio.h>
#include <string.h>

void system_file_read_line(const char *root, const char *path, char *out, int size)
{
    char full[4096];

    out[0] = 0;
    if (snprintf(full, sizeof full, "%s%s", root, path) >= (int)sizeof full)
        return;
    FILE *file = fopen(full, "re");
    if (!file)
        return;
    if (!fgets(out, size, file))
        out[0] = 0;
    out[strcspn(out, "\n")] = 0;
    fclose(file);
}
