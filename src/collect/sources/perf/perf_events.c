/* Opens perf events: see perf_events.h. */
#include "perf_events.h"

#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "collect/core/procfs.h"
#include "symbols/symbols.h"

#define STACK_MAX 65528u        /* the size of a record has 16 bits */
#define STACKS_IN_RING 32u      /* samples that must fit, else the collector may read too late */
#define RING_LARGE (4u << 20)   /* if memory may be locked */
#define RING_USUAL (512u << 10) /* the kernel's default limit for everyone, less one page (perf_event_mlock_kb) */
#define RING_LEAST (64u << 10)
#define RINGS_MAX (256u << 20)  /* all rings together */

int perf_open(struct perf_event_attr *attributes, pid_t pid, int cpu)
{
    attributes->size = sizeof *attributes;
    int descriptor = (int)syscall(SYS_perf_event_open, attributes, pid, cpu, -1, PERF_FLAG_FD_CLOEXEC);
    return descriptor >= 0 ? descriptor : -errno;
}

/* ---- Attributes ------------------------------------------------------------------------------------------------ */

static void set_common(struct perf_event_attr *attributes, const struct perf_choice *choice)
{
    attributes->disabled = 1;
    attributes->inherit = !choice->system_wide;
    attributes->exclude_kernel = !choice->kernel;
    attributes->exclude_hv = 1;
    attributes->use_clockid = 1;
    attributes->clockid = CLOCK_MONOTONIC;
    attributes->sample_id_all = 1;
    attributes->sample_type = PERF_IDENTITY;
    attributes->watermark = 1;
}

static void set_tracking(struct perf_event_attr *attributes, const struct perf_choice *choice)
{
    attributes->mmap = attributes->mmap2 = 1;
    attributes->comm = attributes->comm_exec = 1;
    attributes->task = 1;
    attributes->enable_on_exec = !choice->system_wide;
}

static const struct {
    uint32_t one_of, stack_bytes; /* of the full rate one in so many; at most */
} fewer_samples[PERF_KINDS] = {
    [PERF_KIND_FEWER] = { PERF_ONE_OF_FEWER, 16384 }, [PERF_KIND_FEWEST] = { PERF_ONE_OF_FEWEST, 4096 }
};

static uint32_t perf_events_stack_bytes(const struct perf_choice *choice, enum perf_kind kind)
{
    uint32_t most = fewer_samples[kind].stack_bytes;
    return most && most < choice->stack_bytes ? most : choice->stack_bytes;
}

static void set_backtrace(struct perf_event_attr *attributes, const struct perf_choice *choice, enum perf_kind kind)
{
    switch (choice->backtrace) {
    case COLLECT_BACKTRACE_NONE: break;
    case COLLECT_BACKTRACE_FP: attributes->sample_type |= PERF_SAMPLE_CALLCHAIN; break;
    case COLLECT_BACKTRACE_LBR:
        attributes->sample_type |= PERF_SAMPLE_CALLCHAIN | PERF_SAMPLE_BRANCH_STACK;
        attributes->branch_sample_type = PERF_SAMPLE_BRANCH_USER | PERF_SAMPLE_BRANCH_CALL_STACK;
        attributes->exclude_callchain_user = 1;
        break;
    case COLLECT_BACKTRACE_DWARF:
        attributes->sample_type |= PERF_SAMPLE_REGS_USER | PERF_SAMPLE_STACK_USER;
        attributes->sample_regs_user = choice->registers;
        attributes->sample_stack_user = perf_events_stack_bytes(choice, kind);
        if (choice->kernel) {
            attributes->sample_type |= PERF_SAMPLE_CALLCHAIN;
            attributes->exclude_callchain_user = 1;
        }
        break;
    }
}

/* With n samples per backtrace, n - 1 of n samples come from the event without one. Together they have the requested
 * rate. */
