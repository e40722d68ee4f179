/* The calls of tests/house/words_cross.sh into a stand-in for OpenSHMEM: the floating-point functions, whose arguments
 * and results are in vector registers (a long double of x86_64 on the stack, and its result in the x87 unit), and one
 * with more words than registers. */
#ifndef TACHO_TESTS_WORDS_SHMEM_H
#define TACHO_TESTS_WORDS_SHMEM_H

#define CONTEXT ((void *)11)
#define PLACE ((void *)12)
#define PE 13

/* X(name in functions, type, a value that no smaller type has) */
#define SHMEM_SWAPPED_TYPES(X) X(float, float, 1.0f / 3) X(double, double, 1.0 / 3)
#define SHMEM_TYPES(X) SHMEM_SWAPPED_TYPES(X) X(longdouble, long double, 1.0L / 7)

#define SHMEM_DECLARE(name, type, value)                                                                               \
    type shmem_##name##_g(const void *source, int pe);                                                                 \
    void shmem_##name##_p(void *dest, type given, int pe);                                                             \
    type shmem_ctx_##name##_g(void *context, const void *source, int pe);                                              \
    void shmem_ctx_##name##_p(void *context, void *dest, type given, int pe);
#define SHMEM_DECLARE_SWAP(name, type, value)                                                                          \
    type shmem_##name##_atomic_swap(void *dest, type given, int pe);                                                   \
    type shmem_ctx_##name##_atomic_swap(void *context, void *dest, type given, int pe);
SHMEM_TYPES(SHMEM_DECLARE)
SHMEM_SWAPPED_TYPES(SHMEM_DECLARE_SWAP)
void shmem_alltoalls32(void *, const void *, long, long, long, int, int, int, long *);
int standin_wrong(void); /* calls of the stand-in with other arguments than those above */

#endif
