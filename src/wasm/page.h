/* The exports of tacho.wasm, which web/src/engine/reader.ts calls. */
#ifndef TACHO_WASM_PAGE_H
#define TACHO_WASM_PAGE_H

#include <stddef.h>

#define PAGE_EXPORT(name) __attribute__((export_name(#name))) name

/* Memory for bytes that the page passes in. */
void *PAGE_EXPORT(page_alloc)(size_t size);
void PAGE_EXPORT(page_free)(void *bytes);

/* page_open() opens a file of the page's memory, and closes the one before: a report, or a file of another profiler,
 * which is imported first. Both return 0, or an ERR_ code with a sentence in place of the answer. */
int PAGE_EXPORT(page_open)(const char *path);
int PAGE_EXPORT(page_answer)(const char *request, const char *body, size_t body_length);

/* The answer: valid until the next call. */
const char *PAGE_EXPORT(page_bytes)(void);
size_t PAGE_EXPORT(page_length)(void);

#endif
