/* A module: a file that code comes from, or what stands for one. Mappings of the same file in several processes share
 * it. */
#ifndef TACHO_SYMBOLS_MODULE_H
#define TACHO_SYMBOLS_MODULE_H

#include "symbols.h"
#include "symbols/cfi/cfi.h"
#include "symbols/elf/elf_image.h"

struct address_space_mapping;
struct kernel_names;

enum symbols_module_kind { MODULE_FILE, MODULE_VDSO, MODULE_KERNEL, MODULE_JIT, MODULE_NOTHING };
enum symbols_module_state { MODULE_UNSEEN, MODULE_OPEN, MODULE_CLOSED };

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
    struct kernel_names *kernel;   /* owned; of the kernel */
    int64_t asked_ns;              /* for names, last; 0: never */
    int64_t naming_ns;             /* CPU time of the last round for this module */
    uint64_t uses;                 /* samples with a frame of it (symbols_note_sample()) */
    uint64_t last_use;             /* the number of the last of them */
    int is_without_lines;          /* some of its places were named without lines, since there were too many */
    int64_t lines_ns;              /* CPU time that its debug information has taken */
    struct symbols_process *owner; /* of code that was made while it ran */
    uint64_t made_bytes;           /* size of the file with the names of such code, when it was read */
    /* The owner writes that file when it exits, so its frames wait; there are names in it that were not read. */
    int names_come_later, has_more_names;
};

/* Returns the module of a mapping, known already or new; NULL when memory is short. */
struct symbols_module *module_of_mapping(struct symbols_process *process, const struct symbols_mapping *mapping);
struct symbols_module *module_of_kernel(struct symbols *symbols);

/* Opens the file once, as this process sees it; the mapping helps to find it. Returns whether it is open. */
int module_open(struct symbols_module *module, struct symbols_process *process,
                const struct address_space_mapping *mapping);
void module_delete(struct symbols_module *module);

#endif
