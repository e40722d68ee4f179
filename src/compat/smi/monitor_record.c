/* The report's time 0 is when it was opened. It can be read while it grows. */
#include "monitor_record.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "collect/core/capture_rows.h"
#include "collect/gpu/gpu_rows.h"
#include "collect/gpu/gpu_target.h"

#define VM_ID (INT64_C(1) << 48) /* the machine's part of global ids */
#define FLUSH_NS INT64_C(2000000000)
#define SECOND_US 1000000

struct monitor_record {
    const char *path;
    struct writer *writer;
    struct gpu_rows *rows;
    int64_t origin_ns, flushed_ns; /* CLOCK_MONOTONIC */
};

/* NVML's number of a GPU is its number in the report; it gets its row. */
static uint32_t monitor_record_add_gpu(void *context, const struct gpu_device *facts)
{
    struct monitor_record *record = context;

    gpu_target_row(record->writer, VM_ID, facts, facts->device);
    return facts->device;
}

int monitor_record_open(struct monitor_record **out, const char *path, int64_t interval_us, struct error *err)
{
    struct monitor_record *record = calloc(1, sizeof *record);
    int code;

    if (!record)
        return error_no_memory(err);
    code = writer_open(path, &(struct writer_options){ .workers = 1 }, &record->writer, err);
    if (code == ERR_EXISTS)
        error_set(err, code, "'%s' exists already: choose another name", path);
    if (code != 0)
        goto free_record;
    record->path = path;
    record->origin_ns = record->flushed_ns = clock_monotonic_ns();
    record->rows = gpu_rows_new(&(struct gpu_rows_setup){
        .writer = record->writer,
        .vm_id = VM_ID,
        .origin_ns = record->origin_ns,
        .metrics = gpu_metrics_of_set(GPU_SET_FULL), /* as far as they are read */
        .frequency_hz = (uint32_t)(interval_us < SECOND_US ? SECOND_US / interval_us : 1),
        .find_gpu = monitor_record_add_gpu,
        .context = record,
    });
    if (!record->rows && (code = error_no_memory(err)) != 0)
        goto close_writer;
    capture_row_start(record->writer, clock_utc_ns() - (clock_monotonic_ns() - record->origin_ns));
    capture_row_parameter(record->writer, "TACHO_VERSION", TACHO_VERSION);
    capture_row_parameter(record->writer, "PROGRAM", "dmon");
    *out = record;
    return 0;
close_writer:
    writer_close(record->writer, NULL);
free_record:
    free(record);
    return code;
}

void monitor_record_take(void *context, const struct gpu_frame *frame, const void *payload)
{
    struct monitor_record *record = context;
    static const struct gpu_span always = { 0, INT64_MAX };

    gpu_rows_take(record->rows, frame, payload, &always);
    if (frame->type == GPU_FRAME_ROUND && clock_monotonic_ns() - record->flushed_ns >= FLUSH_NS) {
        writer_flush(record->writer, NULL); /* a failure is reported at the end */
        record->flushed_ns = clock_monotonic_ns();
    }
}

int monitor_record_close_after(struct monitor_record *record, int code, struct error *err)
{
    struct row_ANALYSIS_DETAILS details = { 0 };
    struct row_TACHO_CAPTURE capture = { 0 };
    int64_t end_ns = clock_monotonic_ns() - record->origin_ns;

    ROW_SET(&details, ANALYSIS_DETAILS, globalVid, VM_ID);
    ROW_SET(&details, ANALYSIS_DETAILS, duration, end_ns);
    ROW_SET(&details, ANALYSIS_DETAILS, startTime, 0);
    ROW_SET(&details, ANALYSIS_DETAILS, stopTime, end_ns);
    writer_append(record->writer, TABLE_ANALYSIS_DETAILS, &details);
    ROW_SET(&capture, TACHO_CAPTURE, timestamp, end_ns);
    ROW_SET(&capture, TACHO_CAPTURE, over, writer_string(record->writer, "duration", strlen("duration")));
    ROW_SET(&capture, TACHO_CAPTURE, cpuNs, 0);
    ROW_SET(&capture, TACHO_CAPTURE, costNs, 0);
    ROW_SET(&capture, TACHO_CAPTURE, startCostNs, 0);
    ROW_SET(&capture, TACHO_CAPTURE, cutStacks, 0);
    ROW_SET(&capture, TACHO_CAPTURE, throttled, 0);
    writer_append(record->writer, TABLE_TACHO_CAPTURE, &capture);
    gpu_rows_finish(record->rows, end_ns);
    int is_empty = !gpu_rows_samples(record->rows);
    gpu_rows_free(record->rows);
    code = writer_close_after(record->writer, code, err);
    if (is_empty)
        unlink(record->path);
    free(record);
    return code;
}
