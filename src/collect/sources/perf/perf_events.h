/* Opens perf events: chooses events, attributes and CPUs; and switches them on and off.
 *
 * There is one event for each CPU with inherit, on the program's first process before it calls exec, so that
 * everything it starts is followed (an inherited event on all CPUs at once cannot be mapped). System-wide there is one
 * for each CPU on all processes. The events of a CPU share its ring. */
#ifndef TACHO_COLLECT_SOURCES_PERF_PERF_EVENTS_H
#define TACHO_COLLECT_SOURCES_PERF_PERF_EVENTS_H

#include <sys/types.h>

#include "collect/options/samples_options.h"
#include "perf_record.h"
#include "perf_ring.h"

enum perf_kind {
    /* No samples: mappings, names, start and end of threads; and switches, if nothing else is open. */
    PERF_KIND_TRACK,
    PERF_KIND_STACKS,    /* samples with a stack */
    PERF_KIND_ADDRESSES, /* samples with only an address, if only some have a stack */
    /* Fewer samples, with smaller stacks: --cost-limit switches to them. The rate of an event that child processes have
     * inherited cannot be changed, but all of these can be switched off and on. */
    PERF_KIND_FEWER,
    PERF_KIND_FEWEST,
    PERF_KINDS
};

/* The levels of --cost-limit: all samples, one of so many, or none. */
enum perf_level { PERF_LEVEL_FULL, PERF_LEVEL_FEWER, PERF_LEVEL_FEWEST, PERF_LEVEL_NONE };
enum { PERF_ONE_OF_FEWER = 4, PERF_ONE_OF_FEWEST = 10 };

struct perf_cpu {
    uint32_t number;
    int descriptors[PERF_KINDS]; /* -1: not open */
    struct perf_layout layouts[PERF_KINDS];
    size_t layout_count;
    struct perf_ring ring;
};

/* The settings in use, which may differ from the requested ones. */
struct perf_choice {
    const char *event; /* "cycles", "cpu-clock"; NULL: no samples */
    uint32_t type;     /* PERF_TYPE_... and its config */
    uint64_t config;
    int kernel;        /* include the kernel */
    int system_wide;
    int switches;
    enum collect_backtrace backtrace;
    uint64_t period;
    uint32_t frequency, samples_per_backtrace;
    /* Bytes to copy; fitted to the rings when they are opened, unless requested. */
    uint32_t stack_bytes;
    int stack_is_asked;
    int starts_later; /* perf_events_switch() starts it, not exec */
    int has_levels;   /* the last two kinds are open, too */
    uint64_t registers;
};

struct perf_events {
    struct perf_choice choice;
    struct perf_cpu *cpus;
    size_t cpu_count;
    enum perf_level level; /* the kinds that are on while samples are taken */
};

/* Finds out which of the requested settings are available: 0, or -errno if nothing is. note() gets a sentence for each
 * request that the machine does not support. */
int perf_events_choose(const struct collect_samples_options *options, int starts_later, struct perf_choice *choice,
                       void (*note)(void *context, int is_asked, const char *sentence), void *context);

/* What this machine allows, found by trying; nothing stays open. */
struct collect_cpu_probe {
    int error;                           /* errno of the last refusal if nothing works; 0: something does */
    const char *event;                   /* "cycles" or "cpu-clock" */
    int kernel;                          /* 1: samples include the kernel */
    int system_wide, switches, branches; /* 1: available */
};
struct collect_cpu_probe collect_cpu_probe(void);

/* perf_event_open(): a descriptor, or -errno. */
struct perf_event_attr;
int perf_open(struct perf_event_attr *attributes, pid_t pid, int cpu);

/* The numbers of the CPUs that are online, as many as there is room for. Returns how many. */
#define PERF_CPUS_MAX 4096u
size_t perf_online_cpus(uint32_t *numbers, size_t room);

/* The event of samples with stacks on the calling thread alone, ten times as often as usual: a descriptor, or -errno.
 * It is off until perf_events_switch_own(). */
int perf_events_open_own(const struct perf_choice *choice);
void perf_events_switch_own(int descriptor, int on);

/* Opens and maps the events: 0, or -errno. pid is ignored if the choice is system-wide. */
int perf_events_open(struct perf_events *events, const struct perf_choice *choice, pid_t pid);
void perf_events_switch(struct perf_events *events, int on); /* tracking continues */
void perf_events_set_level(struct perf_events *events, enum perf_level level, int on);
void perf_events_close(struct perf_events *events);

#endif
