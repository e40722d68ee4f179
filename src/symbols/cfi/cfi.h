/* Call frame information of one file: for an instruction, where the frame of its function lies and where it saved the
 * registers of its caller. .eh_frame is searched first, then .debug_frame.
 *
 * Nothing is parsed ahead: a lookup is a binary search (in .eh_frame_hdr, if there is one) and one short program. */
#ifndef TACHO_SYMBOLS_CFI_CFI_H
#define TACHO_SYMBOLS_CFI_CFI_H

#include "cfi_index.h"
#include "cfi_registers.h"

enum cfi_kind {
    CFI_SAME,          /* unchanged, as far as is known */
    CFI_UNDEFINED,     /* not recoverable; of the return address: there is no caller */
    CFI_AT_OFFSET,     /* stored at the frame's address + value */
    CFI_IS_OFFSET,     /* the frame's address + value itself */
    CFI_IN_REGISTER,   /* in another register */
    CFI_AT_EXPRESSION, /* stored where an expression says */
    CFI_IS_EXPRESSION,
};

struct cfi_rule {
    enum cfi_kind kind;
    int64_t value;                   /* offset, or number of the register */
    const unsigned char *expression; /* in the file's piece; valid as long as struct cfi lives */
    size_t expression_bytes;
};

/* The rules that lead from one instruction to its caller. */
struct cfi_row {
    unsigned frame_register; /* the frame's address is this register plus an offset */
    struct cfi_rule frame;   /* CFI_IS_OFFSET, or CFI_IS_EXPRESSION */
    struct cfi_rule rules[SYMBOLS_REGISTERS];
    unsigned return_register;
    int is_signal;           /* the caller was interrupted by a signal; it made no call */
    int return_is_signed;    /* with pointer authentication: only the address part of it is used */
    int method;              /* enum symbols_method */
    uint64_t start, end;     /* addresses of the function in the file */
};

/* 0, or -1 if there is no information about the instruction at this address in the file. */
int cfi_find(const struct cfi *cfi, uint64_t address, struct cfi_row *row);

#endif
