/* The functions that the reader needs from its host, so that it runs in a program, a server and a web page alike. */
#ifndef TACHO_REPORT_FORMAT_REPORT_HOST_H
#define TACHO_REPORT_FORMAT_REPORT_HOST_H

#include <stddef.h>
#include <stdint.h>

struct report_host {
    void *context;
    uint64_t size; /* size of the file when it was opened */
    /* Reads exactly length bytes: 0, or an ERR_ code. Called from any worker. */
    int (*read_at)(void *context, uint64_t offset, void *buffer, size_t length);
    /* Fills exactly raw_length bytes, or fails. Called from any worker. */
    int (*decompress)(void *context, const void *packed, size_t packed_length, void *raw, size_t raw_length);
    /* Calls body(argument, worker, i) for each i below count, on up to workers() threads; returns when all are done. */
    void (*parallel_for)(void *context, size_t count, void (*body)(void *argument, int worker, size_t i),
                         void *argument);
    int (*workers)(void *context);
};

#endif
