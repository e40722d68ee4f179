/* The shared objects of the process: those that are loaded at the start, and the changes by dlopen and dlclose.
 *
 * It walks the loader's list (dl_iterate_phdr) and compares it with what was reported before. The constructor calls it,
 * and hooks after dlopen and dlclose have returned. A signal handler or a forked child must never call it. */
#include "modules.h"

#include <elf.h>
#include <link.h>
#include <string.h>

#include "agent.h"
#include "base/path.h"
#include "elf_lookup.h"
#include "libc_loader.h"
#include "libc_real.h"
#include "object_extent.h"
#include "source.h"
#include "sys.h"

#define MODULES_MAX 4096
#define PATH_BYTES 4096
#define BUILD_ID_WORDS 3 /* linkers write 20 bytes; there is room for 24 */

struct module {
    uint64_t address;
    uint32_t round;
};

static struct module modules[MODULES_MAX];
static size_t module_count;
static uint32_t current_round;
static _Atomic uint32_t stale;   /* the loader's list may have changed since the last walk */
static _Atomic uint32_t walking; /* only one thread walks; another that comes meanwhile leaves it to the next call */

/* Bytes of this part if they are readable and all mapped from the file, within one segment; else 0. The loader itself
 * never reads notes, so nothing else has checked their addresses. */
static size_t readable_bytes(const struct dl_phdr_info *info, const ElfW(Phdr) * part)
{
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_R) || part->p_vaddr < segment->p_vaddr)
            continue;
        uint64_t offset = part->p_vaddr - segment->p_vaddr;
        uint64_t mapped = segment->p_filesz < segment->p_memsz ? segment->p_filesz : segment->p_memsz;
        if (offset <= mapped && part->p_filesz <= mapped - offset)
            return (size_t)part->p_filesz;
    }
    return 0;
}

static uint64_t padded(uint64_t bytes, uint64_t alignment)
{
    return (bytes + alignment - 1) & ~(alignment - 1);
}

/* Searches the notes in these bytes. Sizes in notes have 32 bits, so sums of them fit in 64. */
static size_t find_build_id(const char *notes, size_t bytes, uint64_t alignment, uint64_t id[BUILD_ID_WORDS])
{
    ElfW(Nhdr) head;
    for (uint64_t at = 0; at <= bytes && bytes - at >= sizeof head;) {
        memcpy(&head, notes + at, sizeof head); /* need not be aligned */
        uint64_t name = at + sizeof head, content = padded(name + head.n_namesz, alignment);
        if (content > bytes || head.n_descsz > bytes - content)
            return 0;
        if (head.n_type == NT_GNU_BUILD_ID && head.n_namesz == 4 && memcmp(notes + name, "GNU", 4) == 0 &&
            head.n_descsz <= BUILD_ID_WORDS * sizeof *id) {
            memcpy(id, notes + content, head.n_descsz);
            return head.n_descsz;
        }
        at = padded(content + head.n_descsz, alignment);
    }
    return 0;
}

static size_t agent_modules_build_id(const struct dl_phdr_info *info, uint64_t id[BUILD_ID_WORDS])
{
    size_t found = 0;
    for (int i = 0; i < info->dlpi_phnum && !found; i++) {
        const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
        if (segment->p_type == PT_NOTE)
            found = find_build_id((const char *)(info->dlpi_addr + segment->p_vaddr), readable_bytes(info, segment),
                                  segment->p_align == 8 ? 8 : 4, id);
    }
    return found;
}

static int agent_modules_visit(struct dl_phdr_info *info, size_t size, void *context)
{
    static char program[PATH_BYTES]; /* static because it is large for a stack; only one thread walks */
    uint64_t head[2 + BUILD_ID_WORDS] = { 0 };
    object_extent(info, &head[0], &head[1]);
    for (size_t i = 0; i < module_count; i++)
        if (modules[i].address == head[0]) {
            modules[i].round = current_round;
            return 0;
        }
    if (module_count == MODULES_MAX)
        return 1;
    modules[module_count++] = (struct module){ head[0], current_round };
    size_t id_bytes = agent_modules_build_id(info, head + 2);
    const char *path = info->dlpi_name;
    if (!path || !*path) { /* the program itself */
        long length = sys_readlink("/proc/self/exe", program, sizeof program - 1);
        program[length > 0 ? length : 0] = 0;
        path = program;
    }
    emit_note(WIRE_MODULE, (uint16_t)id_bytes, head, 2 + BUILD_ID_WORDS, path);
    sources_object_loaded(path);
    return 0;
}

void agent_note_modules(void)
{
    if (agent_is_thread(agent_self) && agent_self->loading) {
        atomic_store(&stale, 1);
        return;
    }
    if (!agent_attached() || atomic_exchange(&walking, 1))
        return;
    atomic_store(&stale, 0);
    current_round++;
    dl_iterate_phdr(agent_modules_visit, NULL);
    size_t kept = 0;
    for (size_t i = 0; i < module_count; i++) {
        if (modules[i].round == current_round)
            modules[kept++] = modules[i];
        else
            emit_note(WIRE_MODULE_END, 0, &modules[i].address, 1, NULL);
    }
    module_count = kept;
    atomic_store(&walking, 0);
    word_objects_changed();
    sources_objects_changed();
}

/* The thread that was walking during the fork does not exist in the child. */
void modules_after_fork_in_child(void)
{
    atomic_store(&walking, 0);
}

/* ---- Symbols of libraries -------------------------------------------------------------------------------------- */

struct agent_modules_wanted {
    const char *library, *symbol;
    struct agent_symbol found;
};

static int look_in_object(struct dl_phdr_info *object, size_t size, void *data)
{
    struct agent_modules_wanted *wanted = data;
    const char *path = object->dlpi_name ? object->dlpi_name : "";
    if (object->dlpi_addr == library_own_base() ||
        (*path && strncmp(path_base_name(path), wanted->library, strlen(wanted->library)) != 0))
        return 0;
    wanted->found = (struct agent_symbol){ library_symbol(object, wanted->symbol), path };
    return wanted->found.address != NULL;
}

/* Not by dlsym(), which does not search libraries that were loaded with RTLD_LOCAL, and which allocates memory if it
 * finds nothing: the caller may be a hook inside the program's malloc(). */
struct agent_symbol agent_find_symbol(const char *library, const char *symbol)
{
    struct agent_modules_wanted wanted = { .library = library, .symbol = symbol };
    dl_iterate_phdr(look_in_object, &wanted);
    return wanted.found.address ? wanted.found : (struct agent_symbol){ 0 };
}

/* ---- Changes without a walk ------------------------------------------------------------------------------------ */

void agent_modules_changed(void)
{
    atomic_store(&stale, 1);
}

void agent_modules_loading(void)
{
    if (agent_is_thread(agent_self))
        agent_self->loading++;
}

/* The thread may have another structure now: after a fork, or if the capture began meanwhile. */
void agent_modules_loaded(int has_loaded)
{
    if (agent_is_thread(agent_self) && agent_self->loading)
        agent_self->loading--;
    if (has_loaded)
        agent_note_modules();
}

void agent_note_changed_modules(void)
{
    if (unlikely(atomic_load_explicit(&stale, memory_order_relaxed)))
        agent_note_modules();
}
