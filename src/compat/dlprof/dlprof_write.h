/* The files of `tacho dlprof`: reports as csv and json, TensorBoard's events. */
#ifndef TACHO_COMPAT_DLPROF_DLPROF_WRITE_H
#define TACHO_COMPAT_DLPROF_DLPROF_WRITE_H

#include "base/text.h"
#include "dlprof.h"

/* The formats of --formats; the list ends with a row without a name, which is also the extension of the file. */
struct dlprof_format {
    const char *name;
    void (*add)(struct text *out, const struct dlprof_tables *tables);
};
extern const struct dlprof_format dlprof_formats[];

/* One table as JSON: a list of objects. */
void dlprof_add_json(struct text *out, const struct table *table);

/* Adds the records of an events file: scalars of each aggregated iteration. start_s: when the capture began, seconds
 * since 1970. */
int dlprof_add_events(struct text *out, const struct dlprof *dlprof, double start_s, struct error *err);

#endif
