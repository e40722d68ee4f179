/* An OpenSHMEM of a few functions: counts arguments that are not those of the caller. */
#include "words_shmem.h"

static int wrong;

#define CHECK(...) wrong += !(__VA_ARGS__)
#define DEFINE(name, type, value)                                                                                      \
    type shmem_##name##_g(const void *source, int pe)                                                                  \
    {                                                                                                                  \
        CHECK(source == PLACE && pe == PE);                                                                            \
        return value;                                                                                                  \
    }                                                                                                                  \
    void shmem_##name##_p(void *dest, type given, int pe)                                                              \
    {                                                                                                                  \
        CHECK(dest == PLACE && given == value && pe == PE);                                                            \
    }                                                                                                                  \
    type shmem_ctx_##name##_g(void *context, const void *source, int pe)                                               \
    {                                                                                                                  \
        CHECK(context == CONTEXT && source == PLACE && pe == PE);                                                      \
        return value;                                                                                                  \
    }                                                                                                                  \
    void shmem_ctx_##name##_p(void *context, void *dest, type given, int pe)                                           \
    {                                                                                                                  \
        CHECK(context == CONTEXT && dest == PLACE && given == value && pe == PE);                                      \
    }
#define DEFINE_SWAP(name, type, value)                                                                                 \
    type shmem_##name##_atomic_swap(void *dest, type given, int pe)                                                    \
    {                                                                                                                  \
        CHECK(dest == PLACE && given == value && pe == PE);                                                            \
        return -given;                                                                                                 \
    }                                                                                                                  \
    type shmem_ctx_##name##_atomic_swap(void *context, void *dest, type given, int pe)                                 \
    {                                                                                                                  \
        CHECK(context == CONTEXT && dest == PLACE && given == value && pe == PE);                                      \
        return -given;                                                                                                 \
    }
SHMEM_TYPES(DEFINE)
SHMEM_SWAPPED_TYPES(DEFINE_SWAP)

void shmem_alltoalls32(void *a, const void *b, long c, long d, long e, int f, int g, int h, long *i)
{
    CHECK(a == PLACE && b == PLACE && c == 1 && d == 2 && e == 3 && f == 4 && g == 5 && h == 6 && i == (long *)PLACE);
}

int standin_wrong(void)
{
    return wrong;
}
