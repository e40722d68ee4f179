/* Stacks of samples and calls: read once, from captures of ours and of nsys alike, and kept as one tree.
 *
 * A stack is the number of a node: its innermost frame, and the stack of its caller. Equal stacks are the same number,
 * so that a million samples are a million small integers. */
#ifndef TACHO_ANALYZE_MODEL_STACKS_STACKS_H
#define TACHO_ANALYZE_MODEL_STACKS_STACKS_H

#include "analyze/engine/keys.h"
#include "analyze/model/filter.h"
#include "analyze/model/threads.h"
#include "base/text.h"

enum frame_kind {
    FRAME_NATIVE,
    FRAME_KERNEL,
    FRAME_PYTHON,
    FRAME_THREAD,
    FRAME_PYTHON_ENTRY /* only STACKS_WITH_ENTRIES */
};

/* What frames are told apart by, the parts of a key. Of a thread: its name, or FRAME_NO_NAME and
 * its number as the module. */
enum { FRAME_KIND, FRAME_SYMBOL, FRAME_MODULE, FRAME_SOURCE, FRAME_LINE, FRAME_PARTS };
/* of a symbol, module or source that is not known: frames of a module without names are one */
#define FRAME_NO_NAME INT64_C(-1)
#define FRAME_NO_LINE INT64_C(0)

enum { STACK_EMPTY = 0, NODE_PARENT = 0, NODE_FRAME = 1, NODE_PARTS = 2 };

enum stack_source { STACKS_CPU, STACKS_PYTHON, STACK_SOURCES };
extern const char *const stack_sample_tables[STACK_SOURCES + 1]; /* NULL-terminated, for a list of needs */

enum { THREAD_STATE_WAITING = 7 };   /* of ENUM_SAMPLING_THREAD_STATE: not running, nor ready to */

struct stack_sample {
    int64_t time_ns, thread, weight; /* weight: 1, or what the counter counted */
    uint32_t stack;
    int is_waiting;                  /* not running, nor ready to */
    int64_t python;                  /* the chain of Python frames that was read with it; 0: none was */
};

struct stacks {
    struct report *report;
    struct keys frames;           /* of FRAME_PARTS */
    struct keys nodes;            /* of NODE_PARTS; a parent comes before its children; STACK_EMPTY is the first */
    struct stack_sample *samples; /* owned; by thread, then by time */
    size_t sample_count;
};

/* Whether frames have the file and line of the source, and differ by them; and whether Python's
 * differ by who called them. */
enum { STACKS_WITHOUT_LINES, STACKS_WITH_LINES, STACKS_WITH_ENTRIES };

int stacks_open(struct stacks *stacks, struct report *report, struct error *err);
void stacks_free(struct stacks *stacks); /* of {0} too */

/* The samples of this source that count. No table is no samples. Called once. */
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
/* STACK_EMPTY if there is none. *hint, 0 at first, makes it fast to ask for ids in their order. */
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

/* The frame that a call came from: the innermost outside of the libraries that everybody calls; NO_KEY if there is
 * none. The library of C++ is one of them where its caller is known. */
uint32_t stack_caller(const struct stacks *stacks, uint32_t stack);

/* The frame that stands for a thread: all threads of one name are the same. NO_KEY when memory is short. */
uint32_t stack_thread_frame(struct stacks *stacks, const struct thread_names *names, int64_t thread);

/* What a frame is called, and the file that it is in; both are added to out. Where no name
 * is known, that is "[file]". */
void stack_frame_name(struct text *out, const struct stacks *stacks, uint32_t frame);
void stack_frame_module(struct text *out, const struct stacks *stacks, uint32_t frame);
void stack_key_name(struct text *out, const struct stacks *stacks, const int64_t *key); /* of FRAME_PARTS */
/* "function (file.c:12)" where frames have lines, "function (file.py)" of Python without them, else the name. */
void stack_frame_label(struct text *out, const struct stacks *stacks, uint32_t frame);

#endif
