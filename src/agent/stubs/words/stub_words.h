/* Objects whose stubs hand the words of a call to the agent, before and after it. The real function is called from a
 * frame of the stub, so that unwinders, exceptions and shadow stacks find an ordinary one. A call that is not recorded
 * jumps to the real function and leaves no frame.
 *
 * Stubs jump to stub_words_enter, which saves no vectors: it is for functions without floating-point arguments and
 * results. Those with some jump to stub_vectors_enter, which keeps 16 bytes of each. */
#ifndef TACHO_AGENT_STUBS_WORDS_STUB_WORDS_H
#define TACHO_AGENT_STUBS_WORDS_STUB_WORDS_H

/* Offsets in struct word_call, and its size. */
#define WORDS_STACK 64
#define WORDS_RESULT 72
#define WORDS_FUNCTION 80
#define WORDS_IS_RECORDED 84
#define WORDS_CALLER 88
#define WORDS_CALL_BYTES 256

#ifndef __ASSEMBLER__
#include "agent/core/word_calls.h"
#include "agent/stubs/stubs.h"

/* The object defines: */
extern const uint32_t stub_words_source; /* enum wire_source */
/* By number: pairs of words that the function takes from the stack. Fill it with STUB_STACK_PAIRS(words). */
extern const uint8_t stub_stack_pairs[];
#define STUB_STACK_PAIRS(words)                                                                                        \
    ((words) > WORD_CALL_REGISTERS ? ((words)-WORD_CALL_REGISTERS + 1) / 2 : 0)

/* Weak references to functions that no library has become NULL, in objects that were loaded since the last call. */
void stub_clear_weak(void);

void *stub_words_begin(struct word_call *call); /* the function to call */
void stub_words_end(struct word_call *call);
#endif

#endif
