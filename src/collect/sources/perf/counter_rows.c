/* Counters of the CPU and of the kernel as a source, read at a fixed interval: rows of PMU_EVENTS.
 *
 * There is one counting perf event for each counter and CPU, on the program's processes or on all. They are only read,
 * never sampled, so they cost the program next to nothing. */
#include "counter_rows.h"

#include <errno.h>
#include <event2/event.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "collect/core/collector.h"
#include "collect/process/process.h"
#include "perf_events.h"

#define INTERVAL_DEFAULT_MS 10u
enum {
    SOURCE_PERF = 0,
    UNIT_CORE = 1
}; /* of PMU_EVENT_REQUESTS (nsys numbers only the PMUs of Arm); of ENUM_PMU_UNIT_TYPE */

#define OS(number, name, about, in_kernel) {name, about, PERF_TYPE_SOFTWARE, number, in_kernel}
#define CORE(number, name, about) {name, about, PERF_TYPE_HARDWARE, number, 0}
const struct collect_counter collect_counters[COLLECT_COUNTERS + 1] = {
    OS(PERF_COUNT_SW_CPU_CLOCK, "cpu-clock", "time on a CPU in ns, by the clock of the CPU", 0),
    OS(PERF_COUNT_SW_TASK_CLOCK, "task-clock", "time on a CPU in ns, by the clock of the thread", 0),
    OS(PERF_COUNT_SW_PAGE_FAULTS, "page-faults", "page faults", 0),
    OS(PERF_COUNT_SW_CONTEXT_SWITCHES, "context-switches", "context switches of threads", 1),
    OS(PERF_COUNT_SW_CPU_MIGRATIONS, "cpu-migrations", "migrations of threads to another CPU", 1),
    OS(PERF_COUNT_SW_PAGE_FAULTS_MIN, "minor-faults", "page faults that needed no disk read", 0),
    OS(PERF_COUNT_SW_PAGE_FAULTS_MAJ, "major-faults", "page faults that needed a disk read", 0),
    OS(PERF_COUNT_SW_ALIGNMENT_FAULTS, "alignment-faults", "unaligned accesses that the kernel fixed up", 0),
    OS(PERF_COUNT_SW_EMULATION_FAULTS, "emulation-faults", "instructions that the kernel emulated", 0),
    CORE(PERF_COUNT_HW_CPU_CYCLES, "cycles", "core cycles"),
    CORE(PERF_COUNT_HW_INSTRUCTIONS, "instructions", "retired instructions"),
    CORE(PERF_COUNT_HW_CACHE_REFERENCES, "cache-references", "last-level cache accesses"),
    CORE(PERF_COUNT_HW_CACHE_MISSES, "cache-misses", "last-level cache misses"),
    CORE(PERF_COUNT_HW_BRANCH_INSTRUCTIONS, "branches", "branches"),
    CORE(PERF_COUNT_HW_BRANCH_MISSES, "branch-misses", "mispredicted branches"),
    CORE(PERF_COUNT_HW_BUS_CYCLES, "bus-cycles", "bus cycles"),
    CORE(PERF_COUNT_HW_STALLED_CYCLES_FRONTEND, "stalled-cycles-frontend",
         "cycles stalled in the front end (no instruction fetched)"),
    CORE(PERF_COUNT_HW_STALLED_CYCLES_BACKEND, "stalled-cycles-backend",
         "cycles stalled in the back end (no "
         "instruction retired)"),
    CORE(PERF_COUNT_HW_REF_CPU_CYCLES, "ref-cycles", "cycles at the nominal frequency"),
    { 0 },
};

/* A counter that counts nothing and so never has to share a hardware counter: its running time is the time that the
 * program was on that CPU. The kernel's "time enabled" is not, since it continues while the program is on another
 * CPU. */
static const struct collect_counter presence = { "", "", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_DUMMY, 0 };
enum { PRESENCE = COLLECT_COUNTERS };

struct counter_rows_counter {
    int descriptor;
    uint32_t cpu, event;     /* event: index in collect_counters; or PRESENCE, before the counters that need it */
    uint64_t value, running; /* at the last reading */
};

struct counter_rows_counters {
    struct counter_rows_counter *list; /* by CPU, then by event; NULL: nothing is counted */
    size_t count, event_count;
    struct event *timer;
    int64_t read_ns;                   /* time of the last reading */
    int64_t row_id;
};

