/* A program with OpenSHMEM, of one PE. */
#include "guest.h"

#include <shmem.h>

PROGRAM(oshmem_alone)
{
    shmem_init();
    double *place = shmem_malloc(sizeof *place);
    long *counter = shmem_calloc(1, sizeof *counter);
    shmem_double_p(place, 1.0 / 3, shmem_my_pe());
    shmem_quiet();
    say("PE %d of %d: %d", shmem_my_pe(), shmem_n_pes(), shmem_double_g(place, shmem_my_pe()) == 1.0 / 3);
    shmem_long_atomic_add(counter, 5, shmem_my_pe());
    say("counter %ld", shmem_long_atomic_fetch(counter, shmem_my_pe()));
    shmem_barrier_all();
    shmem_finalize();
    return 0;
}
