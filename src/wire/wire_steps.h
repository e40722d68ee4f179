/* Records of steps: how long each took, and what was recorded meanwhile (tacho profile --advise). */
#ifndef TACHO_WIRE_WIRE_STEPS_H
#define TACHO_WIRE_WIRE_STEPS_H

#include "wire.h"

enum wire_steps_type {
    /* A step that has ended; the time is its start. a: enum wire_step_phase; b: if it is lowered because recording
     * takes long, by how much it made a step longer, in thousandths; body: [ticks at its end][number] text, the name of
     * the event that marks steps */
    WIRE_STEP = WIRE_FIRST_STEPS,
};
WIRE_TYPES_END_AT(STEPS, WIRE_STEP);

/* The phase of a step, and its name in the report. */
#define WIRE_STEP_PHASES(X)                                                                                          \
    X(TIMED, "timed")       /* nothing was recorded but its time */                                                  \
    X(TRACED, "traced")     /* all sources recorded, as in a capture without phases */                               \
    X(DETAILED, "detailed") /* the same, with shapes, stacks and modules of operators */                             \
    X(SETTLING, "settling") /* beside a change: its time and its records may be those of two phases */               \
    X(LOWERED, "lowered") /* without operators or CUDA, to keep the cost of recording low */

enum wire_step_phase {
#define WIRE_STEP_PHASE_ID(name, text) WIRE_STEP_##name,
    WIRE_STEP_PHASES(WIRE_STEP_PHASE_ID) WIRE_STEP_PHASE_COUNT
#undef WIRE_STEP_PHASE_ID
};

#endif
