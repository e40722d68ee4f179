/* The exec family and posix_spawn: the agent gets into the new program, whatever environment the caller passes.
 *
 * Missing variables (the program cleared its environment, env -i) are added to a copy of the pointers, in scratch
 * memory of the thread, because stacks can be small and malloc is not safe in signal handlers. The program's own
 * strings are passed unchanged. A program that cannot have the agent (exec_image.c) gets an environment without it. */
#include <spawn.h>
#include <stdarg.h>
#include <string.h>
#include <unistd.h>

#include "abi/jobs/job_size.h"
#include "abi/models/models.h"
#include "abi/sanitizer_runtimes.h"
#include "agent/core/agent.h"
#include "agent/core/arena_window.h"
#include "agent/core/libc_real.h"
#include "agent/core/own_process.h"
#include "agent/core/seccomp.h"
#include "agent/core/source.h"
#include "agent/core/sys.h"
#include "base/path.h"
#include "exec_image.h"
#include "osrt_hooks.h"
#include "osrt_process.h"
#include "wire/wire_marks.h"
#include "wire/wire_nccl.h"
#include "wire/wire_openacc.h"

#define STACK_MAX 4096 /* bytes of stack for a changed environment, if there is no scratch memory */
#define PRELOAD_VARIABLE "LD_PRELOAD"
#define INJECTION_BYTES 32 /* room for the name of an injection variable */
#define ADDED 6

typedef char *const *strings;

/* One call of the family. `run` calls the real function with the environment that it is given. */
struct exec_request {
    int (*run)(const struct exec_request *request, strings environment);
    enum osrt_function function;
    const char *path;
    strings arguments;
    strings environment;
    int file, flags;
    int searched; /* look the path up along PATH */
    pid_t *pid;   /* of posix_spawn */
    const void *actions, *attributes;
};

/* ---- Bad pointers ---------------------------------------------------------------------------------------------- */

/* This bit is set in addresses of the kernel. A pointer may have a tag above it. */
#if defined(__aarch64__)
#define KERNEL_BIT 55
#else
#define KERNEL_BIT 63
#endif

struct osrt_exec_reach {
    int may_ask;    /* whether the agent may ask the kernel if memory can be read */
    uintptr_t page; /* the last readable page: the texts of an environment lie side by side */
};

static int can_read(const void *address, struct osrt_exec_reach *reach)
{
    uintptr_t here = (uintptr_t)address / AGENT_PAGE_LEAST;
    if (here == reach->page)
        return 1;
    reach->page = here;
    return here > 0 && !((uintptr_t)address >> KERNEL_BIT & 1) && (!reach->may_ask || sys_can_read(address));
}

static int can_read_text(const char *text, struct osrt_exec_reach *reach)
{
    while (can_read(text, reach)) {
        size_t rest = AGENT_PAGE_LEAST - (uintptr_t)text % AGENT_PAGE_LEAST;
        if (strnlen(text, rest) < rest)
            return 1;
        text += rest;
    }
    return 0;
}

/* For a bad pointer the kernel returns EFAULT. The hooks read the path and the environment before the kernel does, so
 * they must check first, or the agent would crash the program. A seccomp filter may forbid the system call that checks,
 * but not in posix_spawn(), where libc makes the same call anyway. */
static int can_be_read(const struct exec_request *request, int may_ask)
{
    struct osrt_exec_reach reach = { may_ask, UINTPTR_MAX };
    if (request->path && !can_read_text(request->path, &reach))
        return 0;
    for (strings entry = request->environment; entry; entry++) {
        if (!can_read(entry, &reach))
            return 0;
        if (!*entry)
            break;
        if (!can_read_text(*entry, &reach))
            return 0;
    }
    return 1;
}

/* ---- The environment ------------------------------------------------------------------------------------------- */

static const char *osrt_exec_value_of(const char *entry, const char *name)
{
    size_t length = strlen(name);
    return strncmp(entry, name, length) == 0 && entry[length] == '=' ? entry + length + 1 : NULL;
}

/* True if this value of LD_PRELOAD names the agent. */
static int names_agent(const char *list)
{
    size_t length = strlen(agent.library);
    for (const char *found = list; (found = strstr(found, agent.library)) != NULL; found += length) {
        int starts = found == list || found[-1] == ':' || found[-1] == ' ';
        if (starts && (found[length] == 0 || found[length] == ':' || found[length] == ' '))
            return 1;
    }
    return 0;
}

