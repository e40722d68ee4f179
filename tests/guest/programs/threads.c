/* Threads: how they end, what they keep, what they hold. */
#include "guest.h"

#include <semaphore.h>
#include <sys/ptrace.h>

static void cleanup(void *text)
{
    say("cleaned up %s", (const char *)text);
}

static int ready[2], never[2];

static void *wait_in_read(void *unused)
{
    char byte;
    pthread_cleanup_push(cleanup, "a thread in read");
    if (write(ready[1], "x", 1) == 1 && read(never[0], &byte, 1) == 1)
        say("read something");
    pthread_cleanup_pop(0);
    return unused;
}

static void *wait_in_loop(void *unused)
{
    pthread_setcanceltype(PTHREAD_CANCEL_ASYNCHRONOUS, NULL);
    pthread_cleanup_push(cleanup, "a thread in a loop");
    if (write(ready[1], "x", 1) == 1)
        for (;;)
            __asm__ volatile("" ::: "memory");
    pthread_cleanup_pop(0);
    return unused;
}

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t condition = PTHREAD_COND_INITIALIZER;

static void unlock(void *unused)
{
    say("unlock %d", pthread_mutex_unlock(&lock));
}

static void *wait_in_condition(void *unused)
{
    pthread_mutex_lock(&lock);
    pthread_cleanup_push(unlock, NULL);
    if (write(ready[1], "x", 1) == 1)
        for (;;)
            pthread_cond_wait(&condition, &lock);
    pthread_cleanup_pop(1);
    return unused;
}

static int cancelled(void *(*run)(void *))
{
    pthread_t thread;
    void *result = NULL;
    char byte;
    if (pipe2(ready, O_CLOEXEC) != 0 || pipe2(never, O_CLOEXEC) != 0)
        return 1;
    pthread_create(&thread, NULL, run, NULL);
    if (read(ready[0], &byte, 1) != 1)
        return 1;
    int answer = pthread_cancel(thread);
    pthread_join(thread, &result);
    say("cancel %d", answer);
    say("cancelled %d", result == PTHREAD_CANCELED);
    for (int i = 0; i < 2; i++) {
        close(ready[i]);
        close(never[i]);
    }
    return 0;
}

PROGRAM(cancelled_in_a_call)
{
    return cancelled(wait_in_read);
}
PROGRAM(cancelled_anywhere)
{
    return cancelled(wait_in_loop);
}
PROGRAM(cancelled_in_a_condition)
{
    return cancelled(wait_in_condition);
}

/* The other threads go on when the first one has ended; the last one ends the process. */
static void *end_later(void *first)
{
    pthread_join(*(pthread_t *)first, NULL);
    say("the first thread has ended");
    say_state();
    exit(6);
}

PROGRAM(first_thread_ends)
{
    static pthread_t first;
    pthread_t thread;
    first = pthread_self();
    pthread_create(&thread, NULL, end_later, &first);
    pthread_exit(NULL);
}

/* All keys that there are, also those that are kept in a second level. */
static int destroyed;

static void destroy(void *value)
{
    __atomic_fetch_add(&destroyed, 1, __ATOMIC_SEQ_CST);
}

static pthread_key_t keys[PTHREAD_KEYS_MAX];
static int key_count;

static void *use_keys(void *unused)
{
    for (int i = 0; i < key_count; i++)
        pthread_setspecific(keys[i], &keys[i]);
    usleep(100);
    for (int i = 0; i < key_count; i++)
        if (pthread_getspecific(keys[i]) != &keys[i])
            return (void *)1;
    return unused;
}

PROGRAM(all_keys)
{
    pthread_t threads[4];
    while (key_count < PTHREAD_KEYS_MAX && pthread_key_create(&keys[key_count], destroy) == 0)
        key_count++;
    say("keys %d", key_count);
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, use_keys, NULL);
    for (int i = 0; i < 4; i++) {
        void *wrong = NULL;
        pthread_join(threads[i], &wrong);
        say("kept %d", !wrong);
    }
    say("destroyed %d", destroyed);
    return 0;
}

/* A destructor that runs late, and uses what a profiler hooks. */
static pthread_key_t late;

