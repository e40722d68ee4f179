/* Switches recording on and off: see recording.h. */
#include "recording.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "capture.h"
#include "ending.h"

static const char *const causes[] = {
#define CAUSE(name, text) [WIRE_CAPTURE_##name] = text,
    WIRE_CAPTURES(CAUSE)
#undef CAUSE
};

static struct timeval to_timeval(int64_t ns)
{
    return (struct timeval){ ns / 1000000000, ns / 1000 % 1000000 };
}

/* ---- The switch ------------------------------------------------------------------------------------------------ */

static void recording_set_process(struct process *process, int on)
{
    if (process->arena)
        atomic_store_explicit(&process->arena->recording,
                              on ? wire_recording(process->arena, process->collector->sources) : 0,
                              memory_order_release);
}

static uint32_t unread_switches(const struct process *process)
{
    return atomic_load_explicit(&process->arena->switches_made, memory_order_acquire) - process->switches_read;
}

/* A process that began or ended a range has switched its own recording long before the collector reads the switch, and
 * may have switched again since. So that process is left alone (NULL: none), and so are those whose own switches have
 * not been read yet: they are newer than this one, and decide when they are read. */
static void set_recording(struct collector *collector, int on, const struct process *itself)
{
    for (struct process *process = collector->processes->first_live; process; process = process->next_live)
        if (process != itself && unread_switches(process) == 0)
            recording_set_process(process, on);
}

/* Takes one off the remaining ranges in every process except the one that began it, which has counted it already. */
static void spend_range(struct collector *collector, const struct process *itself)
{
    struct capture_recording *recording = &capture_of(collector)->recording;
    if (recording->ranges_left == UINT32_MAX || recording->ranges_left == 0)
        return;
    recording->ranges_left--;
    for (struct process *process = collector->processes->first_live; process; process = process->next_live) {
        uint32_t left = process == itself ? 0
                                          : atomic_load_explicit(&process->arena->ranges_left, memory_order_relaxed);
        while (left > 0 && !atomic_compare_exchange_weak(&process->arena->ranges_left, &left, left - 1))
            ;
    }
}

static void share_ranges_left(struct collector *collector)
{
    for (struct process *process = collector->processes->first_live; process; process = process->next_live)
        atomic_store_explicit(&process->arena->ranges_left, capture_of(collector)->recording.ranges_left,
                              memory_order_relaxed);
}

static void switch_on(struct collector *collector, const struct process *itself, int64_t time_ns, const char *cause)
{
    struct capture_recording *recording = &capture_of(collector)->recording;
    set_recording(collector, 1, itself);
    if (collector->is_recording)
        return;
    SOURCES_CALL(switching, collector, 1);
    collector->is_recording = 1;
    collector->recording_since_ns = time_ns;
    recording->cause = cause;
    if (collector->options->duration_ns > 0 && !evtimer_pending(recording->duration, NULL)) {
        struct timeval wait = to_timeval(collector->options->duration_ns);
        evtimer_add(recording->duration, &wait);
    }
}

static void switch_off(struct collector *collector, const struct process *itself, int64_t time_ns)
{
    struct capture_recording *recording = &capture_of(collector)->recording;
    set_recording(collector, 0, itself);
    if (!collector->is_recording)
        return;
    SOURCES_CALL_BACKWARDS(switching, collector, 0);
    collector->is_recording = 0;
    collector->recorded_ns += time_ns - collector->recording_since_ns;
    struct row_TACHO_RANGE row = { 0 };
    ROW_SET(&row, TACHO_RANGE, start, collector->recording_since_ns);
    ROW_SET(&row, TACHO_RANGE, end, time_ns);
    ROW_SET(&row, TACHO_RANGE, cause, collector_string(collector, recording->cause));
    writer_append(collector->writer, TABLE_TACHO_RANGE, &row);
}

/* ---- Delay and duration ---------------------------------------------------------------------------------------- */

static void delay_over(evutil_socket_t unused, short what, void *argument)
{
    struct collector *collector = argument;
    capture_of(collector)->recording.is_armed = 1;
    if (collector->options->range == COLLECT_RANGE_NONE)
        switch_on(collector, NULL, collector_now(collector), "delay");
    share_ranges_left(collector);
}

