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

/* ---- Windows --------------------------------------------------------------------------------------------------- */

/* A program of few steps has all of them in full. Then eight of 72 in a row are, in at least 20 ms. */
enum { IN_FULL = 50, WINDOW = 72, WINDOW_IN_FULL = 8 };
#define WINDOW_NS UINT64_C(20000000)
/* More than this is too much: by how much recording may make a step longer, in thousandths. */
enum { MOST_LONGER = 100 };

static void step_lengths_add(struct step_lengths *lengths, uint64_t ns)
{
    lengths->ns[lengths->count++ % STEP_LENGTHS] = ns;
}

/* The median, or 0 if there are too few, or if they are not alike: then a few steps are not like the others, because a
 * loop has several marks in each step, or different ones in turn. */
static uint64_t step_lengths_median(const struct step_lengths *lengths)
{
    enum { LEAST = 6, EDGE = 8, UNLIKE = 2 };
    uint32_t count = lengths->count < STEP_LENGTHS ? lengths->count : STEP_LENGTHS;
    uint64_t sorted[STEP_LENGTHS];
    if (count < LEAST)
        return 0;
    for (uint32_t i = 0, at; i < count; i++) {
        for (at = i; at > 0 && sorted[at - 1] > lengths->ns[i]; at--)
            sorted[at] = sorted[at - 1];
        sorted[at] = lengths->ns[i];
    }
    uint64_t median_ns = sorted[count / 2];
    return sorted[count / EDGE] * UNLIKE < median_ns || sorted[count - 1 - count / EDGE] > median_ns * UNLIKE
               ? 0
               : median_ns;
}

/* Windows begin if recorded steps took too much longer than those of a probe, which took timed_ns. They stay, so that
 * the steps of a run can be compared. A program may get faster by itself meanwhile: if the steps before the first probe
 * took longer, those after it decide. */
static void step_schedule_judge(struct step_schedule *schedule, uint64_t timed_ns)
{
    uint64_t traced_ns = step_lengths_median(&schedule->traced);
    if (!schedule->may_lower || schedule->longer || !timed_ns || traced_ns <= timed_ns)
        return;
    uint64_t longer = (traced_ns - timed_ns) * 1000 / timed_ns;
    if (longer <= MOST_LONGER)
        return;
    if (schedule->in_full < IN_FULL) {
        schedule->probe_ns = timed_ns;
        return;
    }
    schedule->longer = longer < UINT16_MAX ? (uint32_t)longer : UINT16_MAX;
    schedule->scale = 1 + (uint32_t)(WINDOW_NS / (WINDOW_IN_FULL * timed_ns));
}

/* The plan of a traced step. A block begins with a window, whose settling step was the last one of the block before. */
static struct step_plan step_schedule_traced(struct step_schedule *schedule, struct step_plan plan)
{
    if (schedule->in_full < IN_FULL) {
        if (++schedule->in_full == IN_FULL)
            step_schedule_judge(schedule, schedule->probe_ns);
        schedule->window = 1 + WINDOW_IN_FULL * schedule->scale;
        return plan;
    }
    if (!schedule->longer)
        return plan;
    uint32_t recorded = 1 + WINDOW_IN_FULL * schedule->scale;
    uint32_t at = schedule->steps == 1 ? 1 : schedule->window % (WINDOW * schedule->scale);
    schedule->window = at + 1;
    if (at >= recorded)
        return (struct step_plan){ WIRE_STEP_LOWERED, STEP_RECORDS_FEW };
    return at == 0 ? (struct step_plan){ WIRE_STEP_SETTLING, STEP_RECORDS_EVENTS } : plan;
}

/* ---- The next step --------------------------------------------------------------------------------------------- */

static void step_schedule_end(struct step_schedule *schedule, uint64_t now_ns)
{
    if (schedule->begin_ns && schedule->phase == WIRE_STEP_TRACED)
        step_lengths_add(&schedule->traced, now_ns - schedule->begin_ns);
    if (schedule->begin_ns && schedule->phase == WIRE_STEP_TIMED)
        step_lengths_add(&schedule->timed, now_ns - schedule->begin_ns);
    schedule->begin_ns = now_ns;
}

struct step_plan step_schedule_next(struct step_schedule *schedule, uint64_t now_ns)
{
    const struct step_schedule_block *blocks = schedule->is_plain ? plain : advised;
    step_schedule_end(schedule, now_ns);
    if (schedule->steps && step_schedule_is_over(schedule, &blocks[schedule->block], now_ns)) {
        schedule->steps = 0;
        if (++schedule->block == BLOCKS) {
            schedule->block = schedule->is_plain ? TRACED - 1 : 1;
            schedule->round++;
            step_schedule_judge(schedule, step_lengths_median(&schedule->timed));
            schedule->timed.count = 0;
        }
    }
    if (schedule->steps++ == 0)
        schedule->since_ns = now_ns;
    struct step_plan plan = blocks[schedule->block].plan;
    if (schedule->is_plain && schedule->block == TRACED)
        plan = step_schedule_traced(schedule, plan);
    schedule->phase = plan.phase;
    return plan;
}
