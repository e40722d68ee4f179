/* Reads the stacks of Python programs out of their memory: from outside, or in the process itself without the GIL.
 *
 * Everything goes through read_at(), so that the memory may be that of another process, of this one or of a test.
 * Nothing in it is trusted, because it changes while it is read: every walk is bounded, and the result may be wrong but
 * reading is never unsafe. A caller that must be sure reads the thread again afterwards and compares. It knows CPython
 * 3.9 to 3.14 with the GIL, on x86_64 and aarch64. It uses libc alone and neither allocates nor locks. In the process
 * itself read_at must not fault either: process_vm_readv() on the own process is one way.
 *
 *     uint64_t symbols[PYTHON_SYMBOL_COUNT];            addresses of python_symbols[], 0 for missing ones
 *     if (python_open(&python, &memory, symbols) != PYTHON_OK) …
 *     if (python_find_thread(&python, &memory, pthread_self(), &thread) != PYTHON_OK) …       or all of them, as below
 *     count = python_frames(&python, &memory, thread.frame, frames, max, &next);
 *     python_code_read(&python, &memory, frames[i].code, &code);     cache the result by the address of the code */
#ifndef TACHO_ABI_PYTHON_LAYOUT_H
#define TACHO_ABI_PYTHON_LAYOUT_H

#include <stddef.h>
#include <stdint.h>

#include "python_bytes.h"

/* The symbols that lead to the interpreter's state and its version. Every build exports them: static or shared,
 * stripped or not. */
#define PYTHON_SYMBOLS(X)                                                                                            \
    X(RUNTIME, "_PyRuntime")                                                                                         \
    X(CODE_TYPE, "PyCode_Type")                                                                                      \
    X(VERSION, "Py_Version")       /* the version as a number, from 3.11 on */                                       \
    X(SINCE_3_10, "PyGC_Enable")   /* earlier versions are recognised by the functions that they added */           \
    X(SINCE_3_9, "PyFrame_GetCode")

enum python_symbol {
#define PYTHON_SYMBOL_ID(id, name) PYTHON_SYMBOL_##id,
    PYTHON_SYMBOLS(PYTHON_SYMBOL_ID) PYTHON_SYMBOL_COUNT
#undef PYTHON_SYMBOL_ID
};
extern const char *const python_symbols[PYTHON_SYMBOL_COUNT];

enum python_status {
    PYTHON_OK,
    PYTHON_UNREADABLE, /* the process is gone, or may not be read */
    PYTHON_TORN,       /* the data is inconsistent: it changed meanwhile, or is not set up yet */
    PYTHON_TOO_OLD,
    PYTHON_TOO_NEW,
    PYTHON_FREE_THREADED,
};

/* The reason why an interpreter cannot be read, as the end of a sentence: "… it is older than 3.9". */
const char *python_status_text(enum python_status status);

enum python_field {
#define PYTHON_FIELD(field, since, until, structure, member, described) PYTHON_##field,
#include "python_fields.def"
    PYTHON_FIELD_COUNT
};
#define PYTHON_NO_FIELD UINT16_MAX

struct python_runtime {
    uint64_t address;                /* of _PyRuntime */
    uint64_t code_type;              /* of PyCode_Type; 0: unknown, and the type of code objects is not checked */
    unsigned minor;                  /* 3.minor */
    uint16_t at[PYTHON_FIELD_COUNT]; /* offset of each field in its struct; PYTHON_NO_FIELD if this version lacks it */
};

/* Determines the version and its layout. PYTHON_TORN: the interpreter has not been set up yet. */
enum python_status python_open(struct python_runtime *python, const struct python_memory *memory,
                               const uint64_t symbols[PYTHON_SYMBOL_COUNT]);

/* ---- Interpreters and threads ---------------------------------------------------------------------------------- */

#define PYTHON_INTERPRETERS_MAX 1024u /* of one process: a longer list is torn */
#define PYTHON_THREADS_MAX 65536u     /* of one process, likewise */
#define PYTHON_GIL_BYTES 256u         /* a thread that waits on a futex this close to the lock waits for the lock */

struct python_interpreter {
    uint64_t address, next; /* next 0: this is the last one */
    uint64_t first_thread;
    uint64_t gil;           /* address of its lock; 0: unknown */
    uint64_t holder;        /* the thread state that holds the lock; 0: none */
    int64_t id;
};

