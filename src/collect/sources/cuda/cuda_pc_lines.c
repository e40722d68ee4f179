/* Cubins that have line information: the agent sends the parts that matter, at their offsets; the rest of an image
 * stays zero. The lines of a function are read from it when they are first needed. */
#include <stdlib.h>

#include "base/array.h"
#include "base/text.h"
#include "cuda_lines.h"
#include "cuda_state.h"

#define CUBINS_MAX 4096u
#define CUBIN_BYTES_MAX (UINT64_C(1) << 30) /* pages that no part fills cost nothing */
#define LINES_MAX (1u << 20)                /* of a function */

/* ---- Images ---------------------------------------------------------------------------------------------------- */

static struct cuda_cubin *cubin_of(struct cuda_cubin_map *cubins, uint64_t crc, uint64_t size)
{
    struct cuda_cubin *cubin = cuda_cubin_map_find(cubins, crc);

    if (cubin || cubins->count >= CUBINS_MAX)
        return cubin;
    struct cuda_cubin new = { crc, calloc(1, size), size };
    if (new.image && !(cubin = cuda_cubin_map_add(cubins, &new)))
        free(new.image);
    return cubin;
}

int cuda_cubin_add(struct cuda_cubin_map *cubins, const struct wire_record *record, uint32_t words)
{
    enum { HEAD = WIRE_HEAD_WORDS + 4 };
    if (words < HEAD)
        return -1;
    uint64_t size = record->body[1], offset = record->body[2], bytes = record->body[3];
    if (!size || size > CUBIN_BYTES_MAX || bytes > (uint64_t)(words - HEAD) * 8 || bytes > size ||
        offset > size - bytes)
        return -1;
    struct cuda_cubin *cubin = cubin_of(cubins, record->body[0], size);
    if (cubin && cubin->size != size)
        return -1;
    if (cubin)
        memcpy(cubin->image + offset, record->body + 4, bytes);
    return 0;
}

void cuda_cubins_free(struct cuda_cubin_map *cubins)
{
    struct cuda_cubin *cubin = NULL;

    while ((cubin = cuda_cubin_map_next(cubins, cubin)))
        free(cubin->image);
    cuda_cubin_map_free(cubins);
}

/* ---- Lines ----------------------------------------------------------------------------------------------------- */

static void cuda_pc_lines_add_line(void *context, const struct cuda_line *line)
{
    struct cuda_function_lines *lines = context;
    struct text path = { 0 };

    if (lines->count >= LINES_MAX ||
        array_reserve(&lines->list, &lines->capacity, lines->count + 1, sizeof *lines->list) != 0)
        return;
    if (line->folder)
        text_addf(&path, "%s/", line->folder);
    text_add(&path, line->file);
    lines->list[lines->count++] = (struct cuda_pc_line){
        .offset = line->offset,
        .line = line->line,
        .file_id = line->line ? writer_string(lines->writer, text_string(&path), path.length) : 0,
    };
    text_free(&path);
}

static int by_offset(const void *left, const void *right)
{
    uint64_t a = ((const struct cuda_pc_line *)left)->offset, b = ((const struct cuda_pc_line *)right)->offset;

    return COMPARE(a, b);
}

void cuda_function_lines_read(struct cuda_function_lines *lines, const struct cuda_cubin_map *cubins, uint64_t crc,
                              const char *function)
{
    const struct cuda_cubin *cubin = cuda_cubin_map_find(cubins, crc);
    struct cuda_code code;

    if (!cubin || cuda_code_open(&code, cubin->image, cubin->size) != 0)
        return;
    cuda_lines_read(&code, function, cuda_pc_lines_add_line, lines);
    if (lines->count)
        qsort(lines->list, lines->count, sizeof *lines->list, by_offset);
}

const struct cuda_pc_line *cuda_function_line(const struct cuda_function_lines *lines, uint64_t offset)
{
    size_t after = BISECT(0, lines->count, i, lines->list[i].offset <= offset);

    return after && lines->list[after - 1].line ? &lines->list[after - 1] : NULL;
}
