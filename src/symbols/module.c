/* Files that code comes from: which mappings belong to the same file, and opening it. See module.h.
 *
 * A file is opened when the first frame in it is met, while its process is likely to live: later its path may name
 * another file. */
#include "module.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "proc_maps.h"
#include "runtime_names.h"
#include "symbols_state.h"

#define BUILD_ID_TRUSTED 8 /* a shorter one may not be unique */

static struct symbols_module *module_add(struct symbols *symbols, const struct symbols_module *module)
{
    if (array_reserve(&symbols->modules, &symbols->module_capacity, symbols->module_count + 1,
                      sizeof *symbols->modules) != 0)
        return NULL;
    struct symbols_module *copy = malloc(sizeof *copy);
    if (!copy)
        return NULL;
    *copy = *module;
    copy->number = (uint32_t)symbols->module_count;
    copy->image.file = -1;
    symbols->modules[symbols->module_count++] = copy;
    return copy;
}

/* The kinds that are not plain files, by the start of their path. */
static const struct {
    const char *prefix;
    enum symbols_module_kind kind;
    const char *shown;
} module_kinds[] = {
    { "[vdso]", MODULE_VDSO, "[vdso]" },  { "linux-vdso", MODULE_VDSO, "[vdso]" },
    { "//anon", MODULE_JIT, "[jit]" },    { "/memfd:", MODULE_JIT, "[jit]" },
    { "/dev/zero", MODULE_JIT, "[jit]" }, { "/SYSV", MODULE_JIT, "[jit]" },
    { "/", MODULE_FILE, NULL },           { "[vsyscall]", MODULE_NOTHING, "[vsyscall]" },
    { "", MODULE_JIT, "[jit]" }, /* no path, [heap], [anon:...] */
};

static int module_is_same(const struct symbols_module *module, const struct symbols_module *other)
{
    int both_have_ids = module->build_id_bytes >= BUILD_ID_TRUSTED && other->build_id_bytes >= BUILD_ID_TRUSTED;
    if (both_have_ids)
        return module->build_id_bytes == other->build_id_bytes &&
               memcmp(module->build_id, other->build_id, other->build_id_bytes) == 0;
    if (module->path != other->path)
        return 0;
    return !module->inode || !other->inode || (module->inode == other->inode && module->device == other->device);
}

static struct symbols_module *module_find_file(struct symbols *symbols, const struct symbols_module *wanted)
{
    for (size_t i = 0; i < symbols->module_count; i++) {
        struct symbols_module *module = symbols->modules[i];
        if (module->kind == MODULE_FILE && module_is_same(module, wanted)) {
            if (!module->inode) {
                module->device = wanted->device;
                module->inode = wanted->inode;
            }
            return module;
        }
    }
    return NULL;
}

/* The only module of a kind; for code generated at run time there is one for each process. */
static struct symbols_module *single(struct symbols *symbols, enum symbols_module_kind kind, const char *path)
{
    for (size_t i = 0; i < symbols->module_count; i++)
        if (symbols->modules[i]->kind == kind)
            return symbols->modules[i];
    return module_add(symbols,
                      &(struct symbols_module){ .kind = kind, .path = symbols_text(symbols, path, strlen(path)) });
}

static struct symbols_module *jit_of(struct symbols_process *process, const char *path)
{
    struct symbols *symbols = process->symbols;
    if (process->jit)
        return symbols->modules[process->jit - 1];
    struct symbols_module *module = module_add(symbols, &(struct symbols_module){
                                                            .kind = MODULE_JIT,
                                                            .owner = process,
                                                            .path = symbols_text(symbols, path, strlen(path)),
                                                        });
    if (module)
        process->jit = module->number + 1;
    return module;
}

