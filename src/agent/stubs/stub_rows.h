/* For the NAME_stubs.S of an object: STUB_ROW(name) makes a stub, which loads its number and jumps to the function
 * STUB_ENTER. Each stub has STUB_BYTES: .org fails if one is larger. STUB_ROWS_BEGIN comes first, STUB_ROWS_END last.
 * An object whose stubs are hidden from dlsym() (stub_object.is_hidden) defines STUB_HIDDEN: then the symbols have the
 * version TACHO, and the linker needs stub_hidden.map. */
#ifndef TACHO_AGENT_STUBS_STUB_ROWS_H
#define TACHO_AGENT_STUBS_STUB_ROWS_H

#if defined(__x86_64__)
#define STUB_BODY(enter) endbr64; movl $number, %r11d; jmp enter
#else
#define STUB_BODY(enter) hint 34; mov w16, number; b enter /* hint 34: bti c */
#endif

#define STUB_ROWS_BEGIN                                                                                                \
    .text; .globl stub_rows; .hidden stub_rows; .balign 16; stub_rows: .set number, 0

#ifdef STUB_HIDDEN
#define STUB_SYMBOL(name) hidden_##name
#define STUB_VERSION(name) .symver hidden_##name, name@TACHO;
#else
#define STUB_SYMBOL(name) name
#define STUB_VERSION(name)
#endif

#define STUB_ROW_BY(symbol, enter)                                                                                     \
    .org stub_rows + number * 16; .globl symbol; .type symbol, %function; symbol: .cfi_startproc; STUB_BODY(enter);    \
    .cfi_endproc; .size symbol, . - symbol; .set number, number + 1
#define STUB_ROW(name, enter) STUB_VERSION(name) STUB_ROW_BY(STUB_SYMBOL(name), enter);

#define STUB_ROWS_END .section .note.GNU-stack, "", %progbits

#endif