static void duration_over(evutil_socket_t unused, short what, void *argument)
{
    struct collector *collector = argument;
    collector->result->over = COLLECT_OVER_DURATION;
    recording_end(collector, collector_now(collector));
    ending_ask(collector);
}

/* How many ranges may begin: one, unless --capture-range-end allows to repeat. Without ranges the API may switch
 * recording off and on any number of times. */
static uint32_t ranges_allowed(const struct collect_options *options)
{
    if (options->range == COLLECT_RANGE_NONE)
        return UINT32_MAX;
    if (options->range_end != COLLECT_END_REPEAT && options->range_end != COLLECT_END_REPEAT_SHUTDOWN)
        return 1;
    return options->range_repeat ? options->range_repeat : UINT32_MAX;
}

int recording_init(struct collector *collector)
{
    struct capture_recording *recording = &capture_of(collector)->recording;
    recording->ranges_left = ranges_allowed(collector->options);
    recording->delay = evtimer_new(collector->base, delay_over, collector);
    recording->duration = evtimer_new(collector->base, duration_over, collector);
    return recording->delay && recording->duration ? 0 : -1;
}

void recording_free(struct collector *collector)
{
    struct capture *capture = capture_of(collector);
    if (capture->recording.delay)
        event_free(capture->recording.delay);
    if (capture->recording.duration)
        event_free(capture->recording.duration);
}

void recording_begin(struct collector *collector)
{
    struct capture_recording *recording = &capture_of(collector)->recording;
    if (collector->options->delay_ns > 0) {
        struct timeval wait = to_timeval(collector->options->delay_ns);
        evtimer_add(recording->delay, &wait);
        return;
    }
    recording->is_armed = 1;
    if (collector->options->range == COLLECT_RANGE_NONE)
        switch_on(collector, NULL, collector_now(collector), "start");
}

/* ---- Arenas ---------------------------------------------------------------------------------------------------- */

void recording_prepare_arena(struct collector *collector, struct wire_header *arena)
{
    const struct collect_options *options = collector->options;
    const struct capture_recording *recording = &capture_of(collector)->recording;
    struct collect_arena_texts texts = { .arena = arena };
    arena->sources = collector->sources;
    arena->if_used = options->if_used;
    arena->clock = collector->clock.clock;
    arena->flags = (options->trace_fork_before_exec ? WIRE_FLAG_TRACE_FORK : 0) |
                   (options->step_probes ? WIRE_FLAG_STEP_PROBES : 0) |
                   (options->step_windows ? WIRE_FLAG_STEP_WINDOWS : 0) |
                   (options->delay_ns > 0 && !recording->is_armed ? WIRE_FLAG_DELAYED : 0);
    arena->capture = (uint32_t)options->range;
    arena->capture_ends = options->range_end != COLLECT_END_NONE;
    SOURCES_CALL(arena, collector, &texts);
    arena->report_path = arena_put_text(&texts, capture_of(collector)->absolute_path);
    atomic_store(&arena->ranges_left, recording->is_armed && !recording->is_done ? recording->ranges_left : 0);
    atomic_store(&arena->left_out, collector->left_out);
    atomic_store(&arena->recording, collector->is_recording ? wire_recording(arena, collector->sources) : 0);
}

/* ---- Ranges ---------------------------------------------------------------------------------------------------- */

static void range_begins(struct collector *collector, struct process *process, enum wire_capture cause, int64_t time_ns)
{
    struct capture_recording *recording = &capture_of(collector)->recording;
    if (recording->is_done)
        recording_set_process(process, 0); /* it began before it could know that recording is over */
    if (recording->is_done || cause >= WIRE_CAPTURE_COUNT)
        return;
    spend_range(collector, process);
    recording->open++;
    process->open_ranges++;
    switch_on(collector, process, time_ns, causes[cause]);
}

/* The last range has ended: applies --capture-range-end. */
static void last_range_over(struct collector *collector, int64_t time_ns)
{
    enum collect_range_end end = collector->options->range_end;
    recording_end(collector, time_ns);
    if (end != COLLECT_END_STOP_SHUTDOWN && end != COLLECT_END_REPEAT_SHUTDOWN)
        return;
    collector->result->over = COLLECT_OVER_RANGE;
    ending_ask(collector);
}

