/* The schedule of --advise: see step_schedule.h.
 *
 * Steps beside a change are settling. When recording begins, the GPU still works on kernels of steps that were not
 * recorded. When it ends, CUPTI may drop the records of kernels that are still queued. The first step after any change
 * also pays for caches that the change has emptied. */
#include "step_schedule.h"

/* A round. A block has `first` steps in the first round and twice as many in each further one, up to `most`. It lasts
 * at least least_ns, so that programs with steps of microseconds do not change phase all the time. Details come first:
 * the collector gives them to the traced steps that follow. */
static const struct step_schedule_block {
    struct step_plan plan;
    uint32_t first, most;
    uint64_t least_ns;
} blocks[] = {
    { { WIRE_STEP_SETTLING, STEP_RECORDS_EVENTS }, 2, 2, 0 }, /* the program warms up: only in the first round */
    { { WIRE_STEP_SETTLING, STEP_RECORDS_DETAILS }, 1, 1, 0 },
    { { WIRE_STEP_DETAILED, STEP_RECORDS_DETAILS }, 1, 3, 0 },
    { { WIRE_STEP_SETTLING, STEP_RECORDS_EVENTS }, 1, 1, 0 },
    { { WIRE_STEP_TRACED, STEP_RECORDS_EVENTS }, 2, 16, 20000000 },
    { { WIRE_STEP_SETTLING, STEP_RECORDS_EVENTS }, 1, 1, 0 },
    { { WIRE_STEP_SETTLING, STEP_RECORDS_NOTHING }, 1, 1, 0 },
    { { WIRE_STEP_TIMED, STEP_RECORDS_NOTHING }, 4, UINT32_MAX, 50000000 },
};
enum { BLOCKS = COUNT_OF(blocks), FIRST_OF_LATER_ROUNDS = 1, ROUNDS_MAX = 24 };

static uint32_t step_schedule_length_of(const struct step_schedule_block *block, uint32_t round)
{
    uint64_t length = (uint64_t)block->first << (round < ROUNDS_MAX ? round : ROUNDS_MAX);
    return length < block->most ? (uint32_t)length : block->most;
}

static int step_schedule_is_over(const struct step_schedule *schedule, uint64_t now_ns)
{
    const struct step_schedule_block *block = &blocks[schedule->block];
    return schedule->steps >= step_schedule_length_of(block, schedule->round) &&
           now_ns - schedule->since_ns >= block->least_ns;
}

struct step_plan step_schedule_next(struct step_schedule *schedule, uint64_t now_ns)
{
    if (schedule->steps && step_schedule_is_over(schedule, now_ns)) {
        schedule->steps = 0;
        if (++schedule->block == BLOCKS) {
            schedule->block = FIRST_OF_LATER_ROUNDS;
            schedule->round++;
        }
    }
    if (schedule->steps++ == 0)
        schedule->since_ns = now_ns;
    return blocks[schedule->block].plan;
}
