/* The names of communication: see communication.h. */
#include "communication.h"

#include "base/text.h"

enum communication communication_of_kernel(const char *name)
{
    static const struct {
        const char *begin;
        enum communication library;
    } kernels[] = { { "nccl", COMMUNICATION_NCCL }, { "nvshmem", COMMUNICATION_NVSHMEM } };
    static const char result[] = "void "; /* a demangled name may begin with the type of the result */

    name += text_begins_with(name, result) ? sizeof result - 1 : 0;
    for (size_t i = 0; i < COUNT_OF(kernels); i++)
        if (text_begins_with(name, kernels[i].begin))
            return kernels[i].library;
    return COMMUNICATION_NONE;
}

static const struct {
    const char *begin;
    int is_mark;
} ranges[] = {
    { "nccl:", 1 },   { "gloo:", 1 }, { "mpi:", 1 },
    { "ucc:", 1 },    { "nccl", 0 },  { "MPI_", 0 },
    { "nvshmem", 0 }, { "c10d:", 0 }, { "record_param_comms", 0 },
};
enum { RANGES = COUNT_OF(ranges) };

/* The first row that a name begins with; RANGES: none. */
static size_t communication_find_range(const char *name)
{
    size_t i = 0;

    while (i < RANGES && !text_begins_with(name, ranges[i].begin))
        i++;
    return i;
}

int communication_is_range(const char *name)
{
    return communication_find_range(name) < RANGES;
}

int communication_is_mark(const char *name)
{
    size_t i = communication_find_range(name);

    return i < RANGES && ranges[i].is_mark;
}