static void late_destructor(void *value)
{
    usleep(100);
    if ((intptr_t)value < PTHREAD_DESTRUCTOR_ITERATIONS)
        pthread_setspecific(late, (void *)((intptr_t)value + 1));
    else
        say("the last round %d", (int)(intptr_t)value);
}

static void *set_late(void *unused)
{
    pthread_setspecific(late, (void *)1);
    return unused;
}

PROGRAM(late_destructors)
{
    pthread_t thread;
    pthread_key_create(&late, late_destructor);
    pthread_create(&thread, NULL, set_late, NULL);
    pthread_join(thread, NULL);
    return 0;
}

/* Thread-local memory, much of it. */
static __thread char much[100000];
static __thread int initialised = 42;

static void *look_at_local(void *unused)
{
    int sum = initialised;
    for (size_t i = 0; i < sizeof much; i++)
        sum += much[i];
    usleep(10);
    memset(much, 1, sizeof much);
    say("local %d", sum);
    return unused;
}

PROGRAM(thread_local_memory)
{
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, look_at_local, NULL);
        pthread_join(thread, NULL);
    }
    look_at_local(NULL);
    return 0;
}

static void *hold_and_end(void *mutex)
{
    pthread_mutex_lock(mutex);
    return NULL;
}

PROGRAM(robust_mutex)
{
    pthread_mutexattr_t attributes;
    pthread_mutex_t mutex;
    pthread_t thread;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_setrobust(&attributes, PTHREAD_MUTEX_ROBUST);
    pthread_mutex_init(&mutex, &attributes);
    pthread_create(&thread, NULL, hold_and_end, &mutex);
    pthread_join(thread, NULL);
    int answer = pthread_mutex_lock(&mutex);
    say("lock %d", answer);
    say("consistent %d", pthread_mutex_consistent(&mutex));
    say("unlock %d", pthread_mutex_unlock(&mutex));
    return 0;
}

/* What calls on locks answer when they do not succeed. */
PROGRAM(refused_locks)
{
    struct timespec past = { 0, 0 };
    pthread_mutexattr_t checking;
    pthread_mutex_t mutex;
    sem_t semaphore;
    pthread_mutexattr_init(&checking);
    pthread_mutexattr_settype(&checking, PTHREAD_MUTEX_ERRORCHECK);
    pthread_mutex_init(&mutex, &checking);
    say("lock %d, again %d", pthread_mutex_lock(&mutex), pthread_mutex_lock(&mutex));
    say("try %d, timed %d", pthread_mutex_trylock(&mutex), pthread_mutex_timedlock(&mutex, &past));
    say("wait %d", pthread_cond_timedwait(&condition, &mutex, &past));
    say("unlock %d, again %d", pthread_mutex_unlock(&mutex), pthread_mutex_unlock(&mutex));
    sem_init(&semaphore, 0, 0);
    say_result("semaphore", sem_trywait(&semaphore));
    say_result("semaphore", sem_timedwait(&semaphore, &past));
    return 0;
}

PROGRAM(thread_names)
{
    char name[16] = "";
    say("name %d", pthread_setname_np(pthread_self(), "fifteen letters"));
    pthread_getname_np(pthread_self(), name, sizeof name);
    say("%s", name);
    say("too long %d", pthread_setname_np(pthread_self(), "sixteen letters!"));
    return 0;
}

static void *nothing(void *unused)
{
    return unused;
}

PROGRAM(many_threads)
{
    int failures = 0;
    for (int round = 0; round < 10; round++) {
        pthread_t threads[50];
        for (int i = 0; i < 50; i++)
            failures += pthread_create(&threads[i], NULL, nothing, NULL) != 0;
        for (int i = 0; i < 50; i++)
            pthread_join(threads[i], NULL);
    }
    say("failures %d", failures);
    return 0;
}

static void *become_another(void *unused)
{
    execl("/bin/sh", "sh", "-c", "echo another; exit 8", (char *)NULL);
    return unused;
}

static int exec_from_thread(void)
{
    pthread_t thread;
    pthread_create(&thread, NULL, become_another, NULL);
    pthread_join(thread, NULL);
    return 1;
}

