/* The instructions of a function with the samples that are at them. objdump disassembles the file. */
#ifndef TACHO_CMD_ANNOTATE_ANNOTATE_CODE_H
#define TACHO_CMD_ANNOTATE_ANNOTATE_CODE_H

#include <stdint.h>

#include "base/error.h"
#include "base/text.h"
#include "report/reader/reader.h"

struct annotate_instruction {
    uint64_t address; /* in the file */
    int64_t line;     /* of the source; 0: not known */
    size_t text;      /* where its text begins in the code's */
    int64_t self;     /* samples at it */
};

struct annotate_code {
    struct annotate_instruction *list; /* owned; by address */
    size_t count, room;
    struct text texts;                 /* the instructions, each with a NUL behind it */
    const char *function, *file;       /* in the report; file: the program or library */
    int64_t self, samples;             /* at these instructions; all that were looked at */
};

/* The code of the function of this name that most samples are in; one that the compiler has inlined is in the code of
 * the function around it. ERR_NO_DATA with a sentence if there is none, or if the file is not the one that ran,
 * ERR_UNSUPPORTED without objdump. annotate_code_free() is safe after an error. */
int annotate_code_read(struct annotate_code *out, struct report *report, const char *name, struct error *err);
void annotate_code_free(struct annotate_code *code);

#endif
