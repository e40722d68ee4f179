/* The place in the program that an event comes from: its stack, and the lines of Python. */
#ifndef TACHO_VIEW_ANSWER_EVENT_FRAMES_H
#define TACHO_VIEW_ANSWER_EVENT_FRAMES_H

#include "view/links/event_list.h"

/* One frame of an answer, the FRAME of docs/view-api.md. Texts may hold any bytes; a missing one has the length 0. */
struct event_frame {
    const char *name, *module, *file;
    size_t name_length, module_length, file_length;
    int64_t line;     /* 0: not known */
    const char *kind; /* static */
};
/* Adds a frame to a list, with a comma before it unless it is the first. */
void event_frame_add(struct text *out, const struct event_frame *frame);
/* A string of the report's pool; "" for an id below 0. */
const char *event_frame_string(struct view *view, int64_t id, size_t *length);

/* Adds {"frames": […]}, or null for an event without a stack; sets *found to 1 if there are some. */
int event_frames_add_stack(struct view *view, struct text *out, struct view_place place, int *found, struct error *err);

/* The event whose lines are looked for. */
struct event_frames_wanted {
    struct view_place self;
    struct view_place call;          /* the call that launched it, or VIEW_NO_PLACE */
    struct view_place forward;       /* the forward operator of a backward one, or VIEW_NO_PLACE */
    const struct event_list *around; /* outermost first */
    int64_t thread, from_ns, to_ns;  /* those of the call, if there is one */
};
/* Adds {"frames": […], "from": "sentence"}, or null; sets *found to 1 if there are some. */
int event_frames_add_python(struct view *view, struct text *out, const struct event_frames_wanted *wanted, int *found,
                            struct error *err);

#endif
