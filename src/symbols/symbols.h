/* Stacks: address spaces, unwinding, and the names of addresses.
 *
 * While a capture runs, each sample or chain becomes a small number: a stack is a node of a tree (its caller's node and
 * a frame), so equal stacks are equal numbers. Names are found in rounds, each place in a file once.
 * Files and stacks come from other people's programs: every count and offset in them is checked, and every loop is
 * bounded.
 *
 * Not thread-safe. Stacks hold frames, frames hold lines (one, and one more for each inlined function). */
#ifndef TACHO_SYMBOLS_SYMBOLS_H
#define TACHO_SYMBOLS_SYMBOLS_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "symbols/cfi/cfi_registers.h"

struct parallel;
struct symbols;
struct symbols_process;

/* ---- A capture ------------------------------------------------------------------------------------------------- */

struct symbols_settings {
    const char *const *debug_paths; /* folders (and files) with debug information, ended by NULL; NULL for
                                     * none beyond the usual ones */
    int no_names;                   /* addresses are not resolved */
};

/* settings may be NULL; its texts must live as long as the result. Returns NULL when memory is short. */
struct symbols *symbols_new(const struct symbols_settings *settings);
void symbols_delete(struct symbols *symbols); /* also deletes its processes */

/* ---- Address spaces -------------------------------------------------------------------------------------------- */

/* Adds a process without mappings. They come with symbols_process_map(), or with symbols_process_look() from /proc.
 * If an address lies in no known mapping, /proc is read again (a few times a second at most, while the process
 * lives). */
struct symbols_process *symbols_process_new(struct symbols *symbols, pid_t pid);

/* The child begins with a copy of its parent's mappings. */
struct symbols_process *symbols_process_fork(struct symbols_process *parent, pid_t pid);

/* The process has ended: its pid may be reused. More stacks of it may still come. */
void symbols_process_end(struct symbols_process *process);

struct symbols_mapping {
    uint64_t address, bytes, offset; /* offset in the file */
    uint64_t device, inode;          /* makedev() form; inode 0: unknown */
    const char *path;                /* as the process sees it; "[vdso]", "//anon" and the like are recognised */
    const unsigned char *build_id;   /* NULL: unknown */
    size_t build_id_bytes;
    /* All segments of a loaded file, as its loader laid them out; then offset is not used. */
    int is_whole;
};

/* Adds a mapping, which replaces any that it overlaps. Only executable mappings are needed. The path and the
 * build-id are copied. */
int symbols_process_map(struct symbols_process *process, const struct symbols_mapping *mapping);

/* Removes all mappings from a range of addresses. */
void symbols_process_unmap(struct symbols_process *process, uint64_t address, uint64_t bytes);

/* Does the address lie in a file that was mapped with is_whole, be it code or a variable? */
int symbols_process_has_loaded(struct symbols_process *process, uint64_t address);

/* Reads /proc/PID/maps: 0, or -1 if it cannot be read. */
int symbols_process_look(struct symbols_process *process);

/* Stacks with frames of the kernel will come: begins to read its names, which takes longer than a short program runs.
 */
void symbols_expect_kernel(struct symbols *symbols);

/* ---- Stacks ---------------------------------------------------------------------------------------------------- */

#define SYMBOLS_NO_STACK 0u /* the empty stack, and the caller of every outermost frame */
#define SYMBOLS_DEPTH_MAX 1024u

/* Converts a sample's PERF_SAMPLE_REGS_USER: the mask that was requested, and one word for each of its bits. */
void symbols_registers_from_perf(struct symbols_registers *registers, uint64_t mask, const uint64_t *values);
uint64_t symbols_perf_mask(void); /* the registers that unwinding needs, for perf_event_attr.sample_regs_user */

enum symbols_end {
    SYMBOLS_WHOLE,                /* ends where the thread begins */
    SYMBOLS_CUT,                  /* the copy of the stack ends first */
    SYMBOLS_TOO_DEEP,             /* more frames than were asked for */
    SYMBOLS_BROKEN,               /* nothing is mapped at the address of a frame */
};

struct symbols_walk {
    uint32_t stack; /* its number */
    uint32_t frames;
    enum symbols_end end;
};

struct symbols_sample {
    const struct symbols_registers *registers; /* of user space */
    /* A copy of the thread's stack, from its stack pointer upwards; any alignment. */
    const void *stack;
    size_t stack_bytes;
    const uint64_t *kernel; /* the kernel's addresses, innermost first; NULL: none */
    size_t kernel_count;
    uint32_t depth_max;     /* 0: SYMBOLS_DEPTH_MAX */
    /* Innermost frames in files whose names begin with one of these are dropped; ended by NULL; NULL: none. */
    const char *const *skip_files;
};

