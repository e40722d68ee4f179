/* library_enter() on aarch64: a stub branches here with its number in w16 and everything else as the caller left it.
 * It works as on x86_64: see library_enter_x86_64.S. x9 to x17 are free. */
#if defined(__aarch64__)
#include "library_enter.h"

/* The frame, relative to x29: the frame record, then these. */
#define CALL 16                 /* struct library_call */
#define REAL 64 /* the real function */
#define ARGUMENTS 80
#define EXTRA ARGUMENTS + 64
#define VECTORS 160             /* q0 to q7 */
#define FRAME_BYTES 288
#include "agent/stubs/stub_frame.inc"

.text
.hidden library_enter, library_look, stub_real, library_begin, library_end
.globl library_enter
.type library_enter, %function
.balign 16
library_enter:
    .cfi_startproc
    adrp x17, library_look
    add x17, x17, :lo12:library_look
    ldr x9, [x17]
    ldr w9, [x9]
    cmp w9, ENTER_ATTACHED
    b.ne 1f
    ldr x9, [x17, 8]
    ldr x9, [x9]
    ldr x10, [x17, 16]
    ldr w9, [x9, x10]
    tst w9, ENTER_LIBRARY_BIT
    b.ne 1f
    adrp x9, stub_real
    add x9, x9, :lo12:stub_real
    ldr x17, [x9, w16, uxtw 3]
    cbz x17, 1f
    br x17

1:  open_frame
    stp q0, q1, [x29, VECTORS]
    stp q2, q3, [x29, VECTORS + 32]
    stp q4, q5, [x29, VECTORS + 64]
    stp q6, q7, [x29, VECTORS + 96]
    mov w0, w16
    add x1, x29, CALL
    add x2, x29, FRAME_BYTES
    mov x3, x30
    bl library_begin
    str x0, [x29, REAL]
    ldr w9, [x29, CALL + ENTER_IS_RECORDED]
    cbz w9, 3f

    ldr x10, [x29, CALL + ENTER_STACK_BYTES]
    sub sp, sp, x10
    mov x11, sp
    add x12, x29, FRAME_BYTES
2:  cbz x10, 3f
    ldp x13, x14, [x12], 16
    stp x13, x14, [x11], 16
    sub x10, x10, 16
    b 2b

3:  load_arguments
    ldp q0, q1, [x29, VECTORS]
    ldp q2, q3, [x29, VECTORS + 32]
    ldp q4, q5, [x29, VECTORS + 64]
    ldp q6, q7, [x29, VECTORS + 96]
    cbz w9, 4f
    blr x17
    mov sp, x29
    stp x0, x1, [x29, ARGUMENTS]
    stp q0, q1, [x29, VECTORS]
    stp q2, q3, [x29, VECTORS + 32]
    add x0, x29, CALL
    bl library_end
    ldp x0, x1, [x29, ARGUMENTS]
    ldp q0, q1, [x29, VECTORS]
    ldp q2, q3, [x29, VECTORS + 32]
    .cfi_remember_state
    close_frame
    ret

4:  .cfi_restore_state
    close_frame
    br x17
    .cfi_endproc
.size library_enter, . - library_enter

#endif
.section .note.GNU-stack, "", %progbits