static struct counter_rows_counters *counter_rows_counters_of(const struct collector *collector)
{
    return collector->state[COLLECT_SOURCE_COUNTERS];
}

/* ---- Opening --------------------------------------------------------------------------------------------------- */

static int open_counter(const struct collect_counter *event, int with_kernel, int system_wide, pid_t pid, int cpu)
{
    struct perf_event_attr attributes = {
        .type = event->type,
        .config = event->config,
        .disabled = !system_wide,
        .inherit = !system_wide,
        .enable_on_exec = !system_wide && pid,
        .exclude_kernel = !with_kernel,
        .exclude_hv = 1,
        .read_format = PERF_FORMAT_TOTAL_TIME_RUNNING,
    };
    return perf_open(&attributes, system_wide ? -1 : pid, cpu);
}

/* Without privileges only user space can be counted, where some events never occur. */
int collect_counter_probe(const struct collect_counter *event, int system_wide, int *with_kernel)
{
    *with_kernel = 1;
    int descriptor = open_counter(event, 1, system_wide, 0, system_wide ? 0 : -1);
    if ((descriptor == -EACCES || descriptor == -EPERM) && !event->in_kernel) {
        *with_kernel = 0;
        descriptor = open_counter(event, 0, system_wide, 0, system_wide ? 0 : -1);
    }
    if (descriptor >= 0)
        close(descriptor);
    return descriptor < 0 ? descriptor : 0;
}

const char *collect_counter_refusal(const struct collect_counter *event, int error)
{
    if ((error == -EACCES || error == -EPERM) && event->in_kernel)
        return "it counts in the kernel, and perf_event_paranoid is above 1";
    if (error == -EACCES || error == -EPERM)
        return "the kernel denies perf_event_open (perf_event_paranoid, or the container's seccomp profile)";
    if (error == -ENOENT || error == -EOPNOTSUPP || error == -ENODEV)
        return "this CPU or virtual machine does not count it";
    return strerror(-error);
}

static int counter_rows_add_counter(struct collector *collector, int descriptor, uint32_t cpu, uint32_t event)
{
    struct counter_rows_counters *counters = counter_rows_counters_of(collector);
    if (!collector_descriptor_is_spare(collector, descriptor)) {
        close(descriptor);
        return -EMFILE;
    }
    counters->list[counters->count++] = (struct counter_rows_counter){ .descriptor = descriptor,
                                                                       .cpu = cpu,
                                                                       .event = event };
    return 0;
}

struct counter_rows_plan {
    uint32_t events[COLLECT_COUNTERS + 1]; /* in order; PRESENCE before the first hardware counter */
    int with_kernel[COLLECT_COUNTERS + 1];
    size_t event_count;
    int system_wide, shares;               /* shares: there are hardware counters */
};

static void add_to_plan(struct counter_rows_plan *plan, uint32_t event, int with_kernel)
{
    plan->events[plan->event_count] = event;
    plan->with_kernel[plan->event_count++] = with_kernel;
}

static int counter_rows_open_all(struct collector *collector, const struct counter_rows_plan *plan, pid_t pid)
{
    uint32_t cpus[PERF_CPUS_MAX];
    size_t cpu_count = perf_online_cpus(cpus, PERF_CPUS_MAX);
    struct counter_rows_counters *counters = counter_rows_counters_of(collector);
    counters->list = calloc(cpu_count * plan->event_count, sizeof *counters->list);
    if (!counters->list)
        return -ENOMEM;
    counters->event_count = plan->event_count;
    for (size_t i = 0; i < cpu_count; i++)
        for (size_t j = 0; j < plan->event_count; j++) {
            const struct collect_counter *event = plan->events[j] == PRESENCE ? &presence
                                                                              : &collect_counters[plan->events[j]];
            int descriptor = open_counter(event, plan->with_kernel[j], plan->system_wide, pid, (int)cpus[i]);
            int result = descriptor < 0 ? descriptor
                                        : counter_rows_add_counter(collector, descriptor, cpus[i], plan->events[j]);
            if (result != 0 && result != -ENODEV) /* the CPU has gone offline */
                return result;
        }
    return counters->count ? 0 : -ENODEV;
}

/* ---- Reading --------------------------------------------------------------------------------------------------- */

