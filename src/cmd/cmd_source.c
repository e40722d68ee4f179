/* The table of sources. */
#include "cmd_source.h"

const struct cmd_source *const cmd_sources[] = {
#define CMD_SOURCE(name) &cmd_source_##name,
#include "cmd_sources.def"
#undef CMD_SOURCE
    NULL,
};

size_t cmd_source_index(const struct cmd_source *source)
{
    size_t index = 0;

    while (cmd_sources[index] != source)
        index++;
    return index;
}

void cmd_sources_order(unsigned list, const struct cmd_source *ordered[CMD_SOURCE_COUNT])
{
    size_t count = 0;

    for (int is_last = 0; is_last < 2; is_last++)
        for (const struct cmd_source *const *source = cmd_sources; *source; source++)
            if ((((*source)->last & list) != 0) == is_last)
                ordered[count++] = *source;
}
