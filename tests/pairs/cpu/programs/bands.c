/* Mandelbrot set over MPI: each rank computes one band of rows, then all add up. */
#include <mpi.h>
#include <stdio.h>

enum { WIDTH = 1200, HEIGHT = 900, LIMIT = 1000, FRAMES = 8 };

static long escape_steps(double cr, double ci)
{
    double r = 0, i = 0;
    long n = 0;
    for (; n < LIMIT && r * r + i * i < 4; n++) {
        double t = r * r - i * i + cr;
        i = 2 * r * i + ci;
        r = t;
    }
    return n;
}

static long band(int first, int last)
{
    long sum = 0;
    for (int row = first; row < last; row++)
        for (int column = 0; column < WIDTH; column++)
            sum += escape_steps(-2.0 + 3.0 * column / WIDTH, -2.5 + 2.5 * row / HEIGHT);
    return sum;
}

int main(int argc, char **argv)
{
    int rank, size;
    long total = 0;

    MPI_Init(&argc, &argv);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    for (int frame = 0; frame < FRAMES; frame++) {
        long sum, mine = band(HEIGHT / size * rank, HEIGHT / size * (rank + 1));
        MPI_Allreduce(&mine, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        total += sum;
    }
    if (rank == 0)
        printf("%ld steps\n", total);
    MPI_Finalize();
    return 0;
}