static void set_rate(struct perf_event_attr *attributes, const struct perf_choice *choice, enum perf_kind kind)
{
    uint64_t n = choice->samples_per_backtrace, part = kind == PERF_KIND_STACKS ? 1 : n - 1;
    if (fewer_samples[kind].one_of) {
        n = fewer_samples[kind].one_of;
        part = 1;
    }
    if (choice->period) {
        attributes->sample_period = choice->period * n / part;
        return;
    }
    attributes->freq = 1;
    attributes->sample_freq = choice->frequency * part / n;
    if (attributes->sample_freq == 0)
        attributes->sample_freq = 1;
}

/* Mappings and names are known even while no samples are taken. */
static int has_own_tracking(const struct perf_choice *choice)
{
    return !choice->event || choice->starts_later || choice->has_levels;
}

static struct perf_event_attr perf_events_attributes_of(const struct perf_choice *choice, enum perf_kind kind)
{
    struct perf_event_attr attributes = { .type = PERF_TYPE_SOFTWARE, .config = PERF_COUNT_SW_DUMMY };
    int own_tracking = has_own_tracking(choice);
    set_common(&attributes, choice);
    if (kind == PERF_KIND_TRACK) {
        set_tracking(&attributes, choice);
        attributes.context_switch = choice->switches && (!choice->event || choice->has_levels);
        return attributes;
    }
    attributes.type = choice->type;
    attributes.config = choice->config;
    attributes.sample_type |= PERF_SAMPLE_IP | PERF_SAMPLE_PERIOD;
    set_rate(&attributes, choice, kind);
    if (kind == PERF_KIND_ADDRESSES) {
        attributes.enable_on_exec = !choice->system_wide && !choice->starts_later;
        return attributes;
    }
    set_backtrace(&attributes, choice, kind);
    if (kind != PERF_KIND_STACKS) /* off until the level is lowered */
        return attributes;
    attributes.context_switch = choice->switches && !choice->has_levels;
    attributes.enable_on_exec = choice->has_levels && !choice->system_wide && !choice->starts_later;
    if (!own_tracking)
        set_tracking(&attributes, choice);
    return attributes;
}

static int wants(const struct perf_choice *choice, enum perf_kind kind)
{
    switch (kind) {
    case PERF_KIND_TRACK: return has_own_tracking(choice);
    case PERF_KIND_STACKS: return choice->event != NULL;
    case PERF_KIND_FEWER:
    case PERF_KIND_FEWEST: return choice->event && choice->has_levels;
    default: return choice->event && choice->samples_per_backtrace > 1;
    }
}

/* ---- Finding out what is available ----------------------------------------------------------------------------- */

static int try_choice(const struct perf_choice *choice)
{
    struct perf_event_attr attributes = perf_events_attributes_of(choice,
                                                                  choice->event ? PERF_KIND_STACKS : PERF_KIND_TRACK);
    attributes.enable_on_exec = 0;
    int descriptor = perf_open(&attributes, choice->system_wide ? -1 : 0, choice->system_wide ? 0 : -1);
    if (descriptor >= 0)
        close(descriptor);
    return descriptor < 0 ? descriptor : 0;
}

/* Tries with the kernel's part, if it is allowed. A refusal is EACCES or EPERM. */
static int try_with_kernel(struct perf_choice *choice)
{
    choice->kernel = 1;
    int result = try_choice(choice);
    if (result != -EACCES && result != -EPERM)
        return result;
    choice->kernel = 0;
    return try_choice(choice);
}

static const struct {
    const char *name;
    uint32_t type;
    uint64_t config;
} sample_events[] = {
    { "cycles", PERF_TYPE_HARDWARE, PERF_COUNT_HW_CPU_CYCLES },
    { "cpu-clock", PERF_TYPE_SOFTWARE, PERF_COUNT_SW_CPU_CLOCK },
};
#define SAMPLE_EVENTS COUNT_OF(sample_events)

/* Chooses the first event that works. */
static int choose_event(struct perf_choice *choice)
{
    int result = -ENOENT;
    for (size_t i = 0; i < SAMPLE_EVENTS; i++) {
        choice->event = sample_events[i].name;
        choice->type = sample_events[i].type;
        choice->config = sample_events[i].config;
        result = try_with_kernel(choice);
        if (result == 0)
            return 0;
    }
    choice->event = NULL;
    return result;
}

