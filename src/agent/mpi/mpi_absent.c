/* Takes the stubs of functions that the MPI of the process lacks out of the loader's sight.
 *
 * libtacho-mpi.so interposes the functions of all MPIs. A module that refers weakly to a function, and does something
 * else where it is NULL, must find NULL: mpi4py does so with the functions of MPI 4, which Open MPI 5.0 has not. Once
 * an MPI is loaded, the entries of functions that it lacks become local in the symbol table of libtacho-mpi.so, and
 * loaders pass over them. This comes too late for what is loaded at the start of the program, together with MPI. */
#include "mpi_absent.h"

#include <elf.h>
#include <link.h>
#include <stdatomic.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>

#include "agent/core/elf_lookup.h"
#include "agent/core/own_calls.h"
#include "agent/core/sys.h"
#include "base/path.h"
#include "wire/wire_mpi.h"

/* One after the other, each with its NUL: an array of pointers would take a relocation each. */
static const char profiling_names[] =
#define MPI_CALL(name, ...) "PMPI_" #name "\0"
#include "wire/mpi_calls.def"
#undef MPI_CALL
    ;

#define NAMES (2 * MPI_FUNCTION_COUNT) /* each also without the P */

static _Atomic uint32_t has_mpi, is_done;

struct survey {
    uint64_t present[(NAMES + 63) / 64];
    uint32_t libraries;
    struct dl_phdr_info stubs; /* libtacho-mpi.so */
};

static int is_mpi(const char *path)
{
    const char *file = path_base_name(path);
    return strncmp(file, "libmpi", 6) == 0 || strncmp(file, "libpmpi", 7) == 0;
}

void mpi_object_loaded(const char *path)
{
    if (is_mpi(path))
        atomic_store(&has_mpi, 1);
}

/* The next name of profiling_names, which has the number `index` without its P and index + 1 with it. */
#define FOR_EACH_NAME(name, index)                                                                                     \
    for (const char *name = (index = 0, profiling_names); index < NAMES; name += strlen(name) + 1, index += 2)

static int visit(struct dl_phdr_info *object, size_t size, void *context)
{
    struct survey *survey = context;
    uint32_t index;
    if (!object->dlpi_name)
        return 0;
    if (strcmp(path_base_name(object->dlpi_name), WIRE_MPI_FILE) == 0)
        survey->stubs = *object;
    if (!is_mpi(object->dlpi_name))
        return 0;
    survey->libraries++;
    FOR_EACH_NAME(name, index)
    for (uint32_t i = index; i < index + 2; i++)
        if (library_symbol(object, i == index ? name + 1 : name))
            survey->present[i / 64] |= UINT64_C(1) << i % 64;
    return 0;
}

/* The segment that has the symbol table; NULL if it is not in one. */
static const ElfW(Phdr) * segment_of(const struct dl_phdr_info *object, uintptr_t address)
{
    for (int i = 0; i < object->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &object->dlpi_phdr[i];
        if (segment->p_type == PT_LOAD && address - object->dlpi_addr - segment->p_vaddr < segment->p_memsz)
            return segment;
    }
    return NULL;
}

static void hide(const struct survey *survey)
{
    uint32_t index;
    FOR_EACH_NAME(name, index)
    for (uint32_t i = index; i < index + 2; i++) {
        ElfW(Sym) *symbol = survey->present[i / 64] >> i % 64 & 1
                                ? NULL
                                : library_entry(&survey->stubs, i == index ? name + 1 : name);
        if (symbol)
            symbol->st_info = ELF64_ST_INFO(STB_LOCAL, ELF64_ST_TYPE(symbol->st_info));
    }
}

/* The segment of the table is writable meanwhile. If the system forbids that, the stubs stay. */
static void hide_absent(const struct survey *survey)
{
    uintptr_t table = (uintptr_t)library_entry(&survey->stubs, "PMPI_Init");
    const ElfW(Phdr) *segment = table ? segment_of(&survey->stubs, table) : NULL;
    if (!segment || !agent_begin_calls())
        return;
    uintptr_t begin = (survey->stubs.dlpi_addr + segment->p_vaddr) & ~(uintptr_t)(getauxval(AT_PAGESZ) - 1);
    size_t bytes = survey->stubs.dlpi_addr + segment->p_vaddr + segment->p_memsz - begin;
    int flags = PROT_READ | (segment->p_flags & PF_X ? PROT_EXEC : 0);
    if (sys_mprotect((void *)begin, bytes, flags | PROT_WRITE) == 0) {
        hide(survey);
        sys_mprotect((void *)begin, bytes, flags);
    }
    agent_end_calls();
}

void mpi_objects_changed(void)
{
    struct survey survey = { 0 };
    if (!(agent.sources & WIRE_BIT(MPI)) || !atomic_load(&has_mpi) || atomic_exchange(&is_done, 1))
        return;
    dl_iterate_phdr(visit, &survey);
    if (survey.libraries && survey.stubs.dlpi_phdr)
        hide_absent(&survey);
}
