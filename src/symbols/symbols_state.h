/* The state that the files of this folder share:
 *
 *     symbols_new.c       creates, frees and reads struct symbols
 *     module.c            a file that is mapped into processes
 *     address_space.c     the mappings of a process; proc_maps.c reads them from /proc
 *     unwind.c            stacks from copies of memory and from chains of addresses
 *     unwind_plan.c       one step from a frame to its caller
 *     item_table.c        frames and plans, each stored once
 *     resolve.c           rounds of naming: all frames that have no name yet
 *     name_job.c          the names of one module's frames, found by any thread
 *     runtime_names.c     names of code in no file: the kernel's, code made at run time
 *     kernel_lookup.c     asks the kernel for names of its functions
 *     debug_file.c        the file that holds a module's debug information
 *
 * elf/ reads ELF files, cfi/ their call frame information, names/ their symbol tables and, by libdw in a child of ours,
 * their DWARF lines. */
#ifndef TACHO_SYMBOLS_SYMBOLS_STATE_H
#define TACHO_SYMBOLS_SYMBOLS_STATE_H

#include "base/intern.h"
#include "base/map.h"
#include "item_table.h"
#include "symbols.h"

struct name_round;
struct symbols_module;

/* A part of an address space; in order of addresses. */
struct address_space_mapping {
    uint64_t start, end, offset;
    uint32_t module;
    int is_whole;
};

/* The frame of an address in one process, and the plan to leave it. */
struct symbols_place {
    uint64_t key;         /* address << 2 | PLACE_ bits */
    uint32_t frame, plan; /* no address has frame 0 */
};
enum { PLACE_RETURN = 1, PLACE_CHAIN = 2 };
MAP(symbols_place_map, struct symbols_place, uint64_t, key, frame, hash_number, map_is_same_number)

/* Whether a process writes the names of its generated code when it exits. */
enum symbols_exit_names { EXIT_NAMES_UNKNOWN, EXIT_NAMES_NO, EXIT_NAMES_YES };

struct symbols_process {
    struct symbols_process *next;
    struct symbols *symbols;
    pid_t pid, inner_pid;                   /* inner: as it calls itself */
    int is_gone;
    int root;                               /* its root folder, where that is not ours; -1 */
    uid_t user;                             /* that it was when last looked at */
    struct address_space_mapping *mappings; /* by address */
    size_t mapping_count, mapping_capacity, last_mapping;
    struct symbols_place_map places;
    int64_t looked_ns;                      /* at /proc, last; 0: never */
    uint32_t jit;                           /* number of its module for code without a file, + 1; 0: none */
    int exit_names;                         /* enum symbols_exit_names */
};

/* A frame by its location. Frames are equal if everything but their lines is. */
struct symbols_frame_item {
    uint64_t address, inside; /* in the process; in the file, of the instruction itself */
    uint32_t module;
    uint16_t method, is_kernel;
    uint32_t first_line, line_count;
};
#define FRAME_KEY_BYTES offsetof(struct symbols_frame_item, first_line)

struct symbols {
    struct symbols_settings settings;
    int64_t began_ns; /* by the monotonic clock */
    uint16_t machine; /* EM_*: our own */
    struct symbols_process *processes;
    struct symbols_module **modules;
    size_t module_count, module_capacity;
    struct intern texts;
    struct symbols_node *nodes; /* of the tree of stacks; the first is the empty stack */
    size_t node_room;
    uint32_t node_count;
    struct hash_index node_index;
    struct item_table frames, plans;
    struct symbols_line *lines;
    size_t line_capacity;
    uint32_t line_count;
    uint32_t first_unnamed;   /* all frames before this one have lines */
    struct name_round *round; /* that runs now; NULL: none */
    uint64_t samples;         /* symbols_note_sample(); 0: all lines are looked up */
    struct symbols_counts counts;
};

/* A text that lives as long as symbols; equal bytes give the same pointer. "" if out of memory. */
const char *symbols_text(struct symbols *symbols, const char *bytes, size_t length);

#endif
