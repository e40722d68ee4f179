/* library_enter() on x86_64: a stub jumps here with its number in r11 and everything else as the caller left it.
 *
 * Not recording: it jumps to the real function and leaves no trace. Recording: it saves all registers that can hold an
 * argument, calls library_begin(), and calls the real function from a frame of its own, with a copy of the words on the
 * stack. So unwinders, exceptions, jumps and shadow stacks find an ordinary frame. r10 and r11 are free: these are C
 * functions, without a static chain. */
#if defined(__x86_64__)
#include "library_enter.h"

/* The frame, relative to rbp. */
#define CALL -64                /* struct library_call */
#define REAL -16                /* the real function */
#define WIDTH -8                /* width of the saved vectors */
#define ARGUMENTS -128
#define EXTRA ARGUMENTS + 48
#define VECTORS -640
#define FRAME_BYTES 640
#include "agent/stubs/stub_frame.inc"

.macro move_vectors instruction, kind, save, last
    .irp n, 0, 1, 2, 3, 4, 5, 6, 7
    .if \n <= \last
    .if \save
    \instruction %\kind\n, VECTORS+\n*64(%rbp)
    .else
    \instruction VECTORS+\n*64(%rbp), %\kind\n
    .endif
    .endif
    .endr
.endm

/* Saves the vectors in the width that is in use: the functions called from here may clear the upper parts. Changes eax,
 * ecx and edx. */
.macro save_vectors last
    movl library_vectors(%rip), %eax
    testl %eax, %eax
    jz 8f
    cmpl $ENTER_VECTORS_ASK, %eax
    jne 7f
    movl $1, %ecx
    xgetbv /* components that are not in their initial state */
    andl library_vector_parts(%rip), %eax
7:  testl $ENTER_PART_AVX512, %eax
    jnz 9f
    testl $ENTER_PART_AVX, %eax
    jz 8f
    movl $ENTER_PART_AVX, WIDTH(%rbp)
    move_vectors vmovups, ymm, 1, \last
    jmp 6f
9:  movl $ENTER_PART_AVX512, WIDTH(%rbp)
    move_vectors vmovups, zmm, 1, \last
    jmp 6f
8:  movl $0, WIDTH(%rbp)
    move_vectors movups, xmm, 1, \last
6:
.endm

.macro restore_vectors last
    cmpl $ENTER_PART_AVX, WIDTH(%rbp)
    je 7f
    ja 9f
    move_vectors movups, xmm, 0, \last
    jmp 6f
7:  move_vectors vmovups, ymm, 0, \last
    jmp 6f
9:  move_vectors vmovups, zmm, 0, \last
6:
.endm

.macro restore_arguments
    restore_vectors 7
    load_arguments
.endm

.text
.hidden library_enter, library_look, stub_real, library_begin, library_end, library_vectors, library_vector_parts
.globl library_enter
.type library_enter, %function
.balign 16
library_enter:
    .cfi_startproc
    movq library_look(%rip), %r10
    cmpl $ENTER_ATTACHED, (%r10)
    jne 1f
    movq library_look+8(%rip), %r10
    movq (%r10), %r10
    addq library_look+16(%rip), %r10
    testl $ENTER_LIBRARY_BIT, (%r10)
    jnz 1f
    leaq stub_real(%rip), %r10
    movq (%r10,%r11,8), %r10
    testq %r10, %r10
    jz 1f
    jmp *%r10

1:  open_frame
    save_vectors 7
    movq %r11, %rdi
    leaq CALL(%rbp), %rsi
    leaq 16(%rbp), %rdx
    movq 8(%rbp), %rcx
    call library_begin
    movq %rax, REAL(%rbp)
    cmpl $0, CALL+ENTER_IS_RECORDED(%rbp)
    je 2f

    movq CALL+ENTER_STACK_BYTES(%rbp), %rcx
    subq %rcx, %rsp
    leaq 16(%rbp), %rdx /* the copy keeps the alignment of the original to 64 bytes: an argument may be a vector */
    movq %rsp, %rax
    subq %rdx, %rax
    andq $63, %rax
    subq %rax, %rsp
    testq %rcx, %rcx
    jz 4f
3:  movups (%rbp,%rcx), %xmm0 /* the last 16 bytes that are left: the arguments begin at 16(%rbp) */
    movups %xmm0, -16(%rsp,%rcx)
    subq $16, %rcx
    jnz 3b
4:
    restore_arguments
    call *%r11
    leaq -FRAME_BYTES(%rbp), %rsp
    movq %rax, ARGUMENTS(%rbp)
    movq %rdx, ARGUMENTS+8(%rbp)
    save_vectors 1
    leaq CALL(%rbp), %rdi
    call library_end
    restore_vectors 1
    movq ARGUMENTS(%rbp), %rax
    movq ARGUMENTS+8(%rbp), %rdx
    .cfi_remember_state
    close_frame
    ret

2:  .cfi_restore_state
    restore_arguments
    close_frame
    jmp *%r11
    .cfi_endproc
.size library_enter, . - library_enter

#endif
.section .note.GNU-stack, "", %progbits
