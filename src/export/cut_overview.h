/* A coarse picture of the events that a cut leaves out, so that the page still shows the whole capture: the table
 * TACHO_OVERVIEW. */
#ifndef TACHO_EXPORT_CUT_OVERVIEW_H
#define TACHO_EXPORT_CUT_OVERVIEW_H

#include "cut_window.h"
#include "report/writer/writer.h"

struct cut_overview {
    struct report *report;
    struct writer *writer;
    const struct export_options *part; /* what would be exported, were it not for the window */
    const struct cut_density *all;     /* the time that is looked at */
    struct report_span window;         /* events that touch it are kept */
    size_t most_rows;                  /* neighbours are put together until there are no more */
};

int cut_overview_write(const struct cut_overview *overview, struct error *err);

#endif
