/* Names of Python frames: see python_names.h. */
#include "python_names.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"

#define FRAME_BYTES 4096     /* a frame that lies farther from its caller is on another piece of Python's stack */
#define CODES_MAX (1u << 19) /* of one process: then all are forgotten */
#define LINES_KEPT 8         /* instructions per code object whose place is cached; a power of two */

/* ---- Batches --------------------------------------------------------------------------------------------------- */

void python_batch_clear(struct python_batch *batch)
{
    batch->sample_count = batch->place_count = batch->chain_words = batch->named_count = batch->collection_count = 0;
    text_clear(&batch->codes);
}

void python_batch_free(struct python_batch *batch)
{
    free(batch->samples);
    free(batch->named);
    free(batch->collections);
    free(batch->places);
    free(batch->chains);
    text_free(&batch->codes);
    *batch = (struct python_batch){ 0 };
}

void python_batch_add(struct python_batch *batch, const struct python_sample *sample)
{
    if (array_reserve(&batch->samples, &batch->sample_room, batch->sample_count + 1, sizeof *sample) == 0)
        batch->samples[batch->sample_count++] = *sample;
    else
        batch->failed = 1;
}

void python_batch_name(struct python_batch *batch, const struct python_named *named)
{
    if (array_reserve(&batch->named, &batch->named_room, batch->named_count + 1, sizeof *named) == 0)
        batch->named[batch->named_count++] = *named;
}

void python_batch_collect(struct python_batch *batch, const struct python_collection *collection)
{
    if (array_reserve(&batch->collections, &batch->collection_room, batch->collection_count + 1, sizeof *collection) ==
        0)
        batch->collections[batch->collection_count++] = *collection;
}

/* ---- Numbers --------------------------------------------------------------------------------------------------- */

void python_names_free(struct python_names *names)
{
    intern_free(&names->codes);
    intern_free(&names->places);
    intern_free(&names->chains);
    text_free(&names->key);
}

/* The number of a key; *is_new: it was not known before. */
static int64_t python_names_number_of(struct intern *intern, const void *key, size_t bytes, int *is_new)
{
    size_t before = intern->count;
    int64_t number = intern_add(intern, key, bytes);
    *is_new = intern->count > before;
    return number;
}

static int64_t number_code(struct python_names *names, const struct python_code *code)
{
    int is_new;
    text_clear(&names->key);
    text_add_bytes(&names->key, code->name, strlen(code->name) + 1);
    text_add_bytes(&names->key, code->file, strlen(code->file) + 1);
    if (text_failed(&names->key))
        return -1;
    int64_t number = python_names_number_of(&names->codes, names->key.bytes, names->key.length, &is_new);
    if (is_new)
        text_add_bytes(&names->batch->codes, names->key.bytes, names->key.length);
    return number;
}

static int64_t number_place(struct python_names *names, uint32_t code, uint32_t line)
{
    struct python_batch *batch = names->batch;
    struct python_place place = { code, line };
    int is_new;
    if (array_reserve(&batch->places, &batch->place_room, batch->place_count + 1, sizeof place) != 0)
        return -1;
    int64_t number = python_names_number_of(&names->places, &place, sizeof place, &is_new);
    if (is_new)
        batch->places[batch->place_count++] = place;
    return number;
}

int64_t python_names_chain(struct python_names *names, const uint32_t *places, size_t count)
{
    struct python_batch *batch = names->batch;
    int is_new;
    if (array_reserve(&batch->chains, &batch->chain_room, batch->chain_words + count + 1, sizeof *places) != 0)
        return -1;
    int64_t number = python_names_number_of(&names->chains, places, count * sizeof *places, &is_new);
    if (is_new) {
        batch->chains[batch->chain_words++] = (uint32_t)count;
        memcpy(batch->chains + batch->chain_words, places, count * sizeof *places);
        batch->chain_words += count;
    }
    return number;
}

/* ---- Code objects ---------------------------------------------------------------------------------------------- */

struct python_code_entry {
    struct python_code_mark mark;
    int64_t checked_ns;
    uint32_t code;
    unsigned char *lines; /* its line table */
    uint32_t lines_bytes;
    /* The distance from its frames to those of callees, and the confidence in it; 0: unknown. */
    uint32_t frame_bytes;
    int frame_trust;
    struct {
        int64_t instruction;
        uint32_t place, known;
    } kept[LINES_KEPT];
};

static void free_entry(struct python_code_entry *entry)
{
    free(entry->lines);
    free(entry);
}

