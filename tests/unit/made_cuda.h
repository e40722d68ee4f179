/* Calls of CUDA and work on a GPU in reports made by hand. All times are in µs; the process is 1. */
#ifndef TACHO_TESTS_UNIT_MADE_CUDA_H
#define TACHO_TESTS_UNIT_MADE_CUDA_H

#include "made_report.h"

enum { US = 1000, MAIN = 1, STREAM_SYNC = 3, STREAM_WAITS = 2, EVENT_SYNC = 1 };

static inline void call(struct writer *writer, int64_t tid, int64_t start, int64_t end, const char *name, int64_t id)
{
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, start, start * US);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, end, end * US);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, made_thread(1, tid));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, made_string(writer, name));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, &row);
}

static inline void kernel(struct writer *writer, int64_t start, int64_t end, int64_t id, int64_t stream)
{
    made_kernel(writer, (struct made_kernel){ start * US, end * US, 1, id, 0, stream, "k", NULL, NULL });
}

/* A launch of 5 µs and its kernel. */
static inline void launch(struct writer *writer, int64_t called, int64_t start, int64_t end, int64_t id, int64_t stream)
{
    call(writer, MAIN, called, called + 5, "cudaLaunchKernel", id);
    kernel(writer, start, end, id, stream);
}

static inline void sync_record(struct writer *writer, int64_t type, int64_t stream, int64_t id, int64_t event)
{
    struct row_CUPTI_ACTIVITY_KIND_SYNCHRONIZATION row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, contextId, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, streamId, stream);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, correlationId, id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, globalPid, made_thread(1, 0));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, syncType, type);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, eventSyncId, event);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_SYNCHRONIZATION, &row);
}

static inline void event_record(struct writer *writer, int64_t stream, int64_t id, int64_t event)
{
    struct row_CUPTI_ACTIVITY_KIND_CUDA_EVENT row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, contextId, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, streamId, stream);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, correlationId, id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, globalPid, made_thread(1, 0));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_CUDA_EVENT, eventSyncId, event);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_CUDA_EVENT, &row);
}

static inline void os_call(struct writer *writer, int64_t tid, int64_t start, int64_t end, const char *name)
{
    struct row_OSRT_API row = { 0 };

    ROW_SET(&row, OSRT_API, start, start * US);
    ROW_SET(&row, OSRT_API, end, end * US);
    ROW_SET(&row, OSRT_API, eventClass, 27);
    ROW_SET(&row, OSRT_API, globalTid, made_thread(1, tid));
    ROW_SET(&row, OSRT_API, nameId, made_string(writer, name));
    writer_append(writer, TABLE_OSRT_API, &row);
}

static inline void function_in(struct writer *writer, int64_t tid, int64_t start, int64_t end, const char *name)
{
    struct row_TACHO_TORCH_PYTHON row = { 0 };

    ROW_SET(&row, TACHO_TORCH_PYTHON, start, start * US);
    ROW_SET(&row, TACHO_TORCH_PYTHON, end, end * US);
    ROW_SET(&row, TACHO_TORCH_PYTHON, globalTid, made_thread(1, tid));
    ROW_SET(&row, TACHO_TORCH_PYTHON, nameId, made_string(writer, name));
    writer_append(writer, TABLE_TACHO_TORCH_PYTHON, &row);
}

static inline void function(struct writer *writer, int64_t start, int64_t end, const char *name)
{
    function_in(writer, MAIN, start, end, name);
}

#endif
