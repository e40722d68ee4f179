/* What the files of this folder share:
 *
 *     module.c            a file that is mapped into processes
 *     address_space.c     the mappings of a process; proc_maps.c reads them from /proc
 *     unwind.c            stacks from copies of memory and from chains of addresses
 *     unwind_plan.c       one step from a frame to its caller
 *     item_table.c        frames and plans, each stored once
 *     resolve.c           the names of all frames, after the capture
 *     runtime_names.c     names of code in no file: the kernel's, code made at run time
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
#include "symbols/cfi/cfi.h"
#include "symbols/elf/elf_image.h"

enum symbols_module_kind { MODULE_FILE, MODULE_VDSO, MODULE_KERNEL, MODULE_JIT, MODULE_NOTHING };
enum symbols_module_state { MODULE_UNSEEN, MODULE_OPEN, MODULE_CLOSED };

/* A file that code comes from, or what stands for one. */
struct symbols_module {
    enum symbols_module_kind kind;
    enum symbols_module_state state;
    uint32_t number;
    const char *path;              /* among the texts */
    uint64_t device, inode;        /* inode 0: not known */
    unsigned char build_id[ELF_IMAGE_BUILD_ID_MAX];
    size_t build_id_bytes;
    struct elf_image image;        /* while open */
    void *memory;                  /* of an image that is no file's; freed with it */
    struct cfi cfi;
    struct symbols_process *owner; /* of code that was made while it ran */
};

struct space_mapping {
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

struct symbols_process {
    struct symbols_process *next;
    struct symbols *symbols;
    pid_t pid, inner_pid;           /* inner: as it calls itself */
    int is_gone;
    int root;                       /* its root folder, where that is not ours; -1 */
    uid_t user;                     /* that it was when last looked at */
    struct space_mapping *mappings; /* by address */
    size_t mapping_count, mapping_capacity, last_mapping;
    struct symbols_place_map places;
    int64_t looked_ns;              /* at /proc, last; 0: never */
    uint32_t jit;                   /* number of its module for code without a file, + 1; 0: none */
};

/* A frame, by where it is. Frames are equal if all but their lines are. */
struct symbols_frame_item {
    uint64_t address, inside; /* as the process has it; as the file has it, of the instruction itself */
    uint32_t module;
    uint16_t method, is_kernel;
    uint32_t first_line, line_count;
};
#define FRAME_KEY_BYTES offsetof(struct symbols_frame_item, first_line)

/* How to get from a frame to its caller, where that is simple: the frame's address is a register and an offset, and
 * what was put away lies in whole words from there. Anything else is complex and worked out each time. */
#define PLAN_SAVED_MAX 14
struct unwind_plan {
    uint8_t kind, method, frame_register, return_register;
    int32_t frame_offset;
    uint8_t flags, saved_count;
    struct {
        uint8_t number;
        int8_t unused;
        int16_t words;
    } saved[PLAN_SAVED_MAX];
    uint8_t fill[2];
};
enum unwind_plan_kind { PLAN_SIMPLE, PLAN_COMPLEX, PLAN_NONE, PLAN_OUTERMOST, PLAN_KERNEL_SIGNAL };
enum unwind_plan_flag { PLAN_RETURN_SIGNED = 1, PLAN_RETURN_SAVED = 2, PLAN_IS_SIGNAL = 4 };

struct symbols {
    struct symbols_settings settings;
    uint16_t machine; /* EM_*: ours */
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
    uint32_t line_count, resolved_frames;
    struct symbols_counts counts;
};

/* A text that lives as long as symbols, the same for equal bytes; "" when memory is short. */
const char *symbols_text(struct symbols *symbols, const char *bytes, size_t length);

/* ---- module.c -------------------------------------------------------------------------------------------------- */

/* The module of a mapping, new or known; NULL when memory is short. */
struct symbols_module *module_of_mapping(struct symbols_process *process, const struct symbols_mapping *mapping);
struct symbols_module *module_of_kernel(struct symbols *symbols);

/* Opens it once, as this process sees it; the mapping tells where else to look. Says whether it is open. */
int module_open(struct symbols_module *module, struct symbols_process *process, const struct space_mapping *mapping);
void module_delete(struct symbols_module *module);

/* ---- address_space.c ------------------------------------------------------------------------------------------- */

/* The mapping that holds an address, after a look at /proc if none is known. NULL: none. */
const struct space_mapping *space_find(struct symbols_process *process, uint64_t address);
void space_begin(struct symbols_process *process); /* learns what is known only while it lives */
/* A file, as the process sees it, for reading: a descriptor, or -1. more_flags: of open(). */
int space_open(const struct symbols_process *process, const char *path, int more_flags);

#endif