/* The count since the last reading. For a hardware counter that was multiplexed it is extrapolated. *present_ns: how
 * long the program was on this CPU. */
static uint64_t counted_since(struct counter_rows_counter *counter, uint64_t *present_ns)
{
    uint64_t now[2]; /* value, time running */
    if (read(counter->descriptor, now, sizeof now) != sizeof now)
        return 0;
    uint64_t count = now[0] - counter->value, running = now[1] - counter->running;
    counter->value = now[0];
    counter->running = now[1];
    if (counter->event == PRESENCE)
        *present_ns = running;
    else if (collect_counters[counter->event].type == PERF_TYPE_HARDWARE && running && running < *present_ns)
        return (uint64_t)((double)count * (double)*present_ns / (double)running);
    return count;
}

static void counter_rows_write_value(struct collector *collector, const struct counter_rows_counter *counter,
                                     uint64_t value)
{
    struct row_PMU_EVENT_COUNTERS row = { 0 };
    ROW_SET(&row, PMU_EVENT_COUNTERS, id, counter_rows_counters_of(collector)->row_id);
    ROW_SET(&row, PMU_EVENT_COUNTERS, idx, counter->event);
    ROW_SET(&row, PMU_EVENT_COUNTERS, value, (int64_t)value);
    writer_append(collector->writer, TABLE_PMU_EVENT_COUNTERS, &row);
    collector->result->cpu.counters++;
}

static void write_cpu(struct collector *collector, uint32_t cpu, int64_t end_ns)
{
    struct row_PMU_EVENTS row = { 0 };
    ROW_SET(&row, PMU_EVENTS, start, counter_rows_counters_of(collector)->read_ns);
    ROW_SET(&row, PMU_EVENTS, end, end_ns);
    ROW_SET(&row, PMU_EVENTS, globalVm, COLLECTOR_VM_ID);
    ROW_SET(&row, PMU_EVENTS, cpu, cpu);
    ROW_SET(&row, PMU_EVENTS, counter_id, ++counter_rows_counters_of(collector)->row_id);
    writer_append(collector->writer, TABLE_PMU_EVENTS, &row);
}

/* A CPU on which nothing was counted gets no row. */
static void counter_rows_read_all(struct collector *collector, int is_recorded)
{
    struct counter_rows_counters *counters = counter_rows_counters_of(collector);
    int64_t now_ns = collector_now(collector);
    uint32_t written = UINT32_MAX; /* the CPU whose row is written */
    uint64_t present_ns = 0;
    for (size_t i = 0; i < counters->count; i++) {
        struct counter_rows_counter *counter = &counters->list[i];
        uint64_t value = counted_since(counter, &present_ns);
        if (!value || counter->event == PRESENCE || !is_recorded || now_ns <= counters->read_ns)
            continue;
        if (written != counter->cpu)
            write_cpu(collector, written = counter->cpu, now_ns);
        counter_rows_write_value(collector, counter, value);
    }
    counters->read_ns = now_ns;
}

static void read_now(evutil_socket_t unused, short what, void *argument)
{
    struct collector *collector = argument;
    counter_rows_read_all(collector, collector->is_recording);
}

/* The count so far belongs to the time before the switch. */
static void counter_rows_switching(struct collector *collector, int on)
{
    if (counter_rows_counters_of(collector)->list)
        counter_rows_read_all(collector, collector->is_recording);
}

/* ---- Start and end --------------------------------------------------------------------------------------------- */

static void free_counters(struct collector *collector)
{
    struct counter_rows_counters *counters = counter_rows_counters_of(collector);
    for (size_t i = 0; i < counters->count; i++)
        close(counters->list[i].descriptor);
    free(counters->list);
    if (counters->timer)
        event_free(counters->timer);
    counters->list = NULL;
    counters->timer = NULL;
    counters->count = 0;
}

/* Adds the counters that are available, and warns about the others. */
static void counter_rows_make_plan(struct collector *collector, struct counter_rows_plan *plan)
{
    const struct collect_counter_options *options = &collector->options->counters;
    for (uint32_t i = 0; i < COLLECT_COUNTERS; i++) {
        int with_kernel, result;
        if (!(options->events >> i & 1))
            continue;
        result = collect_counter_probe(&collect_counters[i], plan->system_wide, &with_kernel);
        if (result == 0) {
            if (i >= COLLECT_COUNTERS_OS && !plan->shares)
                add_to_plan(plan, PRESENCE, with_kernel);
            plan->shares = i >= COLLECT_COUNTERS_OS;
            add_to_plan(plan, i, with_kernel);
        } else if (!(options->by_default >> i & 1)) {
            collector_warn(collector, 0, "%s is not counted: %s.", collect_counters[i].name,
                           collect_counter_refusal(&collect_counters[i], result));
        }
    }
}