static uint32_t rate_allowed(void)
{
    struct text text = { 0 };
    unsigned long rate = 0;
    if (procfs_read("/proc/sys/kernel/perf_event_max_sample_rate", &text) == 0)
        rate = strtoul(text_string(&text), NULL, 10);
    text_free(&text);
    return rate && rate < UINT32_MAX ? (uint32_t)rate : UINT32_MAX;
}

static void set_wishes(struct perf_choice *choice, const struct collect_samples_options *options, int starts_later)
{
    *choice = (struct perf_choice){
        .system_wide = options->samples == COLLECT_SCOPE_SYSTEM || options->switches == COLLECT_SCOPE_SYSTEM,
        .switches = options->switches != COLLECT_SCOPE_NONE,
        .backtrace = options->backtrace,
        .period = options->period,
        .frequency = options->frequency ? options->frequency : COLLECT_FREQUENCY_USUAL,
        .samples_per_backtrace = options->samples_per_backtrace ? options->samples_per_backtrace : 1,
        .stack_bytes = options->stack_bytes ? options->stack_bytes & ~7u : STACK_MAX,
        .stack_is_asked = options->stack_bytes != 0,
        .starts_later = starts_later,
        .registers = symbols_perf_mask(),
    };
    if (choice->stack_bytes > STACK_MAX)
        choice->stack_bytes = STACK_MAX;
}

/* Gives up requests one after another until the rest works. */
static int choose_with_less(struct perf_choice *choice, const struct collect_samples_options *options,
                            void (*note)(void *context, int is_asked, const char *sentence), void *context)
{
    int wants_samples = options->samples != COLLECT_SCOPE_NONE;
    int result = wants_samples ? choose_event(choice) : try_with_kernel(choice);
    if (result != 0 && choice->backtrace == COLLECT_BACKTRACE_LBR) {
        note(context, 1,
             "--backtrace=lbr has no effect: this CPU or virtual machine has no last branch records; stacks are "
             "unwound with DWARF");
        choice->backtrace = COLLECT_BACKTRACE_DWARF;
        result = choose_event(choice);
    }
    if (result != 0 && choice->system_wide) {
        note(context, 1,
             "system-wide sampling is not permitted (perf_event_paranoid, CAP_PERFMON): only the processes of the "
             "program are sampled");
        choice->system_wide = 0;
        result = wants_samples ? choose_event(choice) : try_with_kernel(choice);
    }
    if (result != 0 && choice->switches) {
        choice->switches = 0;
        result = wants_samples ? choose_event(choice) : -EINVAL;
    }
    return result;
}

int perf_events_choose(const struct collect_samples_options *options, int starts_later, struct perf_choice *choice,
                       void (*note)(void *context, int is_asked, const char *sentence), void *context)
{
    uint32_t rate = rate_allowed();
    set_wishes(choice, options,
               starts_later || options->samples == COLLECT_SCOPE_SYSTEM || options->switches == COLLECT_SCOPE_SYSTEM);
    if (!choice->period && choice->frequency > rate) {
        char sentence[160];
        snprintf(sentence, sizeof sentence,
                 "the kernel allows %u samples per second, not %u "
                 "(perf_event_max_sample_rate)",
                 rate, choice->frequency);
        note(context, options->frequency != 0, sentence);
        choice->frequency = rate;
    }
    return choose_with_less(choice, options, note, context);
}

static void ignore_note(void *context, int is_asked, const char *sentence)
{
}

struct collect_cpu_probe collect_cpu_probe(void)
{
    struct collect_samples_options options = { .samples = COLLECT_SCOPE_TREE, .backtrace = COLLECT_BACKTRACE_DWARF };
    struct collect_cpu_probe probe = { 0 };
    struct perf_choice choice, wider;
    probe.error = -perf_events_choose(&options, 0, &choice, ignore_note, NULL);
    if (probe.error)
        return probe;
    probe.event = choice.event;
    probe.kernel = choice.kernel;
    wider = choice;
    wider.switches = 1;
    probe.switches = try_choice(&wider) == 0;
    wider = choice;
    wider.system_wide = 1;
    probe.system_wide = try_choice(&wider) == 0;
    wider = choice;
    wider.backtrace = COLLECT_BACKTRACE_LBR;
    probe.branches = try_choice(&wider) == 0;
    return probe;
}

