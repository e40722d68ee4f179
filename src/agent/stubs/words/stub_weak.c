/* Weak references to functions that no library has. Programs ask by them which functions their library is too old for
 * (mpi4py does), so they must be NULL as without the stubs. But the loader has bound them to the stubs, and asks
 * nobody.
 *
 * So this reads the relocations of each object after it was loaded, and clears the entries of its global offset table
 * that hold the address of a stub without a real function. It never writes any other entry. Code of an object that runs
 * while it is loaded (a constructor) still finds the stub, whose call ends in stub_object.missing(). */
#include <elf.h>
#include <link.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "agent/core/sys.h"
#include "stub_words.h"

#if defined(__x86_64__)
enum { JUMP_SLOT = R_X86_64_JUMP_SLOT, GLOBAL_DATA = R_X86_64_GLOB_DAT, ADDRESS = R_X86_64_64 };
#elif defined(__aarch64__)
enum { JUMP_SLOT = R_AARCH64_JUMP_SLOT, GLOBAL_DATA = R_AARCH64_GLOB_DAT, ADDRESS = R_AARCH64_ABS64 };
#endif

struct stub_weak_tables {
    uintptr_t base;
    const ElfW(Sym) * symbols;
    const ElfW(Rela) * rows[2];
    size_t bytes[2], relative; /* relative: rows at the begin of rows[1] that refer to no symbol */
};

/* glibc relocates the addresses in the dynamic section, other loaders do not. */
static const void *stub_weak_place(uintptr_t base, ElfW(Addr) address)
{
    return (const void *)(address < base ? base + address : address);
}

static void stub_weak_find_tables(struct stub_weak_tables *tables, const struct dl_phdr_info *object)
{
    const ElfW(Dyn) *entry = NULL;
    for (int i = 0; i < object->dlpi_phnum; i++)
        if (object->dlpi_phdr[i].p_type == PT_DYNAMIC)
            entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        const void *at = stub_weak_place(tables->base, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB)
            tables->symbols = at;
        else if (entry->d_tag == DT_JMPREL)
            tables->rows[0] = at;
        else if (entry->d_tag == DT_RELA)
            tables->rows[1] = at;
        else if (entry->d_tag == DT_PLTRELSZ)
            tables->bytes[0] = entry->d_un.d_val;
        else if (entry->d_tag == DT_RELASZ)
            tables->bytes[1] = entry->d_un.d_val;
        else if (entry->d_tag == DT_RELACOUNT)
            tables->relative = entry->d_un.d_val;
    }
}

/* The loader protects whole pages, up to the last one that the part fills: data may follow on the next. */
static int is_read_only(const struct dl_phdr_info *object, uintptr_t slot, uintptr_t page_bytes)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &object->dlpi_phdr[i];
        uintptr_t first = object->dlpi_addr + part->p_vaddr, end = (first + part->p_memsz) & ~(page_bytes - 1);
        if (part->p_type == PT_GNU_RELRO && slot >= first && slot < end)
            return 1;
    }
    return 0;
}

static void stub_weak_clear(const struct dl_phdr_info *object, uintptr_t slot)
{
    uintptr_t page_bytes = getauxval(AT_PAGESZ);
    void *page = (void *)(slot & ~(page_bytes - 1));
    int locked = is_read_only(object, slot, page_bytes);
    if (locked && sys_mprotect(page, page_bytes, PROT_READ | PROT_WRITE) != 0)
        return;
    *(volatile uintptr_t *)slot = 0;
    if (locked)
        sys_mprotect(page, page_bytes, PROT_READ);
}

struct stub_weak_visit {
    const struct dl_phdr_info *object;
    uintptr_t own_base;
};

/* The loader holds its lock here, so whether a library has the function is seen in the symbol tables. */
static void stub_weak_look_at(const struct stub_weak_visit *visit, const struct stub_weak_tables *tables,
                              const ElfW(Rela) * row)
{
    unsigned kind = ELF64_R_TYPE(row->r_info);
    const ElfW(Sym) *symbol = &tables->symbols[ELF64_R_SYM(row->r_info)];
    if ((kind != JUMP_SLOT && kind != GLOBAL_DATA && kind != ADDRESS) || symbol->st_shndx != SHN_UNDEF ||
        ELF64_ST_BIND(symbol->st_info) != STB_WEAK)
        return;
    uintptr_t slot = tables->base + row->r_offset, value = *(const uintptr_t *)slot - (uintptr_t)stub_rows;
    if (value < (uintptr_t)stub_object.count * STUB_BYTES && !stub_is_there((uint32_t)(value / STUB_BYTES)))
        stub_weak_clear(visit->object, slot);
}

/* The objects that were looked at, by a hash of their address. One that is forgotten is looked at again. */
#define SEEN 1024u
static _Atomic uintptr_t seen[SEEN];

static int is_seen(const struct dl_phdr_info *object)
{
    static _Atomic uint64_t unloads; /* another object may be where one was unloaded */
    if (atomic_exchange_explicit(&unloads, object->dlpi_subs, memory_order_relaxed) != object->dlpi_subs)
        for (uint32_t i = 0; i < SEEN; i++)
            atomic_store_explicit(&seen[i], 0, memory_order_relaxed);
    uintptr_t key = (uintptr_t)object->dlpi_phdr;
    return atomic_exchange_explicit(&seen[(key >> 12) % SEEN], key, memory_order_relaxed) == key;
}

static int stub_weak_visit(struct dl_phdr_info *object, size_t size, void *context)
{
    struct stub_weak_visit *state = context;
    struct stub_weak_tables tables = { .base = object->dlpi_addr };
    state->object = object;
    if (object->dlpi_addr == state->own_base || is_seen(object))
        return 0;
    stub_weak_find_tables(&tables, object);
    for (int i = 0; tables.symbols && i < 2; i++)
        for (size_t row = i ? tables.relative : 0; tables.rows[i] && row < tables.bytes[i] / sizeof(ElfW(Rela)); row++)
            stub_weak_look_at(state, &tables, &tables.rows[i][row]);
    return 0;
}

void stub_clear_weak(void)
{
    struct stub_weak_visit state = { .own_base = library_own_base() };
    dl_iterate_phdr(stub_weak_visit, &state);
}
