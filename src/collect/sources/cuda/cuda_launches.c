/* Launches and their kernels: see cuda_launches.h. */
#include "cuda_launches.h"

#include <stdlib.h>

#define CAPACITY_FIRST (1u << 14)
#define CAPACITY_MAX (1u << 20)
#define KERNELS_MAX ((1u << 30) - 1)

enum pair_state { PAIR_LAUNCH = 1, PAIR_KERNEL = 2, PAIR_WHOLE = 3 };

void cuda_launches_free(struct cuda_pairs *pairs)
{
    free(pairs->places);
    pairs->places = NULL;
    pairs->capacity = 0;
}

/* ---- Halves without their other half --------------------------------------------------------------------------- */

static int in_capture(const struct cuda_pairs *pairs, uint64_t ns)
{
    uint32_t count = pairs->capture_count < CUDA_CAPTURES_MAX ? pairs->capture_count : CUDA_CAPTURES_MAX;
    for (uint32_t i = 0; i < count; i++)
        if (ns >= pairs->captures[i].from_ns && ns <= pairs->captures[i].to_ns)
            return 1;
    return 0;
}

static void settle(struct cuda_pairs *pairs, const struct cuda_pair *pair)
{
    if (pair->state == PAIR_LAUNCH)
        pairs->launches_without_kernel += !in_capture(pairs, pair->ns);
    else if (pair->state == PAIR_KERNEL)
        pairs->kernels_without_launch += pair->kernels;
}

/* ---- The ring -------------------------------------------------------------------------------------------------- */

static struct cuda_pair *cuda_launches_place_of(const struct cuda_pairs *pairs, uint32_t id)
{
    return &pairs->places[id & (pairs->capacity - 1)];
}

/* Ids with different places in a ring have different places in a larger one. */
static int cuda_launches_grow(struct cuda_pairs *pairs)
{
    struct cuda_pairs more = { .capacity = pairs->capacity ? 2 * pairs->capacity : CAPACITY_FIRST };
    more.places = calloc(more.capacity, sizeof *more.places);
    if (!more.places)
        return -1;
    for (uint32_t i = 0; i < pairs->capacity; i++)
        if (pairs->places[i].state)
            *cuda_launches_place_of(&more, pairs->places[i].id) = pairs->places[i];
    free(pairs->places);
    pairs->places = more.places;
    pairs->capacity = more.capacity;
    return 0;
}

/* The entry of an id, its own or an empty one; NULL if the place belongs to a newer id, or out of memory. */
static struct cuda_pair *cuda_launches_claim(struct cuda_pairs *pairs, uint32_t id)
{
    if (!pairs->capacity && cuda_launches_grow(pairs) != 0)
        return NULL;
    for (;;) {
        struct cuda_pair *place = cuda_launches_place_of(pairs, id);
        if (!place->state || place->id == id)
            return place;
        int is_older = (int32_t)(id - place->id) < 0;
        if ((place->state != PAIR_WHOLE || is_older) && pairs->capacity < CAPACITY_MAX &&
            cuda_launches_grow(pairs) == 0)
            continue;
        if (is_older)
            return NULL;
        settle(pairs, place);
        place->state = 0;
        return place;
    }
}

/* ---- Launches and kernels -------------------------------------------------------------------------------------- */

/* A launch of the runtime contains the launch of the driver, and either id may be the kernel's. Returns 1 if it is the
 * inner one: then this call is not a launch of its own. */
static int joins_inner(struct cuda_pairs *pairs, const struct cuda_launch *launch)
{
    if (launch->is_driver) {
        pairs->inner.from_ns = launch->from_ns;
        pairs->inner.to_ns = launch->to_ns;
        pairs->inner.id = launch->id;
        pairs->inner.thread = launch->thread;
        return 0;
    }
    uint32_t inner = pairs->inner.id;
    if (!inner || inner == launch->id || pairs->inner.thread != launch->thread ||
        pairs->inner.from_ns < launch->from_ns || pairs->inner.to_ns > launch->to_ns)
        return 0;
    pairs->inner.id = 0;
    pairs->launches--;
    struct cuda_pair *place = cuda_launches_place_of(pairs, inner);
    if (place->id != inner || place->state != PAIR_LAUNCH)
        return 1;
    place->state = 0; /* still without a kernel: the runtime's id is used */
    return 0;
}

void cuda_launches_launch(struct cuda_pairs *pairs, const struct cuda_launch *launch)
{
    pairs->launches++;
    if (pairs->capacity && joins_inner(pairs, launch))
        return;
    struct cuda_pair *place = cuda_launches_claim(pairs, launch->id);
    if (!place) {
        settle(pairs, &(struct cuda_pair){ .ns = launch->from_ns, .state = PAIR_LAUNCH });
    } else if (!place->state) {
        *place = (struct cuda_pair){ .ns = launch->from_ns, .id = launch->id, .state = PAIR_LAUNCH };
    } else if (place->state == PAIR_KERNEL) {
        pairs->kernels_before_launch += place->ns && place->ns < launch->from_ns;
        place->state = PAIR_WHOLE;
        place->ns = launch->from_ns;
    }
}

void cuda_launches_kernel(struct cuda_pairs *pairs, uint32_t id, uint64_t start_ns)
{
    struct cuda_pair *place = cuda_launches_claim(pairs, id);
    if (!place) {
        settle(pairs, &(struct cuda_pair){ .kernels = 1, .state = PAIR_KERNEL });
    } else if (!place->state) {
        *place = (struct cuda_pair){ .ns = start_ns, .id = id, .kernels = 1, .state = PAIR_KERNEL };
    } else if (place->state == PAIR_KERNEL) {
        place->kernels += place->kernels < KERNELS_MAX;
        place->ns = start_ns < place->ns ? start_ns : place->ns;
    } else { /* the first kernel of its launch, or a further one */
        pairs->kernels_before_launch += start_ns && start_ns < place->ns;
        place->state = PAIR_WHOLE;
    }
}

void cuda_launches_capture_begins(struct cuda_pairs *pairs, uint32_t thread, uint64_t ns)
{
    pairs->captures[pairs->capture_count++ % CUDA_CAPTURES_MAX] = (struct cuda_capture){
        .from_ns = ns,
        .to_ns = UINT64_MAX,
        .thread = thread,
    };
}

/* Ends the last capture that this thread began, or else the last open one, since another thread may end it. */
void cuda_launches_capture_ends(struct cuda_pairs *pairs, uint32_t thread, uint64_t ns)
{
    struct cuda_capture *best = NULL;
    uint32_t count = pairs->capture_count < CUDA_CAPTURES_MAX ? pairs->capture_count : CUDA_CAPTURES_MAX;
    for (uint32_t i = 0; i < count; i++) {
        struct cuda_capture *capture = &pairs->captures[(pairs->capture_count - 1 - i) % CUDA_CAPTURES_MAX];
        if (capture->to_ns != UINT64_MAX)
            continue;
        if (!best)
            best = capture;
        if (capture->thread == thread) {
            best = capture;
            break;
        }
    }
    if (best)
        best->to_ns = ns;
}

void cuda_launches_settle(struct cuda_pairs *pairs)
{
    for (uint32_t i = 0; i < pairs->capacity; i++)
        settle(pairs, &pairs->places[i]);
    cuda_launches_free(pairs);
}
