/* The numbers of C's structs that library_enter_*.S needs; library_calls.c asserts them. */
#ifndef TACHO_AGENT_STUBS_LIBRARIES_LIBRARY_ENTER_H
#define TACHO_AGENT_STUBS_LIBRARIES_LIBRARY_ENTER_H

#define ENTER_ATTACHED 1        /* AGENT_ATTACHED */
#define ENTER_LIBRARY_BIT 8     /* WIRE_BIT(LIBRARIES) */

#define ENTER_STACK_BYTES 32 /* offsets in struct library_call */
#define ENTER_IS_RECORDED 40

/* library_vectors on x86_64: 0, the vector components that this CPU has, or "ask which of them are in use". */
#define ENTER_PART_AVX 4 /* bits of the CPU's state components */
#define ENTER_PART_AVX512 64
#define ENTER_VECTORS_ASK 1

#endif
