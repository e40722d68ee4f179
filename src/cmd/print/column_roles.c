/* The roles of columns, by their names. One table for all reports: columns of the same name mean the same. */
#include "column_roles.h"

#include <string.h>

#include "base/array.h"

static const struct {
    const char *name, *heading;
    int rank;
    enum column_role role;
} listed[] = {
#define COLUMN(name, heading, rank, role) { name, heading, rank, ROLE_##role },
#include "column_roles.def"
};

/* For columns that are not listed. */
static const int ranks[] = {
    [UNIT_NONE] = 4,  [UNIT_NS] = 3,        [UNIT_TIME] = 2, [UNIT_PERCENT] = 1,
    [UNIT_BYTES] = 3, [UNIT_MEGABYTES] = 3, [UNIT_ID] = 7,   [UNIT_NAME] = 0,
};

struct column_view column_view(const struct table_column *column)
{
    struct column_view view = { column->name, ranks[column->unit], ROLE_PLAIN };

    for (size_t i = 0; i < COUNT_OF(listed); i++) {
        if (strcmp(listed[i].name, column->name) != 0)
            continue;
        view.heading = listed[i].heading[0] ? listed[i].heading : column->name;
        view.rank = listed[i].rank;
        view.role = listed[i].role;
    }
    if (view.role == ROLE_SHARE && column->unit != UNIT_PERCENT)
        view.role = ROLE_PLAIN;
    return view;
}

size_t column_lead(const struct table *table)
{
    const struct table_column *columns = table_columns(table);
    size_t count = table_column_count(table), lead = count;
    int best = 0;

    for (size_t i = 0; i < count; i++) {
        int worth = column_view(&columns[i]).role == ROLE_LEAD ? 3
                    : columns[i].unit == UNIT_NAME             ? 2
                    : columns[i].kind == CELL_TEXT             ? 1
                                                               : 0;
        if (column_view(&columns[i]).role != ROLE_SENTENCE && worth > best) {
            best = worth;
            lead = i;
        }
    }
    return lead < count ? lead : 0;
}
