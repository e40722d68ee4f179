/* An OMPT tool of the user's: counts parallel regions, and says how many at the end. Built into a program (-DPROGRAM)
 * or as a library. */
#include <stdint.h>
#include <stdio.h>

static int regions;

static void parallel_begin(void *task, const void *frame, void *parallel, unsigned threads, int flags,
                           const void *address)
{
    regions++;
}

static int initialize(void (*(*lookup)(const char *))(void), int device, void *data)
{
    int (*set)(int, void (*)(void)) = (int (*)(int, void (*)(void)))lookup("ompt_set_callback");
    set(3, (void (*)(void))parallel_begin);
    return 1;
}

static void finalize(void *data)
{
    printf("tool saw %d\n", regions);
    fflush(stdout);
}

void *ompt_start_tool(unsigned version, const char *runtime)
{
    static struct {
        void *initialize, *finalize;
        uint64_t data;
    } tool = { (void *)initialize, (void *)finalize, 0 };
    return &tool;
}

#ifdef PROGRAM
int main(void)
{
    volatile int sink = 0;
    for (int i = 0; i < 3; i++)
#pragma omp parallel num_threads(2)
        sink++;
    return 0;
}
#endif
