/* Which models a program uses, as far as its file says: by the libraries that it is linked with. A function in a
 * header, without pointers, because the agent asks it between vfork and exec. */
#ifndef TACHO_ABI_MODELS_MODEL_LINKS_H
#define TACHO_ABI_MODELS_MODEL_LINKS_H

#include <string.h>

#include "base/array.h"
#include "models.h"

/* Bits by model: those that this library, one of those that a program needs (DT_NEEDED), is for. */
static inline uint32_t model_links(const char *library)
{
    static const struct {
        uint32_t model;
        char prefix[20];
    } rows[] = {
#define MODEL_FILE(id, prefix, implementation) { MODEL_##id, prefix },
#define MODEL_BINDING(id, prefix) { MODEL_##id, prefix },
#include "models.def"
    };
    uint32_t models = 0;
    for (size_t i = 0; i < COUNT_OF(rows); i++)
        models |= strncmp(library, rows[i].prefix, strlen(rows[i].prefix)) == 0 ? MODEL_BIT(rows[i].model) : 0;
    return models;
}

#endif
