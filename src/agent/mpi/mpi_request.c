/* The table of requests: a fixed number of sets, each with WAYS places. A thread takes a free place by one exchange of
 * its key, and gives it back by a store. MPI forbids two threads to complete one request, so nobody else touches the
 * place meanwhile. If a set is full, the request is not followed: its call is recorded, its completion is not, and the
 * caller counts it.
 *
 * MPIs give all sends that are complete at once the same handle. Then the oldest request with the handle counts. */
#include "mpi_request.h"

#include <stdatomic.h>
#include <stddef.h>

#define SETS 2048u
#define WAYS 8u
#define MESSAGE (UINT64_C(1) << 63) /* in the key of a message, not of a request */

struct mpi_request_entry {
    _Atomic uint64_t key;   /* 0: free */
    _Atomic uint64_t value; /* number << 8 | bits; 0: not set yet */
};
static struct mpi_request_entry entries[SETS * WAYS];
static _Atomic uint32_t last_number;

static struct mpi_request_entry *mpi_request_set_of(uint64_t key)
{
    return &entries[(key * 0x9e3779b97f4a7c15u >> 40) % SETS * WAYS];
}

static inline __attribute__((always_inline)) struct mpi_request_entry *mpi_request_find(
    uint64_t key) /* each poll is here */
{
    struct mpi_request_entry *set = mpi_request_set_of(key), *oldest = NULL;
    uint64_t least = UINT64_MAX;
    for (uint32_t i = 0; i < WAYS; i++) {
        if (atomic_load_explicit(&set[i].key, memory_order_relaxed) != key)
            continue;
        uint64_t value = atomic_load_explicit(&set[i].value, memory_order_relaxed);
        if (!(value & MPI_REQUEST_SHARES))
            return &set[i];
        if (value < least) {
            least = value;
            oldest = &set[i];
        }
    }
    return oldest;
}

static void mpi_request_give(struct mpi_request_entry *entry)
{
    atomic_store_explicit(&entry->value, 0, memory_order_relaxed);
    atomic_store_explicit(&entry->key, 0, memory_order_release);
}

static int mpi_request_put(uint64_t key, uint64_t value)
{
    struct mpi_request_entry *set = mpi_request_set_of(key);
    for (uint32_t i = 0; i < WAYS; i++) {
        uint64_t none = 0;
        if (atomic_load_explicit(&set[i].key, memory_order_relaxed) == 0 &&
            atomic_compare_exchange_strong(&set[i].key, &none, key)) {
            atomic_store_explicit(&set[i].value, value, memory_order_release);
            return 1;
        }
    }
    return 0;
}

uint32_t mpi_request_add(uint64_t handle, uint32_t bits)
{
    struct mpi_request_entry *known = bits & MPI_REQUEST_SHARES ? NULL : mpi_request_find(handle);
    if (known) /* its end was not seen */
        mpi_request_give(known);
    uint32_t number = atomic_fetch_add_explicit(&last_number, 1, memory_order_relaxed) + 1;
    return handle && mpi_request_put(handle, (uint64_t)number << 8 | bits) ? number : 0;
}

struct mpi_request mpi_request_of(uint64_t handle)
{
    const struct mpi_request_entry *entry = handle ? mpi_request_find(handle) : NULL;
    uint64_t value = entry ? atomic_load_explicit(&entry->value, memory_order_acquire) : 0;
    return (struct mpi_request){ (uint32_t)(value >> 8), value & 0xff };
}

void mpi_request_remove(uint64_t handle, uint32_t number)
{
    struct mpi_request_entry *set = mpi_request_set_of(handle);
    for (uint32_t i = 0; i < WAYS; i++)
        if (atomic_load_explicit(&set[i].key, memory_order_relaxed) == handle &&
            atomic_load_explicit(&set[i].value, memory_order_relaxed) >> 8 == number)
            mpi_request_give(&set[i]);
}

void mpi_requests_forget(void)
{
    for (uint32_t i = 0; i < SETS * WAYS; i++)
        if (atomic_load_explicit(&entries[i].key, memory_order_relaxed))
            mpi_request_give(&entries[i]);
}

void mpi_message_add(uint64_t handle, uint32_t communicator)
{
    if (handle)
        mpi_request_put(handle | MESSAGE, (uint64_t)communicator << 8);
}

uint32_t mpi_message_take(uint64_t handle)
{
    struct mpi_request_entry *entry = mpi_request_find(handle | MESSAGE);
    uint32_t communicator = entry ? (uint32_t)(atomic_load(&entry->value) >> 8) : 0;
    if (entry)
        mpi_request_give(entry);
    return communicator;
}
