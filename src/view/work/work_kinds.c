/* The tables of names: see work_kinds.h. */
#include "work_kinds.h"

#include <string.h>

#include "analyze/model/names/communication.h"
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

enum work_kind work_of_kernel(const char *name, size_t length)
{
    return communication_of_kernel(name) ? WORK_COMMUNICATION : WORK_KERNEL;
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

enum work_kind work_of_range(const char *name, size_t length)
{
    return communication_is_range(name) ? WORK_COMMUNICATION : WORK_RANGE;
}