static void counter_rows_describe(struct collector *collector, const struct counter_rows_plan *plan)
{
    for (size_t i = 0; i < plan->event_count; i++) {
        if (plan->events[i] == PRESENCE)
            continue;
        const struct collect_counter *event = &collect_counters[plan->events[i]];
        struct row_PMU_EVENT_REQUESTS row = { 0 };
        ROW_SET(&row, PMU_EVENT_REQUESTS, id, plan->events[i]);
        ROW_SET(&row, PMU_EVENT_REQUESTS, eventid, event->config);
        ROW_SET(&row, PMU_EVENT_REQUESTS, source, SOURCE_PERF);
        ROW_SET(&row, PMU_EVENT_REQUESTS, unit_type, UNIT_CORE);
        ROW_SET(&row, PMU_EVENT_REQUESTS, event_name, collector_string(collector, event->name));
        writer_append(collector->writer, TABLE_PMU_EVENT_REQUESTS, &row);
    }
}

static int start_timer(struct collector *collector)
{
    uint32_t ms = collector->options->counters.interval_ms ? collector->options->counters.interval_ms
                                                           : INTERVAL_DEFAULT_MS;
    struct timeval interval = { .tv_sec = ms / 1000, .tv_usec = (suseconds_t)(ms % 1000) * 1000 };
    counter_rows_counters_of(collector)->timer = event_new(collector->base, -1, EV_PERSIST, read_now, collector);
    return counter_rows_counters_of(collector)->timer &&
                   event_add(counter_rows_counters_of(collector)->timer, &interval) == 0
               ? 0
               : -ENOMEM;
}

/* May all requested counters be opened system-wide? The first one shows it. */
static int may_be_system_wide(const struct collect_counter_options *options)
{
    int with_kernel;
    return collect_counter_probe(&collect_counters[__builtin_ctz(options->events)], 1, &with_kernel) == 0;
}

static void begin_counting(struct collector *collector, pid_t pid)
{
    const struct collect_counter_options *options = &collector->options->counters;
    struct counter_rows_plan plan = { .system_wide = options->scope == COLLECT_SCOPE_SYSTEM };
    if (options->scope == COLLECT_SCOPE_NONE || !options->events)
        return;
    if (plan.system_wide && !may_be_system_wide(options)) {
        collector_warn(collector, 0,
                       "--event-sample=system-wide is not permitted (perf_event_paranoid, CAP_PERFMON): only the "
                       "processes of the program are counted.");
        plan.system_wide = 0;
    }
    if (!pid && !plan.system_wide) {
        collector_warn(collector, 0, "No events are counted: counters cannot follow a process that already runs.");
        return;
    }
    counter_rows_make_plan(collector, &plan);
    int result = plan.event_count ? counter_rows_open_all(collector, &plan, pid) : 0;
    if (result == 0 && plan.event_count)
        result = start_timer(collector);
    if (result != 0) {
        collector_warn(collector, 0, "No events are counted: %s.",
                       result == -EMFILE ? "too many open files; raise ulimit -n" : strerror(-result));
        free_counters(collector);
        return;
    }
    counter_rows_describe(collector, &plan);
    counter_rows_counters_of(collector)->read_ns = collector_now(collector);
}

static void finish_counting(struct collector *collector)
{
    if (counter_rows_counters_of(collector)->list && collector->primary)
        process_count_row(collector->primary, "counters", "recorded", "", (int64_t)collector->result->cpu.counters);
}

static const struct collect_table counter_rows_tables[] = {
    { TABLE_PMU_EVENT_COUNTERS, "counters", COLLECT_RECORDED(cpu.counters) },
    { 0 },
};

const struct collect_source collect_source_counters = {
    .state_bytes = sizeof(struct counter_rows_counters),
    .tables = counter_rows_tables,
    .begin = begin_counting,
    .switching = counter_rows_switching,
    .finish = finish_counting,
    .free = free_counters,
};
