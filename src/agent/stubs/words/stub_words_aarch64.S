/* stub_words_enter() on aarch64: a stub branches here with its number in w16 and everything else as the caller left it.
 * It works as on x86_64. x9 to x17 are free. */
#if defined(__aarch64__)
#include "stub_words.h"

/* The frame, relative to x29: the frame record, then these. */
#define CALL 16
#define REAL CALL + WORDS_CALL_BYTES /* the real function */
#define INDIRECT REAL + 8            /* x8: where a large result goes */
#define SECOND REAL + 16             /* second word of the result */
#define HAS_VECTORS REAL + 24
#define VECTORS REAL + 32            /* q0 to q7 */
#define FRAME_BYTES 432

.macro restore_arguments
    ldr w9, [x29, HAS_VECTORS]
    cbz w9, 7f
    add x9, x29, VECTORS
    ldp q0, q1, [x9]
    ldp q2, q3, [x9, 32]
    ldp q4, q5, [x9, 64]
    ldp q6, q7, [x9, 96]
7:  ldp x0, x1, [x29, CALL]
    ldp x2, x3, [x29, CALL + 16]
    ldp x4, x5, [x29, CALL + 32]
    ldp x6, x7, [x29, CALL + 48]
    ldr x8, [x29, INDIRECT]
    ldr x17, [x29, REAL]
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
1:  sub sp, sp, FRAME_BYTES
    .cfi_def_cfa_offset FRAME_BYTES
    stp x29, x30, [sp]
    .cfi_offset x29, -FRAME_BYTES
    .cfi_offset x30, -FRAME_BYTES + 8
    mov x29, sp
    .cfi_def_cfa_register x29
    stp x0, x1, [x29, CALL]
    stp x2, x3, [x29, CALL + 16]
    stp x4, x5, [x29, CALL + 32]
    stp x6, x7, [x29, CALL + 48]
    str x8, [x29, INDIRECT]
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
    ldp x29, x30, [sp]
    add sp, sp, FRAME_BYTES
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    ret

6:  .cfi_restore_state
    restore_arguments
    mov sp, x29
    ldp x29, x30, [sp]
    add sp, sp, FRAME_BYTES
    .cfi_def_cfa sp, 0
    .cfi_restore x29
    .cfi_restore x30
    br x17
    .cfi_endproc
.size stub_words_enter, . - stub_words_enter

#endif
.section .note.GNU-stack, "", %progbits
