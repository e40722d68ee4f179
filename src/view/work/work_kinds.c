/* The tables of names: see work_kinds.h. */
#include "work_kinds.h"

#include <string.h>

#include "analyze/model/os_calls.h"

const uint8_t work_lanes[WORK_KINDS] = {
#define WORK_KIND_LANE(id, lane) lane,
    WORK_KIND_LIST(WORK_KIND_LANE)
#undef WORK_KIND_LANE
};

static int contains(const char *name, size_t length, const char *part)
{
    return memmem(name, length, part, strlen(part)) != NULL;
}

static int begins_with_any(const char *name, size_t length, const char *const *prefixes)
{
    for (; *prefixes; prefixes++)
        if (length >= strlen(*prefixes) && memcmp(name, *prefixes, strlen(*prefixes)) == 0)
            return 1;
    return 0;
}

enum work_kind work_of_kernel(const char *name, size_t length)
{
    static const char *const communication[] = { "nccl", "void nccl", "nvshmem", NULL };

    return begins_with_any(name, length, communication) ? WORK_COMMUNICATION : WORK_KERNEL;
}

enum work_kind work_of_copy(const char *name, size_t length)
{
    return contains(name, length, "Host-to-Device")   ? WORK_H2D
           : contains(name, length, "Device-to-Host") ? WORK_D2H
                                                      : WORK_COPY;
}

enum work_kind work_of_cuda_call(const char *name, size_t length)
{
    return contains(name, length, "Synchronize") ? WORK_WAIT : WORK_CALL;
}

enum work_kind work_of_os_call(const char *name, size_t length)
{
    static const int waits[OS_CALL_KINDS] = {
        [OS_CALL_LOCK] = 1, [OS_CALL_EVENTS] = 1, [OS_CALL_WAIT] = 1, [OS_CALL_CHILD] = 1
    };

    return waits[os_call_kind(name, length)] ? WORK_WAIT : WORK_CALL;
}

/* Libraries mark their collectives with ranges, and PyTorch has operators for them. */
enum work_kind work_of_range(const char *name, size_t length)
{
    static const char *const communication[] = {
        "nccl", "MPI_", "mpi:", "gloo:", "ucc:", "c10d:", "nvshmem", "record_param_comms", NULL
    };

    return begins_with_any(name, length, communication) ? WORK_COMMUNICATION : WORK_RANGE;
}