/* True if this name in a list is that of a file beside the agent. */
static int is_file(const char *name, size_t length, const char *file)
{
    size_t folder = path_folder_length(agent.library), own = strlen(file);
    return length == folder + own && memcmp(name, agent.library, folder) == 0 && memcmp(name + folder, file, own) == 0;
}

static int names_file(const char *list, const char *file)
{
    for (const char *at = list; *at; at += strspn(at, ": ")) {
        size_t length = strcspn(at, ": ");
        if (is_file(at, length, file))
            return 1;
        at += length;
    }
    return 0;
}

/* Variables that inject the agent, or a file beside it, and the source that needs it; 0: every capture. */
static const struct {
    const char name[INJECTION_BYTES];
    uint32_t source;
    const char *file; /* NULL: the agent */
} injections[] = {
    { "NVTX_INJECTION64_PATH", 0, NULL },
    { "CUDA_INJECTION64_PATH", WIRE_BIT(CUDA), NULL },
    { "ACC_PROFLIB", WIRE_BIT(OPENACC), WIRE_OPENACC_FILE },
    { "NCCL_PROFILER_PLUGIN", WIRE_BIT(NCCL), WIRE_NCCL_FILE },
};
#define INJECTIONS COUNT_OF(injections)
_Static_assert(INJECTIONS + 2 == ADDED, "each of them, the session and LD_PRELOAD");

/* Bytes for NAME=value, with its end. */
static size_t injection_bytes(size_t injection)
{
    const char *file = injections[injection].file;
    return INJECTION_BYTES + strlen(agent.library) + (file ? strlen(file) : 0) + 1;
}

static size_t injection_texts(void)
{
    size_t bytes = 0;
    for (size_t i = 0; i < INJECTIONS; i++)
        bytes += injection_bytes(i);
    return bytes;
}

/* The part of the agent's path that stands in the value: the whole, or the folder before the file. */
static size_t injection_shared(size_t injection)
{
    return injections[injection].file ? path_folder_length(agent.library) : strlen(agent.library);
}

static int is_injection(const char *value, size_t injection)
{
    size_t shared = injection_shared(injection);
    const char *file = injections[injection].file;
    return strncmp(value, agent.library, shared) == 0 && strcmp(value + shared, file ? file : "") == 0;
}

struct osrt_exec_found {
    size_t count;
    const char *preload, *session; /* values, or NULL */
    int is_of_ranks;               /* it is one of several ranks of a job */
    int has_runtime;               /* LD_PRELOAD has a sanitizer runtime for another program; `preload` is without it */
    const char *injections[INJECTIONS];
};

static int lacks(const struct osrt_exec_found *found, size_t injection)
{
    uint32_t source = injections[injection].source;
    return !found->injections[injection] && (!source || (agent.sources & source));
}

static void osrt_exec_look_at(struct osrt_exec_found *found, strings environment)
{
    for (; environment && environment[found->count]; found->count++) {
        const char *entry = environment[found->count], *value;
        if ((value = osrt_exec_value_of(entry, PRELOAD_VARIABLE)) != NULL) {
            found->preload = wire_without_runtime(value);
            found->has_runtime = found->preload != value;
        } else if ((value = osrt_exec_value_of(entry, WIRE_SESSION_VARIABLE)) != NULL)
            found->session = value;
        found->is_of_ranks |= job_is_of_ranks(entry);
        for (size_t i = 0; i < INJECTIONS; i++)
            if ((value = osrt_exec_value_of(entry, injections[i].name)) != NULL)
                found->injections[i] = value;
    }
}

/* Writes NAME=value and returns its end. */
static char *osrt_exec_set(char *to, const char *name, const char *value)
{
    return stpcpy(stpcpy(stpcpy(to, name), "="), value);
}

static void set_injection(char *to, size_t injection)
{
    const char *file = injections[injection].file;
    size_t shared = injection_shared(injection);
    to = stpcpy(stpcpy(to, injections[injection].name), "=");
    memcpy(to, agent.library, shared);
    strcpy(to + shared, file ? file : "");
}

