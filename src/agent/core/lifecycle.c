/* The agent's life in a process: start once, attach; be wiped by fork and attach again, or stay off for good.
 *
 * The constructor or the first hook starts the agent, whichever comes first: constructors of other libraries run before
 * the agent's. `started` distinguishes a fresh process from a forked child, since fork wipes only the page of
 * agent_switch. Nothing here may fail the program: each failure ends in AGENT_OFF. */
#include "lifecycle.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "agent.h"
#include "attach.h"
#include "libc_loader.h"
#include "libc_real.h"
#include "mappings.h"
#include "modules.h"
#include "own_calls.h"
#include "seccomp.h"
#include "source.h"
#include "sys.h"
#include "thread.h"

struct agent_switch agent_switch;
struct agent agent;

enum { NOT_STARTED, WORKING, STARTED };
static _Atomic uint32_t started;

/* glibc exports this and has pthread_atfork() only in its static part; musl exports the other. */
extern int __register_atfork(void (*)(void), void (*)(void), void (*)(void), void *) __attribute__((weak));
extern int pthread_atfork(void (*)(void), void (*)(void), void (*)(void)) __attribute__((weak));

static void set_state(enum agent_state state)
{
    atomic_store_explicit(&agent_switch.arena, state == AGENT_ATTACHED ? agent.arena : NULL, memory_order_release);
    atomic_store_explicit(&agent_switch.state, state, memory_order_release);
}

static enum agent_state lifecycle_state(void)
{
    return atomic_load_explicit(&agent_switch.state, memory_order_acquire);
}

static void stay_off(void)
{
    if (!agent.left)
        sources_not_attached();
    set_state(AGENT_OFF);
}

/* A failure must end in AGENT_OFF, or every hook would try to connect again. */
static void lifecycle_attach(enum wire_origin origin, uint64_t cpu_before_ns)
{
    if (attach_arena(origin) != 0) {
        stay_off();
        return;
    }
    agent_add_preloads();
    sources_prepare();
    set_state(AGENT_ATTACHED);
    agent_thread();
    if (origin == WIRE_ORIGIN_EXEC)
        agent_note_modules();
    sources_attached(origin);
    atomic_store_explicit(&agent.arena->start_cpu_ns, sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) - cpu_before_ns,
                          memory_order_relaxed);
}

static void find_own_path(void)
{
    Dl_info self;
    if (loader.dladdr(&agent, &self) && self.dli_fname && strlen(self.dli_fname) < sizeof agent.library)
        strcpy(agent.preload, strcpy(agent.library, self.dli_fname));
}

/* 0: not under tacho. */
static int take_session(void)
{
    const char *session = getenv(WIRE_SESSION_VARIABLE);
    if (!session || strlen(session) >= sizeof agent.session)
        return 0;
    strcpy(agent.session, session);
    find_own_path();
    return 1;
}

/* A filter that the program has installed may forbid any system call of the agent. */
static void leave_if_filtered(void)
{
    if (!agent.left && seccomp_is_new())
        agent.left = agent.filtered = 1;
}

static void lifecycle_start(void)
{
    loader_prepare();
    int wanted = take_session();
    if (wanted)
        leave_if_filtered();
    wanted &= !agent.left;
    uint64_t cpu_before_ns = wanted ? sys_clock_ns(CLOCK_THREAD_CPUTIME_ID) : 0;
    libc_resolve();
    sources_start();
    if (!wanted) {
        set_state(AGENT_OFF);
        return;
    }
    /* An old kernel refuses this and an emulator may ignore it. The handler below then covers fork(), which leaves only
     * children made by a raw clone(). */
    sys_madvise(&agent_switch, sizeof agent_switch, MADV_WIPEONFORK);
    if (__register_atfork)
        __register_atfork(NULL, NULL, agent_after_fork_in_child, NULL /* never unloaded */);
    else if (pthread_atfork)
        pthread_atfork(NULL, NULL, agent_after_fork_in_child);
    thread_prepare();
    lifecycle_attach(WIRE_ORIGIN_EXEC, cpu_before_ns);
}

/* Runs body in the one thread that moves `started` on from `from`; hooks of other threads pass through meanwhile. */
static void once(uint32_t from, void (*body)(void))
{
    if (!atomic_compare_exchange_strong(&started, &from, WORKING))
        return;
    int saved_errno = errno;
    body();
    errno = saved_errno;
    atomic_store(&started, STARTED);
}

void agent_start(void)
{
    /* Without environ, libc is not set up yet: a sanitizer's runtime runs that early. The constructor comes later. */
    if (environ)
        once(NOT_STARTED, lifecycle_start);
}

__attribute__((constructor)) static void construct(void)
{
    agent_start();
}

static void lifecycle_restart(void)
{
    atomic_store(&agent.own_threads, 0); /* those are threads of the parent */
    atomic_store(&agent.calling, 0);
    atomic_store(&agent.first_thread_ended, 0);
    uint32_t flags = agent.flags;
    mappings_after_fork_in_child();
    sources_forked();
    modules_after_fork_in_child();
    agent.arena = NULL;
    agent.pid = 0;
    agent_self = NULL;
    if (flags & WIRE_FLAG_TRACE_FORK)
        leave_if_filtered();
    if ((flags & WIRE_FLAG_TRACE_FORK) && !agent.left)
        lifecycle_attach(WIRE_ORIGIN_FORK, sys_clock_ns(CLOCK_THREAD_CPUTIME_ID));
    else
        stay_off();
}

