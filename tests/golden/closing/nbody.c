/* Forces between bodies, each pair once: the first threads have most pairs. */
#include <math.h>
#include <stdio.h>

enum { BODIES = 6000, STEPS = 12 };
static double place[BODIES], force[BODIES];

static void add_forces(void)
{
#pragma omp parallel for schedule(static)
    for (int i = 0; i < BODIES; i++) {
        double sum = 0;
        for (int j = i + 1; j < BODIES; j++)
            sum += 1 / sqrt(1 + (place[i] - place[j]) * (place[i] - place[j]));
        force[i] = sum;
    }
}

int main(void)
{
    for (int i = 0; i < BODIES; i++)
        place[i] = i * 0.37;
    for (int step = 0; step < STEPS; step++) {
        add_forces();
        for (int i = 0; i < BODIES; i++)
            place[i] += 1e-6 * force[i];
    }
    printf("%.6f\n", place[BODIES / 2]);
    return 0;
}
