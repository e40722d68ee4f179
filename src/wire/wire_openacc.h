/* Records of OpenACC events. */
#ifndef TACHO_WIRE_WIRE_OPENACC_H
#define TACHO_WIRE_WIRE_OPENACC_H

#include "wire.h"

#define WIRE_OPENACC_FILE "libtacho-openacc.so" /* beside the agent; ACC_PROFLIB names it */
#define WIRE_OPENACC_DEPTH 8u                   /* events that a thread is in at a time; deeper ones count as lost */
#define WIRE_OPENACC_TEXT_MAX 1024u             /* bytes of each text; longer ones are truncated */

enum wire_openacc_type {
    /* An event has begun. If the process dies inside, the report has it because of this record. a: enum openacc_event,
     * b: events around it; body: [ticks of the stack, as below] */
    WIRE_OPENACC_BEGIN = WIRE_FIRST_OPENACC,
    /* An event that has ended; the time is its start. a: enum openacc_event, b: events around it, flags: enum
     * wire_openacc_flag; body: [ticks at its end][ticks of the WIRE_STACK that leads to its directive, 0:
     * none][device type << 32 | device number][line, 0:
     * unknown][bytes, or gangs][workers][vector length], then three texts, each padded to whole words: source file,
     * function, variable or kernel. */
    WIRE_OPENACC_EVENT,
};
WIRE_TYPES_END_AT(OPENACC, WIRE_OPENACC_EVENT); /* the key of a WIRE_STACK is unused */
#define WIRE_OPENACC_BODY_WORDS 7u

enum wire_openacc_flag {
    WIRE_OPENACC_IMPLICIT = 1,  /* no directive asks for it */
    WIRE_OPENACC_OF_GCC = 2,    /* device types as GCC numbers them */
    WIRE_OPENACC_HAS_SIZES = 4, /* bytes, or gangs, workers and vector length, are known */
};

#endif