struct symbols_module *module_of_mapping(struct symbols_process *process, const struct symbols_mapping *mapping)
{
    const char *path = mapping->path ? mapping->path : "", *shown = path;
    enum symbols_module_kind kind = MODULE_FILE;
    for (size_t i = 0; i < COUNT_OF(module_kinds); i++)
        if (strncmp(path, module_kinds[i].prefix, strlen(module_kinds[i].prefix)) == 0) {
            kind = module_kinds[i].kind;
            shown = module_kinds[i].shown;
            break;
        }
    if (kind == MODULE_JIT)
        return jit_of(process, shown);
    if (kind != MODULE_FILE)
        return single(process->symbols, kind, shown);
    size_t length = strlen(path), deleted = strlen(" (deleted)");
    if (length > deleted && strcmp(path + length - deleted, " (deleted)") == 0)
        length -= deleted;
    struct symbols_module wanted = {
        .kind = MODULE_FILE,
        .path = symbols_text(process->symbols, path, length),
        .device = mapping->device,
        .inode = mapping->inode,
    };
    if (mapping->build_id && mapping->build_id_bytes <= sizeof wanted.build_id) {
        memcpy(wanted.build_id, mapping->build_id, mapping->build_id_bytes);
        wanted.build_id_bytes = mapping->build_id_bytes;
    }
    struct symbols_module *known = module_find_file(process->symbols, &wanted);
    return known ? known : module_add(process->symbols, &wanted);
}

struct symbols_module *module_of_kernel(struct symbols *symbols)
{
    struct symbols_module *module = single(symbols, MODULE_KERNEL, "[kernel.kallsyms]");
    if (module && !module->kernel && (module->kernel = calloc(1, sizeof *module->kernel)) &&
        !symbols->settings.no_names)
        kernel_names_begin(module->kernel);
    return module && module->kernel ? module : NULL;
}

void symbols_expect_kernel(struct symbols *symbols)
{
    module_of_kernel(symbols);
}

/* ---- Opening --------------------------------------------------------------------------------------------------- */

/* Opens the file that was found. Returns 1 if it is the one that was mapped. */
static int module_take(struct symbols_module *module, int file)
{
    struct stat status;
    if (file < 0)
        return 0;
    if (fstat(file, &status) != 0 || (module->inode && status.st_ino != module->inode)) {
        close(file);
        return 0;
    }
    if (elf_image_open(&module->image, file) != 0)
        return 0;
    unsigned char id[ELF_IMAGE_BUILD_ID_MAX];
    size_t bytes = elf_image_build_id(&module->image, id);
    if (module->build_id_bytes && (bytes != module->build_id_bytes || memcmp(id, module->build_id, bytes) != 0)) {
        elf_image_close(&module->image);
        return 0;
    }
    memcpy(module->build_id, id, bytes);
    module->build_id_bytes = bytes;
    return 1;
}

/* A file that was deleted or replaced can still be opened through /proc/PID/map_files of a process that maps it, given
 * the rights. */
static int open_mapped(const struct symbols_process *process, const struct address_space_mapping *mapping)
{
    char path[96];
    if (process->is_gone || mapping->is_whole)
        return -1;
    snprintf(path, sizeof path, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, (int)process->pid, mapping->start,
             mapping->end);
    return open(path, O_RDONLY | O_CLOEXEC);
}

/* The kernel maps the same vDSO into every process, so ours serves for all. */
static int open_vdso(struct symbols_module *module)
{
    uint64_t address = getauxval(AT_SYSINFO_EHDR), start, end;
    FILE *maps = address ? fopen("/proc/self/maps", "re") : NULL;
    char line[512];
    int is_open = 0;
    while (maps && !is_open && fgets(line, sizeof line, maps))
        if (sscanf(line, "%" SCNx64 "-%" SCNx64, &start, &end) == 2 && start == address && end - start < 1u << 20) {
            module->memory = malloc(end - start);
            if (!module->memory)
                break;
            memcpy(module->memory, (const void *)(uintptr_t)start, end - start);
            is_open = elf_image_open_memory(&module->image, module->memory, end - start) == 0;
        }
    if (maps)
        fclose(maps);
    return is_open;
}

int module_open(struct symbols_module *module, struct symbols_process *process,
                const struct address_space_mapping *mapping)
{
    if (module->state == MODULE_UNSEEN) {
        int is_open = module->kind == MODULE_VDSO && open_vdso(module);
        if (module->kind == MODULE_FILE)
            is_open = module_take(module, proc_maps_open(process, module->path, 0)) ||
                      module_take(module, open_mapped(process, mapping));
        module->state = is_open ? MODULE_OPEN : MODULE_CLOSED;
        if (is_open)
            cfi_open(&module->cfi, &module->image);
    }
    return module->state == MODULE_OPEN;
}

void module_delete(struct symbols_module *module)
{
    if (module->kernel)
        kernel_names_free(module->kernel);
    free(module->kernel);
    cfi_close(&module->cfi);
    elf_image_close(&module->image);
    free(module->memory);
    free(module);
}
