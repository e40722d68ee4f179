/* stub_words_enter() on x86_64: a stub jumps here with its number in r11 and everything else as the caller left it. r10
 * and r11 are free: these are C functions, without a static chain. rax has the number of vectors of a variadic call. */
#if defined(__x86_64__)
#include "stub_words.h"

/* The frame, relative to rbp. */
#define CALL -WORDS_CALL_BYTES
#define ARGUMENTS CALL
#define REAL CALL - 8           /* the real function */
#define EXTRA CALL - 16
#define SECOND CALL - 24        /* second word of the result */
#define VECTORS CALL - 152      /* xmm0 to xmm7 */
#define FRAME_BYTES 416
#include "agent/stubs/stub_frame.inc"

.macro move_vectors save, last
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    .if \n <= \last
    .if \save
    movups %xmm\n, VECTORS+\n*16(%rbp)
    .else
    movups VECTORS+\n*16(%rbp), %xmm\n
    .endif
    .endif
    .endr
.endm

.macro restore_arguments vectors
    .if \vectors
    move_vectors 0, 7
    .endif
    load_arguments
.endm

.macro enter name, vectors
.globl \name
.type \name, %function
.balign 16
\name:
    .cfi_startproc
    open_frame
    .if \vectors
    move_vectors 1, 7
    .endif
    movl %r11d, CALL+WORDS_FUNCTION(%rbp)
    movl $0, CALL+WORDS_IS_RECORDED(%rbp)
    movq 8(%rbp), %rax
    movq %rax, CALL+WORDS_CALLER(%rbp)
    leaq stub_stack_pairs(%rip), %rax
    movzbl (%rax,%r11), %ecx
    testl %ecx, %ecx
    jz 4f
    shll $4, %ecx
    subq %rcx, %rsp
3:  movq (%rbp,%rcx), %rax /* the last 16 bytes that are left: the arguments begin at 16(%rbp) */
    movq 8(%rbp,%rcx), %rdx
    movq %rax, -16(%rsp,%rcx)
    movq %rdx, -8(%rsp,%rcx)
    subq $16, %rcx
    jnz 3b
4:  movq %rsp, CALL+WORDS_STACK(%rbp)
    leaq CALL(%rbp), %rdi
    call stub_words_begin
    movq %rax, REAL(%rbp)
    cmpl $0, CALL+WORDS_IS_RECORDED(%rbp)
    je 6f

    restore_arguments \vectors
    call *%r11
    leaq -FRAME_BYTES(%rbp), %rsp
    movq %rax, CALL+WORDS_RESULT(%rbp)
    movq %rdx, SECOND(%rbp)
    leaq 16(%rbp), %rax         /* the copy was the real function's, which may have changed it */
    movq %rax, CALL+WORDS_STACK(%rbp)
    .if \vectors
    move_vectors 1, 1
    .endif
    leaq CALL(%rbp), %rdi
    call stub_words_end
    .if \vectors
    move_vectors 0, 1
    .endif
    movq CALL+WORDS_RESULT(%rbp), %rax
    movq SECOND(%rbp), %rdx
    .cfi_remember_state
    close_frame
    ret

6:  .cfi_restore_state
    restore_arguments \vectors
    close_frame
    jmp *%r11
    .cfi_endproc
.size \name, . - \name
.endm

.text
.hidden stub_words_enter, stub_vectors_enter, stub_stack_pairs, stub_words_begin, stub_words_end
enter stub_words_enter, 0
enter stub_vectors_enter, 1

#endif
.section .note.GNU-stack, "", %progbits
