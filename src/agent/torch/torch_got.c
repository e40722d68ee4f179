/* Interposes the functions that PyTorch's allocators report to, for an agent that was not preloaded. The global offset
 * tables of PyTorch's libraries hold the addresses of these functions, and the agent writes its own there. Where the
 * agent was preloaded the loader has done the same, and this file does nothing. It never writes anything but these few
 * entries of libc10 and libtorch. */
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "agent/core/agent.h"
#include "agent/core/sys.h"
#include "base/path.h"
#include "torch_agent.h"

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOBAL_DATA = R_X86_64_GLOB_DAT };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOBAL_DATA = R_AARCH64_GLOB_DAT };
#endif

struct object {
    const struct dl_phdr_info *info;
    const ElfW(Sym) * symbols;
    const char *names;
    const ElfW(Rela) * tables[2];
    size_t bytes[2];
};

static int is_torchs(const char *path)
{
    const char *name = path_base_name(path);
    return strncmp(name, "libc10", 6) == 0 || strncmp(name, "libtorch", 8) == 0;
}

/* glibc relocates the addresses in the dynamic section, musl does not. */
static const void *torch_got_at(const struct object *object, ElfW(Addr) value)
{
    return (const void *)(value < object->info->dlpi_addr ? object->info->dlpi_addr + value : value);
}

static int torch_got_find_tables(struct object *object)
{
    const ElfW(Dyn) *entry = NULL;
    for (int i = 0; i < object->info->dlpi_phnum; i++)
        if (object->info->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(object->info->dlpi_addr + object->info->dlpi_phdr[i].p_vaddr);
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        switch (entry->d_tag) {
        case DT_SYMTAB: object->symbols = torch_got_at(object, entry->d_un.d_ptr); break;
        case DT_STRTAB: object->names = torch_got_at(object, entry->d_un.d_ptr); break;
        case DT_JMPREL: object->tables[0] = torch_got_at(object, entry->d_un.d_ptr); break;
        case DT_PLTRELSZ: object->bytes[0] = entry->d_un.d_val; break;
        case DT_RELA: object->tables[1] = torch_got_at(object, entry->d_un.d_ptr); break;
        case DT_RELASZ: object->bytes[1] = entry->d_un.d_val; break;
        }
    }
    return object->symbols && object->names;
}

/* True if the loader has made this address read-only. */
static int is_read_only(const struct object *object, uintptr_t slot)
{
    for (int i = 0; i < object->info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->info->dlpi_phdr[i];
        uintptr_t from = object->info->dlpi_addr + part->p_vaddr;
        if (part->p_type == PT_GNU_RELRO && slot >= from && slot < from + part->p_memsz)
            return 1;
    }
    return 0;
}

static void write_slot(const struct object *object, uintptr_t slot, void *function)
{
    _Atomic(void *) *place = (_Atomic(void *) *)slot;
    if (atomic_load_explicit(place, memory_order_relaxed) == function)
        return;
    size_t page_bytes = getauxval(AT_PAGESZ);
    void *page = (void *)(slot & ~(page_bytes - 1));
    int locked = is_read_only(object, slot);
    if (locked && sys_mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0)
        return;
    atomic_store_explicit(place, function, memory_order_release);
    if (locked)
        sys_mprotect(page, page_bytes, PROT_READ);
}

static int torch_got_has(const struct dl_phdr_info *info, const void *address)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        if (part->p_type == PT_LOAD && (uintptr_t)address - info->dlpi_addr - part->p_vaddr < part->p_memsz)
            return 1;
    }
    return 0;
}

/* Objects come in the order in which the loader loaded them: those before the C library were preloaded or linked. */
static int torch_got_find_first(struct dl_phdr_info *info, size_t size, void *context)
{
    int is_ours = torch_got_has(info, (const void *)torch_reach_memory);
    *(int *)context = is_ours;
    return is_ours || torch_got_has(info, (const void *)getauxval);
}

static int torch_got_visit(struct dl_phdr_info *info, size_t size, void *context)
{
    static _Atomic uint64_t loads; /* the loader's count of loads at the last visit */
    struct object object = { .info = info };
    int *is_first = context;
    if (*is_first && atomic_exchange(&loads, info->dlpi_adds) == info->dlpi_adds)
        return 1;
    *is_first = 0;
    if (!info->dlpi_name || !is_torchs(info->dlpi_name) || !torch_got_find_tables(&object))
        return 0;
    for (int table = 0; table < 2; table++)
        for (const ElfW(Rela) *row = object.tables[table], *end = row + object.bytes[table] / sizeof *row;
             row && row < end; row++) {
            unsigned kind = ELF64_R_TYPE(row->r_info);
            if (kind != JUMP_SLOT && kind != GLOBAL_DATA)
                continue;
            const char *name = object.names + object.symbols[ELF64_R_SYM(row->r_info)].st_name;
            for (const struct torch_stand_in *ours = torch_memory_functions; ours->symbol; ours++)
                if (strcmp(ours->symbol, name) == 0)
                    write_slot(&object, info->dlpi_addr + row->r_offset, ours->function);
        }
    return 0;
}

void torch_reach_memory(void)
{
    static _Atomic int is_preloaded = -1;
    int is_first = 1;
    if (is_preloaded < 0) {
        int found = 0;
        dl_iterate_phdr(torch_got_find_first, &found);
        is_preloaded = found;
    }
    if (!is_preloaded)
        dl_iterate_phdr(torch_got_visit, &is_first);
}
