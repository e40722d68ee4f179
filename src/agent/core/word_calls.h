/* What an object of stubs that knows the words of its calls (src/agent/stubs/words) and the agent say to each other.
 * Both come from the same build. */
#ifndef TACHO_AGENT_CORE_WORD_CALLS_H
#define TACHO_AGENT_CORE_WORD_CALLS_H

#include <stdint.h>

#if defined(__x86_64__)
#define WORD_CALL_REGISTERS 6
#else
#define WORD_CALL_REGISTERS 8
#endif
#define WORD_CALL_OWN 20

/* A call in progress, on the stack of its stub. stub_words_*.S knows its layout. */
struct word_call {
    uint64_t registers[8]; /* the first arguments. A word of an int has garbage in its upper half. */
    /* The others: in begin() a copy, which the real function gets; in end() those of the caller. */
    uint64_t *stack;
    uint64_t result;      /* of the real function, in end() */
    uint16_t function;    /* number of the stub */
    uint16_t library;     /* which one serves the call; 0: the only one, or the first */
    uint32_t is_recorded; /* what begin() returned */
    const void *caller;   /* return address */
    /* For the agent, from begin() to end(). Where the object describes libraries (stub_object.describe), the first has
     * the address of the description. */
    uint64_t own[WORD_CALL_OWN];
};

/* An argument. begin() may change those of a call that it records; the caller's own are not touched. */
static inline uint64_t *word_call_at(struct word_call *call, uint32_t index)
{
    return index < WORD_CALL_REGISTERS ? &call->registers[index] : &call->stack[index - WORD_CALL_REGISTERS];
}
static inline uint64_t word_call_word(const struct word_call *call, uint32_t index)
{
    return index < WORD_CALL_REGISTERS ? call->registers[index] : call->stack[index - WORD_CALL_REGISTERS];
}
static inline int32_t word_call_int(const struct word_call *call, uint32_t index)
{
    return (int32_t)word_call_word(call, index);
}

/* The agent's part, in the source's row (agent_source.word_calls). Both keep errno. */
struct word_calls {
    /* Returns whether the call is recorded: then end() must follow, unless the call is left by a jump. */
    int (*begin)(struct word_call *call);
    void (*end)(struct word_call *call);
};

/* The object's part. */
struct word_object {
    uint32_t size;
    /* The real function of this number in this library (word_call.library), so that the agent can call it; NULL if it
     * has none. */
    void *(*real)(uint32_t number, uint32_t library);
    void (*objects_changed)(void); /* the program has loaded objects */
};

/* The calls of a source (enum wire_source); NULL if this process is not recorded, or the source is not. The agent keeps
 * the address of the object, for agent_word_object(). */
const struct word_calls *tacho_agent_word_calls(uint32_t source, const struct word_object *object);

#endif
