/* stub_words_enter() on aarch64: a stub branches here with its number in w16 and everything else as the caller left it.
 * It works as on x86_64. x9 to x17 are free. */
#if defined(__aarch64__)
#include "stub_words.h"

/* The frame, relative to x29: the frame record, then these. */
#define CALL 16
#define ARGUMENTS CALL
#define REAL CALL + WORDS_CALL_BYTES /* the real function */
#define EXTRA REAL + 8
#define SECOND REAL + 16             /* second word of the result */
#define HAS_VECTORS REAL + 24
#define VECTORS REAL + 32            /* q0 to q7 */
#define FRAME_BYTES 432
#include "agent/stubs/stub_frame.inc"

.macro restore_arguments
    ldr w9, [x29, HAS_VECTORS]
    cbz w9, 7f
    add x9, x29, VECTORS
    ldp q0, q1, [x9]
    ldp q2, q3, [x9, 32]
    ldp q4, q5, [x9, 64]
    ldp q6, q7, [x9, 96]
7:  load_arguments
.endm

.text
.hidden stub_words_enter, stub_vectors_enter, stub_stack_pairs, stub_words_begin, stub_words_end
.globl stub_words_enter
.type stub_words_enter, %function
.globl stub_vectors_enter
.type stub_vectors_enter, %function
.balign 16
stub_vectors_enter:
    .cfi_startproc
    mov w9, 1
    b 1f
    .cfi_endproc
.size stub_vectors_enter, . - stub_vectors_enter
.balign 16
stub_words_enter:
    .cfi_startproc
    mov w9, 0
1:  open_frame
    str w9, [x29, HAS_VECTORS]
    cbz w9, 2f
    add x9, x29, VECTORS
    stp q0, q1, [x9]
    stp q2, q3, [x9, 32]
    stp q4, q5, [x9, 64]
    stp q6, q7, [x9, 96]
2:  str w16, [x29, CALL + WORDS_FUNCTION]
    str wzr, [x29, CALL + WORDS_IS_RECORDED]
    str x30, [x29, CALL + WORDS_CALLER]
    adrp x9, stub_stack_pairs
    add x9, x9, :lo12:stub_stack_pairs
    ldrb w10, [x9, w16, uxtw]
    cbz w10, 4f
    sub sp, sp, x10, lsl 4
    mov x11, sp
    add x12, x29, FRAME_BYTES
3:  ldp x13, x14, [x12], 16
    stp x13, x14, [x11], 16
    subs w10, w10, 1
    b.ne 3b
4:  mov x11, sp
    str x11, [x29, CALL + WORDS_STACK]
    add x0, x29, CALL
    bl stub_words_begin
    str x0, [x29, REAL]
    ldr w9, [x29, CALL + WORDS_IS_RECORDED]
    cbz w9, 6f

    restore_arguments
    blr x17
    mov sp, x29
    str x0, [x29, CALL + WORDS_RESULT]
    str x1, [x29, SECOND]
    add x9, x29, FRAME_BYTES    /* the copy was the real function's, which may have changed it */
    str x9, [x29, CALL + WORDS_STACK]
    ldr w9, [x29, HAS_VECTORS]
    cbz w9, 5f
    add x9, x29, VECTORS
    stp q0, q1, [x9]
    stp q2, q3, [x9, 32]
5:  add x0, x29, CALL
    bl stub_words_end
    ldr w9, [x29, HAS_VECTORS]
    cbz w9, 5f
    add x9, x29, VECTORS
    ldp q0, q1, [x9]
    ldp q2, q3, [x9, 32]
5:  ldr x0, [x29, CALL + WORDS_RESULT]
    ldr x1, [x29, SECOND]
    .cfi_remember_state
    close_frame
    ret

6:  .cfi_restore_state
    restore_arguments
    mov sp, x29
    close_frame
    br x17
    .cfi_endproc
.size stub_words_enter, . - stub_words_enter

#endif
.section .note.GNU-stack, "", %progbits
