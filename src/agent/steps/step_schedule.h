/* Which steps of a program are only timed, which are recorded, and which are recorded with details.
 *
 * A pure state machine: number and time of the steps go in, the phase of the next step comes out. With --advise a round
 * records a few steps and then times some; each round is about twice as long as the one before it, so a program of a
 * million steps has some four hundred recorded ones, and one of twenty steps has a few of each kind. Any other capture
 * records all steps but those of its probes: a few steps that are only timed, so that the report knows what recording
 * cost. A program of 300 steps has two probes, one of a million steps eight.
 *
 * Where a probe finds that recording makes a step much longer, few later steps are recorded with all detail (windows):
 * an eighth of them, in runs of nine, the first of which settles; in longer ones where steps are short. */
#ifndef TACHO_AGENT_STEPS_STEP_SCHEDULE_H
#define TACHO_AGENT_STEPS_STEP_SCHEDULE_H

#include "wire/wire_steps.h"

/* What is recorded in a step beside its time. */
enum step_records { STEP_RECORDS_EVENTS, STEP_RECORDS_DETAILS, STEP_RECORDS_FEW, STEP_RECORDS_NOTHING };

/* How long the last steps of a phase took. */
enum { STEP_LENGTHS = 16 };
struct step_lengths {
    uint64_t ns[STEP_LENGTHS];
    uint32_t count; /* of all so far */
};

/* Starts from {0}, or from { .is_plain = 1 }: all steps but those of probes are recorded; with .may_lower, some with
 * little detail. */
struct step_schedule {
    uint32_t is_plain, may_lower;
    uint32_t round, block; /* the part of the round */
    uint32_t steps;        /* steps of the block that have begun */
    uint64_t since_ns;     /* begin of the block */
    uint64_t begin_ns;     /* of the step that runs now; 0: none does */
    enum wire_step_phase phase;
    struct step_lengths traced, timed;
    uint32_t in_full;      /* traced steps until windows begin */
    uint64_t probe_ns;     /* of a timed step, if those before the first probe took too much longer; else 0 */
    uint32_t window;       /* steps since the begin of a window */
    uint32_t scale;        /* windows have so many times the least number of steps */
    /* By how much recording made a step longer when windows began, in thousandths; 0: all steps have all detail. */
    uint32_t longer;
};

struct step_plan {
    enum wire_step_phase phase;
    enum step_records records;
};

/* The plan of the step that begins now. */
struct step_plan step_schedule_next(struct step_schedule *schedule, uint64_t now_ns);

#endif
