/* The functions of zstd that src/report and src/import call. The page does not contain that library. Nothing can be
 * compressed here, so an import stores its report as it is (in memory only); the page decompresses reports, see
 * page_host.c. */
#ifndef TACHO_WASM_ZSTD_H
#define TACHO_WASM_ZSTD_H

#include <stddef.h>

typedef struct zstd_none ZSTD_CCtx, ZSTD_DStream;
typedef struct {
    const void *src;
    size_t size, pos;
} ZSTD_inBuffer;
typedef struct {
    void *dst;
    size_t size, pos;
} ZSTD_outBuffer;
#define ZSTD_FAILED ((size_t)-1)

static inline unsigned ZSTD_isError(size_t code)
{
    return code == ZSTD_FAILED;
}
static inline ZSTD_CCtx *ZSTD_createCCtx(void)
{
    return (ZSTD_CCtx *)&"none";
}
static inline size_t ZSTD_freeCCtx(ZSTD_CCtx *context)
{
    return 0;
}
static inline size_t ZSTD_compressBound(size_t length)
{
    return length;
}
static inline size_t ZSTD_compressCCtx(ZSTD_CCtx *context, void *to, size_t room, const void *from, size_t length,
                                       int level)
{
    return ZSTD_FAILED;
}
static inline ZSTD_DStream *ZSTD_createDStream(void)
{
    return NULL;
}
static inline size_t ZSTD_freeDStream(ZSTD_DStream *stream)
{
    return 0;
}
static inline size_t ZSTD_decompressStream(ZSTD_DStream *stream, ZSTD_outBuffer *output, ZSTD_inBuffer *input)
{
    return ZSTD_FAILED;
}

#endif
