/* A report for a test to fill and to read: what the tests of analyses share. */
#ifndef TACHO_TESTS_UNIT_MADE_REPORT_H
#define TACHO_TESTS_UNIT_MADE_REPORT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "analyze/engine/analysis.h"
#include "report/writer/writer.h"

static char path[] = "/tmp/tacho-unit-XXXXXX";

static int make_path(void **state)
{
    int fd = mkstemp(path);

    return fd < 0 ? -1 : close(fd);
}

static int remove_path(void **state)
{
    return unlink(path);
}

static struct writer *start(void)
{
    struct writer *writer;
    struct error err;

    if (writer_open(path, &(struct writer_options){ .overwrite = 1 }, &writer, &err) != 0)
        fail_msg("%s", err.text);
    return writer;
}

static struct report *finish(struct writer *writer)
{
    struct report *report = NULL;
    struct error err;

    if (writer_close(writer, &err) != 0 || report_open(path, &report, &err) != 0)
        fail_msg("%s", err.text);
    return report;
}

/* ---- rows of CUDA, for those tests that have some -------------------------------------------------------------- */

static inline int64_t made_thread(int64_t pid, int64_t tid)
{
    return (int64_t)(UINT64_C(1) << 48 | (uint64_t)pid << 24 | (uint64_t)tid);
}

static inline int64_t made_string(struct writer *writer, const char *text)
{
    return writer_string(writer, text, strlen(text));
}

enum { NO_ID = -1 };
struct made_kernel {
    int64_t begin, end, pid, id, device, stream;
    const char *name, *brief, *mangled;
};
static inline void made_kernel(struct writer *writer, struct made_kernel kernel)
{
    struct row_CUPTI_ACTIVITY_KIND_KERNEL row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, start, kernel.begin);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, end, kernel.end);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, deviceId, kernel.device);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, contextId, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, streamId, kernel.stream);
    if (kernel.id != NO_ID)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, correlationId, kernel.id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, globalPid, made_thread(kernel.pid, 0));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, demangledName, made_string(writer, kernel.name));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, shortName,
            made_string(writer, kernel.brief ? kernel.brief : kernel.name));
    if (kernel.mangled)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, mangledName, made_string(writer, kernel.mangled));
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, &row);
}

/* What is NO_ID is not set. */
struct made_memory {
    int64_t begin, end, id, bytes, kind, source, target;
};
static inline void made_copy_on(struct writer *writer, struct made_memory copy, int64_t stream)
{
    struct row_CUPTI_ACTIVITY_KIND_MEMCPY row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, start, copy.begin);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, end, copy.end);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, deviceId, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, contextId, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, streamId, stream);
    if (copy.id != NO_ID)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, correlationId, copy.id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, globalPid, made_thread(1, 0));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, bytes, copy.bytes);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, copyKind, copy.kind);
    if (copy.source != NO_ID)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, srcKind, copy.source);
    if (copy.target != NO_ID)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMCPY, dstKind, copy.target);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_MEMCPY, &row);
}

static inline void made_copy(struct writer *writer, struct made_memory copy)
{
    made_copy_on(writer, copy, 7);
}

static inline void made_fill(struct writer *writer, struct made_memory fill)
{
    struct row_CUPTI_ACTIVITY_KIND_MEMSET row = { 0 };

    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMSET, start, fill.begin);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMSET, end, fill.end);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMSET, deviceId, 0);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMSET, contextId, 1);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMSET, streamId, 7);
    if (fill.id != NO_ID)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMSET, correlationId, fill.id);
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMSET, globalPid, made_thread(1, 0));
    ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMSET, bytes, fill.bytes);
    if (fill.kind != NO_ID)
        ROW_SET(&row, CUPTI_ACTIVITY_KIND_MEMSET, memKind, fill.kind);
    writer_append(writer, TABLE_CUPTI_ACTIVITY_KIND_MEMSET, &row);
}

#endif
