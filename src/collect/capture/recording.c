/* When recording is on: see recording.h. */
#include "recording.h"

#include <event2/event.h>
#include <stdio.h>
#include <string.h>

#include "collect/core/collector.h"
#include "collect/sources/python/python_collect.h"
#include "shutdown.h"
#include "wire/wire_python.h"

#define CUDA_BACKTRACE_BYTES 32768u /* of stack: between PyTorch and a launch there are a hundred frames */

static const char *const causes[] = { [WIRE_CAPTURE_ALWAYS] = "start",
                                      [WIRE_CAPTURE_NVTX] = "nvtx",
                                      [WIRE_CAPTURE_API] = "api",
                                      [WIRE_CAPTURE_CUDA] = "cudaProfilerApi" };

static struct timeval to_timeval(int64_t ns)
{
    return (struct timeval){ ns / 1000000000, ns / 1000 % 1000000 };
}

/* ---- The switch ------------------------------------------------------------------------------------------------ */

static void set_process(struct process *process, int on)
{
    if (process->arena)
        atomic_store_explicit(&process->arena->recording, on ? process->collector->sources : 0, memory_order_release);
}

/* A process that began or ended a range has switched itself, long before the collector reads the switch, and may have
 * done so again since: it is the one to leave alone (NULL: none). */
static void set_recording(struct collector *collector, int on, const struct process *itself)
{
    for (struct process *process = collector->processes.first_live; process; process = process->next_live)
        if (process != itself)
            set_process(process, on);
}

/* One range less for all but the one that has begun it, which has counted it already. */
static void spend_range(struct collector *collector, const struct process *itself)
{
    struct capture *capture = &collector->capture;
    if (capture->ranges_left == UINT32_MAX || capture->ranges_left == 0)
        return;
    capture->ranges_left--;
    for (struct process *process = collector->processes.first_live; process; process = process->next_live) {
        uint32_t left = process == itself ? 0
                                          : atomic_load_explicit(&process->arena->ranges_left, memory_order_relaxed);
        while (left > 0 && !atomic_compare_exchange_weak(&process->arena->ranges_left, &left, left - 1))
            ;
    }
}

static void share_ranges_left(struct collector *collector)
{
    for (struct process *process = collector->processes.first_live; process; process = process->next_live)
        atomic_store_explicit(&process->arena->ranges_left, collector->capture.ranges_left, memory_order_relaxed);
}

static void switch_on(struct collector *collector, const struct process *itself, int64_t time_ns, const char *cause)
{
    struct capture *capture = &collector->capture;
    set_recording(collector, 1, itself);
    if (capture->on)
        return;
    counters_switch(collector);
    capture->on = 1;
    python_switch(collector, 1);
    capture->on_since_ns = time_ns;
    capture->cause = cause;
    perf_switch(collector, 1);
    if (collector->options->duration_ns > 0 && !evtimer_pending(capture->duration, NULL)) {
        struct timeval wait = to_timeval(collector->options->duration_ns);
        evtimer_add(capture->duration, &wait);
    }
}

static void switch_off(struct collector *collector, const struct process *itself, int64_t time_ns)
{
    struct capture *capture = &collector->capture;
    set_recording(collector, 0, itself);
    if (!capture->on)
        return;
    perf_switch(collector, 0);
    counters_switch(collector);
    capture->on = 0;
    python_switch(collector, 0);
    capture->recorded_ns += time_ns - capture->on_since_ns;
    struct row_TACHO_RANGE row = { 0 };
    ROW_SET(&row, TACHO_RANGE, start, capture->on_since_ns);
    ROW_SET(&row, TACHO_RANGE, end, time_ns);
    ROW_SET(&row, TACHO_RANGE, cause, collector_string(collector, capture->cause));
    writer_append(collector->writer, TABLE_TACHO_RANGE, &row);
}

/* ---- Delay and duration ---------------------------------------------------------------------------------------- */

