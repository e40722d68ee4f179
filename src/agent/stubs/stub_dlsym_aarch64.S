/* The hook of dlsym() on aarch64: see stub_dlsym_x86_64.S. */
#if defined(__aarch64__)
.text
.hidden stub_next_dlsym, stub_find_dlsym, stub_dlsym_handle, stub_dlsym_special
.globl dlsym
.type dlsym, %function
.balign 16
dlsym:
    .cfi_startproc
    hint 34
    add x17, x0, 1              /* RTLD_DEFAULT is 0, RTLD_NEXT is -1 */
    cmp x17, 1
    b.hi stub_dlsym_handle
    stp x29, x30, [sp, -32]!
    .cfi_def_cfa_offset 32
    .cfi_offset x29, -32
    .cfi_offset x30, -24
    mov x29, sp
    stp x0, x1, [sp, 16]
    mov x2, x30
    bl stub_dlsym_special
    cmp x0, 1                   /* STUB_ASK_NEXT */
    b.ne 1f
    adrp x17, stub_next_dlsym
    ldr x17, [x17, :lo12:stub_next_dlsym]
    cbnz x17, 2f
    bl stub_find_dlsym
    cbz x0, 1f
    mov x17, x0
2:  ldp x0, x1, [sp, 16]
    .cfi_remember_state
    ldp x29, x30, [sp], 32
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    br x17
1:  .cfi_restore_state
    ldp x29, x30, [sp], 32
    .cfi_def_cfa_offset 0
    .cfi_restore x29
    .cfi_restore x30
    ret
    .cfi_endproc
.size dlsym, . - dlsym
#endif
.section .note.GNU-stack, "", %progbits
