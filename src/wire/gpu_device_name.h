/* The names by which a user may call a GPU: its number, its UUID, or its PCI bus id with or without the domain. */
#ifndef TACHO_WIRE_GPU_DEVICE_NAME_H
#define TACHO_WIRE_GPU_DEVICE_NAME_H

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "wire_gpu.h"

/* Whether a word means this GPU. Bus ids come with a domain of four or of eight digits. */
static inline int gpu_device_is_called(const struct gpu_device *device, const char *word, size_t length)
{
    char number[16];
    size_t bus_length = strlen(device->bus_id);

    snprintf(number, sizeof number, "%u", device->device);
    if ((strlen(number) == length && memcmp(number, word, length) == 0) ||
        (strlen(device->uuid) == length && strncasecmp(device->uuid, word, length) == 0))
        return 1;
    return length >= strlen("00:00.0") && length <= bus_length &&
           strncasecmp(device->bus_id + bus_length - length, word, length) == 0;
}

/* "0 to 3": the numbers of so many GPUs. */
static inline void gpu_device_numbers(size_t count, char *out, size_t bytes)
{
    if (count > 1)
        snprintf(out, bytes, "0 to %zu", count - 1);
    else
        snprintf(out, bytes, "0");
}

#endif
