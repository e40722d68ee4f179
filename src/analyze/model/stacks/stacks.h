/* Call stacks of samples and calls, from captures of Tacho and of nsys, as one tree.
 *
 * A stack is the number of a node, which has its innermost frame and the stack of its caller. Equal stacks have the
 * same number, so a million samples need only a million small integers. */
#ifndef TACHO_ANALYZE_MODEL_STACKS_STACKS_H
#define TACHO_ANALYZE_MODEL_STACKS_STACKS_H

#include "analyze/engine/keys.h"
#include "analyze/model/filter.h"
#include "analyze/model/threads.h"
#include "base/text.h"

enum stack_frame_kind {
    FRAME_NATIVE,
    FRAME_KERNEL,
    FRAME_PYTHON,
    FRAME_THREAD,
    FRAME_PYTHON_ENTRY /* only STACKS_WITH_ENTRIES */
};

/* The parts of a frame's key. The key of a thread has its name, or FRAME_NO_NAME and its number as the module. */
enum { FRAME_KIND, FRAME_SYMBOL, FRAME_MODULE, FRAME_SOURCE, FRAME_LINE, FRAME_PARTS };
/* For a symbol, module or source that is not known. Frames without names in the same module are the same frame. */
#define FRAME_NO_NAME INT64_C(-1)
#define FRAME_NO_LINE INT64_C(0)

enum { STACK_EMPTY = 0, NODE_PARENT = 0, NODE_FRAME = 1, NODE_PARTS = 2 };

enum stack_source { STACKS_CPU, STACKS_PYTHON, STACK_SOURCES };
extern const char *const stack_sample_tables[STACK_SOURCES + 1]; /* NULL-terminated, for a list of needs */

enum { THREAD_STATE_WAITING = 7 };   /* of ENUM_SAMPLING_THREAD_STATE: neither running nor runnable */

struct stack_sample {
    int64_t time_ns, thread, weight; /* weight: 1, or the value of the counter */
    uint32_t stack;
    int is_waiting;                  /* neither running nor runnable */
    int64_t python;                  /* the chain of Python frames that was recorded with it; 0: none */
};

struct stacks {
    struct report *report;
    struct keys frames;           /* of FRAME_PARTS */
    struct keys nodes;            /* of NODE_PARTS; a parent comes before its children; STACK_EMPTY is the first */
    struct stack_sample *samples; /* owned; by thread, then by time */
    size_t sample_count;
};

/* Flags. LINES: frames have the file and line of the source, and differ by them. ENTRIES: Python frames that C code
 * called differ from those that Python code called. */
enum { STACKS_WITHOUT_LINES, STACKS_WITH_LINES, STACKS_WITH_ENTRIES };

int stacks_open(struct stacks *stacks, struct report *report, struct error *err);
void stacks_free(struct stacks *stacks); /* of {0} too */

/* Reads the samples of this source that pass the filter; a report without the table has none. Call it once. */
int stacks_read_samples(struct stacks *stacks, enum stack_source source, int lines, const struct filter *filter,
                        struct error *err);

/* The stacks of a table of call chains, by their ids. */
struct stack_chain {
    int64_t id;
    uint32_t stack;
};
struct stack_chains {
    struct stack_chain *list; /* owned; by id */
    size_t count;
};
int stack_chains_read(struct stack_chains *chains, struct stacks *stacks, const char *table, int lines,
                      struct error *err);
void stack_chains_free(struct stack_chains *chains);
/* STACK_EMPTY if there is none. *hint, 0 at first, makes lookups of ids in their order fast. */
uint32_t stack_chains_find(const struct stack_chains *chains, int64_t id, size_t *hint);

static inline const int64_t *stack_frame(const struct stacks *stacks, uint32_t frame)
{
    return keys_get(&stacks->frames, frame);
}
static inline uint32_t stack_parent(const struct stacks *stacks, uint32_t stack)
{
    return (uint32_t)keys_get(&stacks->nodes, stack)[NODE_PARENT];
}
static inline uint32_t stack_innermost(const struct stacks *stacks, uint32_t stack)
{
    return (uint32_t)keys_get(&stacks->nodes, stack)[NODE_FRAME];
}

/* The frame that is shown as the caller of an API: the innermost one outside of system and CUDA libraries; NO_KEY if
 * there is none. A frame of a library of headers or of another crate is the result only if none of the program's is
 * left, and one of the language's library (C++, Rust) after these. */
uint32_t stack_caller(const struct stacks *stacks, uint32_t stack);

/* The frame that stands for a thread; threads with the same name share it. NO_KEY when memory is short. */
uint32_t stack_thread_frame(struct stacks *stacks, const struct thread_names *names, int64_t thread);

/* Append the name of a frame, and the file that it is in, to out. Without a known name, the name is "[file]". */
void stack_frame_name(struct text *out, const struct stacks *stacks, uint32_t frame);
void stack_frame_module(struct text *out, const struct stacks *stacks, uint32_t frame);
/* Whether it is one of the functions with which Python imports modules. */
int stack_frame_is_import(const struct stacks *stacks, uint32_t frame);
void stack_key_name(struct text *out, const struct stacks *stacks, const int64_t *key); /* of FRAME_PARTS */
/* "function (file.c:12)" if frames have lines, "function (file.py)" for Python without lines, else the name. */
void stack_frame_label(struct text *out, const struct stacks *stacks, uint32_t frame);

#endif
