/* Calls of OpenSHMEM with arguments in every way that there is. Writes "function bytes PE" of each into calls.RANK, -1
 * for what it has not, and ends with 1 if a value did not arrive. Two PEs. */
#include <shmem.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { N = 8 };
static FILE *calls;
static int wrong;

#define CALL(bytes, pe, name, ...)                                                                                     \
    (fprintf(calls, "%s %ld %d\n", #name, (long)(bytes), (int)(pe)), name(__VA_ARGS__))
#define EXPECT(condition) expect((condition), #condition)

static void expect(int holds, const char *what)
{
    if (!holds) {
        fprintf(stderr, "wrong: %s\n", what);
        wrong = 1;
    }
}

/* In the symmetric heap. */
struct shared {
    char c;
    short s;
    int i[N], got_i[N];
    long l[N], from_l[2 * N];
    float f;
    double d[N];
    long double ld;
    float swapped_f;
    double swapped_d;
    long counter, flag;
    long sync[SHMEM_REDUCE_SYNC_SIZE + SHMEM_BCAST_SYNC_SIZE + SHMEM_ALLTOALLS_SYNC_SIZE];
    double work[SHMEM_REDUCE_MIN_WRKDATA_SIZE + N];
    double sums[N];
    long strided[4 * N];
};

static void move(struct shared *at, int other)
{
    long source[N] = { 1, 2, 3, 4, 5, 6, 7, 8 }, back[N];
    double doubles[N] = { 0.5, 1.5 };
    CALL(1, other, shmem_char_p, &at->c, (char)(65 + other), other);
    CALL(2, other, shmem_short_p, &at->s, (short)-7, other);
    CALL(4, other, shmem_float_p, &at->f, 1.25f, other);
    CALL(8, other, shmem_double_p, &at->d[7], 2.75, other);
    CALL(16, other, shmem_longdouble_p, &at->ld, 3.125L, other);
    CALL(8 * N, other, shmem_long_put, at->l, source, N, other);
    CALL(16, other, shmem_double_put, at->d, doubles, 2, other);
    CALL(8 * 4, other, shmem_long_iput, at->strided, source, 3, 2, 4, other);
    CALL(-1, -1, shmem_quiet);
    CALL(-1, -1, shmem_barrier_all);
    EXPECT(at->c == 65 + (1 - other) && at->s == -7 && at->f == 1.25f && at->d[7] == 2.75 && at->ld == 3.125L);
    EXPECT(memcmp(at->l, source, sizeof source) == 0 && at->d[1] == 1.5);
    EXPECT(at->strided[0] == 1 && at->strided[3] == 3 && at->strided[6] == 5 && at->strided[9] == 7);
    CALL(-1, -1, shmem_barrier_all); /* both have looked */
    CALL(8 * N, other, shmem_long_get, back, at->l, N, other);
    CALL(13, other, shmem_getmem, back, at->l, 13, other);
    EXPECT(back[0] == 1);
    EXPECT((CALL(4, other, shmem_float_g, &at->f, other)) == 1.25f);
    EXPECT((CALL(8, other, shmem_double_g, &at->d[7], other)) == 2.75);
    EXPECT((CALL(16, other, shmem_longdouble_g, &at->ld, other)) == 3.125L);
    EXPECT((CALL(4, other, shmem_int_g, &at->i[3], other)) == 3);
    CALL(-1, -1, shmem_barrier_all);
    CALL(8, other, shmem_putmem_nbi, &at->l[1], source, 8, other);
    CALL(4 * 3, other, shmem_ctx_put32, SHMEM_CTX_DEFAULT, at->got_i, at->i, 3, other);
    CALL(-1, -1, shmem_barrier_all);
}

static void atomics(struct shared *at, int me, int other)
{
    CALL(8, 0, shmem_long_atomic_add, &at->counter, me + 1, 0);
    CALL(8, 0, shmem_long_atomic_inc, &at->counter, 0);
    CALL(-1, -1, shmem_barrier_all);
    EXPECT((CALL(8, 0, shmem_long_atomic_fetch, &at->counter, 0)) == 5);
    CALL(4, other, shmem_float_atomic_set, &at->swapped_f, 4.5f, other);
    CALL(8, other, shmem_double_atomic_set, &at->swapped_d, 8.5, other);
    CALL(-1, -1, shmem_barrier_all);
    EXPECT((CALL(4, other, shmem_float_atomic_fetch, &at->swapped_f, other)) == 4.5f);
    CALL(-1, -1, shmem_barrier_all);
    EXPECT((CALL(8, other, shmem_double_atomic_swap, &at->swapped_d, 9.5, other)) == 8.5);
    CALL(-1, -1, shmem_barrier_all);
    EXPECT(at->swapped_d == 9.5);
    EXPECT((CALL(8, other, shmem_long_atomic_compare_swap, &at->l[2], 3, 77, other)) == 3);
    CALL(-1, -1, shmem_barrier_all);
    CALL(8, other, shmem_long_p, &at->flag, 1, other);
    CALL(-1, -1, shmem_long_wait_until, &at->flag, SHMEM_CMP_EQ, 1);
    EXPECT((CALL(-1, -1, shmem_long_test, &at->flag, SHMEM_CMP_EQ, 1)));
    EXPECT(!shmem_long_test(&at->flag, SHMEM_CMP_EQ, 2)); /* counted, not recorded */
}

static void collectives(struct shared *at, int me)
{
    CALL(8 * 2, -1, shmem_double_sum_to_all, at->sums, at->d, 2, 0, 0, 2, at->work, at->sync);
    EXPECT(at->sums[0] == 1.0 && at->sums[1] == 3.0);
    long *sync = at->sync + SHMEM_REDUCE_SYNC_SIZE;
    CALL(8 * 4, 1, shmem_broadcast64, at->from_l, at->l, 4, 1, 0, 0, 2, sync);
    EXPECT(me == 1 || at->from_l[3] == 4);
    CALL(-1, -1, shmem_barrier_all);
    sync += SHMEM_BCAST_SYNC_SIZE;
    CALL(8, -1, shmem_alltoalls64, at->from_l, at->l, 1, 1, 1, 0, 0, 2, sync);
    EXPECT(at->from_l[1 - me] == at->l[me]);
    CALL(-1, -1, shmem_sync_all);
}

int main(void)
{
    char name[64];
    snprintf(name, sizeof name, "calls.%s", getenv("OMPI_COMM_WORLD_RANK"));
    calls = fopen(name, "w");
    CALL(-1, -1, shmem_init);
    int me = shmem_my_pe();
    struct shared *at = CALL(-1, -1, shmem_calloc, 1, sizeof *at);
    for (int i = 0; i < N; i++)
        at->i[i] = i;
    for (size_t i = 0; i < sizeof at->sync / sizeof *at->sync; i++)
        at->sync[i] = SHMEM_SYNC_VALUE;
    CALL(-1, -1, shmem_barrier_all);
    move(at, 1 - me);
    atomics(at, me, 1 - me);
    collectives(at, me);
    CALL(-1, -1, shmem_free, at);
    CALL(-1, -1, shmem_finalize);
    fclose(calls);
    return wrong;
}
