/* A stand-in of libc10.so: an allocator that asks whether anybody wants to know, and tells. */
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>

#include "torch_standin.h"

struct device {
    int8_t type, index;
};

uint64_t standin_reports;
standin_source_function *standin_source = malloc;
/* held while memory is got and told of, as torch does it on a GPU */
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static uint64_t in_use;
char undefined_tensor[256] __asm__("_ZN3c1019UndefinedTensorImpl10_singletonE");

bool enabled(void) __asm__("_ZN3c1022memoryProfilingEnabledEv");
bool enabled(void)
{
    return false;
}

void report(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved,
            struct device device) __asm__("_ZN3c1027reportMemoryUsageToProfilerEPvlmmNS_6DeviceE");
void report(void *address, int64_t bytes, uint64_t allocated, uint64_t reserved, struct device device)
{
    standin_reports++;
}

void *standin_allocate(int64_t bytes)
{
    pthread_mutex_lock(&lock);
    void *memory = standin_source((size_t)bytes);
    if (enabled())
        report(memory, bytes, in_use += (uint64_t)bytes, 0, (struct device){ 0, -1 });
    pthread_mutex_unlock(&lock);
    return memory;
}

void standin_free(void *memory, int64_t bytes)
{
    pthread_mutex_lock(&lock);
    if (enabled())
        report(memory, -bytes, in_use -= (uint64_t)bytes, 0, (struct device){ 0, -1 });
    free(memory);
    pthread_mutex_unlock(&lock);
}
