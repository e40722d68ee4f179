/* Source lines of GPU instructions: the table .debug_line of a cubin that was compiled with -lineinfo.
 *
 * It is DWARF's line program, one sequence for each function. A sequence begins at address 0; a relocation says which
 * function that is. Every offset is checked, and nothing is allocated. */
#ifndef TACHO_COLLECT_SOURCES_CUDA_CUDA_LINES_H
#define TACHO_COLLECT_SOURCES_CUDA_CUDA_LINES_H

#include "abi/cuda_code.h"

/* From this offset in the function on, until that of the next row. */
struct cuda_line {
    uint64_t offset;
    uint32_t line;             /* 0: none; the sequence ends here, or the code belongs to no line */
    const char *folder, *file; /* inside the image; the folder is NULL where the file's name says it, or nothing does */
};

/* Calls visit() for each row of the function, in the order of the table. Returns the number of rows. */
size_t cuda_lines_read(const struct cuda_code *code, const char *function,
                       void (*visit)(void *context, const struct cuda_line *line), void *context);

#endif
