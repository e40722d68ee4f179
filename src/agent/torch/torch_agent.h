/* What the files that observe PyTorch share. torch_agent.c installs the observer and writes a record for each
 * operator; torch_ivalues.c reads what operators are given; torch_allocators.c stands before the functions
 * that allocators report to.
 *
 * Nothing of PyTorch is linked: its functions are looked up under their mangled names. Where the fields of an operator
 * lie is found out by a trial before anything is read in earnest; where those of its inputs lie is taken from the
 * version, and checked with the first tensors (torch_ivalues.c). */
#ifndef TACHO_AGENT_TORCH_TORCH_AGENT_H
#define TACHO_AGENT_TORCH_TORCH_AGENT_H

#include "agent/core/agent.h"

/* at::RecordFunction: byte offsets, from the object itself, or from where the pointer at
 * `state` points to (before 1.11). */
struct torch_layout {
    uint16_t state;             /* 0: the object itself */
    uint16_t name;              /* of a const char *; 0: torch has a function for it (from 1.12 on) */
    uint16_t sequence, inputs, thread, scope, forward_thread, number;
    uint16_t inputs_are_vector; /* behind their address is that of their end; else how many they are */
};

struct torch_version {
    uint32_t major, minor;
    char text[64];
};

static inline uint64_t torch_word(const void *object, size_t offset)
{
    uint64_t word;
    memcpy(&word, (const char *)object + offset, sizeof word);
    return word;
}

/* enum wire_torch_flag: what of its operators is recorded, as the program chose last. */
extern _Atomic uint32_t torch_wanted;
uint32_t torch_choose(uint32_t flags);         /* those before */

uint64_t torch_module_begin(const char *name); /* a number for its end, or 0: it is not recorded */
void torch_module_end(uint64_t call);

/* Which inputs can be read, once the version is known: 0, or -1 for one that is not known, and none are. `undefined` is
 * the tensor that stands for none. */
int torch_inputs_prepare(const struct torch_version *version, const void *undefined);

/* The first tensors were not as the version says: nothing more is to be read. */
int torch_inputs_are_refuted(void);

/* Fills in items for so many values of torch: how many words, at most `room` (WIRE_TORCH_INPUT_WORDS). */
uint32_t torch_inputs_read(uint64_t *words, uint32_t room, const void *values, uint64_t count);

/* Our functions that stand before torch's. */
struct torch_stand_in {
    const char *symbol;
    void *function;
};
extern const struct torch_stand_in torch_memory_functions[]; /* ends with one without a symbol */

/* A library was unloaded, and may come back elsewhere: the real ones are looked up again. */
void torch_memory_forget(void);

/* Puts them before torch's also in a process that the agent was not preloaded into; libraries that were loaded since
 * are reached when it is called again. */
void torch_reach_memory(void);

#endif
