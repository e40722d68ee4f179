/* Relaxes a grid with a team of threads that meet after each sweep. */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>

enum { CELLS = 1 << 15, SWEEPS = 120, MOST = 64 };

static float grid[2][CELLS];
static int team;
static _Atomic int arrived, round_number;

static void meet(void)
{
    int now = atomic_load(&round_number);
    if (atomic_fetch_add(&arrived, 1) == team - 1) {
        atomic_store(&arrived, 0);
        atomic_fetch_add(&round_number, 1);
        return;
    }
    while (atomic_load(&round_number) == now)
        ;
}

static void *sweep(void *argument)
{
    int part = (int)(long)argument, first = CELLS / team * part, last = first + CELLS / team;

    for (int n = 0; n < SWEEPS; n++) {
        float *from = grid[n & 1], *to = grid[~n & 1];
        for (int repeat = 0; repeat < 200; repeat++)
            for (int i = first > 1 ? first : 1; i < last && i < CELLS - 1; i++)
                to[i] = 0.25f * from[i - 1] + 0.5f * from[i] + 0.25f * from[i + 1];
        meet();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    pthread_t threads[MOST];

    team = argc > 1 ? atoi(argv[1]) : 8;
    for (int i = 0; i < CELLS; i++)
        grid[0][i] = grid[1][i] = i % 101;
    for (long i = 0; i < team; i++)
        pthread_create(&threads[i], NULL, sweep, (void *)i);
    for (int i = 0; i < team; i++)
        pthread_join(threads[i], NULL);
    printf("%d threads, middle %.4f\n", team, grid[0][CELLS / 2]);
    return 0;
}
