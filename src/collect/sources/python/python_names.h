/* Names of Python frames: code objects by their address; code objects, places and chains as small numbers.
 *
 * A code object is numbered by its name and file. A place is the number of a code object and a line. A chain is the
 * places of a stack. New ones go into a batch, so that the writer of rows gets each once, in the order of the numbers.
 */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_PYTHON_NAMES_H
#define TACHO_COLLECT_SOURCES_PYTHON_PYTHON_NAMES_H

#include "abi/python_layout.h"
#include "abi/python_thread_name.h"
#include "base/intern.h"
#include "base/map.h"
#include "base/text.h"

struct process;

/* line 0: none */
struct python_place {
    uint32_t code, line;
};

#define PYTHON_ENTRY (UINT32_C(1) << 31) /* flag in a place of a chain: called by C code */

struct python_sample {
    struct process *process;
    int64_t monotonic_ns;
    uint32_t tid, chain;
    uint8_t state; /* a value of ENUM_SAMPLING_THREAD_STATE */
    uint8_t gil;   /* enum python_gil */
};
enum python_gil { PYTHON_GIL_NONE, PYTHON_GIL_HOLDS, PYTHON_GIL_WAITS };

struct python_named {
    struct process *process;
    uint32_t tid;
    char name[PYTHON_THREAD_NAME_MAX];
};

/* A collection of the garbage collector that rounds of the sampler have seen. */
struct python_collection {
    struct process *process;
    int64_t start_ns, end_ns; /* monotonic */
    uint32_t tid;
    int generation;           /* -1: not known, nor are the numbers of objects */
    int64_t collected, uncollectable;
};

/* Passed from the sampler to the writer of rows. */
struct python_batch {
    struct python_named *named; /* threads whose name was read */
    size_t named_count, named_room;
    struct python_sample *samples;
    size_t sample_count, sample_room;
    struct python_collection *collections;
    size_t collection_count, collection_room;
    struct text codes; /* for each new one: name, NUL, file, NUL */
    struct python_place *places;
    size_t place_count, place_room;
    /* For each new one: the number of places, then the places, innermost first, some with PYTHON_ENTRY. */
    uint32_t *chains;
    size_t chain_words, chain_room;
    int failed;                                      /* out of memory: the batch is incomplete */
};

void python_batch_clear(struct python_batch *batch); /* keeps the memory */
void python_batch_free(struct python_batch *batch);
void python_batch_add(struct python_batch *batch, const struct python_sample *sample);
void python_batch_name(struct python_batch *batch, const struct python_named *named); /* dropped if memory is short */

void python_batch_collect(struct python_batch *batch, const struct python_collection *collection); /* the same */

struct python_names {
    struct intern codes, places, chains;
    struct python_batch *batch; /* for new ones */
    struct text key;
};

void python_names_free(struct python_names *names);

/* The number of a stack; -1 if out of memory. */
int64_t python_names_chain(struct python_names *names, const uint32_t *places, size_t count);

/* A code object of a process. */
struct python_code_at {
    uint64_t address;
    struct python_code_entry *entry; /* owned */
};
MAP(python_code_map, struct python_code_at, uint64_t, address, entry, hash_number, map_is_same_number)

void python_codes_free(struct python_code_map *codes); /* and their entries */

struct python_look {
    const struct python_runtime *python;
    const struct python_memory *memory; /* of the process as it is now, not of the snapshot */
    struct python_names *names;
    int64_t now_ns;
    int64_t believed_ns;                /* a code object is read again after this time: another may have its address */
};

/* Finds the place of a frame. Returns -1 if there is no code object at its address (any more), or when memory is short.
 * callee: the frame that it has called; NULL: none. *fits: 0 if the callee lies at another distance than callees of
 * this code object usually do. Frames on Python's own stack have a size that depends on their code alone, so the two
 * frames may have been read at different moments. */
int python_codes_place(struct python_code_map *codes, const struct python_look *look, const struct python_frame *frame,
                       const struct python_frame *callee, uint32_t *place, int *fits);

#endif
