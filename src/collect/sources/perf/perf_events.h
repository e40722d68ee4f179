/* Opening perf events: which ones, with which attributes, on which CPUs; and switching them on and off.
 *
 * One event for each CPU with inherit, on the program's first process before it calls exec, so that all that
 * it starts is followed (inherit on all CPUs at once cannot be mapped); or one for each CPU on everything.
 * Events of a CPU share its ring. */
#ifndef TACHO_COLLECT_SOURCES_PERF_PERF_EVENTS_H
#define TACHO_COLLECT_SOURCES_PERF_PERF_EVENTS_H

#include <sys/types.h>

#include "collect/options/cpu_options.h"
#include "perf_record.h"
#include "perf_ring.h"

enum perf_kind {
    PERF_KIND_TRACK,     /* no samples: mappings, names, begin and end of threads; and switches,
                          * where nothing else is open */
    PERF_KIND_STACKS,    /* samples with a stack */
    PERF_KIND_ADDRESSES, /* samples with an address alone, where only some have a stack */
    PERF_KINDS
};

struct perf_cpu {
    uint32_t number;
    int descriptors[PERF_KINDS]; /* -1: not open */
    struct perf_layout layouts[PERF_KINDS];
    size_t layout_count;
    struct perf_ring ring;
};

/* What was chosen, which the machine may have changed. */
struct perf_choice {
    const char *event; /* "cycles", "cpu-clock"; NULL: no samples */
    uint32_t type;     /* PERF_TYPE_… and its config */
    uint64_t config;
    int kernel;        /* the kernel's part too */
    int system_wide;
    int switches;
    enum collect_backtrace backtrace;
    uint64_t period;
    uint32_t frequency, samples_per_backtrace;
    uint32_t stack_bytes; /* that are copied; fitted to the rings when they are opened, unless asked for */
    int stack_is_asked;
    int starts_later;     /* not with the program: perf_events_switch() does */
    uint64_t registers;
};

struct perf_events {
    struct perf_choice choice;
    struct perf_cpu *cpus;
    size_t cpu_count;
};

/* Finds out what can be had of what is asked for: 0, or -errno with nothing of it. Notes, one sentence for each wish
 * that the machine does not grant, go to note(). */
int perf_events_choose(const struct collect_cpu_options *options, int starts_later, struct perf_choice *choice,
                       void (*note)(void *context, int is_asked, const char *sentence), void *context);

/* perf_event_open(): a descriptor, or -errno. */
struct perf_event_attr;
int perf_open(struct perf_event_attr *attributes, pid_t pid, int cpu);

/* The numbers of CPUs that are online, as many as there is room for: how many. */
#define PERF_CPUS_MAX 4096u
size_t perf_online_cpus(uint32_t *numbers, size_t room);

/* Opens and maps: 0, or -errno. pid is not looked at for a choice that is system-wide. */
int perf_events_open(struct perf_events *events, const struct perf_choice *choice, pid_t pid);
void perf_events_switch(struct perf_events *events, int on); /* tracking goes on */
void perf_events_close(struct perf_events *events);

#endif