PROGRAM(exec_in_a_thread)
{
    in_child("child", exec_from_thread);
    return 0;
}

static void *fork_in_thread(void *unused)
{
    for (int i = 0; i < 5; i++) {
        pid_t child = fork();
        if (child == 0)
            _exit(i);
        int status = 0;
        waitpid(child, &status, 0);
        if (!WIFEXITED(status) || WEXITSTATUS(status) != i)
            say("child %d: status %#x", i, (unsigned)status);
    }
    return unused;
}

PROGRAM(threads_that_fork)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, fork_in_thread, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    return 0;
}

static int prepared, in_parent, in_child_too;

static void prepare(void)
{
    prepared++;
}
static void parent(void)
{
    in_parent++;
}
static void child_side(void)
{
    in_child_too++;
}

static int tell(void)
{
    say("handlers %d %d %d", prepared, in_parent, in_child_too);
    return 0;
}

PROGRAM(fork_handlers)
{
    pthread_atfork(prepare, parent, child_side);
    in_child("child", tell);
    tell();
    return 0;
}

/* The keys that a program gets have the numbers that they would have. */
PROGRAM(keys_of_threads)
{
    for (int i = 0; i < 40; i++)
        say("key %d", pthread_key_create(&keys[i], NULL) == 0 ? (int)keys[i] : -1);
    for (int i = 0; i < 40; i++)
        pthread_key_delete(keys[i]);
    return 0;
}

/* ---- Descriptors ----------------------------------------------------------------------------------------------- */

/* As in linux/ptrace.h, which cannot be had together with sys/ptrace.h. */
enum { GET_SYSCALL_INFO = 0x420e, SYSCALL_ENTRY = 1 };
struct syscall_information {
    uint8_t what;
    uint64_t instruction, stack, number, arguments[6];
};

static int makes_descriptor(uint64_t number)
{
    static const long calls[] = { SYS_openat,  SYS_socket,   SYS_memfd_create,   SYS_pipe2,          SYS_dup,
                                  SYS_dup3,    SYS_eventfd2, SYS_epoll_create1,  SYS_timerfd_create, SYS_signalfd4,
                                  SYS_recvmsg, SYS_accept4,  SYS_perf_event_open };
    for (size_t i = 0; i < sizeof calls / sizeof calls[0]; i++)
        if (number == (uint64_t)calls[i])
            return 1;
    return 0;
}

static int begin_and_end_threads(void)
{
    if (ptrace(PTRACE_TRACEME, 0, NULL, NULL) != 0)
        return SKIPPED;
    raise(SIGSTOP);
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, nothing, NULL);
        pthread_join(thread, NULL);
    }
    return 0;
}

/* A descriptor that is open for a moment takes a number that another thread would have got. */
PROGRAM(threads_without_descriptors)
{
    int status = 0, calls = 0, signal_number = 0;
    pid_t child = fork(), stopped = child;
    if (child == 0)
        _exit(begin_and_end_threads());
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status) ||
        ptrace(PTRACE_SETOPTIONS, child, NULL,
               (void *)(PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACECLONE | PTRACE_O_EXITKILL)) != 0)
        return skipped("needs ptrace");
    while (ptrace(PTRACE_SYSCALL, stopped, NULL, (void *)(intptr_t)signal_number) == 0 || errno == ESRCH) {
        struct syscall_information now = { 0 };
        while ((stopped = waitpid(-1, &status, __WALL)) > 0 && !WIFSTOPPED(status) && stopped != child)
            ;
        if (stopped < 0 || !WIFSTOPPED(status))
            break;
        signal_number = WSTOPSIG(status) == SIGSTOP || WSTOPSIG(status) == SIGTRAP || WSTOPSIG(status) & 0x80
                            ? 0
                            : WSTOPSIG(status);
        if (WSTOPSIG(status) & 0x80 && syscall(SYS_ptrace, GET_SYSCALL_INFO, stopped, sizeof now, &now) > 0)
            calls += now.what == SYSCALL_ENTRY && makes_descriptor(now.number);
    }
    say_status("child", status);
    say("calls that make descriptors: %d", calls);
    return 0;
}