/* ---- On every CPU ---------------------------------------------------------------------------------------------- */

/* Parses "0-3,8" into numbers, as many as there is room for. */
static size_t parse_cpus(const char *list, uint32_t *numbers, size_t room)
{
    size_t count = 0;
    while (*list >= '0' && *list <= '9') {
        char *end;
        unsigned long first = strtoul(list, &end, 10), last = *end == '-' ? strtoul(end + 1, &end, 10) : first;
        for (; first <= last && first < PERF_CPUS_MAX && count < room; first++)
            numbers[count++] = (uint32_t)first;
        list = *end == ',' ? end + 1 : end;
    }
    return count;
}

size_t perf_online_cpus(uint32_t *numbers, size_t room)
{
    struct text text = { 0 };
    size_t count = 0;
    if (procfs_read("/sys/devices/system/cpu/online", &text) == 0)
        count = parse_cpus(text_string(&text), numbers, room);
    text_free(&text);
    long known = sysconf(_SC_NPROCESSORS_ONLN);
    for (; count == 0 && known > 0; known--)
        numbers[known - 1] = (uint32_t)known - 1;
    return count ? count : (size_t)sysconf(_SC_NPROCESSORS_ONLN);
}

static size_t most_ring_bytes(const struct perf_choice *choice, size_t cpu_count)
{
    size_t bytes = choice->backtrace == COLLECT_BACKTRACE_DWARF && choice->event ? RING_LARGE : RING_USUAL;
    while (bytes > RING_USUAL && bytes * cpu_count > RINGS_MAX)
        bytes /= 2;
    return bytes;
}

/* Fits the stack copies to the size of the rings, unless a size was requested. */
static void fit_stack(struct perf_choice *choice, size_t bytes)
{
    if (!choice->stack_is_asked)
        choice->stack_bytes = bytes / STACKS_IN_RING < STACK_MAX ? (uint32_t)(bytes / STACKS_IN_RING) : STACK_MAX;
}

/* Opens one event of a CPU. The first one has the ring, and the others write into it, too. */
static int open_on_cpu(struct perf_cpu *cpu, const struct perf_choice *choice, enum perf_kind kind, pid_t pid,
                       size_t bytes)
{
    struct perf_event_attr attributes = perf_events_attributes_of(choice, kind);
    attributes.wakeup_watermark = (uint32_t)bytes / 4;
    int descriptor = perf_open(&attributes, choice->system_wide ? -1 : pid, (int)cpu->number);
    if (descriptor < 0)
        return descriptor;
    cpu->descriptors[kind] = descriptor;
    struct perf_layout *layout = &cpu->layouts[cpu->layout_count];
    *layout = (struct perf_layout){
        .sample_type = attributes.sample_type,
        .registers = attributes.sample_regs_user,
        .kind = kind,
    };
    if (ioctl(descriptor, PERF_EVENT_IOC_ID, &layout->id) != 0)
        return -errno;
    cpu->layout_count++;
    if (!cpu->ring.page)
        return perf_ring_map(&cpu->ring, descriptor, bytes);
    int first = cpu->descriptors[PERF_KIND_TRACK] >= 0 ? cpu->descriptors[PERF_KIND_TRACK]
                                                       : cpu->descriptors[PERF_KIND_STACKS];
    return ioctl(descriptor, PERF_EVENT_IOC_SET_OUTPUT, first) == 0 ? 0 : -errno;
}

static int open_cpu(struct perf_cpu *cpu, const struct perf_choice *choice, pid_t pid, size_t bytes)
{
    for (int kind = 0; kind < PERF_KINDS; kind++) {
        int result = wants(choice, kind) ? open_on_cpu(cpu, choice, kind, pid, bytes) : 0;
        if (result != 0)
            return result;
    }
    return 0;
}

static void close_cpu(struct perf_cpu *cpu)
{
    perf_ring_unmap(&cpu->ring);
    for (int kind = 0; kind < PERF_KINDS; kind++)
        if (cpu->descriptors[kind] >= 0)
            close(cpu->descriptors[kind]);
}

