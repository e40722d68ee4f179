/* Places in the user's program: the line that a thread was at in a span of time, or that a CUDA call came from.
 *
 *     struct places places;
 *     int code = places_open(&places, report, err);
 *     …
 *     uint32_t place = places_at(&places, thread, from_ns, to_ns);
 *     place_text(&text, &places, place);      "train.py:41 forward", "step (solver.c:12)", "range forward"
 *     places_close(&places);
 *
 * The wanted frame is the innermost one of the user's own code, not of PyTorch, of other packages or of the standard
 * library. Records of several kinds show it. Each kind is a layer of spans that do not overlap, and the first layer
 * that covers most of a span answers:
 *
 *   1. call stacks of CUDA calls (Python, with --cudabacktrace), stacks of operators (--pytorch-stacks)
 *   2. Python functions that torch.profiler recorded (with_stack)
 *   3. Python samples, as votes (place_votes.c), and where they are in doubt, the sample next in time
 *   4. native call stacks and samples, of programs that are not Python
 *   5. NVTX ranges, annotations and modules: their names
 *
 * A thread without Python of its own, such as autograd's, is where the Python thread of its process is that has most
 * spans: that one called it. */
#ifndef TACHO_ANALYZE_MODEL_PLACES_PLACES_H
#define TACHO_ANALYZE_MODEL_PLACES_PLACES_H

#include "analyze/engine/keys.h"
#include "analyze/model/torch/python_files.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/text.h"
#include "report/reader/reader.h"
#include "slow_calls.h"

enum { NO_PLACE = UINT32_MAX, NO_PLACE_TEXT = UINT32_MAX };

enum place_kind { PLACE_PYTHON, PLACE_NATIVE, PLACE_RANGE };

struct place {
    enum place_kind kind;
    uint32_t file;     /* a number in texts: the path as it was recorded; NO_PLACE_TEXT: none */
    uint32_t function; /* the same for the function, or the name of the range */
    uint32_t act;      /* the function of a library that it called there, such as "Tensor.item"; NO_PLACE_TEXT: none */
    enum python_owner act_owner;
    int slow;          /* the row of slow_calls.def that the act is in, or NO_SLOW_CALL */
    int64_t line;      /* 0: not known. Of a Python function that torch.profiler recorded, the first line */
    uint32_t loop;     /* in the code of a data set: the place that iterates over the DataLoader; else NO_PLACE */
};
/* The act of a place that iterates over a DataLoader. */
extern const char place_loads[];

/* Where a thread was from start to end. */
struct place_span {
    int64_t start_ns, end_ns;
    uint32_t place;
};
struct place_thread {
    int64_t id;
    size_t first, end; /* of its spans */
};
/* Starts from {0}. */
struct place_layer {
    struct place_span *spans;     /* owned; by thread, then by time; they do not overlap */
    size_t count, room;
    struct place_thread *threads; /* owned; by id */
    size_t thread_count, thread_room;
    size_t hint;                  /* of the last lookup: spans that are asked for in order are found at once */
};

enum place_source {
    PLACES_OF_CALLS,
    PLACES_OF_OPERATORS,
    PLACES_OF_FUNCTIONS,
    PLACES_OF_VOTES,
    PLACES_OF_SAMPLES,
    PLACES_OF_NATIVE_CALLS,
    PLACES_OF_OS_CALLS, /* after places_add_os_calls() */
    PLACES_OF_NATIVE_VOTES,
    PLACES_OF_NATIVE_SAMPLES,
    PLACES_OF_RANGES,
    PLACE_SOURCES
};

struct places {
    struct report *report;
    struct intern texts;
    struct keys keys; /* the places */
    struct place_layer layers[PLACE_SOURCES];
    struct place_thread_pair {
        int64_t process, thread;
    } *mains;      /* owned; by process: the Python thread that has most spans */
    size_t main_count, main_room;
    int64_t *sums; /* owned; by place: scratch of places_at(), else 0 */
    size_t sum_room;
};

/* places_close() is safe after an error, and of {0}. */
int places_open(struct places *places, struct report *report, struct error *err);
void places_close(struct places *places);

/* Instead of places_open(), for places that are not asked for by thread and time. */
void places_begin(struct places *places, struct report *report);

/* Adds the call stacks of OS calls, of which a capture of a GPU may have very many. */
int places_add_os_calls(struct places *places, struct error *err);

/* The place at which the thread spent most of this time, or NO_PLACE. For a CUDA call: its own start and end. */
uint32_t places_at(struct places *places, int64_t thread, int64_t from_ns, int64_t to_ns);

/* Visits the spans of this time with their places, in order; NO_PLACE for those that are not known. Neighbours differ.
 * A visit that returns non-zero ends it. */
typedef int places_visit(void *context, uint32_t place, int64_t from_ns, int64_t to_ns);
int places_each(struct places *places, int64_t thread, int64_t from_ns, int64_t to_ns, places_visit *visit,
                void *context);

struct place places_get(const struct places *places, uint32_t place);
/* The number of the same place without an act and a loop, to group by lines. Takes NO_PLACE too. */
uint32_t places_line(const struct places *places, uint32_t place);
/* A text of a place; "" for NO_PLACE_TEXT. */
static inline const char *places_string(const struct places *places, uint32_t text)
{
    return text == NO_PLACE_TEXT ? "" : places->texts.strings[text].bytes;
}

/* Appends "train.py:41 forward", "step (solver.c:12)" or "range forward"; nothing for NO_PLACE. */
void place_text(struct text *out, const struct places *places, uint32_t place);

#endif
