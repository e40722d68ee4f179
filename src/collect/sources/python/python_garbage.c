/* Collections of Python's garbage collector: see python_garbage.h. */
#include "python_garbage.h"

/* Rounds that are farther apart were paused, or belong to a slow sampling rate: then nobody knows what was between. */
#define REACH_NS 5000000

static struct python_garbage_of *find(struct python_garbage *garbage, uint64_t interpreter)
{
    unsigned known = garbage->count < PYTHON_GARBAGE_INTERPRETERS ? garbage->count : PYTHON_GARBAGE_INTERPRETERS;
    for (unsigned i = 0; i < known; i++)
        if (garbage->of[i].interpreter == interpreter)
            return &garbage->of[i];
    struct python_garbage_of *own = &garbage->of[garbage->count++ % PYTHON_GARBAGE_INTERPRETERS];
    *own = (struct python_garbage_of){ .interpreter = interpreter };
    return own;
}

/* The oldest generation of which one has ended since then: a full collection empties the younger ones, too. -1: none.
 */
static int generation_that_ended(const struct python_collector *then, const struct python_collector *now)
{
    for (int i = PYTHON_GENERATIONS - 1; i >= 0; i--)
        if (now->generations[i].collections != then->generations[i].collections)
            return i;
    return -1;
}

static void end_collection(struct python_garbage_of *own, const struct python_collector *now, int generation,
                           int64_t end_ns, struct python_collection *ended)
{
    ended->start_ns = own->start_ns;
    ended->end_ns = end_ns;
    ended->tid = own->tid;
    ended->generation = generation;
    ended->collected = ended->uncollectable = 0;
    own->tid = 0;
    if (generation < 0)
        return;
    ended->collected = now->generations[generation].collected - own->collector.generations[generation].collected;
    ended->uncollectable = now->generations[generation].uncollectable -
                           own->collector.generations[generation].uncollectable;
}

int python_garbage_round(struct python_garbage *garbage, uint64_t interpreter, const struct python_collector *collector,
                         uint32_t tid, int64_t now_ns, struct python_collection *ended)
{
    struct python_garbage_of *own = find(garbage, interpreter);
    int64_t half_ns = own->round_ns ? (now_ns - own->round_ns) / 2 : 0;
    half_ns = half_ns < REACH_NS ? half_ns : REACH_NS;
    int generation = own->round_ns ? generation_that_ended(&own->collector, collector) : -1;
    int has_ended = own->tid && (!collector->is_collecting || generation >= 0);
    if (has_ended)
        end_collection(own, collector, generation, own->round_ns + half_ns, ended);
    if (collector->is_collecting && !own->tid && tid) {
        own->tid = tid;
        own->start_ns = now_ns - half_ns;
    }
    own->collector = *collector;
    own->round_ns = now_ns;
    return has_ended;
}
