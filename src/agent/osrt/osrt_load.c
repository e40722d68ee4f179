/* dlopen, dlmopen, dlclose: timed, and followed by a walk over the loaded objects.
 *
 * glibc searches along the RUNPATH or RPATH of the object that called dlopen, which it finds by the return address. If
 * a hook called the real function, it would become the caller, and libraries would no longer be found. So dlopen here
 * is a few instructions that ask osrt_choose_dlopen() for a function and jump to it, with the caller's return address
 * in place: to the timed hook where the caller does not matter, else straight to the real function (counted as
 * untimed).
 *
 * The caller matters if the path has a $TOKEN; or if it is a bare name and the caller has a RUNPATH; or if the caller
 * is a library and any library has an RPATH, which objects inherit in ways that cannot be seen from outside. The main
 * program's RPATH is searched for every caller. */
#include <link.h>
#include <string.h>

#include "agent/core/agent.h"
#include "agent/core/libc_real.h"
#include "agent/core/modules.h"
#include "agent/core/object_extent.h"
#include "osrt_hooks.h"

/* ---- Does the caller matter? ----------------------------------------------------------------------------------- */

struct callers_object {
    uintptr_t caller;
    int is_main, has_runpath;
    int libraries_have_rpath;
};

static void search_paths(const struct dl_phdr_info *object, int *has_rpath, int *has_runpath)
{
    *has_rpath = *has_runpath = 0;
    for (int i = 0; i < object->dlpi_phnum; i++) {
        if (object->dlpi_phdr[i].p_type != PT_DYNAMIC)
            continue;
        const ElfW(Dyn) *entry = (const void *)(object->dlpi_addr + object->dlpi_phdr[i].p_vaddr);
        for (; entry->d_tag != DT_NULL; entry++) {
            *has_rpath |= entry->d_tag == DT_RPATH;
            *has_runpath |= entry->d_tag == DT_RUNPATH;
        }
    }
}

static int osrt_load_look_at_object(struct dl_phdr_info *object, size_t size, void *data)
{
    struct callers_object *found = data;
    int is_main = !object->dlpi_name || !object->dlpi_name[0];
    int has_rpath, has_runpath;
    search_paths(object, &has_rpath, &has_runpath);
    if (has_rpath && !is_main)
        found->libraries_have_rpath = 1;
    if (object_contains(object, found->caller)) {
        found->is_main = is_main;
        found->has_runpath = has_runpath;
    }
    return 0;
}

static int caller_matters(const char *path, uintptr_t caller)
{
    if (!path)
        return 0;
    if (strchr(path, '$'))
        return 1;
    struct callers_object found = { .caller = caller };
    dl_iterate_phdr(osrt_load_look_at_object, &found);
    int inherits = !found.is_main && found.libraries_have_rpath;
    return inherits || (found.has_runpath && !strchr(path, '/'));
}

/* ---- The hooks ------------------------------------------------------------------------------------------------- */

static void *time_dlopen(const char *path, int flags)
{
    struct agent_thread *thread = osrt_enter();
    if (!thread)
        return LIBC_REAL(dlopen)(path, flags);
    OS_TIMED(thread, void *, dlopen, (path, flags), NO_POINTER)
}

static void *timed_dlopen(const char *path, int flags)
{
    agent_modules_loading();
    void *handle = time_dlopen(path, flags);
    agent_modules_loaded(handle != NULL);
    return handle;
}

static void *time_dlmopen(long space, const char *path, int flags)
{
    struct agent_thread *thread = osrt_enter();
    if (!thread)
        return LIBC_REAL(dlmopen)(space, path, flags);
    OS_TIMED(thread, void *, dlmopen, (space, path, flags), NO_POINTER)
}

static void *timed_dlmopen(long space, const char *path, int flags)
{
    agent_modules_loading();
    void *handle = time_dlmopen(space, path, flags);
    agent_modules_loaded(handle != NULL);
    return handle;
}

/* True if the timed hook may run. If it may not because of the caller, the call is counted as untimed. */
static int may_time(const char *path, uintptr_t caller)
{
    if (!agent_thread())
        return 0;
    int saved_errno = errno;
    agent_note_changed_modules();
    int matters = caller_matters(path, caller);
    if (matters)
        agent_modules_changed();
    errno = saved_errno;
    struct agent_thread *thread = matters ? osrt_enter() : NULL;
    if (thread)
        agent_count(thread, WIRE_SOURCE_OSRT, WIRE_UNTIMED);
    return !matters;
}

