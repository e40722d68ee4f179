/* The timeline of a report: rows of events, and answers with as much of them as a screen can show.
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

/* Reads all events and counters into rows, in parallel. The report must stay open until view_close(). */
int view_open(struct report *report, struct view **out, struct error *err);
/* The same in another way than the default, which zeros are. */
struct view_options {
    int as_map;                     /* shows how busy each rank was, and no events, also of a small job */
    const struct report_span *span; /* the first and last time of the timeline; NULL: those of its events */
};
int view_open_as(struct report *report, const struct view_options *options, struct view **out, struct error *err);
void view_close(struct view *view);
/* Sets the name of the report in answers to about: the last part of a path. The default is the name of the first
 * process. */
void view_set_name(struct view *view, const char *path);
/* Sets the run that this one is compared with: requests with the argument run=1 are about that one. It must stay open
 * as long as this one is. */
void view_set_other(struct view *view, struct view *other);

/* Requests of different lanes may be answered at the same time, by different threads; requests of one lane only one
 * after the other. Requests of VIEW_LANE_NOW read only data that view_open() made, and take no noticeable time, so the
 * thread of the event loop may answer them. The others may take long: raising the flag that their thread watches
 * (base/cancel.h) ends them with ERR_CANCELLED. */
enum view_lane {
    VIEW_LANE_NOW,
    VIEW_LANE_OVERVIEW,
    VIEW_LANE_EVENT,
    VIEW_LANE_FIND,
    VIEW_LANE_TABLE,
    VIEW_LANE_FLAME,
    VIEW_LANE_ADVICE,
    VIEW_LANE_IDLE,
    VIEW_LANE_SQL,
    VIEW_LANE_RANKS, /* the first questions about some ranks (rank_views.h), which are opened for them */
    VIEW_LANES
};
/* The lane of a request such as "tile?rows=3"; an unknown request is in VIEW_LANE_NOW. */
enum view_lane view_lane(const char *request);
/* Whether nobody waits for the answers of a lane: the page requests them itself, after the picture and the first
 * figures of the summary, and tiles should not wait for them. */
int view_lane_is_background(enum view_lane lane);

/* Answers one request; body is the body of the request (NULL without one), content_type is static. 0, or an ERR_ code
 * with a sentence for the user: ERR_NOT_FOUND for a request, row or event that does not exist, ERR_BAD_ARGUMENT for
 * invalid arguments. After an error, *out may hold a part of an answer. Answers change nothing in the view but its
 * caches. */
int view_answer(struct view *view, const char *request, const char *body, size_t body_length, struct text *out,
                const char **content_type, struct error *err);

#endif
