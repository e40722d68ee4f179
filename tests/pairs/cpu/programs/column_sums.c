/* Column sums of a large table. */
#include <stdio.h>
#include <stdlib.h>

enum { ROWS = 1 << 18, COLUMNS = 256 + 16, TIMES = 10 };

static void column_sums(const float *table, double *sums)
{
    for (int column = 0; column < COLUMNS; column++) {
        double sum = 0;
        for (int row = 0; row < ROWS; row++)
            sum += table[(size_t)row * COLUMNS + column];
        sums[column] += sum;
    }
}

int main(void)
{
    float *table = malloc(sizeof *table * ROWS * COLUMNS);
    double *sums = calloc(COLUMNS, sizeof *sums);

    for (size_t i = 0; i < (size_t)ROWS * COLUMNS; i++)
        table[i] = i % 1013;
    for (int i = 0; i < TIMES; i++)
        column_sums(table, sums);
    printf("%.1f %.1f\n", sums[0], sums[COLUMNS - 1]);
    return 0;
}
