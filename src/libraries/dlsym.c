/* dlsym(): whoever loads a library and asks for its functions by name gets the stubs, as those do who are linked with it.
 *
 * The real dlsym() looks at who called it when asked for the next or the default symbol: such calls go straight on, by a
 * jump (dlsym_jump() in enter_*.S). It cannot be found by dlsym(), so the tables of the objects are read.            */
#include <dlfcn.h>
#include <elf.h>
#include <errno.h>
#include <link.h>
#include <string.h>

#include "libraries.h"

/* ---- The real one ----------------------------------------------------------------------------------------------------- */

struct tables {
    const ElfW(Sym) *symbols;
    const char *strings;
    const uint32_t *hash, *gnu_hash;
};

/* glibc has put addresses here, other loaders leave what the file says: relative to where the object lies. */
static const void *place(const struct dl_phdr_info *object, ElfW(Addr) address)
{
    return (const void *)(address < object->dlpi_addr ? object->dlpi_addr + address : address);
}

static struct tables read_tables(const struct dl_phdr_info *object)
{
    struct tables tables = { 0 };
    for (size_t i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        for (const ElfW(Dyn) *entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr); entry->d_tag != DT_NULL; entry++) {
            const void *at = place(object, entry->d_un.d_ptr);
            if (entry->d_tag == DT_SYMTAB)
                tables.symbols = at;
            else if (entry->d_tag == DT_STRTAB)
                tables.strings = at;
            else if (entry->d_tag == DT_HASH)
                tables.hash = at;
            else if (entry->d_tag == DT_GNU_HASH)
                tables.gnu_hash = at;
        }
    }
    return tables;
}

static int is_function(const struct tables *tables, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &tables->symbols[index];
    return symbol->st_shndx != SHN_UNDEF && ELF64_ST_TYPE(symbol->st_info) == STT_FUNC && strcmp(tables->strings + symbol->st_name, name) == 0;
}

/* The index of a symbol, 0 if it is not there. */
static uint32_t find_by_gnu_hash(const struct tables *tables, const char *name)
{
    const uint32_t *head = tables->gnu_hash, count = head[0], first = head[1], bloom_words = head[2];
    const uint32_t *buckets = head + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4), *chains = buckets + count;
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        hash = hash * 33 + *c;
    uint32_t index = count ? buckets[hash % count] : 0;
    while (index >= first && index) {
        uint32_t chain = chains[index - first];
        if ((chain | 1) == (hash | 1) && is_function(tables, index, name))
            return index;
        if (chain & 1)
            break;
        index++;
    }
    return 0;
}

static uint32_t find_by_hash(const struct tables *tables, const char *name)
{
    for (uint32_t index = 1; index < tables->hash[1]; index++)
        if (is_function(tables, index, name))
            return index;
    return 0;
}

static int look_for_dlsym(struct dl_phdr_info *object, size_t size, void *found)
{
    Dl_info own;
    if (dladdr(&library_look, &own) && (uintptr_t)own.dli_fbase == object->dlpi_addr)
        return 0;
    struct tables tables = read_tables(object);
    if (!tables.symbols || !tables.strings)
        return 0;
    uint32_t index = tables.gnu_hash ? find_by_gnu_hash(&tables, "dlsym") : tables.hash ? find_by_hash(&tables, "dlsym") : 0;
    if (index)
        *(void **)found = (void *)(object->dlpi_addr + tables.symbols[index].st_value);
    return index != 0;
}

_Atomic(library_dlsym_function *) library_real_dlsym;

library_dlsym_function *library_find_dlsym(void)
{
    int saved_errno = errno;
    void *found = NULL;
    dl_iterate_phdr(look_for_dlsym, &found);
    atomic_store(&library_real_dlsym, (library_dlsym_function *)found);
    errno = saved_errno;
    return (library_dlsym_function *)found;
}

void *library_dlsym(void *handle, const char *name)
{
    library_dlsym_function *real = atomic_load_explicit(&library_real_dlsym, memory_order_acquire);
    if (!real)
        real = library_find_dlsym();
    return real ? real(handle, name) : NULL;
}

/* ---- Who asks for a function of the table ------------------------------------------------------------------------------ */

/* The table is sorted by name. */
static uint32_t number_of(const char *name)
{
    uint32_t low = 0, high = library_function_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        int order = strcmp(name, library_functions[middle].name);
        if (order == 0)
            return middle;
        if (order < 0)
            high = middle;
        else
            low = middle + 1;
    }
    return library_function_count;
}

/* Libraries that come in parts find each other's functions so; a stub in between would lead back to its beginning. */
static int is_vendor(const void *caller)
{
    Dl_info found;
    if (!dladdr(caller, &found) || !found.dli_fname)
        return 0;
    const char *slash = strrchr(found.dli_fname, '/'), *file = slash ? slash + 1 : found.dli_fname;
    return strncmp(file, "libcu", 5) == 0 || strncmp(file, "libnccl", 7) == 0;
}

/* The rest of dlsym() for a handle. A function that is not the one which the stub calls stays what it is: a second copy of a
 * library, in another version. */
void *library_dlsym_handle(void *handle, const char *name)
{
    void *address = library_dlsym(handle, name);
    uint32_t number = address && name ? number_of(name) : library_function_count;
    if (number == library_function_count || is_vendor(__builtin_return_address(0)))
        return address;
    void *real = atomic_load_explicit(&library_real[number], memory_order_acquire);
    if (!real)
        real = library_resolve(number);
    return real == address ? library_stubs + number * LIBRARY_STUB_BYTES : address;
}
