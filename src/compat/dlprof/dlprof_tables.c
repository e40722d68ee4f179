/* The list of reports, and functions that their tables share. */
#include <stdlib.h>
#include <string.h>

#include "analyze/engine/cell_text.h"
#include "analyze/engine/statistics.h"
#include "dlprof_internal.h"

const struct dlprof_report dlprof_reports[] = {
    { "summary", "summary", NULL, dlprof_summary },
    { "detail", "detailed", NULL, dlprof_detailed },
    { "kernel", "kernel", NULL, dlprof_kernel },
    { "iteration", "iteration", NULL, dlprof_iteration },
    { "tensor", "tensor_core", NULL, dlprof_tensor_core },
    { "op_type", "op_type", NULL, dlprof_op_type },
    { "group_op", "group_op", "group_node", dlprof_group_op },
    { "expert_systems", "expert_systems", NULL, dlprof_expert_systems },
    { 0 },
};

int dlprof_is_eligible(const char *type)
{
#define ELIGIBLE(name) name,
    static const char *const types[] = {
#include "dlprof_eligible.def"
    };
#undef ELIGIBLE

    for (size_t i = 0; i < COUNT_OF(types); i++)
        if (strcmp(types[i], type) == 0)
            return 1;
    return 0;
}

static int64_t dlprof_tables_clamp(__int128 value)
{
    return value > INT64_MAX ? INT64_MAX : value < INT64_MIN ? INT64_MIN : (int64_t)value;
}

void dlprof_set_figures(struct table_cell *cells, const struct statistics *figures)
{
    cell_set_int(&cells[0], dlprof_tables_clamp(figures->total));
    cell_set_real(&cells[1], statistics_mean(figures));
    cell_set_int(&cells[2], figures->count ? figures->min : 0);
    cell_set_int(&cells[3], figures->count ? figures->max : 0);
}

int dlprof_set_text(struct table *table, struct table_cell *cell, const struct dlprof *dlprof, uint32_t text)
{
    struct intern_string string = dlprof_text(dlprof, text);

    return cell_set_text(table, cell, string.bytes, string.length);
}

const char *dlprof_direction_name(enum dlprof_direction direction)
{
    static const char *const names[] = {
        [DLPROF_UNKNOWN] = "", [DLPROF_FORWARD] = "fprop", [DLPROF_BACKWARD] = "bprop"
    };

    return names[direction];
}

const char *dlprof_yes(int is_so)
{
    return is_so ? "yes" : "no";
}

int dlprof_hand_over(struct table *table, int code, const char *title, struct dlprof_tables *out, struct error *err)
{
    *out = (struct dlprof_tables){ .parts = { { .title = title, .has_header = 1 } }, .count = 1 };
    return table_hand_over(table, code, &out->parts[0].table, err);
}

void dlprof_tables_free(struct dlprof_tables *tables)
{
    for (size_t i = 0; i < tables->count; i++)
        table_delete(tables->parts[i].table);
    *tables = (struct dlprof_tables){ 0 };
}
