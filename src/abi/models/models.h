/* Programming models, and the libraries that implement them: the rows of models.def. */
#ifndef TACHO_ABI_MODELS_MODELS_H
#define TACHO_ABI_MODELS_MODELS_H

#include <stddef.h>
#include <stdint.h>

enum model {
#define MODEL(id, ...) MODEL_##id,
#include "models.def"
    MODEL_COUNT
};
#define MODEL_BIT(model) (1u << (model))

struct model_row {
    const char *name, *trace, *sources;
    int of_ranks;
    const char *imports;
};
extern const struct model_row model_rows[MODEL_COUNT];

/* The model of this name, or MODEL_COUNT. */
enum model model_find(const char *name);

/* The implementation of a model that a library of this file name (without folders) is; NULL: none. */
const char *model_implementation(enum model model, const char *file);

/* Bits by model: those of which a program is that imports this name. */
uint32_t model_imports(const char *symbol);

struct model_variable {
    enum model model;
    const char *variable, *value;                     /* value NULL: any */
    int is_all;                                       /* nothing of the model is recorded */
    const char *effect;
};
extern const struct model_variable model_variables[]; /* a row without a variable ends them */

#endif
