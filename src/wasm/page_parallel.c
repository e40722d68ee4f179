/* The loops of base/parallel.h for one thread. */
#include "base/parallel.h"

struct parallel *parallel_new(int workers)
{
    static char one;
    return (struct parallel *)&one;
}

void parallel_delete(struct parallel *pool)
{
}

void parallel_for(struct parallel *pool, size_t count, void (*body)(void *argument, int worker, size_t i),
                  void *argument)
{
    for (size_t i = 0; i < count; i++)
        body(argument, 0, i);
}

int parallel_workers(const struct parallel *pool)
{
    return 1;
}

int parallel_cores(void)
{
    return 1;
}
