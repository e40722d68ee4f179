/* Calls the hooked functions that deal with threads, locks, streams, processes and loading, each at least once, in the
 * ways that go wrong when a hook is careless: errno, kinds of mutexes, cancellation, jumps out of a handler, nesting,
 * fork in a thread, cleared environments, symbols of old versions. os_calls.py runs it bare and traced: the two must
 * print the same. See os_calls.c for the rest. */
#define __NO_INLINE__ 1 /* getline and others as functions, not as what the headers make of them */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <sched.h>
#include <semaphore.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdio_ext.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <threads.h>
#include <time.h>
#include <unistd.h>
#include <wchar.h>

extern char **environ;

#pragma weak pthread_clockjoin_np
#pragma weak pthread_mutex_clocklock
#pragma weak pthread_rwlock_clockrdlock
#pragma weak pthread_rwlock_clockwrlock
#pragma weak pthread_cond_clockwait
#pragma weak sem_clockwait
#pragma weak execveat
extern int execveat(int, const char *, char *const *, char *const *, int);
extern int _IO_getc(FILE *);
extern int _IO_putc(int, FILE *);
extern ssize_t __getdelim(char **, size_t *, int, FILE *);
extern size_t __fread_chk(void *, size_t, size_t, size_t, FILE *);
extern size_t __fread_unlocked_chk(void *, size_t, size_t, size_t, FILE *);
extern char *__fgets_chk(char *, size_t, int, FILE *);
extern char *__fgets_unlocked_chk(char *, size_t, int, FILE *);