typedef void *(*dlopen_function)(const char *, int);
typedef void *(*dlmopen_function)(long, const char *, int);

/* Only the instructions below call these. */
__attribute__((used)) dlopen_function osrt_choose_dlopen(const char *path, int flags, uintptr_t caller);
__attribute__((used)) dlmopen_function osrt_choose_dlmopen(long space, const char *path, int flags, uintptr_t caller);

dlopen_function osrt_choose_dlopen(const char *path, int flags, uintptr_t caller)
{
    return may_time(path, caller) ? timed_dlopen : LIBC_REAL(dlopen);
}

dlmopen_function osrt_choose_dlmopen(long space, const char *path, int flags, uintptr_t caller)
{
    return may_time(path, caller) ? timed_dlmopen : LIBC_REAL(dlmopen);
}

/* Saves three arguments for both functions. The return address is passed as one more argument after the last. */
#if defined(__x86_64__)
#define JUMP(symbol, choose, caller)                                                                                 \
    __asm__(".text\n.p2align 4\n.globl " symbol "\n.type " symbol ", @function\n" symbol ":\n"                       \
            ".cfi_startproc\n"                                                                                       \
            "endbr64\n"                                                                                              \
            "push %rdi\n.cfi_adjust_cfa_offset 8\n"                                                                  \
            "push %rsi\n.cfi_adjust_cfa_offset 8\n"                                                                  \
            "push %rdx\n.cfi_adjust_cfa_offset 8\n"                                                                  \
            "mov 24(%rsp), %" caller "\n"                                                                            \
            "call " choose "\n"                                                                                      \
            "pop %rdx\n.cfi_adjust_cfa_offset -8\n"                                                                  \
            "pop %rsi\n.cfi_adjust_cfa_offset -8\n"                                                                  \
            "pop %rdi\n.cfi_adjust_cfa_offset -8\n"                                                                  \
            "jmp *%rax\n"                                                                                            \
            ".cfi_endproc\n.size " symbol ", . - " symbol "\n")
JUMP("dlopen", "osrt_choose_dlopen", "rdx");
JUMP("dlmopen", "osrt_choose_dlmopen", "rcx");
#elif defined(__aarch64__)
#define JUMP(symbol, choose, caller)                                                                                 \
    __asm__(".text\n.p2align 4\n.globl " symbol "\n.type " symbol ", %function\n" symbol ":\n"                       \
            ".cfi_startproc\n"                                                                                       \
            "hint 34\n"                                                                                              \
            "stp x29, x30, [sp, -48]!\n.cfi_def_cfa_offset 48\n.cfi_offset 29, -48\n.cfi_offset 30, -40\n"           \
            "mov x29, sp\n"                                                                                          \
            "stp x0, x1, [sp, 16]\n"                                                                                 \
            "str x2, [sp, 32]\n"                                                                                     \
            "mov " caller ", x30\n"                                                                                  \
            "bl " choose "\n"                                                                                        \
            "mov x16, x0\n"                                                                                          \
            "ldp x0, x1, [sp, 16]\n"                                                                                 \
            "ldr x2, [sp, 32]\n"                                                                                     \
            "ldp x29, x30, [sp], 48\n.cfi_restore 29\n.cfi_restore 30\n.cfi_def_cfa_offset 0\n"                      \
            "br x16\n"                                                                                               \
            ".cfi_endproc\n.size " symbol ", . - " symbol "\n")
JUMP("dlopen", "osrt_choose_dlopen", "x2");
JUMP("dlmopen", "osrt_choose_dlmopen", "x3");
#endif

static int time_dlclose(void *handle)
{
    struct agent_thread *thread = osrt_enter();
    if (!thread)
        return LIBC_REAL(dlclose)(handle);
    OS_TIMED(thread, int, dlclose, (handle), NOT_ZERO)
}

int osrt_hook_dlclose(void *handle)
{
    int result = time_dlclose(handle);
    sources_objects_unloaded();
    if (agent_attached())
        agent_note_modules();
    return result;
}