/* Walks a copy of a stack by call frame information, and by frame pointers where there is none. */
struct symbols_walk symbols_unwind(struct symbols_process *process, const struct symbols_sample *sample);

/* Takes a chain of addresses, innermost first, that was unwound elsewhere. PERF_CONTEXT_KERNEL and _USER in it
 * switch between the two. */
struct symbols_chain {
    const uint64_t *addresses;
    size_t count;
    int first_is_return;        /* the first address is a return address, as all others are */
    enum symbols_method method; /* for addresses in user space */
};
struct symbols_walk symbols_stack_from_chain(struct symbols_process *process, const struct symbols_chain *chain);

/* ---- Names ----------------------------------------------------------------------------------------------------- */

/* Finds the names of all frames that have none yet, and returns when they are known: 0, or -1 when memory is short.
 * pool may be NULL. May be called again after more stacks have come. */
int symbols_resolve(struct symbols *symbols, struct parallel *pool);

/* The same in a thread, so that the caller need not wait, in rounds. symbols_naming_begin() starts a round, unless one
 * runs already or no frame waits for a name; returns whether it did. Frames of modules whose names cost much wait for a
 * later round, and those of code whose names come when its process exits (java -XX:+DumpPerfMapAtExit) until then.
 * symbols_naming_take() makes the names that were found so far known; returns whether that ended the round.
 * symbols_naming_end() waits for its end. */
int symbols_naming_begin(struct symbols *symbols);
int symbols_naming_take(struct symbols *symbols);
void symbols_naming_end(struct symbols *symbols);

/* A sample, or an event of a similar time, has this stack. To read the debug information of a large file takes longer
 * than a short program runs. So lines of a file are looked up only if that takes a small share of the time that samples
 * saw it in, at SYMBOLS_SAMPLE_NS each, or hardly any. Without a call of this function all lines are looked up. */
#define SYMBOLS_SAMPLE_NS INT64_C(1000000)
void symbols_note_sample(struct symbols *symbols, uint32_t stack);

/* Looks at the processes that make code while they run: may frames without a name have one now? */
int symbols_look_for_made_names(const struct symbols *symbols);

/* Do all frames of the stack have their names, or are known to have none? */
int symbols_is_named(const struct symbols *symbols, uint32_t stack);

enum symbols_line_flag {
    SYMBOLS_UNRESOLVED = 1, /* name is the address in hexadecimal */
    SYMBOLS_KERNEL = 2,
    SYMBOLS_INLINED = 4,    /* into the next line of its frame */
};

/* Texts live as long as struct symbols. Equal texts of one struct symbols are the same pointer. */
struct symbols_line {
    const char *name;     /* demangled */
    const char *module;   /* path of the file, or one of [Unknown], [kernel], [vdso], [jit] */
    const char *file;     /* of the source; NULL: unknown */
    uint32_t line, flags; /* line 0: unknown */
};

/* A stack: its innermost frame, and the stack of the caller. */
struct symbols_node {
    uint32_t caller, frame;
};
struct symbols_frame {
    uint64_t address;                /* the instruction's address, or the return address of its call */
    uint32_t first_line, line_count; /* innermost first; 0 lines until they are resolved */
    uint8_t method, is_kernel;
};

/* Numbers of stacks, frames and lines are below these counts. */
uint32_t symbols_stack_count(const struct symbols *symbols);
uint32_t symbols_frame_count(const struct symbols *symbols);
uint32_t symbols_line_count(const struct symbols *symbols);
struct symbols_node symbols_stack(const struct symbols *symbols, uint32_t stack);
struct symbols_frame symbols_frame(const struct symbols *symbols, uint32_t frame);
const struct symbols_line *symbols_line(const struct symbols *symbols, uint32_t line);

struct symbols_counts {
    uint64_t walks, frames, by_end[4];   /* of symbols_unwind(); by enum symbols_end */
    uint64_t places, named, with_source; /* distinct places in files; those with a name; those with a source line */
    uint64_t maps_cut;                   /* files /tmp/perf-PID.map of which only the first 256 MiB were read */
    uint64_t without_lines;              /* files whose debug information was too large for the time they were seen */
    int64_t children_ns;                 /* CPU time of our children that read debug information */
};
const struct symbols_counts *symbols_counts(const struct symbols *symbols);

#endif
