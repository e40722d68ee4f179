/* The data of `tacho top`: the last complete round of the GPUs, with users and commands of processes, and histories. */
#ifndef TACHO_CMD_MONITOR_TOP_MODEL_H
#define TACHO_CMD_MONITOR_TOP_MODEL_H

#include "captures.h"
#include "gpu_feed.h"

enum { TOP_HISTORY = 512, TOP_GPUS = 64, TOP_CAPTURES = 8 };

/* Activity of the SMs: from GPM, or NVML's time in which any kernel ran. */
struct top_gpu {
    struct gpu_feed_gpu now;
    double activity; /* %; NaN: not known */
    int is_gpm;      /* activity is GPM's */
    /* B/s; NaN: not known */
    double pcie_in, pcie_out, nvlink_in, nvlink_out;
    double history[TOP_HISTORY]; /* activity, the oldest first */
    size_t history_count;
};

struct top_process {
    struct gpu_process now;
    char user[32];
    char *command; /* owned */
};

enum top_sort { TOP_BY_SM, TOP_BY_MEMORY, TOP_BY_PID };

struct top_model {
    size_t gpu_count, process_count, instance_count, capture_count;
    struct top_gpu gpus[TOP_GPUS];
    struct top_process *processes;
    struct gpu_instance *instances;
    struct running_capture captures[TOP_CAPTURES];
    int64_t utc_ns;
    enum top_sort sort;
};

/* The readings that the view needs, as wish->readings. with_pcie: also NVML's rates of PCIe, for which it waits 40 ms a
 * GPU: only for GPUs without GPM. */
void top_model_wish(struct gpu_feed_wish *wish, int with_pcie);

/* Takes a complete round. Returns 0, or ERR_NO_MEMORY. */
int top_model_take(struct top_model *model, const struct gpu_feed *feed);
void top_model_sort(struct top_model *model);
void top_model_free(struct top_model *model);

/* Whether a GPU has no GPM. */
int top_model_lacks_gpm(const struct gpu_feed *feed);

#endif
