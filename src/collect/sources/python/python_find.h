/* Finds the Python interpreter in a process: in its program, or in a library named like one. */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_PYTHON_FIND_H
#define TACHO_COLLECT_SOURCES_PYTHON_PYTHON_FIND_H

#include <sys/types.h>

#include "abi/python_layout.h"

/* Programs that were searched and are not Python, by the hash of their file. A program that starts many processes is
 * searched once: in the others only the names of the libraries are looked at. Starts as zeros. */
struct python_others {
    uint64_t hashes[64];
    unsigned next; /* to be replaced */
};

/* 1 and the addresses of python_symbols[]; 0 if there is none (yet); -1 if the process is gone or may not be
 * inspected. */
int python_find(pid_t pid, const struct python_memory *memory, struct python_others *others,
                uint64_t symbols[PYTHON_SYMBOL_COUNT]);

/* 1 if the program of the process is named like Python. */
int python_is_program(pid_t pid);

/* Looks up symbols that a loaded file exports, in its memory and as its own loader does; base: where its first byte is
 * mapped. Returns how many were found; 0 if this is not such a file. Missing symbols get the address 0. */
int python_find_symbols(const struct python_memory *memory, uint64_t base, const char *const *names, size_t count,
                        uint64_t *addresses);

#endif
