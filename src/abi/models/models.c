/* The rows of models.def as data. */
#include "models.h"

#include <string.h>

#include "base/array.h"

const struct model_row model_rows[MODEL_COUNT] = {
#define MODEL(id, name, trace, sources, of_ranks, imports) { name, trace, sources, of_ranks, imports },
#include "models.def"
};

static const struct {
    enum model model;
    const char *prefix, *implementation;
} models_files[] = {
#define MODEL_FILE(id, prefix, implementation) { MODEL_##id, prefix, implementation },
#include "models.def"
};

const struct model_variable model_variables[] = {
#define MODEL_VARIABLE(id, variable, value, is_all, effect) { MODEL_##id, variable, value, is_all, effect },
#include "models.def"
    { .variable = NULL },
};

enum model model_find(const char *name)
{
    enum model model = 0;
    while (model < MODEL_COUNT && strcmp(model_rows[model].name, name) != 0)
        model++;
    return model;
}

const char *model_implementation(enum model model, const char *file)
{
    for (size_t i = 0; i < COUNT_OF(models_files); i++)
        if (models_files[i].model == model &&
            strncmp(file, models_files[i].prefix, strlen(models_files[i].prefix)) == 0)
            return models_files[i].implementation;
    return NULL;
}

/* Whether a text begins with one of the words of a list. */
static int begins_with_any(const char *text, const char *words)
{
    for (const char *at = words; *at; at += strspn(at, " ")) {
        size_t length = strcspn(at, " ");
        if (strncmp(text, at, length) == 0)
            return 1;
        at += length;
    }
    return 0;
}

uint32_t model_imports(const char *symbol)
{
    uint32_t models = 0;
    for (unsigned i = 0; i < MODEL_COUNT; i++)
        models |= begins_with_any(symbol, model_rows[i].imports) ? 1u << i : 0;
    return models;
}
