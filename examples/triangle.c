/* Two parallel regions: clang -g -O2 -fopenmp -o triangle triangle.c
 *
 * triangle() has rows of growing length, so the thread with the last rows works longest. scale() has so little work
 * that the barrier at its end costs more. The page is docs/openmp.md. */
#include <stdio.h>

enum { ROWS = 4000, TIMES = 100 };
static double line[ROWS], sums[ROWS];

static void triangle(void)
{
#pragma omp parallel for schedule(static)
    for (int row = 0; row < ROWS; row++)
        for (int i = 0; i <= row; i++)
            sums[row] += line[i];
}

static void scale(double by)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < ROWS; i++)
        line[i] = by * i;
}

int main(void)
{
    for (int i = 0; i < TIMES; i++) {
        scale(i);
        triangle();
    }
    printf("%g\n", sums[ROWS - 1]);
    return 0;
}