int perf_events_open_own(const struct perf_choice *choice)
{
    enum { CLOCK_PERIOD_NS = 100000, CYCLES = 250000 };
    struct perf_event_attr attributes = perf_events_attributes_of(choice, PERF_KIND_STACKS);
    attributes.inherit = attributes.enable_on_exec = attributes.context_switch = 0;
    attributes.mmap = attributes.mmap2 = attributes.comm = attributes.comm_exec = attributes.task = 0;
    attributes.freq = 0;
    attributes.sample_period = choice->type == PERF_TYPE_SOFTWARE ? CLOCK_PERIOD_NS : CYCLES;
    return perf_open(&attributes, 0, -1);
}

void perf_events_switch_own(int descriptor, int on)
{
    ioctl(descriptor, on ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

static int perf_events_open_all(struct perf_events *events, const uint32_t *numbers, size_t count, pid_t pid,
                                size_t bytes)
{
    fit_stack(&events->choice, bytes);
    for (size_t i = 0; i < count; i++) {
        struct perf_cpu *cpu = &events->cpus[events->cpu_count];
        *cpu = (struct perf_cpu){ .number = numbers[i] };
        memset(cpu->descriptors, -1, sizeof cpu->descriptors);
        int result = open_cpu(cpu, &events->choice, pid, bytes);
        if (result != 0)
            close_cpu(cpu);
        if (result != 0 && result != -ENODEV) /* the CPU has gone offline */
            return result;
        events->cpu_count += result == 0;
    }
    return events->cpu_count ? 0 : -ENODEV;
}

static void perf_events_close_all(struct perf_events *events)
{
    while (events->cpu_count)
        close_cpu(&events->cpus[--events->cpu_count]);
}

/* The rings share the limit of locked memory equally: if one does not fit, all are made smaller. */
int perf_events_open(struct perf_events *events, const struct perf_choice *choice, pid_t pid)
{
    uint32_t numbers[PERF_CPUS_MAX];
    size_t count = perf_online_cpus(numbers, PERF_CPUS_MAX), bytes = most_ring_bytes(choice, count);
    *events = (struct perf_events){ .choice = *choice, .cpus = calloc(count, sizeof *events->cpus) };
    int result = events->cpus ? perf_events_open_all(events, numbers, count, pid, bytes) : -ENOMEM;
    for (; result == -EPERM && bytes > RING_LEAST; result = perf_events_open_all(events, numbers, count, pid, bytes)) {
        perf_events_close_all(events);
        bytes /= 2;
    }
    if (result != 0) {
        perf_events_close(events);
        return result;
    }
    for (size_t i = 0; choice->system_wide && i < events->cpu_count; i++)
        if (events->cpus[i].descriptors[PERF_KIND_TRACK] >= 0)
            ioctl(events->cpus[i].descriptors[PERF_KIND_TRACK], PERF_EVENT_IOC_ENABLE, 0);
    return 0;
}

void perf_events_switch(struct perf_events *events, int on)
{
    static const uint8_t levels[PERF_KINDS] = { [PERF_KIND_STACKS] = PERF_LEVEL_FULL,
                                                [PERF_KIND_ADDRESSES] = PERF_LEVEL_FULL,
                                                [PERF_KIND_FEWER] = PERF_LEVEL_FEWER,
                                                [PERF_KIND_FEWEST] = PERF_LEVEL_FEWEST };
    for (size_t i = 0; i < events->cpu_count; i++)
        for (int kind = PERF_KIND_STACKS; kind < PERF_KINDS; kind++)
            if (events->cpus[i].descriptors[kind] >= 0)
                ioctl(events->cpus[i].descriptors[kind],
                      on && levels[kind] == events->level ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_DISABLE, 0);
}

void perf_events_set_level(struct perf_events *events, enum perf_level level, int on)
{
    events->level = level;
    perf_events_switch(events, on);
}

void perf_events_close(struct perf_events *events)
{
    perf_events_close_all(events);
    free(events->cpus);
    *events = (struct perf_events){ 0 };
}