/* fork() calls this. For a child that was made without libc, the first hook does the same (find_out()). */
void agent_after_fork_in_child(void)
{
    if (lifecycle_state() == AGENT_OFF)
        return;
    set_state(AGENT_UNKNOWN); /* for kernels that do not wipe the page */
    once(STARTED, lifecycle_restart);
}

static struct agent_note begin_note(struct agent_thread *thread, uint32_t type, uint32_t words)
{
    struct agent_note note = { 0 };
    uintptr_t outer = thread->notes;
    thread->notes = agent_frame();
    note.record = emit_begin(thread, &note.lane, WIRE_SOURCE_NOTES, type, words);
    thread->notes = outer;
    return note;
}

static void end_note(struct agent_note note)
{
    thread_close_note(note.lane, note.record);
    emit_commit(note.lane, note.record);
}

/* Other threads may be inside a system call of the agent or about to make one, and a filter may apply to all threads.
 * The wait is limited, because a thread that jumped out of such a call never finishes it. */
static void wait_for_calls(void)
{
    struct timespec pause = { .tv_nsec = 100000 };
    atomic_thread_fence(memory_order_seq_cst);
    for (int i = 0; i < 1000 && atomic_load(&agent.calling) > 0; i++)
        sys_nanosleep(&pause, NULL);
}

/* The note is reserved before the program's call and committed after it: by then the agent may only store to memory. */
struct agent_note agent_leave(enum wire_limit why)
{
    struct agent_thread *thread = agent_thread();
    struct agent_note note = thread ? begin_note(thread, WIRE_LEAVE, WIRE_HEAD_WORDS) : (struct agent_note){ 0 };
    if (note.record) {
        note.record->a = why;
        note.record->ticks = agent_ticks();
    }
    agent.left = 1;
    set_state(AGENT_OFF);
    wait_for_calls();
    sources_leave();
    return note;
}

void agent_has_left(struct agent_note note)
{
    if (note.record)
        end_note(note);
}

void agent_come_back(struct agent_note note)
{
    if (note.record) {
        thread_close_note(note.lane, NULL);
        atomic_signal_fence(memory_order_seq_cst);
        note.lane->busy = 0;
    }
    agent.left = 0;
    set_state(AGENT_ATTACHED);
    sources_come_back();
}

static int find_out(void)
{
    if (lifecycle_state() == AGENT_UNKNOWN) {
        agent_start();
        if (lifecycle_state() == AGENT_UNKNOWN)
            once(STARTED, lifecycle_restart);
    }
    return lifecycle_state() == AGENT_ATTACHED;
}

struct agent_thread *agent_thread_slow(void)
{
    if (!find_out())
        return NULL;
    struct agent_thread *thread = agent_self;
    if (agent_is_thread(thread))
        return thread;
    if (thread || !agent_begin_calls())
        return NULL;
    thread = thread_attach();
    if (thread)
        sources_thread_begin(thread);
    agent_end_calls();
    return thread;
}

struct agent_thread *agent_enter_slow(uint32_t source_bits)
{
    if (!find_out() || !agent_recording(source_bits))
        return NULL;
    struct agent_thread *thread = agent_thread_slow();
    if (!thread && agent_self != AGENT_OWN_THREAD && agent_self != AGENT_HIDDEN_THREAD)
        atomic_fetch_add_explicit(&agent.arena->process_counts[__builtin_ctz(source_bits)][WIRE_LOST_NO_THREAD], 1,
                                  memory_order_relaxed);
    return thread;
}

struct content {
    uint16_t a;
    const uint64_t *head;
    uint32_t head_words;
    const char *text; /* NULL: none */
    size_t length;
};

static void write_note(struct agent_note note, const struct content *content)
{
    note.record->a = content->a;
    note.record->ticks = agent_ticks();
    for (uint32_t i = 0; i < content->head_words; i++)
        note.record->body[i] = content->head[i];
    if (content->text)
        emit_text(note.record->body + content->head_words, content->text, content->length);
    end_note(note);
}

void emit_note(uint32_t type, uint16_t a, const uint64_t *head, uint32_t head_words, const char *text)
{
    struct agent_thread *thread = agent_thread();
    if (!thread) {
        if (agent_attached() && agent_self != AGENT_OWN_THREAD && agent_self != AGENT_HIDDEN_THREAD)
            atomic_fetch_add_explicit(&agent.arena->process_counts[WIRE_SOURCE_NOTES][WIRE_LOST_NO_THREAD], 1,
                                      memory_order_relaxed);
        return;
    }
    size_t length = text ? strnlen(text, WIRE_TEXT_MAX) : 0;
    uint32_t words = WIRE_HEAD_WORDS + head_words + (text ? emit_text_words(length) : 0);
    struct agent_note note = begin_note(thread, type, words);
    if (note.record)
        write_note(note, &(struct content){ a, head, head_words, text, length });
}