static void delay_over(evutil_socket_t unused, short what, void *argument)
{
    struct collector *collector = argument;
    collector->capture.armed = 1;
    if (collector->options->range == COLLECT_RANGE_NONE)
        switch_on(collector, NULL, collector_now(collector), "delay");
    share_ranges_left(collector);
}

static void duration_over(evutil_socket_t unused, short what, void *argument)
{
    struct collector *collector = argument;
    collector->result->over = COLLECT_OVER_DURATION;
    recording_end(collector, collector_now(collector));
    shutdown_ask(collector);
}

/* How many ranges may begin: one, unless the end of one leaves room for the next. Without ranges the API may switch
 * recording off and on again as often as it likes. */
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
    struct capture *capture = &collector->capture;
    capture->ranges_left = ranges_allowed(collector->options);
    capture->delay = evtimer_new(collector->base, delay_over, collector);
    capture->duration = evtimer_new(collector->base, duration_over, collector);
    return capture->delay && capture->duration ? 0 : -1;
}

void recording_free(struct collector *collector)
{
    if (collector->capture.delay)
        event_free(collector->capture.delay);
    if (collector->capture.duration)
        event_free(collector->capture.duration);
}

void recording_begin(struct collector *collector)
{
    struct capture *capture = &collector->capture;
    if (collector->options->delay_ns > 0) {
        struct timeval wait = to_timeval(collector->options->delay_ns);
        evtimer_add(capture->delay, &wait);
        return;
    }
    capture->armed = 1;
    if (collector->options->range == COLLECT_RANGE_NONE)
        switch_on(collector, NULL, collector_now(collector), "start");
}

/* ---- Arenas ---------------------------------------------------------------------------------------------------- */

/* Copies a text behind those before it; its offset, or 0 when there is none or no room. Offset 0 is never used. */
static uint32_t put_text(struct wire_header *arena, uint32_t *used, const char *text)
{
    size_t length = text ? strlen(text) + 1 : 0;
    if (!text || *used + length + 1 > WIRE_TEXT_BYTES)
        return 0;
    uint32_t offset = *used;
    memcpy(arena->text + offset, text, length);
    *used += (uint32_t)length;
    return offset;
}

static uint32_t put_list(struct wire_header *arena, uint32_t *used, const char *const *list)
{
    if (!list || !*list)
        return 0;
    uint32_t first = put_text(arena, used, *list);
    while (first && *++list)
        put_text(arena, used, *list);
    put_text(arena, used, "");
    return first;
}

void recording_prepare_arena(struct collector *collector, struct wire_header *arena)
{
    const struct collect_options *options = collector->options;
    const struct capture *capture = &collector->capture;
    uint32_t used = 1;
    arena->sources = collector->sources;
    arena->clock = collector->clock.clock;
    arena->flags = options->trace_fork_before_exec ? WIRE_FLAG_TRACE_FORK : 0;
    arena->osrt_threshold_ticks = clock_map_ticks_in(&collector->clock, (int64_t)options->osrt_threshold_ns);
    arena->osrt_backtrace_ticks = clock_map_ticks_in(&collector->clock, (int64_t)options->osrt_backtrace_ns);
    arena->osrt_backtrace_bytes = options->osrt_backtrace_bytes;
    arena->capture = options->range == COLLECT_RANGE_NVTX  ? WIRE_CAPTURE_NVTX
                     : options->range == COLLECT_RANGE_API ? WIRE_CAPTURE_API
                                                           : WIRE_CAPTURE_ALWAYS;
    arena->capture_ends = options->range_end != COLLECT_END_NONE;
    arena->domain_include = put_list(arena, &used, options->nvtx_domain_include);
    arena->domain_exclude = put_list(arena, &used, options->nvtx_domain_exclude);
    arena->capture_range = put_text(arena, &used, options->range_text);
    arena->capture_domain = put_text(arena, &used, options->range_domain);
    arena->report_path = put_text(arena, &used, collector->absolute_path);
    arena->cuda = (struct wire_cuda_settings){
        .flags = options->cuda_flags,
        .backtrace_groups = options->cuda_backtrace_groups,
        .backtrace_ns = options->cuda_backtrace_ns,
        .backtrace_bytes = CUDA_BACKTRACE_BYTES,
        .flush_interval_ms = options->cuda_flush_interval_ms,
        .ns_per_tick = clock_map_slope(&collector->clock),
    };
    arena->samples = cpu_wire_settings(collector);
    arena->libraries = options->libraries;
    arena->torch = options->torch_flags;
    arena->python = (options->python_backtrace ? WIRE_PYTHON_CALLS : 0u) |
                    (options->python_frequency ? WIRE_PYTHON_SAMPLES : 0u);
    atomic_store(&arena->ranges_left, capture->armed && !capture->done ? capture->ranges_left : 0);
    atomic_store(&arena->recording, capture->on ? collector->sources : 0);
}