static void range_ends(struct collector *collector, struct process *process, enum wire_capture cause, int64_t time_ns)
{
    struct capture_recording *recording = &capture_of(collector)->recording;
    if (recording->is_done || cause >= WIRE_CAPTURE_COUNT)
        return;
    recording->open -= process->open_ranges; /* one end is enough: the process has switched itself off */
    process->open_ranges = 0;
    if (recording->open > 0) {               /* another process is still inside a range */
        recording_set_process(process, 1);
        return;
    }
    if (collector->options->range != COLLECT_RANGE_NONE && collector->options->range_end == COLLECT_END_NONE) {
        recording_set_process(process, collector->is_recording);
        return;
    }
    switch_off(collector, process, time_ns);
    if (collector->options->range != COLLECT_RANGE_NONE && recording->ranges_left == 0)
        last_range_over(collector, time_ns);
}

/* The time of a switch, limited to the span from the start of the capture to now: the ticks come from the program. */
static int64_t switch_time(const struct collector *collector, uint64_t ticks)
{
    int64_t time = clock_map_time(&collector->clock, ticks), now = collector_now(collector);
    return time < 0 ? 0 : time > now ? now : time;
}

static void apply_switch(struct collector *collector, struct process *process, enum wire_capture cause, int on,
                         int64_t time_ns)
{
    if (on)
        range_begins(collector, process, cause, time_ns);
    else
        range_ends(collector, process, cause, time_ns);
}

/* Only the last of the switches that found no room is known. The others are lost, but the final state is right. */
static void read_missed(struct collector *collector, struct process *process)
{
    uint64_t missed = atomic_load_explicit(&process->arena->switches_missed, memory_order_acquire);
    uint32_t count = (uint32_t)(missed >> 32) - process->switches_missed;
    if (!count)
        return;
    process->switches_missed += count;
    process->counts[WIRE_SOURCE_NOTES].fates[WIRE_LOST_BUFFER_FULL] += count - 1;
    apply_switch(collector, process, missed & 0xffff, missed >> 16 & 1, collector_now(collector));
}

void recording_read_switches(struct collector *collector, struct process *process)
{
    struct wire_header *arena = process->arena;
    /* Bounded: the program may set switches as fast as we read them. */
    for (uint32_t i = 0; i < WIRE_SWITCHES; i++) {
        const struct wire_switch *next = &arena->switches[process->switches_read % WIRE_SWITCHES];
        if (atomic_load_explicit(&next->number, memory_order_acquire) != process->switches_read + 1)
            break;
        struct wire_switch copy = { .cause = next->cause, .on = next->on, .ticks = next->ticks };
        atomic_store_explicit(&arena->switches_read, ++process->switches_read, memory_order_release);
        apply_switch(collector, process, copy.cause, copy.on, switch_time(collector, copy.ticks));
    }
    if (unread_switches(process) == 0) /* switches without room came after all that have one */
        read_missed(collector, process);
}

void recording_finish_switches(struct collector *collector, struct process *process)
{
    recording_read_switches(collector, process);
    uint32_t unread = unread_switches(process);
    process->switches_read += unread;
    process->counts[WIRE_SOURCE_NOTES].fates[WIRE_LOST_BUFFER_FULL] += unread < WIRE_SWITCHES ? unread : WIRE_SWITCHES;
    read_missed(collector, process);
}

void recording_process_ends(struct collector *collector, struct process *process, int64_t time_ns)
{
    if (process->open_ranges > 0)
        range_ends(collector, process, WIRE_CAPTURE_ALWAYS, time_ns);
}

void recording_end(struct collector *collector, int64_t time_ns)
{
    struct capture_recording *recording = &capture_of(collector)->recording;
    switch_off(collector, NULL, time_ns);
    recording->is_done = 1;
    recording->ranges_left = 0;
    share_ranges_left(collector);
    if (recording->delay)
        evtimer_del(recording->delay);
    if (recording->duration)
        evtimer_del(recording->duration);
}
