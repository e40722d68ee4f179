/* The timeline of a report: rows of events, ready to be asked for what a screen can show.
 *
 * view_answer() is the whole interface: a request such as "tile?rows=3,4&level=12&index=7" in, bytes out. The HTTP
 * server and the page's own WebAssembly hand requests through to it unchanged; docs/view-api.md says what each asks and
 * answers. Nothing here knows of sockets, files beside the report, or pixels on a screen. */
#ifndef TACHO_VIEW_TIMELINE_H
#define TACHO_VIEW_TIMELINE_H

#include <stddef.h>

#include "base/error.h"
#include "base/text.h"
#include "report/reader/reader.h"

struct view;

/* Reads what rows are made of, in parallel. The report must stay open until view_close(). */
int view_open(struct report *report, struct view **out, struct error *err);
void view_close(struct view *view);
/* What the report is called, for about: the last part of a path. Without it the name of its
 * first process stands there. */
void view_set_name(struct view *view, const char *path);

/* Requests that may be answered at the same time, by different threads. Those of one lane are for one thread,
 * one after the other; those of VIEW_LANE_NOW read only what opening made, in no time, and are for the thread
 * that everybody waits for. The others may take long: raising the flag that their thread watches (base/cancel.h)
 * ends them with ERR_CANCELLED. */
enum view_lane {
    VIEW_LANE_NOW,
    VIEW_LANE_OVERVIEW,
    VIEW_LANE_EVENT,
    VIEW_LANE_FIND,
    VIEW_LANE_TABLE,
    VIEW_LANE_FLAME,
    VIEW_LANE_ADVICE,
    VIEW_LANE_SQL,
    VIEW_LANES
};
/* That of a request such as "tile?rows=3", known or not. */
enum view_lane view_lane(const char *request);

/* Answers one request; body is what came with it (NULL without one), content_type is static. 0, or an ERR_ code with a
 * sentence for the user: ERR_NOT_FOUND for a request, row or event that there is not, ERR_BAD_ARGUMENT for arguments
 * that make no sense. Answers do not change the view as far as a caller can see; one at a time of each lane. */
int view_answer(struct view *view, const char *request, const char *body, size_t body_length, struct text *out,
                const char **content_type, struct error *err);

#endif
