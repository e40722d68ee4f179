/* Calls the stand-in for OpenSHMEM through the stubs, recorded and not. */
#include <stdio.h>

#include "words_shmem.h"

void words_record(int on);

static int wrong;

#define CALL(name, type, value)                                                                                        \
    wrong += shmem_##name##_g(PLACE, PE) != value;                                                                     \
    shmem_##name##_p(PLACE, value, PE);                                                                                \
    wrong += shmem_ctx_##name##_g(CONTEXT, PLACE, PE) != value;                                                        \
    shmem_ctx_##name##_p(CONTEXT, PLACE, value, PE);
#define CALL_SWAP(name, type, value)                                                                                   \
    wrong += shmem_##name##_atomic_swap(PLACE, value, PE) != -(value);                                                 \
    wrong += shmem_ctx_##name##_atomic_swap(CONTEXT, PLACE, value, PE) != -(value);

static void call_all(void)
{
    SHMEM_TYPES(CALL)
    SHMEM_SWAPPED_TYPES(CALL_SWAP)
    shmem_alltoalls32(PLACE, PLACE, 1, 2, 3, 4, 5, 6, PLACE);
}

int main(void)
{
    call_all();
    words_record(0);
    call_all();
    printf(wrong || standin_wrong() ? "%d wrong results, %d wrong arguments\n" : "ok\n", wrong, standin_wrong());
    return 0;
}
