/* The state of the Chrome exporter: chrome.c writes events, chrome_members.c the metadata before them, chrome_names.c
 * the names of processes and threads after them. */
#ifndef TACHO_EXPORT_TIMELINE_CHROME_H
#define TACHO_EXPORT_TIMELINE_CHROME_H

#include "export/outfile.h"
#include "trace.h"
#include "tracks.h"

struct chrome {
    struct report *report;
    const struct export_options *options;
    struct outfile *output;
    struct text line;
    struct tracks tracks;
    int is_kineto;
    int64_t shift_ns;       /* from the report's times to ts */
    uint64_t events;
    int64_t first_ns;       /* the first begin of an event, as its ts */
    int has_spans;          /* whether there are spans of the trace itself */
    unsigned char *checked; /* owned; by string id: whether it is JSON, once checked */
    size_t checked_room;
};

/* Computes shift_ns, and writes the members of the trace up to its events. */
int chrome_add_members(struct chrome *chrome, struct error *err);
int chrome_add_names(struct chrome *chrome, struct error *err);

/* ", " and a new line before every event but the first. */
void chrome_next(struct chrome *chrome);
/* Microseconds with three decimals. */
void chrome_add_us(struct text *line, int64_t ns);

#endif
