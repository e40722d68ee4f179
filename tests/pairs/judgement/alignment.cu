// Pieces of genomes are aligned by Smith and Waterman's method. The cells of a diagonal depend on those before it, and a kernel does one
// diagonal of one pair. Repaired: it does the same diagonal of all pairs, which do not depend on each other.
#include "steps.cuh"

enum { PAIRS = 6, LENGTH = 384, THREADS = 128, DIAGONALS = 2 * LENGTH - 1, MATCH = 3, MISMATCH = -2, GAP = -4 };

__global__ void make(char *texts)
{
    unsigned x = blockIdx.x * THREADS + threadIdx.x;

    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    texts[blockIdx.x * THREADS + threadIdx.x] = "acgt"[(x >> 13) % 4];
}

// Row r of diagonal d is the cell (r, d - r). `diagonals` has three of them for each pair, used in turn, each after a zero.
__global__ void fill(const char *texts, int *diagonals, int *best, int d)
{
    int row = blockIdx.x * THREADS + threadIdx.x, column = d - row, pair = blockIdx.y;
    const char *one = texts + (size_t)pair * 2 * LENGTH, *two = one + LENGTH;
    int *first = diagonals + (size_t)pair * 3 * (LENGTH + 1) + 1, *now = first + d % 3 * (LENGTH + 1);
    const int *last = first + (d + 2) % 3 * (LENGTH + 1), *before = first + (d + 1) % 3 * (LENGTH + 1);

    if (row >= LENGTH)
        return;
    if (column < 0 || column >= LENGTH) {
        now[row] = 0;
        return;
    }
    int score = max(0, before[row - 1] + (one[row] == two[column] ? MATCH : MISMATCH));
    score = max(score, max(last[row - 1], last[row]) + GAP);
    now[row] = score;
    atomicMax(&best[pair], score);
}

struct Alignment : Program {
    bool fixed;
    char *texts = device_array<char>((size_t)PAIRS * 2 * LENGTH);
    int *diagonals = device_array<int>((size_t)PAIRS * 3 * (LENGTH + 1)), *best = device_array<int>(PAIRS);

    Alignment(bool is_fixed) : fixed(is_fixed)
    {
        make<<<PAIRS * 2 * LENGTH / THREADS, THREADS>>>(texts);
    }

    ~Alignment() override
    {
        cudaFree(texts);
        cudaFree(diagonals);
        cudaFree(best);
    }

    void align_pair(int pair)
    {
        for (int d = 0; d < DIAGONALS; d++)
            fill<<<LENGTH / THREADS, THREADS>>>(texts + (size_t)pair * 2 * LENGTH, diagonals + (size_t)pair * 3 * (LENGTH + 1), best + pair, d); // FAULT
    }

    void step(int) override
    {
        check(cudaMemsetAsync(diagonals, 0, (size_t)PAIRS * 3 * (LENGTH + 1) * sizeof *diagonals));
        check(cudaMemsetAsync(best, 0, PAIRS * sizeof *best));
        if (fixed) {
            for (int d = 0; d < DIAGONALS; d++)
                fill<<<dim3(LENGTH / THREADS, PAIRS), THREADS>>>(texts, diagonals, best, d);
        } else {
            for (int pair = 0; pair < PAIRS; pair++)
                align_pair(pair); // SEEN
        }
        check(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool fixed) -> Program * { return new Alignment(fixed); });
}
