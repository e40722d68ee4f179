/* The metadata of a trace: every member other than the events becomes rows of name and value; device properties also
 * become GPUs, and the rank goes to the process. */
#include "kineto.h"

#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/saturating.h"

#define VM_ID (INT64_C(1) << 48)
#define DEEPEST 8

static int64_t kineto_metadata_string_of(struct kineto *import, struct json_slice slice)
{
    return writer_string(import->writer, slice.bytes ? slice.bytes : "", slice.length);
}

static void kineto_metadata_add_value(struct kineto *import, const struct text *path, struct json_slice value)
{
    struct row_TACHO_TORCH_METADATA row = { 0 };

    ROW_SET(&row, TACHO_TORCH_METADATA, name,
            kineto_metadata_string_of(import, (struct json_slice){ text_string(path), path->length }));
    ROW_SET(&row, TACHO_TORCH_METADATA, value, kineto_metadata_string_of(import, value));
    writer_append(import->writer, TABLE_TACHO_TORCH_METADATA, &row);
}

static int holds_objects(struct json_slice array)
{
    const char *at = array.bytes + 1, *end = array.bytes + array.length;

    while (at < end && (unsigned char)*at <= ' ')
        at++;
    return at < end && *at == '{';
}

/* Objects, and arrays of them, are flattened; everything else is a value. */
static void kineto_metadata_add_all(struct kineto *import, struct text *path, struct json_slice value, int depth)
{
    int is_object = value.length && value.bytes[0] == '{';
    int is_array = value.length && value.bytes[0] == '[' && holds_objects(value);
    size_t length = path->length;
    struct json_slice name, part;

    if (depth == DEEPEST || (!is_object && !is_array)) {
        kineto_metadata_add_value(import, path, value);
        return;
    }
    struct json_scan scan = json_slice_parts(value);
    for (size_t i = 0; json_scan_part(&scan, is_object, &name, &part); i++) {
        if (is_object) {
            struct json_slice inside = json_slice_inside(name);
            text_add_char(path, '.');
            text_add_bytes(path, inside.bytes, inside.length);
        } else {
            text_addf(path, "[%zu]", i);
        }
        kineto_metadata_add_all(import, path, part, depth + 1);
        path->length = length;
    }
}

static void kineto_metadata_add_gpu(struct kineto *import, struct json_slice properties)
{
    static const struct {
        struct json_slice name;
        int column;
    } numbers[] = {
        { SLICE("id"), TARGET_INFO_GPU_id },
        { SLICE("totalGlobalMem"), TARGET_INFO_GPU_totalMemory },
        { SLICE("computeMajor"), TARGET_INFO_GPU_computeMajor },
        { SLICE("computeMinor"), TARGET_INFO_GPU_computeMinor },
        { SLICE("maxThreadsPerBlock"), TARGET_INFO_GPU_maxThreadsPerBlock },
        { SLICE("regsPerBlock"), TARGET_INFO_GPU_maxRegistersPerBlock },
        { SLICE("warpSize"), TARGET_INFO_GPU_threadsPerWarp },
        { SLICE("sharedMemPerBlock"), TARGET_INFO_GPU_maxShmemPerBlock },
        { SLICE("numSms"), TARGET_INFO_GPU_smCount },
        { SLICE("regsPerMultiprocessor"), TARGET_INFO_GPU_maxRegistersPerSm },
        { SLICE("sharedMemPerBlockOptin"), TARGET_INFO_GPU_maxShmemPerBlockOptin },
        { SLICE("sharedMemPerMultiprocessor"), TARGET_INFO_GPU_maxShmemPerSm },
    };
    struct row_TARGET_INFO_GPU row = { 0 };
    struct json_scan scan = json_slice_parts(properties);
    struct json_slice name, value;

    ROW_SET(&row, TARGET_INFO_GPU, vmId, VM_ID);
    ROW_SET(&row, TARGET_INFO_GPU, id, 0);
    while (json_scan_part(&scan, 1, &name, &value)) {
        int64_t number;
        if (json_slice_is(name, "name"))
            ROW_SET(&row, TARGET_INFO_GPU, name,
                    kineto_metadata_string_of(import, json_slice_text(value, &import->scratch)));
        for (size_t i = 0; i < COUNT_OF(numbers) && json_slice_integer(value, &number); i++)
            if (json_slice_equal(json_slice_inside(name), numbers[i].name)) {
                ((int64_t *)(void *)&row)[1 + numbers[i].column] = number;
                row.present |= UINT64_C(1) << numbers[i].column;
            }
    }
    ROW_SET(&row, TARGET_INFO_GPU, cuDevice, row.id);
    writer_append(import->writer, TABLE_TARGET_INFO_GPU, &row);
}

