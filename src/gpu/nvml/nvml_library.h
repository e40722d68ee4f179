/* NVML, loaded from the driver's libnvidia-ml.so.1. */
#ifndef TACHO_GPU_NVML_NVML_LIBRARY_H
#define TACHO_GPU_NVML_NVML_LIBRARY_H

#include "abi/nvml.h"
#include "abi/nvml_results.h"
#include "gpu/frames/frames_out.h"

/* The functions; NULL: this driver has none of that name. */
struct nvml_calls {
#define NVML_CALL(name, parameters) int(*name) parameters;
#include "nvml_calls.def"
};
extern struct nvml_calls nvml;

/* Calls a function of NVML if there is one. */
#define NVML(name, ...) (nvml.name ? nvml.name(__VA_ARGS__) : NVML_FUNCTION_NOT_FOUND)

/* Loads and initialises NVML: 0, or -1 with the reason. TACHO_NVML names another file, unless this program has more
 * privileges than its caller. */
int nvml_load(struct refusal *why);

#endif