static int has_sanitizer(const char *list)
{
    for (const char *at = list; *at; at += strspn(at, " :")) {
        size_t length = strcspn(at, " :");
        if (wire_is_sanitizer(at, length))
            return 1;
        at += length;
    }
    return 0;
}

/* True if this is one of the names in agent.preload. */
static int osrt_exec_is_ours(const char *name, size_t length)
{
    for (const char *own = agent.preload; *own; own += strspn(own, ":")) {
        size_t own_length = strcspn(own, ":");
        if (own_length == length && memcmp(own, name, length) == 0)
            return 1;
        own += own_length;
    }
    return 0;
}

/* The agent, and the libraries that a program of these models preloads. */
static char *add_ours(char *to, uint32_t models)
{
    size_t folder = path_folder_length(agent.library);
    to = stpcpy(to, agent.library);
    for (uint32_t i = 0; i < WIRE_SOURCE_COUNT; i++) {
        const char *file = agent_preload_file(i, models);
        if (file)
            to = stpcpy((char *)memcpy(stpcpy(to, ":"), agent.library, folder) + folder, file);
    }
    return to;
}

/* A list that names the agent: ours stand in the place of the agent. */
static char *replace_ours(char *to, const char *list, uint32_t models)
{
    int is_there = 0;
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ": "), whole = length + (at[length] != 0);
        if (!length || !osrt_exec_is_ours(at, length)) {
            memcpy(to, at, whole);
            to += whole;
        } else if (!is_there && is_file(at, length, path_base_name(agent.library))) {
            is_there = 1;
            to = stpcpy(add_ours(to, models), ":");
        }
        at += whole;
    }
    to[to[-1] == ':' ? -1 : 0] = 0;
    return to;
}

/* The agent goes first, but a sanitizer runtime insists on being first itself. */
static void make_preload(char *to, const char *own, const struct image *image)
{
    int is_first = !own || !*own, has_own = !is_first && has_sanitizer(own);
    to = osrt_exec_set(to, PRELOAD_VARIABLE, "");
    if (*image->runtime && !has_own)
        to = stpcpy(stpcpy(to, image->runtime), "::");
    if (!is_first && names_agent(own))
        replace_ours(to, own, image->models);
    else if (has_own)
        add_ours(stpcpy(stpcpy(to, own), ":"), image->models);
    else
        stpcpy(stpcpy(add_ours(to, image->models), is_first ? "" : ":"), is_first ? "" : own);
}

/* Fills a changed environment: its pointers, and the texts that are new. */
typedef void environment_change(char **environment, char *texts, const struct exec_request *request,
                                const struct osrt_exec_found *found, const struct image *image);

static void add_agent(char **environment, char *texts, const struct exec_request *request,
                      const struct osrt_exec_found *found, const struct image *image)
{
    char *session = texts, *injection = session + sizeof WIRE_SESSION_VARIABLE + sizeof agent.session;
    size_t count = 0;
    osrt_exec_set(session, WIRE_SESSION_VARIABLE, agent.session);
    environment[count++] = session;
    for (size_t i = 0; i < INJECTIONS; i++) {
        if (lacks(found, i)) {
            set_injection(injection, i);
            environment[count++] = injection;
        }
        injection += injection_bytes(i);
    }
    char *preload = injection;
    make_preload(preload, found->preload, image);
    environment[count++] = preload;
    for (size_t i = 0; i < found->count; i++) {
        char *entry = request->environment[i];
        if (!osrt_exec_value_of(entry, PRELOAD_VARIABLE) && !osrt_exec_value_of(entry, WIRE_SESSION_VARIABLE))
            environment[count++] = entry;
    }
    environment[count] = NULL;
}

/* The value of LD_PRELOAD without the agent. */
static char *without_agent(char *to, const char *list)
{
    char *end = osrt_exec_set(to, PRELOAD_VARIABLE, "");
    for (const char *at = list; *at;) {
        size_t length = strcspn(at, ": ");
        if (length && !osrt_exec_is_ours(at, length)) {
            if (end[-1] != '=')
                *end++ = ':';
            memcpy(end, at, length);
            end += length;
        }
        at += length + (at[length] != 0);
    }
    *end = 0;
    return to;
}

