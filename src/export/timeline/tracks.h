/* The threads and streams that a timeline shows, each once, and their names. */
#ifndef TACHO_EXPORT_TIMELINE_TRACKS_H
#define TACHO_EXPORT_TIMELINE_TRACKS_H

#include "analyze/model/threads.h"
#include "trace.h"

struct tracks {
    struct report *report;
    struct keys processes;                       /* global ids */
    struct keys threads;                         /* global ids */
    struct keys devices;
    struct keys streams;                         /* device, lane, stream, process */
    struct thread_names thread_names;
    struct process_names process_names;
    int64_t last_thread, last_device, last_lane; /* where the last event was */
    int has_last_thread, has_last_stream;
};

int tracks_open(struct tracks *tracks, struct report *report, struct error *err);
void tracks_close(struct tracks *tracks);
/* Notes where the event is. ERR_NO_MEMORY or 0. */
int tracks_note(struct tracks *tracks, const struct trace_event *event);

/* As the report has them; "" for one without a name. */
const char *tracks_process_name(const struct tracks *tracks, int64_t process, size_t *length);
const char *tracks_thread_name(const struct tracks *tracks, int64_t thread, size_t *length);

#endif
