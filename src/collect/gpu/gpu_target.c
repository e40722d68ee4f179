/* Facts of NVML about a GPU as a row: see gpu_target.h. */
#include "gpu_target.h"

#include <ctype.h>
#include <string.h>

const char *gpu_target_uuid(const struct gpu_device *facts)
{
    return facts->uuid + (strncmp(facts->uuid, "GPU-", 4) == 0 ? 4 : 0);
}

void gpu_target_bus(const struct gpu_device *facts, char out[sizeof facts->bus_id])
{
    const char *bus = facts->bus_id;
    size_t at = 0;

    bus += strncmp(bus, "0000", 4) == 0 && strlen(bus) > strlen("0000:00:00.0") ? 4 : 0; /* of eight digits of domain */
    do
        out[at] = (char)tolower((unsigned char)bus[at]);
    while (bus[at++]);
}

static int64_t gpu_target_string_id(struct writer *writer, const char *text)
{
    return writer_string(writer, text, strlen(text));
}

void gpu_target_row(struct writer *writer, int64_t vm_id, const struct gpu_device *facts, uint32_t gpu)
{
    struct row_TARGET_INFO_GPU row = { 0 };
    char bus[sizeof facts->bus_id];

    gpu_target_bus(facts, bus);
    ROW_SET(&row, TARGET_INFO_GPU, vmId, vm_id);
    ROW_SET(&row, TARGET_INFO_GPU, id, gpu);
    ROW_SET(&row, TARGET_INFO_GPU, name, gpu_target_string_id(writer, facts->name));
    ROW_SET(&row, TARGET_INFO_GPU, busLocation, gpu_target_string_id(writer, bus));
    ROW_SET(&row, TARGET_INFO_GPU, uuid, gpu_target_string_id(writer, gpu_target_uuid(facts)));
    ROW_SET(&row, TARGET_INFO_GPU, totalMemory, (int64_t)facts->memory_bytes);
    if (facts->capability) {
        ROW_SET(&row, TARGET_INFO_GPU, computeMajor, facts->capability / 10);
        ROW_SET(&row, TARGET_INFO_GPU, computeMinor, facts->capability % 10);
    }
    ROW_SET(&row, TARGET_INFO_GPU, pwGpuId, gpu);
    writer_append(writer, TABLE_TARGET_INFO_GPU, &row);
}
