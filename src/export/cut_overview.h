/* A coarse picture of the events that a cut leaves out, so that the page still shows the whole capture: the table
 * TACHO_OVERVIEW. */
#ifndef TACHO_EXPORT_CUT_OVERVIEW_H
#define TACHO_EXPORT_CUT_OVERVIEW_H

#include "cut_window.h"
#include "report/writer/writer.h"

struct cut_overview {
    struct report *report;
    struct writer *writer;
    const struct export_options *part; /* the part that is exported, before it is cut to the window */
    const struct cut_density *all;     /* the time of that part */
    struct report_span window;         /* events that touch it are kept */
    size_t most_rows;                  /* limit: neighbouring intervals are joined until the rows fit */
};

int cut_overview_write(const struct cut_overview *overview, struct error *err);

#endif
