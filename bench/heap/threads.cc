// Four threads that free each other's blocks. At each barrier all have done the same work, so that the peak is known.
#include <pthread.h>

#include <thread>
#include <vector>

#include "account.h"

enum { THREADS = 4, BLOCKS = 4000, LOST_EVERY = 100 };

static pthread_barrier_t barrier;
static char *blocks[THREADS][BLOCKS];

static size_t size_of(unsigned thread, unsigned i)
{
    return 200 + (thread * BLOCKS + i) * 2654435761u % 2000;
}

__attribute__((noinline)) static void allocate(unsigned thread, unsigned first)
{
    for (unsigned i = first; i < BLOCKS; i += 2)
        blocks[thread][i] = static_cast<char *>(malloc(size_of(thread, i)));
}

__attribute__((noinline)) static void free_some(unsigned thread, unsigned first, unsigned kept_every)
{
    for (unsigned i = first; i < BLOCKS; i += 2) {
        if (i % kept_every)
            free(blocks[thread][i]);
        blocks[thread][i] = nullptr;
    }
}

static void work(unsigned thread)
{
    unsigned neighbour = (thread + 1) % THREADS;
    allocate(thread, 0);
    allocate(thread, 1);
    pthread_barrier_wait(&barrier);
    free_some(neighbour, 0, LOST_EVERY);
    pthread_barrier_wait(&barrier);
    allocate(thread, 0);
    pthread_barrier_wait(&barrier);      // the peak
    free_some(neighbour, 0, BLOCKS + 1); // 0 % any number is 0: the first one is lost, too
    free_some(neighbour, 1, BLOCKS + 1);
    account_scrub();
}

static long bytes_of(unsigned every)
{
    long sum = 0;
    for (unsigned thread = 0; thread < THREADS; thread++)
        for (unsigned i = 0; i < BLOCKS; i += every)
            sum += static_cast<long>(size_of(thread, i));
    return sum;
}

static void run_threads()
{
    std::vector<std::thread> threads;
    for (unsigned i = 0; i < THREADS; i++)
        threads.emplace_back(work, i);
    for (auto &thread : threads)
        thread.join();
}

int main(int argc, char **argv)
{
    int rounds = account_rounds(argc, argv);
    pthread_barrier_init(&barrier, nullptr, THREADS);
    for (int i = 0; i < rounds; i++)
        run_threads();
    long lost = bytes_of(LOST_EVERY);
    for (unsigned thread = 0; thread < THREADS; thread++)
        lost += static_cast<long>(size_of(thread, 0));
    account_print(bytes_of(1) + bytes_of(LOST_EVERY), lost * rounds);
    return 0;
}
