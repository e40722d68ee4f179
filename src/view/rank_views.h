/* Timelines of some ranks of a job, opened when a request asks for them: requests with the argument ranks=5 or
 * ranks=0,8-15 are about these ranks alone. Their times are those of the whole job. */
#ifndef TACHO_VIEW_RANK_VIEWS_H
#define TACHO_VIEW_RANK_VIEWS_H

#include "base/error.h"
#include "report/reader/reader.h"

struct view;
struct rank_views;

/* How a timeline from one time to another is opened and closed. */
struct rank_view_calls {
    int (*open)(struct report *report, const struct report_span *span, struct view **out, struct error *err);
    void (*close)(struct view *view);
};

/* The timeline of these ranks. Hand it back with rank_views_release(). Any thread may call both. */
int rank_views_take(struct view *whole, const char *ranks, struct view **out, struct error *err);
void rank_views_release(struct view *whole, struct view *taken);

struct rank_views *rank_views_new(struct rank_view_calls calls);
/* NULL is fine. Nothing is taken any more. */
void rank_views_free(struct rank_views *views);

#endif
