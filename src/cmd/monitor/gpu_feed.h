/* The GPU readings of tacho-gpu, round after round, for the commands that show them live, with the options that they
 * share. */
#ifndef TACHO_CMD_MONITOR_GPU_FEED_H
#define TACHO_CMD_MONITOR_GPU_FEED_H

#include "cmd/command.h"
#include "collect/gpu/gpu_link.h"

/* The requested readings. */
struct gpu_feed_wish {
    const char *devices; /* numbers, UUIDs or PCI bus ids with commas between them; NULL: all */
    const enum gpu_reading *readings;
    size_t reading_count;
    int has_processes;   /* with the processes on each GPU */
    int has_instances;   /* with the instances of MIG */
    int is_interactive;  /* the user types on stdin: keys and a new size of the window end the wait */
    int64_t interval_us;
    uint64_t rounds;     /* 0: without end */
    void (*take)(void *context, const struct gpu_frame *frame, const void *payload); /* gets every frame; may be NULL */
    void *context;
    int ends_with_stdout; /* the feed ends when nobody reads stdout any more */
};

/* A GPU. Values are in base units (wire/gpu_readings.def); NaN: not available. */
struct gpu_feed_gpu {
    struct gpu_device facts;
    int64_t time_ns, before_ns; /* CLOCK_MONOTONIC, of this round and the one before; 0: there was none */
    double now[GPU_READINGS], before[GPU_READINGS];
};

struct gpu_feed {
    struct gpu_link link;
    struct gpu_feed_gpu *gpus;      /* in the order of their numbers */
    struct gpu_process *processes;  /* those of this round, GPU by GPU */
    struct gpu_instance *instances; /* those of this round */
    size_t gpu_count, gpu_capacity, process_count, process_capacity, instance_count, instance_capacity;
    int64_t utc_offset_ns;          /* from CLOCK_MONOTONIC to UTC, as of this round */
    struct text notes; /* messages about what is missing, a line each; the command prints and clears them */
    uint64_t rounds;
    struct gpu_feed_wish wish;
    int signals;       /* a signalfd, so that Ctrl-C ends a round of any length; -1: none */
    int is_over;
    int is_told;       /* the last round is complete */
    int has_no_gpu;    /* it ended because no GPU is there, or no requested one */
};

int gpu_feed_start(struct gpu_feed *feed, const struct gpu_feed_wish *wish, struct error *err);

/* Waits for the next round: 1; for the user of an interactive feed: GPU_FEED_USER, and the round is not over yet.
 * 0: the rounds are over, the user pressed Ctrl-C or nobody reads stdout. Without NVML or
 * a GPU, and when tacho-gpu ends too early, an error. */
enum { GPU_FEED_USER = 2 };
int gpu_feed_next(struct gpu_feed *feed, struct error *err);

void gpu_feed_end(struct gpu_feed *feed);

/* The kinds of work of a process as nvidia-smi has them: "C", "C+G", "M+C"; "-": none. */
const char *gpu_feed_type(uint32_t types);

/* Filled by the options; the first member of a command's settings. */
struct gpu_feed_settings {
    const char *devices;
    int is_json;
    int64_t interval_us;
    uint64_t rounds;
};

/* The rows of the first two, which are the same for all: GPU_FEED_OPTIONS(type, member). */
#define GPU_FEED_OPTIONS(type, member)                                                                                \
    { .name = "id", .letter = 'i', .kind = OPTION_TEXT, .offset = offsetof(type, member.devices), .value = "LIST",    \
      .help = "Show these GPUs: numbers, UUIDs or PCI bus ids, separated by commas. Default: all." },                 \
    { .name = "delay", .letter = 'd', .kind = OPTION_CUSTOM, .value = "SECONDS", .take = gpu_feed_take_delay,         \
      .help = "Read the GPUs every SECONDS seconds; fractions are allowed. Default: 1." }
int gpu_feed_take_delay(void *settings, const char *value, struct error *err);
int gpu_feed_take_count(void *settings, const char *value, struct error *err);
int gpu_feed_take_iterations(void *settings, const char *value, struct error *err); /* the same, of another name */

/* Parses the options and checks that there is nothing else: 1; 0: *status is the exit status. */
int gpu_feed_options(const struct command *self, int argc, char **argv, struct gpu_feed_settings *settings,
                     int *status);

#endif
