/* One stub for each function of the .calls files, with its name: it loads its number and jumps to library_enter().
 * stub_calls.c reads the same files in the same order. Each has LIBRARY_STUB_BYTES: .org fails if one is larger. */
#if defined(__x86_64__)
#define STUB(number) endbr64; movl $number, %r11d; jmp library_enter
#else
#define STUB(number) hint 34; mov w16, number; b library_enter /* hint 34: bti c */
#endif

.text
.hidden library_enter
.globl library_stubs
.hidden library_stubs
.balign 16
library_stubs:
.set number, 0
#define CALL(name, words, kind) \
    .org library_stubs + number * 16; .globl name; .type name, %function; name: .cfi_startproc; STUB(number); .cfi_endproc; .size name, . - name;  \
    .set number, number + 1;
#include "cublas.calls"
#include "cudnn.calls"
#include "cusolver.calls"
#include "cusparse.calls"
#include "nccl.calls"

.section .note.GNU-stack, "", %progbits
