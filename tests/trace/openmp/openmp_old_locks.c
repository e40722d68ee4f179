/* A program that GCC before 4.4 compiled: its nestable lock has 8 bytes, and libgomp's functions for those have the
 * version OMP_1.0. Today's lock has 16. Prints what lies behind the lock. */
#include <omp.h>
#include <stdio.h>

#define OLD(function) __asm__(".symver " #function "," #function "@OMP_1.0")
OLD(omp_init_nest_lock);
OLD(omp_set_nest_lock);
OLD(omp_unset_nest_lock);
OLD(omp_destroy_nest_lock);

int main(void)
{
    struct {
        int lock[2];
        int behind[6];
    } memory = { { 0 }, { 1, 2, 3, 4, 5, 6 } };
    omp_nest_lock_t *lock = (void *)memory.lock;

    omp_init_nest_lock(lock);
    omp_set_nest_lock(lock);
    omp_set_nest_lock(lock);
    omp_unset_nest_lock(lock);
    omp_unset_nest_lock(lock);
    omp_destroy_nest_lock(lock);
    for (int i = 0; i < 6; i++)
        printf("%d ", memory.behind[i]);
    return 0;
}
