/* The enums of the schema as data, generated from enums.def. SQL shows them as the tables ENUM_..., and analyses take
 * labels from them. Where an imported file has other values, they are in its table TACHO_ENUM. */
#ifndef TACHO_REPORT_SCHEMA_ENUMS_H
#define TACHO_REPORT_SCHEMA_ENUMS_H

#include <stddef.h>
#include <stdint.h>

struct schema_enum_value {
    int64_t id;
    const char *name;  /* the symbol */
    const char *label; /* the text for users */
};

struct schema_enum {
    const char *name;                       /* with the prefix ENUM_ */
    const char *note;
    const struct schema_enum_value *values; /* by ascending id */
    size_t count;
};

enum enum_id {
#define ENUM(name, note) ENUM_ID_##name,
#define VALUE(table, id, name, label)
#define ENUM_END(name)
#include "enums.def"
#undef ENUM
#undef VALUE
#undef ENUM_END
    ENUM_COUNT
};

extern const struct schema_enum schema_enums[ENUM_COUNT];

/* The enum of this name, or NULL. */
const struct schema_enum *schema_enum_find(const char *name);

/* Its value with this number, or NULL. */
const struct schema_enum_value *schema_enum_value(const struct schema_enum *list, int64_t id);

#endif
