/* The GPU's clock against the client's: pairs of both are noted from time to time, and times between are interpolated.
 * Later times go on with the rate since the first pair, once that is long enough ago for a rate: each pair is off by
 * what a thread takes to read both clocks. */
#include <pthread.h>
#include <stdlib.h>

#include "cupti.h"

enum { RATE_NS = 10000000 };
struct pair {
    uint64_t gpu, host;
};
static struct pair *pairs;
static size_t count, room;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* The tightest of a few tries: a thread may be interrupted between the clocks. */
void clock_pair(uint64_t (*now)(void))
{
    struct pair best = { 0, 0 };
    uint64_t width = UINT64_MAX;
    for (int i = 0; i < 5; i++) {
        uint64_t before = now(), gpu = fake_gpu_time(fake_now()), after = now();
        if (after - before < width) {
            width = after - before;
            best = (struct pair){ gpu, before + (after - before) / 2 };
        }
    }
    pthread_mutex_lock(&lock);
    if (count == 0 || best.gpu > pairs[count - 1].gpu) {
        if (count == room)
            pairs = realloc(pairs, (room = room ? room * 2 : 64) * sizeof *pairs);
        pairs[count++] = best;
    }
    pthread_mutex_unlock(&lock);
}

uint64_t clock_convert(uint64_t gpu_time)
{
    pthread_mutex_lock(&lock);
    size_t low = 0, high = count;
    while (low + 1 < high) {
        size_t middle = (low + high) / 2;
        if (pairs[middle].gpu <= gpu_time)
            low = middle;
        else
            high = middle;
    }
    struct pair a = pairs[low], b = low + 1 < count ? pairs[low + 1] : pairs[0];
    int is_between = low + 1 < count;
    pthread_mutex_unlock(&lock);
    int64_t since = (int64_t)(gpu_time - a.gpu), gpu_span = (int64_t)(b.gpu - a.gpu),
            host_span = (int64_t)(b.host - a.host);
    int has_rate = is_between || gpu_span < -RATE_NS;
    return a.host + (uint64_t)(has_rate ? (int64_t)((__int128)since * host_span / gpu_span) : since);
}
