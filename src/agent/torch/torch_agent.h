/* What the files that observe PyTorch share. torch_agent.c installs the observer and writes a record for each operator;
 * torch_ivalues.c reads the inputs of operators; torch_allocators.c interposes the functions that allocators report to;
 * torch_modules.c records calls of modules, torch_python.c events of Python itself.
 *
 * Nothing of PyTorch is linked: its functions are looked up by their mangled names. A trial finds the offsets of an
 * operator's fields before any operator is recorded. The offsets of its inputs follow from the version, and are checked
 * with the first tensors (torch_ivalues.c). */
#ifndef TACHO_AGENT_TORCH_TORCH_AGENT_H
#define TACHO_AGENT_TORCH_TORCH_AGENT_H

#include "agent/core/agent.h"
#include "agent/core/source.h"

/* at::RecordFunction: byte offsets in the object, or (before 1.11) in the object that the pointer at `state` points
 * to. */
struct torch_layout {
    uint16_t state;             /* 0: the fields are in the object itself */
    uint16_t name;              /* of a const char *; 0: PyTorch has a function for it (from 1.12 on) */
    uint16_t sequence, inputs, thread, scope, forward_thread, number;
    uint16_t inputs_are_vector; /* a pointer to their end follows their address; else their number */
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

/* enum wire_torch_flag: what is recorded of operators, as the program chose last. */
extern _Atomic uint32_t torch_wanted;
uint32_t torch_choose(uint32_t flags); /* returns the previous flags */
uint32_t torch_wanted_now(void);       /* the same, with the details of the step that runs */

/* Calls of modules that Python is to report: as in struct tacho_calls. Python reads it without a lock. */
extern unsigned torch_modules_wanted;
enum { TORCH_MODULES_NONE, TORCH_MODULES_ALL, TORCH_MODULES_OUTERMOST };

struct torch_thread {
    uint32_t modules; /* calls of modules that the thread is in, while they may mark steps */
    uint32_t unused;
};
AGENT_THREAD_STATE(TORCH, struct torch_thread, torch_of)

uint64_t torch_module_begin(const char *name); /* returns a number for the end, or 0: it need not be called */
void torch_module_end(uint64_t call);

/* Events of Python itself: as in struct tacho_calls. */
uint64_t torch_event_begin(void);
void torch_event_end(uint64_t begun, unsigned kind, const char *fields);

/* Prepares for this version: 0, or -1 if it is unknown, and then no inputs can be read. `undefined` is PyTorch's
 * undefined tensor. */
int torch_inputs_prepare(const struct torch_version *version, const void *undefined);

/* True if the first tensors did not look as the version says: then no more inputs may be read. */
int torch_inputs_are_refuted(void);

/* Writes items for `count` values of PyTorch. Returns the number of words, at most `room` (WIRE_TORCH_INPUT_WORDS). */
uint32_t torch_inputs_read(uint64_t *words, uint32_t room, const void *values, uint64_t count);

/* The agent's functions that interpose those of PyTorch. */
struct torch_stand_in {
    const char *symbol;
    void *function;
};
extern const struct torch_stand_in torch_memory_functions[]; /* the last one has no symbol */

/* A library was unloaded and may come back elsewhere: the real functions are looked up again. */
void torch_memory_forget(void);

/* Interposes PyTorch's functions in a process that did not preload the agent. Must be called again for libraries that
 * were loaded since. */
void torch_reach_memory(void);

#endif
