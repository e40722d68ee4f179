/* The set of threads and streams is known only after all events; consecutive events are nearly always on the same
 * one. */
#include "tracks.h"

#include "analyze/engine/event_columns.h"

int tracks_open(struct tracks *tracks, struct report *report, struct error *err)
{
    *tracks = (struct tracks){
        .report = report, .processes.width = 1, .threads.width = 1, .devices.width = 1, .streams.width = 4
    };
    int code = thread_names_read(&tracks->thread_names, report, err);
    return code != 0 ? code : process_names_read(&tracks->process_names, report, err);
}

void tracks_close(struct tracks *tracks)
{
    keys_free(&tracks->processes);
    keys_free(&tracks->threads);
    keys_free(&tracks->devices);
    keys_free(&tracks->streams);
    thread_names_free(&tracks->thread_names);
    process_names_free(&tracks->process_names);
}

int tracks_note(struct tracks *tracks, const struct trace_event *event)
{
    uint32_t added = 0;

    if (event->where == ON_THREAD && (!tracks->has_last_thread || tracks->last_thread != event->thread)) {
        int64_t process = global_process(event->thread);
        added = keys_add(&tracks->threads, &event->thread);
        added = added == NO_KEY ? NO_KEY : keys_add(&tracks->processes, &process);
        tracks->has_last_thread = 1;
        tracks->last_thread = event->thread;
    }
    if (event->where == ON_STREAM && event->phase != TRACE_FLOW &&
        (!tracks->has_last_stream || tracks->last_device != event->device || tracks->last_lane != event->lane)) {
        int64_t lane[] = { event->device, event->lane, event->stream, event->process_number ? event->process : 0 };
        added = keys_add(&tracks->streams, lane);
        added = added == NO_KEY ? NO_KEY : keys_add(&tracks->devices, &event->device);
        tracks->has_last_stream = 1;
        tracks->last_device = event->device;
        tracks->last_lane = event->lane;
    }
    if (event->where == ON_GPU)
        added = keys_add(&tracks->devices, &event->device);
    return added == NO_KEY ? ERR_NO_MEMORY : 0;
}

const char *tracks_process_name(const struct tracks *tracks, int64_t process, size_t *length)
{
    int64_t name = process_name_find(&tracks->process_names, process);

    *length = 0;
    return name < 0 ? "" : report_string(tracks->report, name, length);
}

const char *tracks_thread_name(const struct tracks *tracks, int64_t thread, size_t *length)
{
    const struct thread_name *found = thread_name_find(&tracks->thread_names, thread);

    *length = 0;
    return found ? report_string(tracks->report, found->name, length) : "";
}
