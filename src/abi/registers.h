/* Saves the registers that unwinding starts from: those that calls preserve, the stack pointer and the instruction
 * pointer. The function that uses this must keep its frame until its stack has been copied. */
#ifndef TACHO_ABI_REGISTERS_H
#define TACHO_ABI_REGISTERS_H

#include <stdint.h>

/* values: an array of 64-bit words by DWARF register number. REGISTERS_TAKEN is the mask of those that are written. */
#if defined(__x86_64__)
#define REGISTERS_STACK_POINTER 7
/* r12 to r15, rbx, rbp, rsp, rip */
#define REGISTERS_TAKEN (UINT64_C(0xf) << 12 | 1u << 3 | 1u << 6 | 1u << 7 | 1u << 16)
#define REGISTERS_TAKE(values)                                                                                       \
    __asm__ volatile("movq %%rbx, 24(%0)\n\tmovq %%rbp, 48(%0)\n\tmovq %%rsp, 56(%0)\n\tmovq %%r12, 96(%0)\n\t"        \
                     "movq %%r13, 104(%0)\n\tmovq %%r14, 112(%0)\n\tmovq %%r15, 120(%0)\n\t"                        \
                     "leaq 1f(%%rip), %%rax\n1:\tmovq %%rax, 128(%0)" : : "r"(values) : "rax", "memory")
#elif defined(__aarch64__)
#define REGISTERS_STACK_POINTER 31
#define REGISTERS_TAKEN (UINT64_C(0x3fff) << 19) /* x19 to x30, sp, pc */
#define REGISTERS_TAKE(values)                                                                                       \
    __asm__ volatile("stp x19, x20, [%0, #152]\n\tstp x21, x22, [%0, #168]\n\tstp x23, x24, [%0, #184]\n\t"           \
                     "stp x25, x26, [%0, #200]\n\tstp x27, x28, [%0, #216]\n\tstp x29, x30, [%0, #232]\n\t"           \
                     "mov x9, sp\n\tadr x10, .\n\tstp x9, x10, [%0, #248]" : : "r"(values) : "x9", "x10", "memory")
#endif

#endif
