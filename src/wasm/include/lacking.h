/* Functions of the GNU C library that the C library for WebAssembly lacks, or has with another meaning; lacking.c has
 * them. Every file of the reader sees this. */
#ifndef TACHO_WASM_LACKING_H
#define TACHO_WASM_LACKING_H

#include <stddef.h>
#include <stdlib.h>
#include <string.h>

/* The variant of GNU, which returns the text. */
char *lacking_strerror(int number, char *room, size_t size);
#define strerror_r lacking_strerror

/* Stable sorts, as those of glibc: the page and the server must give the same answers. */
void lacking_qsort(void *items, size_t count, size_t size, int (*compare)(const void *, const void *));
#define qsort lacking_qsort
void qsort_r(void *items, size_t count, size_t size, int (*compare)(const void *, const void *, void *), void *context);

#endif