static void remove_agent(char **environment, char *texts, const struct exec_request *request,
                         const struct osrt_exec_found *found, const struct image *image)
{
    size_t count = 0;
    for (size_t i = 0; i < found->count; i++) {
        char *entry = request->environment[i];
        int names_us = osrt_exec_value_of(entry, WIRE_SESSION_VARIABLE) != NULL;
        for (size_t j = 0; j < INJECTIONS; j++) {
            const char *injection = osrt_exec_value_of(entry, injections[j].name);
            names_us |= injection && is_injection(injection, j);
        }
        if (osrt_exec_value_of(entry, PRELOAD_VARIABLE))
            entry = without_agent(texts, found->preload);
        if (!names_us && strcmp(entry, PRELOAD_VARIABLE "=") != 0)
            environment[count++] = entry;
    }
    environment[count] = NULL;
}

/* ---- Which program gets the agent ------------------------------------------------------------------------------ */

enum osrt_exec_change { UNCHANGED, WITH_AGENT, WITHOUT_AGENT };

struct osrt_exec_plan {
    enum osrt_exec_change change;
    pid_t caller;          /* pid of the caller; 0: it is not attached */
    enum wire_cause cause; /* for WIRE_EXEC and WIRE_CHILD */
    struct osrt_exec_found found;
    struct image image;
};

static void look_at_program(struct image *image, const struct exec_request *request)
{
    int is_file = !request->path || ((request->flags & AT_EMPTY_PATH) && !*request->path);
    exec_image_look(image, request->file, is_file ? NULL : request->path, request->searched);
}

/* Why the new program must not get the agent, if so: its loader would print to stderr that it cannot load the agent. */
static enum wire_cause cause_against(const struct image *image)
{
    if (image->is_foreign)
        return WIRE_CAUSE_FOREIGN;
    if (image->is_out_of_descriptors)
        return WIRE_CAUSE_NO_DESCRIPTOR;
    return sys_access(agent.library, R_OK) < 0 ? WIRE_CAUSE_UNREADABLE : WIRE_CAUSE_UNKNOWN;
}

/* Whether a list has the libraries that a program of these models preloads, and none that is for others. */
static int has_libraries(const char *list, uint32_t models)
{
    for (uint32_t i = 0; i < WIRE_SOURCE_COUNT; i++) {
        const char *file = agent_preload_file(i, UINT32_MAX);
        if (file && names_file(list, file) != (agent_preload_file(i, models) != NULL))
            return 0;
    }
    return 1;
}

static int osrt_exec_is_complete(const struct osrt_exec_plan *plan)
{
    const struct osrt_exec_found *found = &plan->found;
    int complete = found->preload && names_agent(found->preload) && found->session && !found->has_runtime &&
                   !plan->image.runtime[0] && has_libraries(found->preload, plan->image.models);
    for (size_t i = 0; i < INJECTIONS; i++)
        complete &= !lacks(found, i);
    return complete;
}

static void osrt_exec_make_plan(struct osrt_exec_plan *plan, const struct exec_request *request)
{
    memset(plan, 0, sizeof *plan);
    plan->caller = agent_attached_pid();
    if (!agent.session[0] || !agent.library[0]) /* not under tacho */
        return;
    osrt_exec_look_at(&plan->found, request->environment);
    /* The session of another capture, which was started inside this one. */
    if (plan->found.session && strcmp(plan->found.session, agent.session) != 0)
        return;
    plan->cause = WIRE_CAUSE_FILTERED;
    if (!agent_is_filtered() && !seccomp_is_new()) {
        look_at_program(&plan->image, request);
        plan->cause = cause_against(&plan->image);
        plan->image.models |= plan->found.is_of_ranks ? MODEL_BIT(MODEL_MPI) : 0;
    }
    plan->change = plan->cause ? WITHOUT_AGENT : osrt_exec_is_complete(plan) ? UNCHANGED : WITH_AGENT;
    if (!plan->cause && plan->image.is_static)
        plan->cause = WIRE_CAUSE_STATIC;
}

/* ---- A changed environment ------------------------------------------------------------------------------------- */

struct osrt_exec_layout {
    environment_change *change;
    const struct image *image;
    size_t pointers, words; /* words for the pointers, and in all */
};