#define CALL(call)                                                                                                   \
    do {                                                                                                             \
        errno = 4242;                                                                                                \
        long long result_ = (long long)(call);                                                                       \
        int error_ = errno;                                                                                          \
        printf("%s = %lld, errno %d\n", #call, result_, error_);                                                     \
    } while (0)

static struct timespec in_future(clockid_t clock)
{
    struct timespec time;
    clock_gettime(clock, &time);
    time.tv_sec += 1000;
    return time;
}
static const struct timespec past = { 1, 0 }, invalid = { 1, -5 };

/* ---- Threads and locks ----------------------------------------------------------------------------------------- */

static void *give_back(void *argument)
{
    return argument;
}

static pthread_t begin(void *(*start)(void *), void *argument)
{
    pthread_t thread;
    if (pthread_create(&thread, NULL, start, argument) != 0)
        abort();
    return thread;
}

static void threads(void)
{
    void *result = NULL;
    struct timespec later = in_future(CLOCK_REALTIME), later_monotonic = in_future(CLOCK_MONOTONIC);
    pthread_t thread;
    pthread_key_t key;
    tss_t other_key;
    CALL(pthread_key_create(&key, NULL));
    CALL(tss_create(&other_key, NULL));
    CALL(pthread_create(&thread, NULL, give_back, &later));
    CALL(pthread_join(thread, &result));
    printf("%d\n", result == &later);
    thread = begin(give_back, NULL);
    CALL(pthread_timedjoin_np(thread, NULL, &later));
    thread = begin(give_back, NULL);
    if (pthread_clockjoin_np)
        CALL(pthread_clockjoin_np(thread, NULL, CLOCK_MONOTONIC, &later_monotonic));
    else
        pthread_join(thread, NULL);
    thread = begin(give_back, NULL);
    while (pthread_tryjoin_np(thread, &result) == EBUSY)
        ;
    CALL(pthread_join(pthread_self(), NULL));
    CALL(pthread_setname_np(pthread_self(), "a name"));
    CALL(pthread_setname_np(pthread_self(), "a name that is too long"));
    CALL(prctl(PR_SET_NAME, "other name", 0, 0, 0));
    char name[16] = "";
    CALL(prctl(PR_GET_NAME, name, 0, 0, 0));
    printf("%s\n", name);
}

/* One whole life of each kind of mutex, in a thread that knows that it is free, and from one
 * that knows that it is not. */
static pthread_mutex_t shared_mutex;
static pthread_rwlock_t shared_lock;
static struct timespec later_realtime, later_monotonic;

static void *find_held(void *argument)
{
    (void)argument;
    CALL(pthread_mutex_trylock(&shared_mutex));
    CALL(pthread_mutex_timedlock(&shared_mutex, &past));
    if (pthread_mutex_clocklock)
        CALL(pthread_mutex_clocklock(&shared_mutex, CLOCK_MONOTONIC, &past));
    return NULL;
}

static void *die_with_lock(void *argument)
{
    pthread_mutex_lock(argument);
    return NULL;
}

static void one_kind(const char *kind, int type, int robust, int protocol)
{
    pthread_mutexattr_t attributes;
    pthread_mutexattr_init(&attributes);
    pthread_mutexattr_settype(&attributes, type);
    pthread_mutexattr_setrobust(&attributes, robust);
    pthread_mutexattr_setprotocol(&attributes, protocol);
    pthread_mutex_init(&shared_mutex, &attributes);
    printf("-- %s\n", kind);
    CALL(pthread_mutex_lock(&shared_mutex));
    pthread_join(begin(find_held, NULL), NULL);
    if (type == PTHREAD_MUTEX_RECURSIVE || type == PTHREAD_MUTEX_ERRORCHECK)
        CALL(pthread_mutex_lock(&shared_mutex));
    if (type == PTHREAD_MUTEX_RECURSIVE)
        CALL(pthread_mutex_unlock(&shared_mutex));
    CALL(pthread_mutex_trylock(&shared_mutex));
    if (type == PTHREAD_MUTEX_RECURSIVE)
        CALL(pthread_mutex_unlock(&shared_mutex));
    CALL(pthread_mutex_unlock(&shared_mutex));
    CALL(pthread_mutex_timedlock(&shared_mutex, &later_realtime));
    CALL(pthread_mutex_unlock(&shared_mutex));
    if (pthread_mutex_clocklock) {
        CALL(pthread_mutex_clocklock(&shared_mutex, CLOCK_MONOTONIC, &later_monotonic));
        CALL(pthread_mutex_unlock(&shared_mutex));
        CALL(pthread_mutex_clocklock(&shared_mutex, CLOCK_PROCESS_CPUTIME_ID, &later_monotonic));
    }
    if (robust == PTHREAD_MUTEX_ROBUST) {
        pthread_join(begin(die_with_lock, &shared_mutex), NULL);
        CALL(pthread_mutex_lock(&shared_mutex));
        CALL(pthread_mutex_consistent(&shared_mutex));
        CALL(pthread_mutex_unlock(&shared_mutex));
        pthread_join(begin(die_with_lock, &shared_mutex), NULL);
        CALL(pthread_mutex_lock(&shared_mutex));
        CALL(pthread_mutex_unlock(&shared_mutex));
        CALL(pthread_mutex_lock(&shared_mutex));
    }
    pthread_mutex_destroy(&shared_mutex);
}

static void mutexes(void)
{
    one_kind("normal", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    one_kind("recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    one_kind("error-checking", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    one_kind("adaptive", PTHREAD_MUTEX_ADAPTIVE_NP, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_NONE);
    one_kind("robust", PTHREAD_MUTEX_NORMAL, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
    one_kind("robust recursive", PTHREAD_MUTEX_RECURSIVE, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_NONE);
    one_kind("priority-inheriting", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_STALLED, PTHREAD_PRIO_INHERIT);
    one_kind("robust priority-inheriting", PTHREAD_MUTEX_ERRORCHECK, PTHREAD_MUTEX_ROBUST, PTHREAD_PRIO_INHERIT);
}

static void *find_written(void *argument)
{
    (void)argument;
    CALL(pthread_rwlock_tryrdlock(&shared_lock));
    CALL(pthread_rwlock_trywrlock(&shared_lock));
    CALL(pthread_rwlock_timedrdlock(&shared_lock, &past));
    CALL(pthread_rwlock_timedwrlock(&shared_lock, &past));
    return NULL;
}

static void other_locks(void)
{
    pthread_rwlock_init(&shared_lock, NULL);
    CALL(pthread_rwlock_rdlock(&shared_lock));
    CALL(pthread_rwlock_timedrdlock(&shared_lock, &later_realtime));
    CALL(pthread_rwlock_timedrdlock(&shared_lock, &invalid));
    if (pthread_rwlock_clockrdlock)
        CALL(pthread_rwlock_clockrdlock(&shared_lock, CLOCK_MONOTONIC, &past));
    while (pthread_rwlock_unlock(&shared_lock) == 0 && pthread_rwlock_trywrlock(&shared_lock) == EBUSY)
        ;
    pthread_rwlock_unlock(&shared_lock);
    CALL(pthread_rwlock_wrlock(&shared_lock));
    CALL(pthread_rwlock_rdlock(&shared_lock));
    CALL(pthread_rwlock_wrlock(&shared_lock));
    pthread_join(begin(find_written, NULL), NULL);
    CALL(pthread_rwlock_unlock(&shared_lock));
    CALL(pthread_rwlock_timedwrlock(&shared_lock, &later_realtime));
    CALL(pthread_rwlock_unlock(&shared_lock));
    if (pthread_rwlock_clockwrlock) {
        CALL(pthread_rwlock_clockwrlock(&shared_lock, CLOCK_MONOTONIC, &later_monotonic));
        CALL(pthread_rwlock_unlock(&shared_lock));
    }
    pthread_spinlock_t spin;
    pthread_spin_init(&spin, 0);
    CALL(pthread_spin_lock(&spin));
    CALL(pthread_spin_trylock(&spin));
    CALL(pthread_spin_unlock(&spin));

    sem_t semaphore;
    sem_init(&semaphore, 0, 3);
    CALL(sem_wait(&semaphore));
    CALL(sem_trywait(&semaphore));
    CALL(sem_timedwait(&semaphore, &invalid));
    CALL(sem_timedwait(&semaphore, &later_realtime));
    CALL(sem_trywait(&semaphore));
    CALL(sem_timedwait(&semaphore, &past));
    if (sem_clockwait)
        CALL(sem_clockwait(&semaphore, CLOCK_MONOTONIC, &past));
    CALL(sem_open("/", O_CREAT, 0600, 1) != SEM_FAILED);

    mtx_t mutex;
    cnd_t condition;
    mtx_init(&mutex, mtx_timed);
    cnd_init(&condition);
    CALL(mtx_lock(&mutex));
    CALL(mtx_trylock(&mutex));
    CALL(mtx_timedlock(&mutex, &past));
    CALL(cnd_timedwait(&condition, &mutex, &past));
    CALL(mtx_unlock(&mutex));
    CALL(thrd_sleep(&(struct timespec){ 0, 1000 }, NULL));
}

/* ---- Locks that are held: a thread sleeps in the call until we let go, which we do once the kernel says that it
 * sleeps */

static _Atomic int waiter;
static pthread_mutex_t held_mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_rwlock_t held_lock = PTHREAD_RWLOCK_INITIALIZER;
static mtx_t held_c11;
static sem_t held_semaphore;

static void *wait_for_mutex(void *unused)
{
    waiter = (int)syscall(SYS_gettid);
    pthread_mutex_lock(&held_mutex);
    pthread_mutex_unlock(&held_mutex);
    return unused;
}
static void *wait_to_read(void *unused)
{
    waiter = (int)syscall(SYS_gettid);
    pthread_rwlock_rdlock(&held_lock);
    pthread_rwlock_unlock(&held_lock);
    return unused;
}
static void *wait_to_write(void *unused)
{
    waiter = (int)syscall(SYS_gettid);
    pthread_rwlock_wrlock(&held_lock);
    pthread_rwlock_unlock(&held_lock);
    return unused;
}
static void *wait_for_c11(void *unused)
{
    waiter = (int)syscall(SYS_gettid);
    mtx_lock(&held_c11);
    mtx_unlock(&held_c11);
    return unused;
}
static void *wait_for_stream(void *unused)
{
    waiter = (int)syscall(SYS_gettid);
    flockfile(stdin);
    funlockfile(stdin);
    return unused;
}
static void *wait_for_semaphore(void *unused)
{
    waiter = (int)syscall(SYS_gettid);
    sem_wait(&held_semaphore);
    return unused;
}

/* Returns once a thread that has given its number in `waiter` sleeps in the call that follows. */
static void until_it_sleeps(void)
{
    char path[64], text[512], *state;
    while (waiter == 0)
        sched_yield();
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", waiter);
    do {
        int file = open(path, O_RDONLY);
        ssize_t length = read(file, text, sizeof text - 1);
        text[length > 0 ? length : 0] = 0;
        close(file);
        state = strrchr(text, ')');
    } while (!state || state[2] != 'S');
}

static void let_sleep(void *(*wait)(void *), pthread_t *thread)
{
    waiter = 0;
    *thread = begin(wait, NULL);
    until_it_sleeps();
}

static void contention(void)
{
    pthread_t thread;
    pthread_mutex_lock(&held_mutex);
    let_sleep(wait_for_mutex, &thread);
    pthread_mutex_unlock(&held_mutex);
    pthread_join(thread, NULL);
    pthread_rwlock_wrlock(&held_lock);
    let_sleep(wait_to_read, &thread);
    pthread_rwlock_unlock(&held_lock);
    pthread_join(thread, NULL);
    pthread_rwlock_rdlock(&held_lock);
    let_sleep(wait_to_write, &thread);
    pthread_rwlock_unlock(&held_lock);
    pthread_join(thread, NULL);
    mtx_init(&held_c11, mtx_plain);
    mtx_lock(&held_c11);
    let_sleep(wait_for_c11, &thread);
    mtx_unlock(&held_c11);
    pthread_join(thread, NULL);
    flockfile(stdin);
    let_sleep(wait_for_stream, &thread);
    funlockfile(stdin);
    pthread_join(thread, NULL);
    sem_init(&held_semaphore, 0, 0);
    let_sleep(wait_for_semaphore, &thread);
    sem_post(&held_semaphore);
    pthread_join(thread, NULL);
    puts("all locks were waited for");
}

/* ---- Conditions, in the version that this program is linked with and in the one of long ago -------------------- */

struct meeting {
    pthread_mutex_t mutex;
    pthread_cond_t condition;
    int turn;
    int (*wait)(pthread_cond_t *, pthread_mutex_t *);
    int (*signal)(pthread_cond_t *);
    int (*broadcast)(pthread_cond_t *);
};

static void *answer(void *argument)
{
    struct meeting *meeting = argument;
    for (int round = 0; round < 100; round++) {
        pthread_mutex_lock(&meeting->mutex);
        while (meeting->turn % 2 == 0)
            meeting->wait(&meeting->condition, &meeting->mutex);
        meeting->turn++;
        (round % 2 ? meeting->signal : meeting->broadcast)(&meeting->condition);
        pthread_mutex_unlock(&meeting->mutex);
    }
    return NULL;
}

static int meet(struct meeting *meeting)
{
    pthread_t thread = begin(answer, meeting);
    for (int round = 0; round < 100; round++) {
        pthread_mutex_lock(&meeting->mutex);
        meeting->turn++;
        (round % 2 ? meeting->broadcast : meeting->signal)(&meeting->condition);
        while (meeting->turn % 2 == 1)
            meeting->wait(&meeting->condition, &meeting->mutex);
        pthread_mutex_unlock(&meeting->mutex);
    }
    pthread_join(thread, NULL);
    return meeting->turn;
}

#if defined(__x86_64__) && defined(__GLIBC__)
extern int old_wait(pthread_cond_t *, pthread_mutex_t *), old_signal(pthread_cond_t *), old_broadcast(pthread_cond_t *);
extern int old_timedwait(pthread_cond_t *, pthread_mutex_t *, const struct timespec *);
extern int old_spawn(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                     char *const *, char *const *);
extern int old_spawnp(pid_t *, const char *, const posix_spawn_file_actions_t *, const posix_spawnattr_t *,
                      char *const *, char *const *);
__asm__(".symver old_wait, pthread_cond_wait@GLIBC_2.2.5\n.symver old_signal, pthread_cond_signal@GLIBC_2.2.5\n"
        ".symver old_broadcast, pthread_cond_broadcast@GLIBC_2.2.5\n.symver old_timedwait, "
        "pthread_cond_timedwait@GLIBC_2.2.5\n"
        ".symver old_spawn, posix_spawn@GLIBC_2.2.5\n.symver old_spawnp, posix_spawnp@GLIBC_2.2.5");
#else
#define old_wait pthread_cond_wait
#define old_signal pthread_cond_signal
#define old_broadcast pthread_cond_broadcast
#define old_timedwait pthread_cond_timedwait
#define old_spawn posix_spawn
#define old_spawnp posix_spawnp
#endif

static void conditions(void)
{
    struct meeting now = { PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0,
                           pthread_cond_wait,         pthread_cond_signal,      pthread_cond_broadcast };
    struct meeting old = {
        PTHREAD_MUTEX_INITIALIZER, PTHREAD_COND_INITIALIZER, 0, old_wait, old_signal, old_broadcast
    };
    CALL(meet(&now));
    CALL(meet(&old));
    pthread_mutex_lock(&now.mutex);
    CALL(pthread_cond_timedwait(&now.condition, &now.mutex, &past));
    if (pthread_cond_clockwait)
        CALL(pthread_cond_clockwait(&now.condition, &now.mutex, CLOCK_MONOTONIC, &past));
    pthread_mutex_unlock(&now.mutex);
    pthread_mutex_lock(&old.mutex);
    CALL(old_timedwait(&old.condition, &old.mutex, &past));
    pthread_mutex_unlock(&old.mutex);
    pthread_barrier_t barrier;
    pthread_barrier_init(&barrier, NULL, 1);
    CALL(pthread_barrier_wait(&barrier));
    cnd_t condition;
    cnd_init(&condition);
    CALL(cnd_signal(&condition));
}

static mtx_t c11_mutex;
static cnd_t c11_condition;
static int c11_ready;

static int c11_thread(void *argument)
{
    mtx_lock(&c11_mutex);
    c11_ready = 1;
    cnd_signal(&c11_condition);
    mtx_unlock(&c11_mutex);
    return *(int *)argument;
}

static void c11_threads(void)
{
    thrd_t thread;
    int value = 77, result = 0;
    mtx_init(&c11_mutex, mtx_plain);
    cnd_init(&c11_condition);
    mtx_lock(&c11_mutex);
    thrd_create(&thread, c11_thread, &value);
    while (!c11_ready)
        cnd_wait(&c11_condition, &c11_mutex);
    mtx_unlock(&c11_mutex);
    CALL(thrd_join(thread, &result));
    printf("%d\n", result);
}

/* ---- Cancellation, signals, jumps ------------------------------------------------------------------------------ */

static int pipe_to_nowhere[2];
static _Atomic int cleaned;
static sem_t never;

static void clean(void *argument)
{
    char byte;
    (void)argument;
    cleaned++;
    read(open("/dev/zero", O_RDONLY), &byte, 1); /* a hooked call while the thread unwinds */
}

static void *block_in_read(void *argument)
{
    char byte;
    (void)argument;
    pthread_cleanup_push(clean, NULL);
    waiter = (int)syscall(SYS_gettid);
    read(pipe_to_nowhere[0], &byte, 1);
    pthread_cleanup_pop(0);
    return NULL;
}

static void *block_in_semaphore(void *unused)
{
    (void)unused;
    pthread_cleanup_push(clean, NULL);
    waiter = (int)syscall(SYS_gettid);
    sem_wait(&never);
    pthread_cleanup_pop(0);
    return NULL;
}

/* Cancelled before it waits for a semaphore that is free: that is a cancellation point all the same. */
static void *wait_although_cancelled(void *argument)
{
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cleanup_push(clean, NULL);
    pthread_cancel(pthread_self());
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    sem_wait(argument);
    pthread_cleanup_pop(0);
    return NULL;
}

static void cancellation(void)
{
    sem_t free_one;
    void *result;
    sem_init(&never, 0, 0);
    sem_init(&free_one, 0, 1);
    if (pipe(pipe_to_nowhere) != 0)
        abort();
    pthread_t thread;
    let_sleep(block_in_read, &thread);
    CALL(pthread_cancel(thread));
    pthread_join(thread, &result);
    printf("cancelled in read: %d, cleaned up %d\n", result == PTHREAD_CANCELED, cleaned);
    let_sleep(block_in_semaphore, &thread);
    CALL(pthread_cancel(thread));
    pthread_join(thread, &result);
    printf("cancelled in sem_wait: %d, cleaned up %d\n", result == PTHREAD_CANCELED, cleaned);
    thread = begin(wait_although_cancelled, &free_one);
    pthread_join(thread, &result);
    printf("cancelled before sem_wait: %d, cleaned up %d\n", result == PTHREAD_CANCELED, cleaned);
}

static sigjmp_buf way_out;
static int handled;

static void write_in_handler(int number)
{
    int saved = errno;
    (void)number;
    write(pipe_to_nowhere[1], "x", 1); /* nested in the read that it interrupts */
    handled++;
    errno = saved;
}

static void jump_in_handler(int number)
{
    siglongjmp(way_out, number);
}

struct target {
    pthread_t thread;
    int number;
};

static void *signal_when_asleep(void *argument)
{
    struct target *target = argument;
    until_it_sleeps();
    pthread_kill(target->thread, target->number);
    return NULL;
}

static void handlers(void)
{
    struct sigaction restart = { .sa_handler = write_in_handler, .sa_flags = SA_RESTART };
    struct target target = { pthread_self(), SIGUSR1 };
    pthread_t helper;
    char byte = 0;
    sigaction(SIGUSR1, &restart, NULL);
    waiter = 0;
    helper = begin(signal_when_asleep, &target);
    waiter = (int)syscall(SYS_gettid);
    CALL(read(pipe_to_nowhere[0], &byte, 1));
    pthread_join(helper, NULL);
    printf("%c %d\n", byte, handled);

    signal(SIGUSR2, jump_in_handler);
    target.number = SIGUSR2;
    for (volatile int i = 0; i < 20; i++) {
        waiter = 0;
        helper = begin(signal_when_asleep, &target);
        if (sigsetjmp(way_out, 1) == 0) {
            waiter = (int)syscall(SYS_gettid);
            read(pipe_to_nowhere[0], &byte, 1); /* left by a jump, every time */
        }
        pthread_join(helper, NULL);
    }
    puts("jumped out");
}

/* ---- Streams --------------------------------------------------------------------------------------------------- */

/* A stream of the program's own making: libc calls these inside its functions, with errno as the caller left it. */
static ssize_t cookie_read(void *unused, char *to, size_t bytes)
{
    printf("errno while reading: %d\n", errno);
    errno = EIO;
    return -1;
}
static ssize_t cookie_write(void *unused, const char *from, size_t bytes)
{
    printf("errno while writing: %d\n", errno);
    return (ssize_t)bytes;
}

static void streams_of_its_own(void)
{
    char text[8];
    FILE *file = fopencookie(NULL, "r+", (cookie_io_functions_t){ .read = cookie_read, .write = cookie_write });
    CALL(fgets(text, sizeof text, file) == NULL);
    CALL(fread(text, 1, 2, file));
    CALL(getc(file));
    clearerr(file);
    CALL(fputs("written", file));
    CALL(fflush(file));
    CALL(fclose(file));
}

static void streams(void)
{
    char text[64] = "", *line = NULL;
    size_t room = 0;
    wchar_t wide[8];
    FILE *file = fopen("text", "w+");
    CALL(fputs("one line\nanother\n", file));
    CALL(fputs_unlocked("third\n", file));
    CALL(fputc('a', file));
    CALL(putc('b', file));
    CALL(_IO_putc('c', file));
    CALL(fwrite("1234", 2, 2, file));
    CALL(fwrite_unlocked("56", 1, 2, file));
    CALL(fflush(file));
    CALL(fflush_unlocked(file));
    CALL(fseek(file, 0, SEEK_SET));
    CALL(fseeko(file, 0, SEEK_SET));
    CALL(fseeko64(file, 0, SEEK_SET));
    CALL(fseek(file, -5, SEEK_SET));
    CALL(fgets(text, sizeof text, file) == text);
    printf("%s", text);
    CALL(fgets_unlocked(text, 4, file) == text);
    CALL(__fgets_chk(text, sizeof text, 4, file) == text);
    CALL(__fgets_unlocked_chk(text, sizeof text, 3, file) == text);
    CALL(getline(&line, &room, file));
    CALL(getdelim(&line, &room, 'b', file));
    CALL(__getdelim(&line, &room, 'c', file));
    CALL(fgetc(file));
    CALL(getc(file));
    CALL(_IO_getc(file));
    CALL(fread(text, 1, 1, file));
    CALL(fread_unlocked(text, 1, 1, file));
    CALL(fread(text, 1, 10, file));
    CALL(fgets(text, sizeof text, file) == NULL); /* the end: no error */
    CALL(getc(file));
    rewind(file);
    CALL(__fread_chk(text, sizeof text, 1, 2, file));
    CALL(__fread_unlocked_chk(text, sizeof text, 1, 2, file));
    flockfile(file);
    CALL(ftrylockfile(file));
    funlockfile(file);
    funlockfile(file);
    CALL(fclose(file));
    CALL(fopen("no folder/text", "r") == NULL);
    CALL(fclose(fopen64("text", "r")));
    CALL(fclose(fdopen(open("text", O_RDONLY), "r")));
    CALL(fdopen(-1, "r") == NULL);
    file = fopen("text", "r");
    CALL((file = freopen("text", "r", file)) != NULL);
    CALL((file = freopen64("text", "r", file)) != NULL);
    CALL(fputc('x', file)); /* not open for writing */
    fclose(file);
    CALL(fclose(tmpfile()));
    CALL(fclose(tmpfile64()));
    file = fopen("wide", "w+");
    CALL(fputws(L"wide\n", file));
    CALL(fputwc(L'w', file));
    rewind(file);
    CALL(fgetws(wide, 8, file) == wide);
    CALL(fgetwc(file));
    CALL(fgetwc(file));
    fclose(file);
    CALL(putchar('p'));
    CALL(puts(""));
    CALL(getchar());
    free(line);
    file = popen("echo from a shell", "r");
    CALL(fgets(text, sizeof text, file) == text);
    printf("%s", text);
    CALL(pclose(file));
    CALL(system("exit 3"));
    CALL(system(NULL));
    streams_of_its_own();
}

/* ---- Processes ------------------------------------------------------------------------------------------------- */

static void *fork_in_thread(void *argument)
{
    char byte;
    pid_t child = fork();
    if (child == 0) {
        int zero = open("/dev/zero", O_RDONLY);
        _exit(read(zero, &byte, 1) == 1 ? 5 : 6);
    }
    waitpid(child, argument, 0);
    return NULL;
}

static int fork_and(int (*wait_for)(pid_t child))
{
    pid_t child = fork();
    if (child == 0)
        _Exit(7);
    return wait_for(child);
}

static int last_status;
static int by_wait(pid_t child)
{
    return wait(&last_status) == child;
}
static int by_wait_null(pid_t child)
{
    return wait(NULL) == child;
}
static int by_wait3(pid_t child)
{
    return wait3(&last_status, 0, NULL) == child;
}
static int by_wait4(pid_t child)
{
    struct rusage usage;
    return wait4(child, &last_status, 0, &usage) == child;
}
static int by_waitid(pid_t child)
{
    siginfo_t information;
    return waitid(P_PID, (id_t)child, &information, WEXITED) == 0 && information.si_pid == child &&
           information.si_status == 7;
}

/* Each child replaces itself by a shell that says whether it was told of a variable. */
static char script[] = "echo ${GREETING:-no greeting}; test -z \"$OWN\" || echo $OWN";
static char *const shell[] = { "sh", "-c", script, NULL };
static char *const few[] = { "GREETING=hello", "OWN=mine", NULL }, *const none[] = { NULL };

enum { EXECVE, EXECVPE, EXECV, EXECVP, EXECL, EXECLP, EXECLE, FEXECVE, EXECVEAT, EXEC_COUNT };

static void replace(int how)
{
    switch (how) {
    case EXECVE: execve("/bin/sh", shell, few); break;
    case EXECVPE: execvpe("sh", shell, none); break;
    case EXECV: execv("/bin/sh", shell); break;
    case EXECVP: execvp("sh", shell); break;
    case EXECL: execl("/bin/sh", "sh", "-c", script, (char *)NULL); break;
    case EXECLP: execlp("sh", "sh", "-c", script, (char *)NULL); break;
    case EXECLE: execle("/bin/sh", "sh", "-c", script, (char *)NULL, few); break;
    case FEXECVE: fexecve(open("/bin/sh", O_RDONLY), shell, none); break;
    case EXECVEAT:
        if (execveat)
            execveat(AT_FDCWD, "/bin/sh", shell, few, 0);
        else
            execve("/bin/sh", shell, few);
        break;
    }
}

static void run_shell(const char *what, pid_t child)
{
    int status = -1;
    pid_t seen = waitpid(child, &status, 0);
    printf("%s %d %x\n", what, seen == child, status);
    fflush(stdout);
}

static void processes(void)
{
    int status = -1;
    pid_t child;
    pthread_join(begin(fork_in_thread, &status), NULL);
    printf("fork in a thread %d\n", WEXITSTATUS(status));
    CALL(fork_and(by_wait));
    printf("%d\n", WEXITSTATUS(last_status));
    CALL(fork_and(by_wait_null));
    CALL(fork_and(by_wait3));
    CALL(fork_and(by_wait4));
    CALL(fork_and(by_waitid));
    CALL(wait(&status));
    CALL(waitpid(-1, NULL, WNOHANG));
    setenv("GREETING", "good day", 1);
    fflush(stdout);
    for (int how = 0; how < EXEC_COUNT; how++) {
        if ((child = fork()) == 0) {
            replace(how);
            _exit(90);
        }
        run_shell("fork and exec", child);
        if ((child = vfork()) == 0) {
            replace(how);
            _exit(90);
        }
        run_shell("vfork and exec", child);
    }
    if ((child = vfork()) == 0)
        _exit(11);
    run_shell("vfork and _exit", child);
    CALL(execve("/does/not/exist", shell, none));
    CALL(execv("/", shell));
    CALL(execvp("no such program", shell));
    CALL(execvpe("no such program", shell, few));
    CALL(execl("/does/not/exist", "x", (char *)NULL));
    CALL(execlp("no such program", "x", (char *)NULL));
    CALL(execle("/does/not/exist", "x", (char *)NULL, none));
    CALL(fexecve(-1, shell, none));
    if (execveat)
        CALL(execveat(-1, "x", shell, none, 0));
    fflush(stdout);
    CALL(posix_spawn(&child, "/bin/sh", NULL, NULL, shell, few));
    run_shell("posix_spawn", child);
    CALL(posix_spawnp(&child, "sh", NULL, NULL, shell, none));
    run_shell("posix_spawnp", child);
    CALL(old_spawn(&child, "/bin/sh", NULL, NULL, shell, few));
    run_shell("posix_spawn of old", child);
    CALL(old_spawnp(&child, "sh", NULL, NULL, shell, few));
    run_shell("posix_spawnp of old", child);
    CALL(posix_spawn(&child, "/does/not/exist", NULL, NULL, shell, none));
    fflush(stdout);
    if ((child = fork()) == 0)
        quick_exit(12);
    run_shell("quick_exit", child);
}

static void loading(void)
{
    void *handle = dlopen("libm.so.6", RTLD_NOW), *again;
    printf("dlopen %d\n", handle != NULL);
    printf("cos %d\n", handle && dlsym(handle, "cos") != NULL);
    CALL(dlclose(handle));
    printf("main program %d\n", dlopen(NULL, RTLD_NOW) != NULL);
    printf("nothing %d\n", dlopen("does not exist.so", RTLD_NOW) == NULL);
    printf("dlerror %d\n", dlerror() != NULL);
    again = dlmopen(LM_ID_BASE, "libm.so.6", RTLD_NOW);
    printf("dlmopen %d\n", again != NULL);
}

int main(void)
{
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    later_realtime = in_future(CLOCK_REALTIME);
    later_monotonic = in_future(CLOCK_MONOTONIC);
    threads();
    mutexes();
    other_locks();
    contention();
    conditions();
    c11_threads();
    cancellation();
    handlers();
    streams();
    processes();
    loading();
    fcloseall();
    return 0;
}
