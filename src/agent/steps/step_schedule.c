/* The schedules of steps: see step_schedule.h.
 *
 * Steps beside a change are settling. When recording begins, the GPU still works on kernels of steps that were not
 * recorded. When it ends, CUPTI may drop the records of kernels that are still queued. The first step after any change
 * also pays for caches that the change has emptied. */
#include "step_schedule.h"

/* A part of a round. It has `first` steps in the first round and 2^growth times as many in each further one, up to
 * `most`. It lasts at least least_ns, so that programs with steps of microseconds do not change phase all the time.
 * Details come first: the collector gives them to the traced steps that follow. */
struct step_schedule_block {
    struct step_plan plan;
    uint32_t first, growth, most;
    uint64_t least_ns;
};
static const struct step_schedule_block advised[] = {
    { { WIRE_STEP_SETTLING, STEP_RECORDS_EVENTS }, 2, 0, 2, 0 }, /* the program warms up: only in the first round */
    { { WIRE_STEP_SETTLING, STEP_RECORDS_DETAILS }, 1, 0, 1, 0 },
    { { WIRE_STEP_DETAILED, STEP_RECORDS_DETAILS }, 1, 1, 3, 0 },
    { { WIRE_STEP_SETTLING, STEP_RECORDS_EVENTS }, 1, 0, 1, 0 },
    { { WIRE_STEP_TRACED, STEP_RECORDS_EVENTS }, 2, 1, 16, 20000000 },
    { { WIRE_STEP_SETTLING, STEP_RECORDS_EVENTS }, 1, 0, 1, 0 },
    { { WIRE_STEP_SETTLING, STEP_RECORDS_NOTHING }, 1, 0, 1, 0 },
    { { WIRE_STEP_TIMED, STEP_RECORDS_NOTHING }, 4, 1, UINT32_MAX, 50000000 },
};
static const struct step_schedule_block plain[] = {
    { { WIRE_STEP_SETTLING, STEP_RECORDS_EVENTS }, 4, 0, 4, 0 },
    { { WIRE_STEP_SETTLING, STEP_RECORDS_DETAILS }, 1, 0, 1, 0 },
    { { WIRE_STEP_DETAILED, STEP_RECORDS_DETAILS }, 1, 0, 1, 0 },
    { { WIRE_STEP_SETTLING, STEP_RECORDS_EVENTS }, 1, 0, 1, 0 }, /* later rounds begin here */
    { { WIRE_STEP_TRACED, STEP_RECORDS_EVENTS }, 20, 2, UINT32_MAX, 150000000 },
    { { WIRE_STEP_SETTLING, STEP_RECORDS_EVENTS }, 1, 0, 1, 0 },
    { { WIRE_STEP_SETTLING, STEP_RECORDS_NOTHING }, 1, 0, 1, 0 },
    { { WIRE_STEP_TIMED, STEP_RECORDS_NOTHING }, 6, 1, 10, 20000000 },
};
enum { BLOCKS = COUNT_OF(advised), TRACED = 4, ROUNDS_MAX = 24 };
_Static_assert(COUNT_OF(plain) == BLOCKS, "both have the same blocks");

/* A probe leaves out steps, which must not be minutes of the program. */
#define PROBED_STEP_NS UINT64_C(500000000)

static uint32_t step_schedule_length_of(const struct step_schedule_block *block, uint32_t round)
{
    uint64_t length = (uint64_t)block->first << (block->growth * (round < ROUNDS_MAX ? round : ROUNDS_MAX));
    return length < block->most ? (uint32_t)length : block->most;
}

static int step_schedule_is_over(const struct step_schedule *schedule, const struct step_schedule_block *block,
                                 uint64_t now_ns)
{
    uint64_t taken_ns = now_ns - schedule->since_ns;
    if (schedule->steps < step_schedule_length_of(block, schedule->round) || taken_ns < block->least_ns)
        return 0;
    return !schedule->is_plain || schedule->block != TRACED || taken_ns / schedule->steps <= PROBED_STEP_NS;
}

struct step_plan step_schedule_next(struct step_schedule *schedule, uint64_t now_ns)
{
    const struct step_schedule_block *blocks = schedule->is_plain ? plain : advised;
    if (schedule->steps && step_schedule_is_over(schedule, &blocks[schedule->block], now_ns)) {
        schedule->steps = 0;
        if (++schedule->block == BLOCKS) {
            schedule->block = schedule->is_plain ? TRACED - 1 : 1;
            schedule->round++;
        }
    }
    if (schedule->steps++ == 0)
        schedule->since_ns = now_ns;
    return blocks[schedule->block].plan;
}
