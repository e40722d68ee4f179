/* The run of a report that first reads all that it needs into one struct, and then fills its table from it. */
#ifndef TACHO_ANALYZE_ENGINE_REPORT_RUN_H
#define TACHO_ANALYZE_ENGINE_REPORT_RUN_H

#include "analysis.h"

/* Defines the function `name`, for analysis.run. `columns` is an array, `state` a type that begins as zeros:
 *
 *     int read(state *, struct report *, const struct analysis_request *, struct error *);
 *     int fill(struct table *, state *);    ERR_NO_MEMORY or 0
 *     void free_all(state *);               after an error too
 */
#define REPORT_RUN(name, state, columns, read, fill, free_all)                                                         \
    static int name(struct report *report, const struct analysis_request *request, struct table **out,                 \
                    struct error *err)                                                                                 \
    {                                                                                                                  \
        struct table *table = table_new(columns, COUNT_OF(columns));                                                   \
        state all = { 0 };                                                                                             \
        int code = read(&all, report, request, err);                                                                   \
                                                                                                                       \
        if (code != 0)                                                                                                 \
            goto done;                                                                                                 \
        code = table ? fill(table, &all) : ERR_NO_MEMORY;                                                              \
    done:                                                                                                              \
        free_all(&all);                                                                                                \
        return table_hand_over(table, code, out, err);                                                                 \
    }

#endif
