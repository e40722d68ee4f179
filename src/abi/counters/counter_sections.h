/* Sets and sections of GPU counters, under ncu's names: which metrics each holds on which chip. All of it is data:
 * counter_sections.def, counter_chips.def, counter_derived.def, counter_kinds.def. For tacho, which lists them, and for
 * tacho-gpu, which asks CUPTI for them. */
#ifndef TACHO_ABI_COUNTERS_COUNTER_SECTIONS_H
#define TACHO_ABI_COUNTERS_COUNTER_SECTIONS_H

#include <stddef.h>

/* X(name, what it is for) */
#define COUNTER_SETS(X)                                                                                                \
    X(light, "One pass: time, cycles, occupancy, instructions, DRAM and L2 traffic")                                   \
    X(general, "The GPU over time, for --gpu-metrics-set")                                                             \
    X(basic, "Speed of light, launch and occupancy: the default of tacho ncu")                                         \
    X(detailed, "basic, and what compute and memory units do")                                                         \
    X(full, "All sections but those of links")                                                                         \
    X(nvlink, "NVLink")                                                                                                \
    X(pmsampling, "Samples over the time of a kernel")                                                                 \
    X(roofline, "Rooflines of every precision")

enum counter_set_id {
#define COUNTER_SET_ID(name, purpose) COUNTER_SET_##name,
    COUNTER_SETS(COUNTER_SET_ID)
#undef COUNTER_SET_ID
        COUNTER_SET_COUNT
};
#define COUNTER_SET(name) (1u << COUNTER_SET_##name)

struct counter_set {
    const char *name, *purpose;
};
extern const struct counter_set counter_sets[COUNTER_SET_COUNT];

struct section_metric {
    const char *names; /* "a|b": alternatives; "a{.x,.y}": several of one base; NULL ends a section */
    const char *label; /* ncu's, or for samples nsys's */
    const char *chips; /* those that have it: counter_is_for(); NULL: Tacho does not collect it */
    const char *unit;  /* base unit, "" if it has none; NULL: ncu's details page does not show it */
};

struct counter_section {
    const char *name, *title;
    unsigned sets;                                      /* bits COUNTER_SET() */
    const struct section_metric *metrics;
};
extern const struct counter_section counter_sections[]; /* ended by a name of NULL */

/* NULL if there is none. */
const struct counter_section *counter_section_find(const char *name);
const struct counter_set *counter_set_find(const char *name);

/* The row that ncu's details page shows under this label with this base unit, in whatever section; NULL if there is
 * none. */
const struct section_metric *counter_shown_find(const char *label, const char *unit);

/* Whether a list of chips, as metrics and sampling sets have it, names a chip. NULL names none. */
int counter_is_for(const char *chips, const char *chip);

/* A set of --gpu-metrics-set, under nsys's name. */
struct sampling_set {
    const char *name, *section, *chips, *title;
};
extern const struct sampling_set sampling_sets[]; /* ended by a name of NULL */
const struct sampling_set *sampling_set_find(const char *name);

/* The chips that are listed, ended by NULL. */
const char *const *counter_chip_names(void);

/* The compute capability of a chip, 90 for 9.0; 0: not listed. */
int counter_chip_capability(const char *chip);

enum counter_kind {
    COUNTER_HARDWARE, /* CUPTI counts it */
    COUNTER_DEVICE,   /* CUPTI counts it for the whole GPU: PCIe, NVLink */
    COUNTER_LAUNCH,   /* a fact of the launch or of the GPU */
    COUNTER_DERIVED,  /* computed from a counter */
    COUNTER_SAMPLES,  /* samples of the program counter */
    COUNTER_NONE,     /* ncu has it and Tacho has not */
};

/* The kind of a metric by its name; `why` (may be NULL) gets a sentence, "" if there is nothing to say. */
enum counter_kind counter_kind_of(const char *name, const char **why);

/* The counter and the factor of a derived metric; NULL: there is no such metric. */
const char *counter_derived_from(const char *name, double *factor);

/* Writes the next name that "a{.x,.y}" stands for, and moves *names behind it: 1; 0 at the end. Starts at the beginning
 * of an alternative and stops at '|'. Names that do not fit are cut. */
struct counter_names {
    const char *base, *suffix; /* suffix NULL: at the beginning */
};
int counter_names_next(struct counter_names *names, char *name, size_t bytes);

#endif
