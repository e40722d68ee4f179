/* Finds the Python interpreter in a process: see python_find.h.
 *
 * Symbols are looked up in the memory of the process, through its loader's own tables. So no file has to be opened,
 * which may lie in another container or be deleted, and stripped binaries work. Nothing in these tables is trusted. */
#include "python_find.h"

#include <elf.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "collect/core/procfs.h"

#define SEGMENTS_MAX 64
#define DYNAMIC_MAX 256
#define CHAIN_MAX 65536 /* steps along one chain of the hash table */
#define NAME_MAX_BYTES 32

/* ---- Symbols --------------------------------------------------------------------------------------------------- */

struct python_find_tables {
    uint64_t base; /* to add to the addresses of the file */
    uint64_t symbols, strings, gnu_hash;
};

static int python_find_read_at(const struct python_memory *memory, uint64_t address, void *buffer, size_t size)
{
    return memory->read_at(memory->context, address, buffer, size);
}

/* Some loaders relocate the addresses in the table, others leave the values of the file. */
static uint64_t python_find_loaded(const struct python_find_tables *tables, uint64_t value)
{
    return value >= tables->base ? value : tables->base + value;
}

static int python_find_read_tables(const struct python_memory *memory, uint64_t dynamic, uint64_t bytes,
                                   struct python_find_tables *tables)
{
    Elf64_Dyn entries[DYNAMIC_MAX];
    size_t count = bytes / sizeof *entries < DYNAMIC_MAX ? (size_t)(bytes / sizeof *entries) : DYNAMIC_MAX;
    if (python_find_read_at(memory, dynamic, entries, count * sizeof *entries) != 0)
        return -1;
    for (size_t i = 0; i < count && entries[i].d_tag != DT_NULL; i++) {
        uint64_t *place = entries[i].d_tag == DT_SYMTAB     ? &tables->symbols
                          : entries[i].d_tag == DT_STRTAB   ? &tables->strings
                          : entries[i].d_tag == DT_GNU_HASH ? &tables->gnu_hash
                                                            : NULL;
        if (place)
            *place = python_find_loaded(tables, entries[i].d_un.d_ptr);
    }
    return tables->symbols && tables->strings && tables->gnu_hash ? 0 : -1;
}

/* Finds the tables from the ELF header. */
static int python_find_tables(const struct python_memory *memory, uint64_t address, struct python_find_tables *tables)
{
    Elf64_Ehdr head;
    Elf64_Phdr segments[SEGMENTS_MAX];
    const Elf64_Phdr *dynamic = NULL;
    uint64_t first = UINT64_MAX;
    if (python_find_read_at(memory, address, &head, sizeof head) != 0 || memcmp(head.e_ident, ELFMAG, SELFMAG) != 0 ||
        head.e_ident[EI_CLASS] != ELFCLASS64 || head.e_phentsize != sizeof *segments || head.e_phnum > SEGMENTS_MAX ||
        head.e_phoff > 1 << 20 ||
        python_find_read_at(memory, address + head.e_phoff, segments, head.e_phnum * sizeof *segments) != 0)
        return -1;
    for (size_t i = 0; i < head.e_phnum; i++) {
        if (segments[i].p_type == PT_LOAD && segments[i].p_vaddr < first)
            first = segments[i].p_vaddr & ~UINT64_C(4095);
        if (segments[i].p_type == PT_DYNAMIC)
            dynamic = &segments[i];
    }
    if (!dynamic || first > address)
        return -1;
    *tables = (struct python_find_tables){ .base = address - first };
    return python_find_read_tables(memory, tables->base + dynamic->p_vaddr, dynamic->p_memsz, tables);
}

static uint32_t gnu_hash_of(const char *name)
{
    uint32_t hash = 5381;
    for (; *name; name++)
        hash = hash * 33 + (unsigned char)*name;
    return hash;
}

static int python_find_is_called(const struct python_memory *memory, const struct python_find_tables *tables,
                                 const Elf64_Sym *symbol, const char *name)
{
    char text[NAME_MAX_BYTES];
    size_t size = strlen(name) + 1;
    return size <= sizeof text && python_find_read_at(memory, tables->strings + symbol->st_name, text, size) == 0 &&
           memcmp(text, name, size) == 0;
}

