// Shortest ways on a map of roads of equal length: a breadth-first search from one place, front by front. Repaired: the size of a front stays
// on the GPU, and the host looks once in sixteen fronts whether there are more.
#include "steps.cuh"

enum { SIDE = 512, PLACES = SIDE * SIDE, ROADS = 4, MOST_FRONTS = 8 * SIDE, THREADS = 256, BLOCKS = 32, AT_ONCE = 16 };

// Two places are neighbours if they lie side by side, and a tenth of the roads is closed.
__global__ void build(int *roads)
{
    int place = blockIdx.x * THREADS + threadIdx.x, x = place % SIDE, y = place / SIDE;
    const int dx[ROADS] = {1, -1, 0, 0}, dy[ROADS] = {0, 0, 1, -1};

    for (int k = 0; k < ROADS; k++) {
        int to_x = x + dx[k], to_y = y + dy[k], other = to_y * SIDE + to_x;
        bool inside = to_x >= 0 && to_x < SIDE && to_y >= 0 && to_y < SIDE;
        unsigned road = 2u * min(place, other) + (dx[k] != 0);
        bool is_open = (road * 2654435761u >> 16) % 10 != 0;
        roads[place * ROADS + k] = inside && is_open ? other : -1;
    }
}

__global__ void begin(int *distances, int *front, int *sizes, int start)
{
    distances[start] = 0;
    front[0] = start;
    sizes[0] = 1;
}

__global__ void expand(const int *roads, int *distances, const int *front, int *next, int *sizes, int number)
{
    for (int i = blockIdx.x * THREADS + threadIdx.x; i < sizes[number]; i += gridDim.x * THREADS) {
        for (int k = 0; k < ROADS; k++) {
            int place = roads[front[i] * ROADS + k];
            if (place >= 0 && atomicCAS(&distances[place], -1, number + 1) == -1)
                next[atomicAdd(&sizes[number + 1], 1)] = place;
        }
    }
}

struct Search : Program {
    bool fixed;
    int *roads = device_array<int>(PLACES * ROADS), *distances = device_array<int>(PLACES), *sizes = device_array<int>(MOST_FRONTS + 1);
    int *fronts[2] = {device_array<int>(PLACES), device_array<int>(PLACES)};

    Search(bool is_fixed) : fixed(is_fixed)
    {
        build<<<PLACES / THREADS, THREADS>>>(roads);
    }

    ~Search() override
    {
        for (int *array : {roads, distances, sizes, fronts[0], fronts[1]})
            cudaFree(array);
    }

    int size_of(int number)
    {
        int size;

        check(cudaMemcpy(&size, sizes + number, sizeof size, cudaMemcpyDeviceToHost)); // FAULT
        return size;
    }

    void expand_front(int number, int blocks)
    {
        expand<<<blocks, THREADS>>>(roads, distances, fronts[number % 2], fronts[(number + 1) % 2], sizes, number);
    }

    void step(int number) override
    {
        int front = 0, size = 1;

        check(cudaMemsetAsync(distances, 0xff, PLACES * sizeof *distances));
        check(cudaMemsetAsync(sizes, 0, (MOST_FRONTS + 1) * sizeof *sizes));
        begin<<<1, 1>>>(distances, fronts[0], sizes, PLACES / 2 + SIDE / 2 + number % 8);
        while (size > 0 && front + AT_ONCE <= MOST_FRONTS) {
            if (fixed) {
                for (int i = 0; i < AT_ONCE; i++)
                    expand_front(front++, BLOCKS);
            } else {
                expand_front(front++, (size + THREADS - 1) / THREADS); // SEEN
            }
            size = size_of(front); // SEEN
        }
        check(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool fixed) -> Program * { return new Search(fixed); });
}
