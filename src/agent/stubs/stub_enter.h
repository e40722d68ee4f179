/* The numbers that enter_*.S needs of C's structs; stub_calls.c asserts that they are right. */
#ifndef TACHO_AGENT_STUBS_STUB_ENTER_H
#define TACHO_AGENT_STUBS_STUB_ENTER_H

#define ENTER_ATTACHED 1        /* AGENT_ATTACHED */
#define ENTER_LIBRARY_BIT 8     /* WIRE_BIT(LIBRARY) */

#define ENTER_STACK_BYTES 32    /* places in struct library_call */
#define ENTER_IS_RECORDED 40

/* library_vectors on x86_64: 0, the parts of vector registers that this CPU has, or "ask which of them are in use". */
#define ENTER_PART_AVX 4        /* numbers of the CPU's, in its state components */
#define ENTER_PART_AVX512 64
#define ENTER_VECTORS_ASK 1

#endif
