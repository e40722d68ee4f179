/* Runs a report once for each rank or host of a set: --by; or as one of several processes: --share. */
#ifndef TACHO_CMD_RUN_BY_H
#define TACHO_CMD_RUN_BY_H

#include "run_share.h"
#include "selection.h"
#include "set/set_groups.h"

struct run_by {
    enum set_by by;
    const struct selection_part_settings *part; /* resolved for each of them */
    struct run_share *share;                    /* NULL: this process does all */
};

/* What a name for --by stands for; NULL: SET_BY_NONE. */
enum set_by run_by_find(const char *name);

/* analysis_run(), or the joined table of all ranks or hosts (table_by.h). */
int run_by_analysis(const struct run_by *by, const struct analysis *analysis, struct report *report,
                    const struct analysis_request *request, struct table **out, struct error *err);

#endif
