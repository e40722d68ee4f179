/* Which process is calling: see own_process.h. */
#include "own_process.h"

#include <signal.h>

#include "source.h"
#include "sys.h"

pid_t agent_attached_pid(void)
{
    if (!agent_attached())
        return 0;
    pid_t filtered = agent_filtered_child();
    return filtered ? filtered : sys_getpid();
}

int agent_is_own_process(void)
{
    pid_t pid = agent_attached_pid();
    return pid && (uint32_t)pid == agent.pid;
}

int agent_is_on_this_stack(uintptr_t frame)
{
    stack_t alternate = { .ss_flags = SS_DISABLE };
    sys_sigaltstack(NULL, &alternate);
    sources_show_signal_stack(&alternate);
    return !(alternate.ss_flags & SS_ONSTACK) || frame - (uintptr_t)alternate.ss_sp < alternate.ss_size;
}

void agent_note_child(pid_t pid, enum wire_child what, uint64_t since, enum wire_cause cause, const char *path)
{
    uint64_t words[] = { (uint64_t)pid, what, since };
    emit_note(WIRE_CHILD, (uint16_t)cause, words, 3, path);
}

/* ---- Filtered children ----------------------------------------------------------------------------------------- */

/* An entry is a robust futex that the child holds: the kernel sets FUTEX_OWNER_DIED when the child ends or calls exec.
 * A child cannot report that itself, and its parent may never wait for it. */
#define FREE_MASK FUTEX_TID_MASK               /* an entry is free when none of these bits is set */
#define CLAIMED (FUTEX_OWNER_DIED | 1u)        /* neither free nor held */

static struct agent_filtered_child *find_filtered_child(void)
{
    uint32_t used = atomic_load_explicit(&agent.filtered_children_used, memory_order_relaxed);
    for (uint32_t i = 0; i < used; i++) {
        struct agent_filtered_child *child = &agent.filtered_children[i];
        uint32_t owner = atomic_load_explicit(&child->owner, memory_order_relaxed);
        if (owner && !(owner & FUTEX_OWNER_DIED) &&
            atomic_load_explicit(&child->thread, memory_order_relaxed) == (uintptr_t)&agent_self)
            return child;
    }
    return NULL;
}

pid_t agent_filtered_child(void)
{
    const struct agent_filtered_child *child = find_filtered_child();
    return child ? (pid_t)atomic_load_explicit(&child->owner, memory_order_relaxed) : 0;
}

static void hold(struct agent_filtered_child *child, pid_t pid)
{
    child->link.next = &child->list.list;
    child->list.list.next = &child->link;
    child->list.futex_offset = (long)offsetof(struct agent_filtered_child, owner) -
                               (long)offsetof(struct agent_filtered_child, link);
    child->list.list_op_pending = NULL;
    atomic_store(&child->thread, (uintptr_t)&agent_self);
    atomic_store(&child->owner, (uint32_t)pid);
    if (!sys_get_robust_list()) /* a list means that this is not a vfork child: it has robust locks of its own */
        sys_set_robust_list(&child->list);
}

void agent_note_filtered_child(pid_t pid)
{
    /* Write the note before the child becomes an entry: the note may need a chunk, and that a system call. */
    agent_note_child(pid, WIRE_CHILD_FORKED, agent_ticks(), WIRE_CAUSE_FILTERED, NULL);
    for (uint32_t i = 0; i < AGENT_FILTERED_CHILDREN; i++) {
        struct agent_filtered_child *child = &agent.filtered_children[i];
        uint32_t owner = atomic_load(&child->owner), used = atomic_load(&agent.filtered_children_used);
        if (!(owner & FREE_MASK) && atomic_compare_exchange_strong(&child->owner, &owner, CLAIMED)) {
            while (used <= i && !atomic_compare_exchange_weak(&agent.filtered_children_used, &used, i + 1))
                ;
            hold(child, pid);
            break;
        }
    }
}

void agent_forget_filtered_child(void)
{
    struct agent_filtered_child *child = find_filtered_child();
    if (!child)
        return;
    agent_note_child((pid_t)atomic_load(&child->owner), WIRE_CHILD_STAYS, agent_ticks(), WIRE_CAUSE_UNKNOWN, NULL);
    if (sys_get_robust_list() == &child->list)
        sys_set_robust_list(NULL);
    atomic_store(&child->owner, 0);
}