static void kineto_metadata_add_gpus(struct kineto *import, struct json_slice list)
{
    struct json_scan scan = json_slice_parts(list);
    struct json_slice name, value;

    while (json_scan_part(&scan, 0, &name, &value))
        if (value.length && value.bytes[0] == '{')
            kineto_metadata_add_gpu(import, value);
}

static void note_rank(struct kineto *import, struct json_slice info)
{
    struct json_scan scan = json_slice_parts(info);
    struct json_slice name, value;
    int64_t number;

    while (json_scan_part(&scan, 1, &name, &value)) {
        if (json_slice_is(name, "rank") && json_slice_integer(value, &number))
            import->rank = number;
        if (json_slice_is(name, "world_size") && json_slice_integer(value, &number))
            import->world_size = number;
    }
}

void kineto_add_metadata(struct kineto *import, struct json_slice name, struct json_slice value)
{
    struct text path = { 0 };
    struct json_slice inside = json_slice_inside(name);

    if (json_slice_is(name, KINETO_ORIGIN)) { /* a trace that we exported: gets the times of its report again */
        import->has_origin |= json_slice_integer(value, &import->origin_ns);
        return;
    }
    if (json_slice_is(name, "deviceProperties") && value.length && value.bytes[0] == '[')
        kineto_metadata_add_gpus(import, value);
    if (json_slice_is(name, "distributedInfo") && value.length && value.bytes[0] == '{')
        note_rank(import, value);
    if (json_slice_is(name, "baseTimeNanoseconds"))
        json_slice_integer(value, &import->base_ns);
    text_add_bytes(&path, inside.bytes, inside.length);
    kineto_metadata_add_all(import, &path, value, 0);
    text_free(&path);
}

static void kineto_metadata_add_start(struct kineto *import)
{
    struct row_TARGET_INFO_SESSION_START_TIME row = { 0 };
    struct row_TACHO_TORCH_METADATA origin = { 0 };
    int64_t utc_ns = saturating_add(import->base_ns, import->origin_ns);
    time_t seconds = (time_t)(utc_ns / 1000000000);
    char text[64];
    struct tm tm;

    ROW_SET(&row, TARGET_INFO_SESSION_START_TIME, utcEpochNs, utc_ns);
    if (gmtime_r(&seconds, &tm) && strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%S", &tm))
        ROW_SET(&row, TARGET_INFO_SESSION_START_TIME, utcTime,
                kineto_metadata_string_of(import, (struct json_slice){ text, strlen(text) }));
    writer_append(import->writer, TABLE_TARGET_INFO_SESSION_START_TIME, &row);
    static const char name[] = KINETO_ORIGIN;
    snprintf(text, sizeof text, "%lld", (long long)import->origin_ns);
    ROW_SET(&origin, TACHO_TORCH_METADATA, name,
            kineto_metadata_string_of(import, (struct json_slice){ name, sizeof name - 1 }));
    ROW_SET(&origin, TACHO_TORCH_METADATA, value,
            kineto_metadata_string_of(import, (struct json_slice){ text, strlen(text) }));
    writer_append(import->writer, TABLE_TACHO_TORCH_METADATA, &origin);
}

void kineto_add_capture(struct kineto *import)
{
    struct row_TACHO_PROCESS process = { 0 };
    struct row_ANALYSIS_DETAILS details = { 0 };

    if (import->first_ns > import->last_ns)
        return;
    kineto_metadata_add_start(import);
    ROW_SET(&details, ANALYSIS_DETAILS, globalVid, VM_ID);
    ROW_SET(&details, ANALYSIS_DETAILS, duration, saturating_duration(import->first_ns, import->last_ns));
    ROW_SET(&details, ANALYSIS_DETAILS, startTime, import->first_ns);
    ROW_SET(&details, ANALYSIS_DETAILS, stopTime, import->last_ns);
    writer_append(import->writer, TABLE_ANALYSIS_DETAILS, &details);
    if (!import->process)
        return;
    ROW_SET(&process, TACHO_PROCESS, start, import->first_ns);
    ROW_SET(&process, TACHO_PROCESS, end, import->last_ns);
    ROW_SET(&process, TACHO_PROCESS, globalPid, import->process);
    ROW_SET(&process, TACHO_PROCESS, image, 0);
    if (import->rank >= 0)
        ROW_SET(&process, TACHO_PROCESS, rank, import->rank);
    if (import->world_size >= 0)
        ROW_SET(&process, TACHO_PROCESS, worldSize, import->world_size);
    writer_append(import->writer, TABLE_TACHO_PROCESS, &process);
}
