/* Symbols of loaded objects, read from their tables: for when the loader cannot be asked, because it holds its lock or because
 * the question is where its own dlsym() is. Trusts the tables as the loader does.                                   */
#include <elf.h>
#include <link.h>
#include <string.h>

#include "symbols.h"

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

void *library_symbol(const struct dl_phdr_info *object, const char *name)
{
    struct tables tables = read_tables(object);
    if (!tables.symbols || !tables.strings)
        return NULL;
    uint32_t index = tables.gnu_hash ? find_by_gnu_hash(&tables, name) : tables.hash ? find_by_hash(&tables, name) : 0;
    return index ? (void *)(object->dlpi_addr + tables.symbols[index].st_value) : NULL;
}

extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden"), weak)); /* the linker's: where this library begins */

uintptr_t library_own_base(void)
{
    return (uintptr_t)&__ehdr_start;
}
