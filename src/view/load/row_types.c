/* The table of row_types.h. */
#include "row_types.h"

#include <stddef.h>

const struct row_type_info row_types[ROW_TYPE_COUNT] = {
#define ROW_TYPE_INFO(id, name, kind, place, label) { name, kind, place, label },
    ROW_TYPES(ROW_TYPE_INFO)
#undef ROW_TYPE_INFO
};
