/* Counts close pairs of points; row i has i partners. */
#include <stdio.h>
#include <stdlib.h>

enum { POINTS = 60000 };

static float x[POINTS], y[POINTS];

static long partners(int i)
{
    long count = 0;
    for (int j = 0; j < i; j++) {
        float dx = x[i] - x[j], dy = y[i] - y[j];
        count += dx * dx + dy * dy < 1e-4f;
    }
    return count;
}

int main(void)
{
    long count = 0;

    srand(5);
    for (int i = 0; i < POINTS; i++) {
        x[i] = rand() / (float)RAND_MAX;
        y[i] = rand() / (float)RAND_MAX;
    }
    for (int step = 0; step < 2; step++) {
#pragma omp parallel for reduction(+ : count)
        for (int i = 0; i < POINTS; i++)
            count += partners(i);
    }
    printf("%ld close pairs\n", count);
    return 0;
}
