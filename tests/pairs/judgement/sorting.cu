// Lists are sorted one after the other: blocks sort pieces, which are merged. The function that sorts takes its scratch memory from a pool
// that gives all back to the system whenever the host waits. Repaired: the pool keeps it.
#include "steps.cuh"

enum { LENGTH = 1 << 20, PIECE = 1024, LISTS = 12, THREADS = 256 };

__global__ void make(unsigned *keys, unsigned seed)
{
    unsigned x = (blockIdx.x * THREADS + threadIdx.x) ^ seed * 0x9e3779b9u;

    x = (x ^ (x >> 16)) * 0x7feb352du;
    x = (x ^ (x >> 15)) * 0x846ca68bu;
    keys[blockIdx.x * THREADS + threadIdx.x] = x ^ (x >> 16);
}

__global__ void sort_piece(const unsigned *in, unsigned *out)
{
    __shared__ unsigned keys[PIECE];
    unsigned i = threadIdx.x;

    keys[i] = in[blockIdx.x * PIECE + i];
    __syncthreads();
    for (unsigned size = 2; size <= PIECE; size *= 2) {
        for (unsigned apart = size / 2; apart; apart /= 2) {
            unsigned other = i ^ apart;
            if (other > i && (keys[i] > keys[other]) == ((i & size) == 0)) {
                unsigned kept = keys[i];
                keys[i] = keys[other];
                keys[other] = kept;
            }
            __syncthreads();
        }
    }
    out[blockIdx.x * PIECE + i] = keys[i];
}

// Each thread finds the place of its key in the run of twice the length. Of equal keys those of the left run come first.
__global__ void merge(const unsigned *in, unsigned *out, unsigned length)
{
    unsigned i = blockIdx.x * THREADS + threadIdx.x, pair = i / (2 * length) * (2 * length);
    bool on_right = i - pair >= length;
    unsigned key = in[i], low = 0, high = length;
    const unsigned *others = in + pair + (on_right ? 0 : length);

    while (low < high) {
        unsigned middle = (low + high) / 2;
        if (on_right ? others[middle] <= key : others[middle] < key)
            low = middle + 1;
        else
            high = middle;
    }
    out[pair + (i - pair) % length + low] = key;
}

struct Sorting : Program {
    bool fixed;
    unsigned *keys = device_array<unsigned>(LENGTH), *sorted = device_array<unsigned>(LENGTH);
    cudaStream_t stream;
    cudaMemPool_t pool = nullptr;

    Sorting(bool is_fixed) : fixed(is_fixed)
    {
        check(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
        if (fixed) {
            cudaMemPoolProps properties = {};
            unsigned long long kept = ~0ull;
            properties.allocType = cudaMemAllocationTypePinned;
            properties.location.type = cudaMemLocationTypeDevice;
            check(cudaMemPoolCreate(&pool, &properties));
            check(cudaMemPoolSetAttribute(pool, cudaMemPoolAttrReleaseThreshold, &kept));
        }
    }

    ~Sorting() override
    {
        cudaFree(keys);
        cudaFree(sorted);
        cudaStreamDestroy(stream);
        if (pool)
            cudaMemPoolDestroy(pool);
    }

    unsigned *scratch()
    {
        void *memory;

        if (fixed)
            check(cudaMallocFromPoolAsync(&memory, LENGTH * sizeof *keys, pool, stream));
        else
            check(cudaMallocAsync(&memory, LENGTH * sizeof *keys, stream)); // FAULT
        return (unsigned *)memory;
    }

    // The result is complete when the function returns.
    void sort(const unsigned *from, unsigned *to)
    {
        unsigned *one = scratch(), *two = scratch(); // SEEN

        sort_piece<<<LENGTH / PIECE, PIECE, 0, stream>>>(from, one);
        for (unsigned length = PIECE; length < LENGTH; length *= 2) {
            merge<<<LENGTH / THREADS, THREADS, 0, stream>>>(one, two, length);
            std::swap(one, two);
        }
        check(cudaMemcpyAsync(to, one, LENGTH * sizeof *to, cudaMemcpyDeviceToDevice, stream));
        check(cudaFreeAsync(one, stream)); // SEEN
        check(cudaFreeAsync(two, stream)); // SEEN
        check(cudaStreamSynchronize(stream)); // SEEN
    }

    void step(int number) override
    {
        for (int i = 0; i < LISTS; i++) {
            make<<<LENGTH / THREADS, THREADS, 0, stream>>>(keys, number * LISTS + i + 1);
            sort(keys, sorted); // SEEN
        }
        check(cudaGetLastError());
    }
};

int main(int argc, char **argv)
{
    return run_steps(argc, argv, [](bool fixed) -> Program * { return new Sorting(fixed); });
}
