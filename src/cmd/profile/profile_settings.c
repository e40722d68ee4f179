/* The settings of `tacho profile`. They own all memory that options allocate, and know no option by name. */
#include "profile_settings.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_source.h"

size_t profile_source_offset(const struct cmd_source *source)
{
    const size_t unit = _Alignof(max_align_t);
    size_t offset = offsetof(struct profile_settings, of_sources);

    for (const struct cmd_source *const *at = cmd_sources; *at != source; at++)
        offset += ((*at)->settings_bytes + unit - 1) / unit * unit;
    return offset;
}

void *profile_source_settings(struct profile_settings *settings, const struct cmd_source *source)
{
    return (char *)settings + profile_source_offset(source);
}

int profile_is_traced(const struct profile_settings *settings, const char *name)
{
    for (size_t i = 0; i < settings->traced.count; i++)
        if (strcmp(settings->traced.values[i], name) == 0)
            return 1;
    return 0;
}

void *profile_own(struct profile_settings *settings, void *memory)
{
    if (memory && settings->owned_count < COUNT_OF(settings->owned)) {
        settings->owned[settings->owned_count++] = memory;
        return memory;
    }
    free(memory);
    return NULL;
}

void profile_settings_free(struct profile_settings *settings)
{
    for (const struct cmd_source *const *source = cmd_sources; *source; source++)
        if ((*source)->release)
            (*source)->release(profile_source_settings(settings, *source));
    for (size_t i = 0; i < settings->owned_count; i++)
        free(settings->owned[i]);
    text_free(&settings->warnings);
    text_free(&settings->unsupported);
    text_free(&settings->left_to);
}
