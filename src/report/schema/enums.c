/* The enums as data, generated from enums.def. */
#include "enums.h"

#include <string.h>

#include "base/array.h"

#define ENUM(name, note) static const struct schema_enum_value values_of_##name[] = {
#define VALUE(table, id, name, label) { id, name, label },
#define ENUM_END(name) };
#include "enums.def"
#undef ENUM
#undef VALUE
#undef ENUM_END

const struct schema_enum schema_enums[ENUM_COUNT] = {
#define ENUM(name, note) { #name, note, values_of_##name, COUNT_OF(values_of_##name) },
#define VALUE(table, id, name, label)
#define ENUM_END(name)
#include "enums.def"
#undef ENUM
#undef VALUE
#undef ENUM_END
};

const struct schema_enum *schema_enum_find(const char *name)
{
    for (size_t i = 0; i < ENUM_COUNT; i++)
        if (!strcmp(schema_enums[i].name, name))
            return &schema_enums[i];
    return NULL;
}

const struct schema_enum_value *schema_enum_value(const struct schema_enum *list, int64_t id)
{
    size_t first = BISECT(0, list->count, i, list->values[i].id < id);

    return first < list->count && list->values[first].id == id ? &list->values[first] : NULL;
}