static int run_in(char **room, const struct exec_request *request, const struct osrt_exec_plan *plan,
                  const struct osrt_exec_layout *layout)
{
    layout->change(room, (char *)(room + layout->pointers), request, &plan->found, layout->image);
    return request->run(request, room);
}

/* Takes the scratch memory of the thread, unless it is in use: by a hook that this signal handler has interrupted, or
 * by a child that shares the thread's memory (even at the same time, if clone() made it). A child that calls exec
 * successfully never returns the memory, and nobody can tell whether it is about to. So the parent returns it once the
 * child has ended (osrt_exec_child_ended()). */
static struct agent_scratch *take_scratch(const struct osrt_exec_plan *plan, size_t bytes)
{
    struct agent_thread *thread = plan->caller ? agent_thread() : NULL;
    struct agent_scratch *scratch = thread ? &thread->scratch[AGENT_SCRATCH_OF_EXEC] : NULL;
    uintptr_t nobody = 0;
    if (!scratch || bytes > AGENT_SCRATCH_BYTES ||
        !__atomic_compare_exchange_n(&scratch->taken, &nobody, (uintptr_t)plan->caller, 0, __ATOMIC_SEQ_CST,
                                     __ATOMIC_SEQ_CST))
        return NULL;
    if (!scratch->memory && !agent_is_filtered_child())
        scratch->memory = window_map(-1, 0, AGENT_SCRATCH_BYTES);
    if (scratch->memory)
        return scratch;
    __atomic_store_n(&scratch->taken, 0, __ATOMIC_RELEASE);
    return NULL;
}

void osrt_exec_child_ended(pid_t child)
{
    struct agent_thread *thread = agent_thread();
    uintptr_t holder = (uintptr_t)child;
    if (thread)
        __atomic_compare_exchange_n(&thread->scratch[AGENT_SCRATCH_OF_EXEC].taken, &holder, 0, 0, __ATOMIC_SEQ_CST,
                                    __ATOMIC_SEQ_CST);
}

static int run_on_stack(const struct exec_request *request, const struct osrt_exec_plan *plan,
                        const struct osrt_exec_layout *layout)
{
    char *room[layout->words];
    return run_in(room, request, plan, layout);
}

/* In a vfork child whose exec succeeds, the mapping stays in its parent. */
static int run_in_mapping(const struct exec_request *request, const struct osrt_exec_plan *plan,
                          const struct osrt_exec_layout *layout)
{
    size_t bytes = layout->words * 8;
    char **room = agent.left || agent_is_filtered_child()
                      ? (char **)-ENOMEM
                      : sys_mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (sys_failed(room))
        return request->run(request, request->environment);
    int result = run_in(room, request, plan, layout);
    sys_munmap(room, bytes);
    return result;
}

static int run_changed(const struct exec_request *request, const struct osrt_exec_plan *plan,
                       environment_change *change)
{
    const struct osrt_exec_found *found = &plan->found;
    size_t texts = sizeof WIRE_SESSION_VARIABLE + sizeof agent.session + injection_texts() + sizeof PRELOAD_VARIABLE +
                   strlen(plan->image.runtime) + strlen(agent.preload) + (found->preload ? strlen(found->preload) : 0) +
                   4;
    struct osrt_exec_layout layout = { .change = change, .image = &plan->image, .pointers = found->count + ADDED + 1 };
    layout.words = layout.pointers + (texts + 7) / 8;
    struct agent_scratch *scratch = take_scratch(plan, layout.words * 8);
    if (!scratch)
        return (layout.words * 8 <= STACK_MAX ? run_on_stack : run_in_mapping)(request, plan, &layout);
    int result = run_in(scratch->memory, request, plan, &layout);
    __atomic_store_n(&scratch->taken, 0, __ATOMIC_RELEASE);
    return result;
}

static int run_as_planned(const struct exec_request *request, const struct osrt_exec_plan *plan)
{
    switch (plan->change) {
    case WITH_AGENT: return run_changed(request, plan, add_agent);
    case WITHOUT_AGENT: return run_changed(request, plan, remove_agent);
    default: return request->run(request, request->environment);
    }
}

