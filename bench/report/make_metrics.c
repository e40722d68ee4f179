/* Makes a report of GPU metrics that were never sampled, for the benches of tables: 20 metrics of one GPU at 10 kHz,
 * and kernels back to back, each with its launch in a range named as a step. The same arguments make the same file.
 *
 * make_metrics FILE [SECONDS]: by default 60 s, which are 12 M rows of GPU_METRICS, and 1 M kernels. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/writer/writer.h"

enum { METRICS = 20, NAMES = 50, PERIOD_NS = 100000, KERNEL_NS = 60000, STEP_KERNELS = 1000 };
#define GLOBAL_PID (INT64_C(1) << 48 | INT64_C(4242) << 24)
#define TYPE (INT64_C(1) << 48 | INT64_C(1) << 32)

static int64_t named(struct writer *writer, const char *format, int64_t number)
{
    char name[64];

    return writer_string(writer, name, (size_t)snprintf(name, sizeof name, format, (int)number));
}

static void add_names(struct writer *writer)
{
    for (int64_t i = 0; i < METRICS; i++) {
        struct row_TARGET_INFO_GPU_METRICS row = { 0 };
        ROW_SET(&row, TARGET_INFO_GPU_METRICS, typeId, TYPE);
        ROW_SET(&row, TARGET_INFO_GPU_METRICS, sourceId, TYPE);
        ROW_SET(&row, TARGET_INFO_GPU_METRICS, typeName, writer_string(writer, "", 0));
        ROW_SET(&row, TARGET_INFO_GPU_METRICS, metricId, i);
        ROW_SET(&row, TARGET_INFO_GPU_METRICS, metricName, named(writer, "Unit %d Active [Throughput %%]", i));
        writer_append(writer, TABLE_TARGET_INFO_GPU_METRICS, &row);
    }
}

static void add_sample(struct writer *writer, int64_t at)
{
    for (int64_t i = 0; i < METRICS; i++) {
        struct row_GPU_METRICS row = { 0 };
        ROW_SET(&row, GPU_METRICS, rawTimestamp, at * PERIOD_NS);
        ROW_SET(&row, GPU_METRICS, timestamp, at * PERIOD_NS);
        ROW_SET(&row, GPU_METRICS, typeId, TYPE);
        ROW_SET(&row, GPU_METRICS, metricId, i);
        ROW_SET(&row, GPU_METRICS, value, (at * (i + 7)) % 101);
        writer_append(writer, TABLE_GPU_METRICS, &row);
    }
}

static void add_kernel(struct writer *writer, int64_t number, const int64_t *names, int64_t call)
{
    int64_t start = number * KERNEL_NS;
    struct row_CUPTI_ACTIVITY_KIND_KERNEL row = { 0 };
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME launch = { 0 };

    ROW_SET(&launch, CUPTI_ACTIVITY_KIND_RUNTIME, start, start);
    ROW_SET(&launch, CUPTI_ACTIVITY_KIND_RUNTIME, end, start + 4000);
    ROW_SET(&launch, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, GLOBAL_PID | 4242);
    ROW_SET(&launch, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, number);
    ROW_SET(&launch, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, call);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &launch);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, start, start + 5000);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, end, start + KERNEL_NS);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, deviceId, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, contextId, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, streamId, 7);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, correlationId, number);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, globalPid, GLOBAL_PID);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, demangledName, names[number / 4 % NAMES]);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, shortName, names[number / 4 % NAMES]);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, &row);
}

static void add_step(struct writer *writer, int64_t number)
{
    struct row_NVTX_EVENTS row = { 0 };

    ROW_SET(&row, NVTX_EVENTS, start, number * STEP_KERNELS * KERNEL_NS);
    ROW_SET(&row, NVTX_EVENTS, end, (number + 1) * STEP_KERNELS * KERNEL_NS);
    ROW_SET(&row, NVTX_EVENTS, eventType, 59);
    ROW_SET(&row, NVTX_EVENTS, textId, named(writer, "step %d", number));
    ROW_SET(&row, NVTX_EVENTS, globalTid, GLOBAL_PID | 4242);
    ROW_SET(&row, NVTX_EVENTS, domainId, 0);
    writer_append(writer, TABLE_NVTX_EVENTS, &row);
}

int main(int argc, char **argv)
{
    int64_t seconds = argc > 2 ? atoll(argv[2]) : 60, names[NAMES], all_ns = seconds * 1000000000;
    struct writer *writer;
    struct error err;

    if (argc < 2 || seconds < 1) {
        fprintf(stderr, "usage: make_metrics FILE [SECONDS]\n");
        return 2;
    }
    if (writer_open(argv[1], &(struct writer_options){ .overwrite = 1 }, &writer, &err) != 0) {
        fprintf(stderr, "make_metrics: %s\n", err.text);
        return 1;
    }
    add_names(writer);
    for (int64_t i = 0; i < NAMES; i++)
        names[i] = named(writer, "kernel_%d<float>(float *)", i);
    int64_t call = writer_string(writer, "cudaLaunchKernel", strlen("cudaLaunchKernel"));
    for (int64_t i = 0; i < all_ns / PERIOD_NS; i++)
        add_sample(writer, i);
    for (int64_t i = 0; i < all_ns / KERNEL_NS; i++)
        add_kernel(writer, i, names, call);
    for (int64_t i = 0; i < all_ns / KERNEL_NS / STEP_KERNELS; i++)
        add_step(writer, i);
    if (writer_close(writer, &err) != 0) {
        fprintf(stderr, "make_metrics: %s\n", err.text);
        return 1;
    }
    return 0;
}