/* Looks up the GNU hash table: four numbers, a bloom filter, the buckets, and chains that end with an odd hash. */
static uint64_t python_find_look_up(const struct python_memory *memory, const struct python_find_tables *tables,
                                    const char *name)
{
    uint32_t head[4], index, hash = gnu_hash_of(name), found;
    if (python_find_read_at(memory, tables->gnu_hash, head, sizeof head) != 0 || !head[0])
        return 0;
    uint64_t buckets = tables->gnu_hash + sizeof head + 8 * (uint64_t)head[2], chains = buckets + 4 * (uint64_t)head[0];
    if (python_find_read_at(memory, buckets + 4 * (uint64_t)(hash % head[0]), &index, sizeof index) != 0 ||
        index < head[1])
        return 0;
    for (int steps = 0; steps < CHAIN_MAX; steps++, index++) {
        Elf64_Sym symbol;
        if (python_find_read_at(memory, chains + 4 * (uint64_t)(index - head[1]), &found, sizeof found) != 0)
            return 0;
        if ((found | 1) == (hash | 1) &&
            python_find_read_at(memory, tables->symbols + index * sizeof symbol, &symbol, sizeof symbol) == 0 &&
            symbol.st_shndx != SHN_UNDEF && python_find_is_called(memory, tables, &symbol, name))
            return tables->base + symbol.st_value;
        if (found & 1)
            break;
    }
    return 0;
}

/* How many of the symbols were found; -1 if this is not such a file, or cannot be read. */
static int find_symbols(const struct python_memory *memory, uint64_t base, const char *const *names, size_t count,
                        uint64_t *addresses)
{
    struct python_find_tables tables;
    int found = 0;
    if (python_find_tables(memory, base, &tables) != 0)
        return -1;
    for (size_t i = 0; i < count; i++) {
        addresses[i] = python_find_look_up(memory, &tables, names[i]);
        found += addresses[i] != 0;
    }
    return found;
}

int python_find_symbols(const struct python_memory *memory, uint64_t base, const char *const *names, size_t count,
                        uint64_t *addresses)
{
    int found = find_symbols(memory, base, names, count, addresses);
    return found > 0 ? found : 0;
}

/* ---- Mappings -------------------------------------------------------------------------------------------------- */

struct python_find_mapping {
    uint64_t address;
    const char *file; /* device, inode and path */
    const char *path;
};

/* Reads a line of /proc/PID/maps: 1 if it maps the start of a file. */
static int begins_file(const char *line, struct python_find_mapping *mapping)
{
    unsigned long long start, offset;
    int file_at = 0, path_at = 0;
    if (!strstr(line, " 00000000 ")) /* the offset: most lines end here, and sscanf() is slow */
        return 0;
    if (sscanf(line, "%llx-%*x %*s %llx %n%*s %*s %n", &start, &offset, &file_at, &path_at) < 2 || offset != 0 ||
        !path_at || line[path_at] != '/')
        return 0;
    *mapping = (struct python_find_mapping){ start, line + file_at, line + path_at };
    return 1;
}

static int is_named_python(const char *path)
{
    const char *slash = strrchr(path, '/');
    return strstr(slash ? slash : path, "python") != NULL;
}

int python_is_program(pid_t pid)
{
    struct text program = { 0 };
    int is_named = procfs_exe(pid, &program) == 0 && is_named_python(text_string(&program));
    text_free(&program);
    return is_named;
}

static int python_find_is_known(const struct python_others *others, uint64_t hash)
{
    for (size_t i = 0; i < COUNT_OF(others->hashes); i++)
        if (others->hashes[i] == hash)
            return 1;
    return 0;
}

/* Searches a file that is named like Python, or the program. Only what was read from begin to end is remembered: the
 * process may become another program meanwhile. */
static int python_find_search(const struct python_find_mapping *mapping, int is_program,
                              const struct python_memory *memory, struct python_others *others,
                              uint64_t symbols[PYTHON_SYMBOL_COUNT])
{
    struct python_find_tables tables;
    uint64_t hash = hash_bytes(mapping->file, strlen(mapping->file));
    if (is_named_python(mapping->path))
        return python_find_symbols(memory, mapping->address, python_symbols, PYTHON_SYMBOL_COUNT, symbols) > 0;
    if (!is_program || python_find_is_known(others, hash))
        return 0;
    int found = find_symbols(memory, mapping->address, python_symbols, PYTHON_SYMBOL_COUNT, symbols);
    if (found == 0 && python_find_tables(memory, mapping->address, &tables) == 0)
        others->hashes[others->next++ % (COUNT_OF(others->hashes))] = hash;
    return found > 0;
}

int python_find(pid_t pid, const struct python_memory *memory, struct python_others *others,
                uint64_t symbols[PYTHON_SYMBOL_COUNT])
{
    char file[64], *rest = NULL;
    struct text maps = { 0 }, program = { 0 };
    snprintf(file, sizeof file, "/proc/%d/maps", (int)pid);
    int found = procfs_read(file, &maps) != 0 || maps.length == 0 || procfs_exe(pid, &program) != 0 ? -1 : 0;
    for (char *line = found < 0 ? NULL : strtok_r(maps.bytes, "\n", &rest); line && !found;
         line = strtok_r(NULL, "\n", &rest)) {
        struct python_find_mapping mapping;
        if (begins_file(line, &mapping) &&
            python_find_search(&mapping, strcmp(mapping.path, text_string(&program)) == 0, memory, others, symbols))
            found = symbols[PYTHON_SYMBOL_RUNTIME] != 0;
    }
    text_free(&maps);
    text_free(&program);
    return found;
}
