/* The metrics that captures make of the readings of tacho-gpu: gpu_metric_table.def as a table, their sets and names.
 */
#ifndef TACHO_COLLECT_GPU_GPU_METRIC_TABLE_H
#define TACHO_COLLECT_GPU_GPU_METRIC_TABLE_H

#include <stddef.h>

#include "abi/nvml.h"
#include "wire/wire_gpu.h"

/* Reasons for which a GPU runs slower than it could; idle clocks and clocks that a user set are none. */
#define GPU_METRIC_POWER_THROTTLED (NVML_CLOCK_SW_POWER_CAP | NVML_CLOCK_HW_POWER_BRAKE)
#define GPU_METRIC_THERMAL_THROTTLED (NVML_CLOCK_SW_THERMAL | NVML_CLOCK_HW_THERMAL)
#define GPU_METRIC_THROTTLED (GPU_METRIC_POWER_THROTTLED | GPU_METRIC_THERMAL_THROTTLED | NVML_CLOCK_HW_SLOWDOWN)

enum gpu_metric_kind {
    GPU_METRIC_MOMENT,
    GPU_METRIC_MEAN,
    GPU_METRIC_RATE,
    GPU_METRIC_CHANGE,
    GPU_METRIC_BITS,
};

enum gpu_set { GPU_SET_BASIC, GPU_SET_GENERAL, GPU_SET_FULL, GPU_SETS };

struct gpu_metric_row {
    enum gpu_reading reading;
    enum gpu_set set; /* the smallest that has it */
    enum gpu_metric_kind kind;
    double argument;
    const char *name;
};

enum {
    GPU_METRICS_COUNT = 0
#define GPU_METRIC(reading, level, kind, argument, name) +1
#include "gpu_metric_table.def"
};
_Static_assert(GPU_METRICS_COUNT <= 64, "the bits of a uint64_t name them");

extern const struct gpu_metric_row gpu_metrics[GPU_METRICS_COUNT];

/* A set by name or number; its metrics are those of all sets up to it. */
extern const struct gpu_set_text {
    const char *name, *about;
} gpu_sets[GPU_SETS];

/* The origin of a reading: GPU_ORIGIN_NVML or GPU_ORIGIN_GPM. */
enum gpu_origin gpu_reading_origin(enum gpu_reading reading);

/* "nvml", "gpm", "counters": as in the table TACHO_GPU_SAMPLING. */
extern const char *const gpu_origin_names[];

/* A reading's name for users: "clock-sm", "gpm-tensor". */
void gpu_reading_name(enum gpu_reading reading, char *out, size_t size);

/* Metrics as bits: of a set; of a reading by its name (0: there is none); of an origin. */
uint64_t gpu_metrics_of_set(enum gpu_set set);
uint64_t gpu_metrics_of_reading(const char *name);
uint64_t gpu_metrics_of_origin(enum gpu_origin origin);

/* Writes the readings that these metrics need as the option "readings=…" of tacho-gpu. */
enum { GPU_READINGS_OPTION_BYTES = 16 + 4 * GPU_READINGS };
void gpu_metrics_option(uint64_t metrics, char out[GPU_READINGS_OPTION_BYTES]);

#endif
