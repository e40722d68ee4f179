/* Looks up symbols in the tables of loaded objects. This is for when the loader cannot be asked: it holds its lock, or
 * the question is where its own dlsym() is. Trusts the tables as the loader does. */
#include <elf.h>
#include <link.h>
#include <stddef.h>
#include <sys/auxv.h>

#include "elf_lookup.h"

struct elf_lookup_tables {
    const ElfW(Sym) * symbols;
    const char *strings;
    const uint32_t *hash, *gnu_hash;
};

/* glibc has relocated these addresses. Other loaders leave them as in the file, relative to the base of the object. */
static const void *elf_lookup_place(uintptr_t base, ElfW(Addr) address)
{
    return (const void *)(address < base ? base + address : address);
}

static struct elf_lookup_tables elf_lookup_read_tables(uintptr_t base, const ElfW(Dyn) * entry)
{
    struct elf_lookup_tables tables = { 0 };
    for (; entry && entry->d_tag != DT_NULL; entry++) {
        const void *at = elf_lookup_place(base, entry->d_un.d_ptr);
        if (entry->d_tag == DT_SYMTAB)
            tables.symbols = at;
        else if (entry->d_tag == DT_STRTAB)
            tables.strings = at;
        else if (entry->d_tag == DT_HASH)
            tables.hash = at;
        else if (entry->d_tag == DT_GNU_HASH)
            tables.gnu_hash = at;
    }
    return tables;
}

/* Not strcmp(): a sanitizer interposes it, and that is not ready yet when the runtime first asks for a symbol. */
static int elf_lookup_is_same(const char *a, const char *b)
{
    while (*a && *a == *b)
        a++, b++;
    return *a == *b;
}

static int is_definition(const struct elf_lookup_tables *tables, uint32_t index, const char *name)
{
    const ElfW(Sym) *symbol = &tables->symbols[index];
    unsigned type = ELF64_ST_TYPE(symbol->st_info);
    return symbol->st_shndx != SHN_UNDEF && (type == STT_FUNC || type == STT_OBJECT || type == STT_GNU_IFUNC) &&
           elf_lookup_is_same(tables->strings + symbol->st_name, name);
}

/* The index of a symbol, 0 if it is not there. */
static uint32_t find_by_gnu_hash(const struct elf_lookup_tables *tables, const char *name)
{
    const uint32_t *head = tables->gnu_hash, count = head[0], first = head[1], bloom_words = head[2];
    const uint32_t *buckets = head + 4 + bloom_words * (sizeof(ElfW(Addr)) / 4), *chains = buckets + count;
    uint32_t hash = 5381;
    for (const unsigned char *c = (const unsigned char *)name; *c; c++)
        hash = hash * 33 + *c;
    uint32_t index = count ? buckets[hash % count] : 0;
    while (index >= first && index) {
        uint32_t chain = chains[index - first];
        if ((chain | 1) == (hash | 1) && is_definition(tables, index, name))
            return index;
        if (chain & 1)
            break;
        index++;
    }
    return 0;
}

static uint32_t find_by_hash(const struct elf_lookup_tables *tables, const char *name)
{
    for (uint32_t index = 1; index < tables->hash[1]; index++)
        if (is_definition(tables, index, name))
            return index;
    return 0;
}

static const ElfW(Sym) * elf_lookup_find_definition(uintptr_t base, const ElfW(Dyn) * dynamic, const char *name)
{
    struct elf_lookup_tables tables = elf_lookup_read_tables(base, dynamic);
    if (!tables.symbols || !tables.strings)
        return NULL;
    uint32_t index = tables.gnu_hash ? find_by_gnu_hash(&tables, name) : tables.hash ? find_by_hash(&tables, name) : 0;
    return index ? &tables.symbols[index] : NULL;
}

/* An indirect function has no address before the loader has called its resolver. */
static void *elf_lookup_find(uintptr_t base, const ElfW(Dyn) * dynamic, const char *name)
{
    const ElfW(Sym) *symbol = elf_lookup_find_definition(base, dynamic, name);
    return symbol && ELF64_ST_TYPE(symbol->st_info) != STT_GNU_IFUNC ? (void *)(base + symbol->st_value) : NULL;
}

static const ElfW(Phdr) * find_header(const ElfW(Phdr) * headers, size_t count, uint32_t type)
{
    for (size_t i = 0; i < count; i++)
        if (headers[i].p_type == type)
            return &headers[i];
    return NULL;
}

void *library_symbol(const struct dl_phdr_info *object, const char *name)
{
    const ElfW(Phdr) *dynamic = find_header(object->dlpi_phdr, object->dlpi_phnum, PT_DYNAMIC);
    return dynamic ? elf_lookup_find(object->dlpi_addr, (const void *)(object->dlpi_addr + dynamic->p_vaddr), name)
                   : NULL;
}

void *library_symbol_of(const struct link_map *object, const char *name)
{
    return elf_lookup_find(object->l_addr, object->l_ld, name);
}

int library_defines(const struct link_map *object, const char *name)
{
    return elf_lookup_find_definition(object->l_addr, object->l_ld, name) != NULL;
}

const struct link_map *library_objects(void)
{
    const ElfW(Phdr) *headers = (const void *)getauxval(AT_PHDR);
    size_t count = headers ? getauxval(AT_PHNUM) : 0;
    const ElfW(Phdr) *own = find_header(headers, count, PT_PHDR), *dynamic = find_header(headers, count, PT_DYNAMIC);
    if (!own || !dynamic)
        return NULL;
    uintptr_t base = (uintptr_t)headers - own->p_vaddr;
    for (const ElfW(Dyn) *entry = (const void *)(base + dynamic->p_vaddr); entry->d_tag != DT_NULL; entry++)
        if (entry->d_tag == DT_DEBUG && entry->d_un.d_ptr)
            return ((const struct r_debug *)entry->d_un.d_ptr)->r_map;
    return NULL;
}

/* Set by the linker: the address at which this library begins. */
extern const ElfW(Ehdr) __ehdr_start __attribute__((visibility("hidden"), weak));

uintptr_t library_own_base(void)
{
    return (uintptr_t)&__ehdr_start;
}