/* ---- Ranges ---------------------------------------------------------------------------------------------------- */

static void range_begins(struct collector *collector, struct process *process, enum wire_capture cause, int64_t time_ns)
{
    struct capture *capture = &collector->capture;
    if (capture->done)
        set_process(process, 0); /* it had begun before it could know */
    if (capture->done || cause > WIRE_CAPTURE_CUDA)
        return;
    spend_range(collector, process);
    capture->open++;
    process->open_ranges++;
    switch_on(collector, process, time_ns, causes[cause]);
}

/* What the end of the last range that may be means. */
static void last_range_over(struct collector *collector, int64_t time_ns)
{
    enum collect_range_end end = collector->options->range_end;
    recording_end(collector, time_ns);
    if (end != COLLECT_END_STOP_SHUTDOWN && end != COLLECT_END_REPEAT_SHUTDOWN)
        return;
    collector->result->over = COLLECT_OVER_RANGE;
    shutdown_ask(collector);
}

static void range_ends(struct collector *collector, struct process *process, enum wire_capture cause, int64_t time_ns)
{
    struct capture *capture = &collector->capture;
    if (capture->done || cause > WIRE_CAPTURE_CUDA)
        return;
    capture->open -= process->open_ranges; /* one end is enough: it has switched itself off */
    process->open_ranges = 0;
    if (capture->open > 0) {               /* another process is still inside one */
        set_process(process, 1);
        return;
    }
    if (collector->options->range != COLLECT_RANGE_NONE && collector->options->range_end == COLLECT_END_NONE) {
        set_process(process, capture->on);
        return;
    }
    switch_off(collector, process, time_ns);
    if (collector->options->range != COLLECT_RANGE_NONE && capture->ranges_left == 0)
        last_range_over(collector, time_ns);
}

/* A switch was set after the capture began and before now, whatever it says. */
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

/* Of switches that found no place only the last is known: the others are lost, but not how it ended. */
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

static uint32_t unread_switches(const struct process *process)
{
    return atomic_load_explicit(&process->arena->switches_made, memory_order_acquire) - process->switches_read;
}

void recording_read_switches(struct collector *collector, struct process *process)
{
    struct wire_header *arena = process->arena;
    for (uint32_t i = 0; i < WIRE_SWITCHES; i++) { /* no more at a stretch: the program may set
                                                    * them as fast as they are read */
        const struct wire_switch *next = &arena->switches[process->switches_read % WIRE_SWITCHES];
        if (atomic_load_explicit(&next->number, memory_order_acquire) != process->switches_read + 1)
            break;
        struct wire_switch copy = { .cause = next->cause, .on = next->on, .ticks = next->ticks };
        atomic_store_explicit(&arena->switches_read, ++process->switches_read, memory_order_release);
        apply_switch(collector, process, copy.cause, copy.on, switch_time(collector, copy.ticks));
    }
    if (unread_switches(process) == 0) /* those that were missed came later than all that have a place */
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
    struct capture *capture = &collector->capture;
    switch_off(collector, NULL, time_ns);
    capture->done = 1;
    capture->ranges_left = 0;
    share_ranges_left(collector);
    if (capture->delay)
        evtimer_del(capture->delay);
    if (capture->duration)
        evtimer_del(capture->duration);
}
