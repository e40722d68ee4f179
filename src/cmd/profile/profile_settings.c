/* What `tacho profile` is told, as long as it lives: what the options allocate is the settings', and goes with them. It
 * knows none of the options. */
#include <stdlib.h>

#include "profile_settings.h"

void *profile_own(struct profile_settings *settings, void *memory)
{
    if (memory && settings->owned_count < sizeof settings->owned / sizeof settings->owned[0]) {
        settings->owned[settings->owned_count++] = memory;
        return memory;
    }
    free(memory);
    return NULL;
}

void profile_settings_free(struct profile_settings *settings)
{
    for (size_t i = 0; i < settings->owned_count; i++)
        free(settings->owned[i]);
    text_free(&settings->warnings);
    text_free(&settings->unsupported);
}
