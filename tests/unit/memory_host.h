/* A host that reads a report from memory, on one thread: for tests that open very many small files. */
#ifndef TACHO_TEST_MEMORY_HOST_H
#define TACHO_TEST_MEMORY_HOST_H

#include <string.h>
#include <zstd.h>

#include "report/reader/reader.h"

struct memory_file {
    const uint8_t *bytes;
    size_t size;
};

static int memory_read_at(void *context, uint64_t offset, void *buffer, size_t length)
{
    const struct memory_file *file = context;
    if (offset > file->size || length > file->size - offset)
        return ERR_IO;
    if (length)
        memcpy(buffer, file->bytes + offset, length);
    return 0;
}

static int memory_decompress(void *context, const void *packed, size_t packed_length, void *raw, size_t raw_length)
{
    (void)context;
    size_t length = ZSTD_decompress(raw, raw_length, packed, packed_length);
    return ZSTD_isError(length) || length != raw_length ? ERR_CORRUPT : 0;
}

static void memory_parallel_for(void *context, size_t count, void (*body)(void *argument, int worker, size_t i),
                                void *argument)
{
    (void)context;
    for (size_t i = 0; i < count; i++)
        body(argument, 0, i);
}

static int memory_workers(void *context)
{
    (void)context;
    return 1;
}

static inline int memory_open(struct memory_file *file, struct report **out, struct error *err)
{
    struct report_host host = {
        .context = file,
        .size = file->size,
        .read_at = memory_read_at,
        .decompress = memory_decompress,
        .parallel_for = memory_parallel_for,
        .workers = memory_workers,
    };
    return report_open_host(&host, out, err);
}

#endif