void osrt_exec_prepare(void)
{
    for (char **entry = environ; *entry; entry++) {
        char *value = (char *)(uintptr_t)osrt_exec_value_of(*entry, PRELOAD_VARIABLE);
        const char *without = value ? wire_without_runtime(value) : NULL;
        if (without != value)
            memmove(value, without, strlen(without) + 1);
    }
}

/* ---- exec ------------------------------------------------------------------------------------------------------ */

/* An exec that succeeds never returns, and in a vfork child its state would stay behind in the parent. So this does not
 * publish the running call, and only a failed call becomes an event. */
static int osrt_exec_execute(const struct exec_request *request)
{
    if (!can_be_read(request, !agent_is_filtered()))
        return request->run(request, request->environment);
    struct osrt_exec_plan plan;
    const char *path = request->path ? request->path : "";
    uint64_t start = agent_attached() ? agent_ticks() : 0;
    sources_exit();
    osrt_exec_make_plan(&plan, request);
    pid_t pid = plan.caller;
    int own = pid && (uint32_t)pid == agent.pid;
    struct agent_thread *thread = own ? osrt_enter() : NULL;
    if (own)
        emit_note(WIRE_EXEC, (uint16_t)plan.cause, &(uint64_t){ sys_clock_ns(CLOCK_PROCESS_CPUTIME_ID) }, 1, path);
    else if (pid)
        agent_note_child(pid, WIRE_CHILD_EXECS, agent_ticks(), plan.cause, path);
    else
        osrt_set_silent_exec(plan.cause, path);
    int result = run_as_planned(request, &plan);
    int error = errno;
    if (own)
        emit_note(WIRE_EXEC_FAILED, (uint16_t)error, NULL, 0, NULL);
    else if (pid)
        agent_note_child(pid, WIRE_CHILD_STAYS, agent_ticks(), WIRE_CAUSE_UNKNOWN, NULL);
    else
        osrt_clear_silent_exec();
    if (thread) {
        struct osrt_call call = {
            .thread = thread, .start = start, .level = osrt_of(thread)->call_depth, .duration = agent_ticks() - start
        };
        osrt_emit(&call, request->function, result, error);
    }
    errno = error;
    return result;
}

static int run_execve(const struct exec_request *request, strings environment)
{
    return LIBC_REAL(execve)(request->path, request->arguments, environment);
}
static int run_execvpe(const struct exec_request *request, strings environment)
{
    return LIBC_REAL(execvpe)(request->path, request->arguments, environment);
}
static int run_fexecve(const struct exec_request *request, strings environment)
{
    return LIBC_REAL(fexecve)(request->file, request->arguments, environment);
}
static int run_execveat(const struct exec_request *request, strings environment)
{
    return LIBC_REAL(execveat)(request->file, request->path, request->arguments, environment, request->flags);
}

static int exec_path(enum osrt_function function, const char *path, strings arguments, strings environment)
{
    return osrt_exec_execute(&(struct exec_request){
        .file = AT_FDCWD,
        .run = run_execve,
        .function = function,
        .path = path,
        .arguments = arguments,
        .environment = environment,
    });
}

/* The same along PATH. */
static int exec_searched(enum osrt_function function, const char *path, strings arguments, strings environment)
{
    return osrt_exec_execute(&(struct exec_request){
        .file = AT_FDCWD,
        .searched = 1,
        .run = run_execvpe,
        .function = function,
        .path = path,
        .arguments = arguments,
        .environment = environment,
    });
}

int osrt_hook_execve(const char *path, strings arguments, strings environment)
{
    return exec_path(OSRT_execve, path, arguments, environment);
}
int osrt_hook_execvpe(const char *path, strings arguments, strings environment)
{
    return exec_searched(OSRT_execvpe, path, arguments, environment);
}
int osrt_hook_fexecve(int file, strings arguments, strings environment)
{
    return osrt_exec_execute(&(struct exec_request){
        .run = run_fexecve,
        .function = OSRT_fexecve,
        .path = NULL,
        .arguments = arguments,
        .environment = environment,
        .file = file,
    });
}
int osrt_hook_execveat(int folder, const char *path, strings arguments, strings environment, int flags)
{
    return osrt_exec_execute(&(struct exec_request){
        .run = run_execveat,
        .function = OSRT_execveat,
        .path = path,
        .arguments = arguments,
        .environment = environment,
        .file = folder,
        .flags = flags,
    });
}
int osrt_hook_execv(const char *path, strings arguments)
{
    return exec_path(OSRT_execv, path, arguments, environ);
}
int osrt_hook_execvp(const char *path, strings arguments)
{
    return exec_searched(OSRT_execvp, path, arguments, environ);
}

