/* mlockall(): locks the program's memory but not the agent's, which would count against the program's limit and take
 * RAM for nothing.
 *
 * The kernel can only lock all mappings, so the agent's are unlocked afterwards. The kernel refuses if the limit has no
 * room for all of them, even if it has room for the program's: then the program's are locked one by one. Mappings that
 * the agent makes later are never locked (arena_window.c). */
#include <link.h>
#include <sys/mman.h>

#include "agent/core/agent.h"
#include "agent/core/libc_real.h"
#include "agent/core/mappings.h"
#include "agent/core/object_extent.h"
#include "agent/core/own_process.h"
#include "agent/core/sys.h"
#include "osrt_hooks.h"
#include "osrt_process.h"

#ifndef MLOCK_ONFAULT
#define MLOCK_ONFAULT 1
#endif

static int note_library(struct dl_phdr_info *object, size_t size, void *context)
{
    uint64_t first, bytes;
    if (*object->dlpi_name && strstr(agent.preload, object->dlpi_name)) {
        object_extent(object, &first, &bytes);
        mapping_add((const void *)first, bytes, MAPPING_INHERITED);
    }
    return 0;
}

/* Adds the agent's own libraries to the table: the loader has mapped them. */
static void note_libraries(void)
{
    static _Atomic int is_done;
    if (!atomic_exchange(&is_done, 1))
        dl_iterate_phdr(note_library, NULL);
}

/* ---- The program's own mappings -------------------------------------------------------------------------------- */

typedef void visit_part(uintptr_t first, size_t bytes, void *context);

/* A line of /proc/self/maps can combine a mapping of the agent and a neighbouring one of the program. */
static void visit_without_ours(uintptr_t first, uintptr_t end, visit_part *visit, void *context)
{
    while (first < end) {
        uintptr_t ours = end, ours_end = end;
        if (!mapping_after(first, &ours, &ours_end) || ours > end)
            ours = ours_end = end;
        if (ours > first)
            visit(first, ours - first, context);
        first = ours_end;
    }
}

/* Reads only the addresses of a line, in hexadecimal digits: first-end, and a space. */
struct maps_reader {
    uintptr_t number, first;
    int is_done; /* skip the rest of this line */
};

static void read_character(struct maps_reader *reader, char character, visit_part *visit, void *context)
{
    if (character == '\n') {
        *reader = (struct maps_reader){ 0 };
    } else if (reader->is_done) {
        return;
    } else if (character == '-') {
        reader->first = reader->number;
        reader->number = 0;
    } else if (character == ' ') {
        reader->is_done = 1;
        if ((intptr_t)reader->number > 0) /* otherwise it is the kernel's [vsyscall] */
            visit_without_ours(reader->first, reader->number, visit, context);
    } else {
        reader->number = reader->number * 16 + (uintptr_t)(character <= '9' ? character - '0' : character - 'a' + 10);
    }
}

/* 0, or -1 if /proc/self/maps cannot be read. */
static int visit_programs_memory(visit_part *visit, void *context)
{
    struct maps_reader reader = { 0 };
    char text[512];
    long count;
    int file = sys_openat(AT_FDCWD, "/proc/self/maps", O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return -1;
    while ((count = sys_read(file, text, sizeof text)) > 0)
        for (long i = 0; i < count; i++)
            read_character(&reader, text[i], visit, context);
    sys_close(file);
    return count < 0 ? -1 : 0;
}

static void osrt_memory_add_bytes(uintptr_t first, size_t bytes, void *sum)
{
    *(uint64_t *)sum += bytes;
}

static void lock_part(uintptr_t first, size_t bytes, void *flags)
{
    /* For memory that cannot be read the kernel returns an error, and locks it all the same. */
    sys_mlock2((const void *)first, bytes, *(const int *)flags);
}

/* Without the agent the kernel would answer 0: the limit has room for all of the program, so no single call can exceed
 * it. */
static int lock_programs_memory(int flags)
{
    struct rlimit limit;
    uint64_t bytes = 0;
    int part_flags = flags & MCL_ONFAULT ? MLOCK_ONFAULT : 0, later = flags & MCL_FUTURE ? flags & ~MCL_CURRENT : 0;
    if (sys_getrlimit(RLIMIT_MEMLOCK, &limit) != 0 || visit_programs_memory(osrt_memory_add_bytes, &bytes) != 0 ||
        bytes > limit.rlim_cur)
        return -1;
    return sys_mlockall(later) == 0 ? visit_programs_memory(lock_part, &part_flags) : -1;
}

/* ---- The hook -------------------------------------------------------------------------------------------------- */

static int lock_all(int flags)
{
    int saved_errno = errno, result = LIBC_REAL(mlockall)(flags);
    if (!(flags & MCL_CURRENT) || agent.left || agent_is_filtered_child())
        return result;
    note_libraries();
    if (result == 0) {
        mappings_unlock();
    } else if (errno == ENOMEM && lock_programs_memory(flags) == 0) {
        errno = saved_errno;
        result = 0;
    }
    return result;
}

int osrt_hook_mlockall(int flags)
{
    struct agent_thread *thread = osrt_enter();
    if (!thread)
        return lock_all(flags);
    struct osrt_call call = osrt_begin(thread, OSRT_mlockall);
    int result = lock_all(flags);
    if (osrt_end(&call))
        osrt_emit(&call, OSRT_mlockall, result, OS_ERROR_MINUS_ONE(result));
    return result;
}