void python_codes_free(struct python_code_map *codes)
{
    for (const struct python_code_at *known = python_code_map_next(codes, NULL); known;
         known = python_code_map_next(codes, known))
        free_entry(known->entry);
    python_code_map_free(codes);
}

static struct python_code_entry *python_names_read_entry(const struct python_look *look, uint64_t address,
                                                         const struct python_code_mark *mark)
{
    struct python_code code;
    struct python_code_entry *entry = NULL;
    int64_t number = -1;
    if (python_code_read(look->python, look->memory, address, &code) == PYTHON_OK) {
        entry = calloc(1, sizeof *entry);
        number = entry ? number_code(look->names, &code) : -1;
    }
    if (number < 0) {
        free(entry);
        return NULL;
    }
    *entry = (struct python_code_entry){ .mark = *mark, .checked_ns = look->now_ns, .code = (uint32_t)number };
    entry->lines = code.lines_bytes ? malloc(code.lines_bytes) : NULL;
    if (entry->lines && look->memory->read_at(look->memory->context, code.lines, entry->lines, code.lines_bytes) == 0)
        entry->lines_bytes = code.lines_bytes;
    return entry;
}

static int is_same_code(const struct python_code_mark *a, const struct python_code_mark *b)
{
    return a->name == b->name && a->file == b->file && a->lines == b->lines && a->first_line == b->first_line;
}

/* Adds a code object that was not known. A program that makes code objects without end gets an empty map from time to
 * time: what is forgotten is read again. Returns NULL when memory is short. */
static struct python_code_entry *python_names_add_entry(struct python_code_map *codes,
                                                        const struct python_code_at *added)
{
    if (codes->count == CODES_MAX)
        python_codes_free(codes);
    if (python_code_map_add(codes, added))
        return added->entry;
    free_entry(added->entry);
    return NULL;
}

/* The entry of a code object, read anew if it is not known, or if another object has its address by now. */
static struct python_code_entry *python_names_find_entry(struct python_code_map *codes, const struct python_look *look,
                                                         uint64_t address)
{
    struct python_code_mark mark;
    struct python_code_at *known = python_code_map_find(codes, address);
    struct python_code_entry *entry = known ? known->entry : NULL;
    if (entry && look->now_ns - entry->checked_ns < look->believed_ns)
        return entry;
    if (python_code_mark(look->python, look->memory, address, &mark) != PYTHON_OK)
        return NULL;
    if (entry && is_same_code(&entry->mark, &mark)) {
        entry->checked_ns = look->now_ns;
        return entry;
    }
    struct python_code_entry *fresh = python_names_read_entry(look, address, &mark);
    if (!known && fresh)
        return python_names_add_entry(codes, &(struct python_code_at){ address, fresh });
    if (fresh) {
        free_entry(entry);
        known->entry = fresh;
    }
    return fresh;
}

/* Learns the size of a code object's frames from the most frequent distance. */
static int frame_fits(struct python_code_entry *entry, uint64_t distance)
{
    enum { SURE = 2, MOST = 16 };
    if (distance >= FRAME_BYTES) /* also callers that lie behind */
        return 1;
    if (entry->frame_trust == 0)
        entry->frame_bytes = (uint32_t)distance;
    int is_same = entry->frame_bytes == distance, was_sure = entry->frame_trust >= SURE;
    if (is_same)
        entry->frame_trust += entry->frame_trust < MOST;
    else
        entry->frame_trust--;
    return is_same || !was_sure;
}

int python_codes_place(struct python_code_map *codes, const struct python_look *look, const struct python_frame *frame,
                       const struct python_frame *callee, uint32_t *place, int *fits)
{
    struct python_code_entry *entry = python_names_find_entry(codes, look, frame->code);
    if (!entry)
        return -1;
    *fits = !callee || frame_fits(entry, callee->address - frame->address);
    size_t at = (uint64_t)frame->instruction / 2 & (LINES_KEPT - 1);
    if (entry->kept[at].known && entry->kept[at].instruction == frame->instruction) {
        *place = entry->kept[at].place;
        return 0;
    }
    int32_t line = python_line(look->python, entry->mark.first_line, entry->lines, entry->lines_bytes,
                               frame->instruction);
    int64_t number = number_place(look->names, entry->code, line > 0 ? (uint32_t)line : 0);
    if (number < 0)
        return -1;
    *place = (uint32_t)number;
    entry->kept[at].instruction = frame->instruction;
    entry->kept[at].place = *place;
    entry->kept[at].known = 1;
    return 0;
}