/* The arguments of execl and its variants, up to the NULL, as an array on the stack of the caller. */
#define COUNT_ARGUMENTS(first, count)                                                                                \
    size_t count = 0;                                                                                                \
    va_list list;                                                                                                    \
    va_start(list, first);                                                                                           \
    for (const char *argument = first; argument; argument = va_arg(list, const char *))                              \
        count++;                                                                                                     \
    va_end(list);
#define TAKE_ARGUMENTS(first, count, array)                                                                          \
    char *array[count + 1];                                                                                          \
    va_start(list, first);                                                                                           \
    array[0] = (char *)(uintptr_t)first;                                                                             \
    for (size_t i = 1; i <= count; i++)                                                                              \
        array[i] = va_arg(list, char *);                                                                             \
    array[count] = NULL;

int osrt_hook_execl(const char *path, const char *first, ...)
{
    COUNT_ARGUMENTS(first, count)
    TAKE_ARGUMENTS(first, count, arguments)
    va_end(list);
    return exec_path(OSRT_execl, path, arguments, environ);
}
int osrt_hook_execlp(const char *path, const char *first, ...)
{
    COUNT_ARGUMENTS(first, count)
    TAKE_ARGUMENTS(first, count, arguments)
    va_end(list);
    return exec_searched(OSRT_execlp, path, arguments, environ);
}
int osrt_hook_execle(const char *path, const char *first, ...)
{
    COUNT_ARGUMENTS(first, count)
    TAKE_ARGUMENTS(first, count, arguments)
    strings environment = va_arg(list, strings); /* comes after the NULL */
    va_end(list);
    return exec_path(OSRT_execle, path, arguments, environment);
}

/* ---- posix_spawn ----------------------------------------------------------------------------------------------- */

#define SPAWN(symbol, is_searched)                                                                                     \
    static int run_##symbol(const struct exec_request *request, strings environment)                                   \
    {                                                                                                                  \
        return LIBC_REAL(symbol)(request->pid, request->path, request->actions, request->attributes,                   \
                               request->arguments, environment);                                                       \
    }                                                                                                                  \
    int osrt_hook_##symbol(pid_t *pid, const char *path, const void *actions, const void *attributes,                  \
                         strings arguments, strings environment)                                                       \
    {                                                                                                                  \
        return exec_spawn(&(struct exec_request){ .file = AT_FDCWD, .searched = is_searched, .run = run_##symbol,      \
                                        .function = OSRT_##symbol, .path = path, .pid = pid, .arguments = arguments,   \
                                        .environment = environment, .actions = actions, .attributes = attributes });   \
    }

static int timed_spawn(const struct exec_request *request, const struct osrt_exec_plan *plan)
{
    struct agent_thread *thread = osrt_enter();
    if (!thread)
        return run_as_planned(request, plan);
    struct osrt_call call = osrt_begin(thread, request->function);
    int result = run_as_planned(request, plan);
    if (osrt_end(&call))
        osrt_emit(&call, request->function, result, result);
    return result;
}

static int exec_spawn(struct exec_request *request)
{
    struct osrt_exec_plan plan;
    pid_t child;
    if (!can_be_read(request, 1))
        return request->run(request, request->environment);
    osrt_exec_make_plan(&plan, request);
    if (!request->pid)
        request->pid = &child;
    int is_own = plan.caller && (uint32_t)plan.caller == agent.pid;
    uint64_t since = is_own ? agent_ticks() : 0;
    int result = timed_spawn(request, &plan);
    if (result == 0 && is_own)
        agent_note_child(*request->pid, WIRE_CHILD_EXECS, since, plan.cause, request->path);
    return result;
}

SPAWN(posix_spawn, 0)
SPAWN(posix_spawnp, 1)
#if defined(__x86_64__)
SPAWN(os_old_posix_spawn, 0)
SPAWN(os_old_posix_spawnp, 1)
OS_OLD(posix_spawn)
OS_OLD(posix_spawnp)
#endif