/* What the garbage collector of an interpreter does, and how often it has run. Each collection counts when it ends. */
enum { PYTHON_GENERATIONS = 3 };
struct python_collector {
    int is_collecting;
    struct {
        int64_t collections, collected, uncollectable; /* objects that were freed, and that could not be */
    } generations[PYTHON_GENERATIONS];
};

struct python_thread {
    uint64_t address, next; /* next 0: this is the last one of its interpreter */
    uint64_t interpreter;
    uint64_t pthread;       /* pthread_self() of the thread */
    uint64_t native;        /* its tid; 0 before 3.11, which does not store it */
    uint64_t frame;         /* the innermost frame; 0: the thread runs no Python code */
};

/* The first interpreter; 0: there is none, or it could not be read. */
uint64_t python_first_interpreter(const struct python_runtime *python, const struct python_memory *memory);
enum python_status python_interpreter_read(const struct python_runtime *python, const struct python_memory *memory,
                                           uint64_t address, struct python_interpreter *interpreter);
/* PYTHON_TORN: these are no such numbers. */
enum python_status python_collector_read(const struct python_runtime *python, const struct python_memory *memory,
                                         uint64_t interpreter, struct python_collector *collector);
enum python_status python_thread_read(const struct python_runtime *python, const struct python_memory *memory,
                                      uint64_t address, struct python_thread *thread);

/* Finds the state of a thread by its pthread, in any interpreter. If there are several, it takes the one with frames.
 * PYTHON_TORN: there is none. */
enum python_status python_find_thread(const struct python_runtime *python, const struct python_memory *memory,
                                      uint64_t pthread, struct python_thread *thread);

/* ---- Frames ---------------------------------------------------------------------------------------------------- */

struct python_frame {
    uint64_t address;
    uint64_t code;       /* the code object */
    int64_t instruction; /* byte offset in its code; < 0: it has not begun */
    uint64_t is_entry;   /* 1: C code called it, in a new invocation of the interpreter's loop; 0: Python code did */
};

/* Reads frames, innermost first, without those of the interpreter itself (between C and Python). Returns their
 * number, at most max; *next is where the stack goes on, 0 at its end. A negative result, -(enum python_status),
 * says that the stack changed during the read. */
int python_frames(const struct python_runtime *python, const struct python_memory *memory, uint64_t frame,
                  struct python_frame *frames, int max, uint64_t *next);

/* The bytes at the start of a frame that python_frames() reads, for callers that read ahead. */
size_t python_frame_bytes(const struct python_runtime *python);

/* ---- Code objects ---------------------------------------------------------------------------------------------- */

#define PYTHON_TEXT_MAX 1024 /* bytes of UTF-8, with the zero at the end; longer texts are truncated */
#define PYTHON_LINES_MAX 65536 /* bytes of a line table; with a larger one, instructions have no line */

struct python_code {
    uint64_t address;
    int32_t first_line;
    uint64_t lines;             /* address of the line table */
    uint32_t lines_bytes;       /* its size; 0: there is none */
    char name[PYTHON_TEXT_MAX]; /* qualified, from 3.11 on: Class.method */
    char file[PYTHON_TEXT_MAX];
};

/* Reads a str object as UTF-8; what does not fit is truncated. */
enum python_status python_text_read(const struct python_runtime *python, const struct python_memory *memory,
                                    uint64_t address, char *out, size_t size);

/* PYTHON_TORN: there is no code object at this address, or not any more. */
enum python_status python_code_read(const struct python_runtime *python, const struct python_memory *memory,
                                    uint64_t address, struct python_code *code);

/* A few bytes that differ between code objects which lived at the same address one after another. They are cheap to
 * read again. */
struct python_code_mark {
    uint64_t name, file, lines; /* addresses of its parts */
    int32_t first_line;
};
enum python_status python_code_mark(const struct python_runtime *python, const struct python_memory *memory,
                                    uint64_t address, struct python_code_mark *mark);

/* The line of an instruction, from the bytes of a line table; 0 if the instruction has none. */
int32_t python_line(const struct python_runtime *python, int32_t first_line, const unsigned char *table, size_t bytes,
                    int64_t instruction);

#endif
