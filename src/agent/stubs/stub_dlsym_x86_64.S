/* The hook of dlsym() on x86_64: for a handle, stub_dlsym.c. For RTLD_DEFAULT and RTLD_NEXT the real one must find the
 * return address of its caller, so the hook jumps there unless stub_dlsym_special() has the answer. */
#if defined(__x86_64__)
.text
.hidden stub_next_dlsym, stub_find_dlsym, stub_dlsym_handle, stub_dlsym_special
.globl dlsym
.type dlsym, %function
.balign 16
dlsym:
    .cfi_startproc
    endbr64
    leaq 1(%rdi), %r11          /* RTLD_DEFAULT is 0, RTLD_NEXT is -1 */
    cmpq $1, %r11
    ja stub_dlsym_handle
    pushq %rdi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    pushq %rsi
    .cfi_adjust_cfa_offset 8
    movq 24(%rsp), %rdx
    call stub_dlsym_special
    cmpq $1, %rax               /* STUB_ASK_NEXT */
    jne 1f
    movq stub_next_dlsym(%rip), %r11
    testq %r11, %r11
    jnz 2f
    call stub_find_dlsym
    movq %rax, %r11
    testq %rax, %rax
    jz 1f
2:  .cfi_remember_state
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rsi
    .cfi_adjust_cfa_offset -8
    popq %rdi
    .cfi_adjust_cfa_offset -8
    jmp *%r11
1:  .cfi_restore_state
    addq $24, %rsp
    .cfi_adjust_cfa_offset -24
    ret
    .cfi_endproc
.size dlsym, . - dlsym
#endif
.section .note.GNU-stack, "", %progbits
