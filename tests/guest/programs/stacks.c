/* Stacks: small ones of threads, those of signal handlers, those that a program makes itself. */
#include "guest.h"

#include <fenv.h>
#include <poll.h>
#include <setjmp.h>
#include <sys/epoll.h>
#include <ucontext.h>

enum { SMALL = 16 << 10, PAINT = 0x5A };

/* Calls that a profiler records, and that take long enough to be worth a backtrace. */
static void slow_calls(void)
{
    struct timespec pause = { 0, 200000 };
    nanosleep(&pause, NULL);
    fsync(2);
    poll(NULL, 0, 1);
    usleep(200);
}

static void *call_in_thread(void *unused)
{
    char mine[1024];
    memset(mine, PAINT, sizeof mine);
    for (int i = 0; i < 5; i++)
        slow_calls();
    return mine[500] == PAINT ? unused : (void *)1;
}

static int thread_with_stack(size_t bytes)
{
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = (void *)1;
    pthread_attr_init(&attributes);
    int refused = pthread_attr_setstacksize(&attributes, bytes);
    say("stack of %zu: %d", bytes, refused);
    say("thread: %d", pthread_create(&thread, &attributes, call_in_thread, NULL));
    pthread_join(thread, &result);
    pthread_attr_destroy(&attributes);
    return result != NULL;
}

PROGRAM(thread_of_16_kib)
{
    return thread_with_stack(SMALL);
}

/* A stack that the program brought, with paint below it to see how far it was used, in steps of 4 KiB. */
static char *painted(size_t bytes)
{
    char *memory = mmap(NULL, bytes + 4096, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    memset(memory + 4096, PAINT, bytes);
    mprotect(memory, 4096, PROT_NONE);
    return memory + 4096;
}

PROGRAM(thread_on_own_stack)
{
    char *stack = painted(SMALL);
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = (void *)1, *address;
    size_t bytes;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stack, SMALL);
    say("thread: %d", pthread_create(&thread, &attributes, call_in_thread, NULL));
    pthread_getattr_np(thread, &attributes);
    pthread_attr_getstack(&attributes, &address, &bytes);
    say("its stack is %s, %zu bytes", address == stack ? "mine" : "another", bytes);
    pthread_join(thread, &result);
    pthread_attr_destroy(&attributes);
    return result != NULL;
}

static volatile sig_atomic_t handled;

static void slow_handler(int number)
{
    char here;
    stack_t now;
    slow_calls();
    sigaltstack(NULL, &now);
    handled = now.ss_flags == SS_ONSTACK && (size_t)(&here - (char *)now.ss_sp) < now.ss_size;
}

/* A crash handler that writes its last words has 8 KiB, as SIGSTKSZ once was. */
static int on_alternate_stack(int by_fault)
{
    char *memory = painted(8192);
    stack_t stack = { .ss_sp = memory, .ss_size = 8192 }, old;
    struct sigaction action = { .sa_handler = slow_handler, .sa_flags = SA_ONSTACK };
    sigaltstack(&stack, NULL);
    sigaction(by_fault, &action, NULL);
    for (int i = 0; i < 3; i++)
        raise(by_fault);
    say("handled on the alternate stack: %d", (int)handled);
    sigaltstack(NULL, &old);
    say("alternate stack %s, %zu bytes", old.ss_sp == memory ? "mine" : "another", old.ss_size);
    stack.ss_flags = SS_DISABLE;
    sigaltstack(&stack, NULL);
    signal(by_fault, SIG_DFL);
    return 0;
}

PROGRAM(alternate_stack_of_8_kib)
{
    return on_alternate_stack(SIGUSR1);
}
PROGRAM(alternate_stack_for_a_crash)
{
    return on_alternate_stack(SIGSEGV);
}

/* As small as the kernel lets them be, with nothing below; then the threads compute for long enough to be sampled. No
 * signal of theirs comes, so nothing needs the room. */
#if defined(__aarch64__)
enum { KERNEL_LEAST = 5120 };
#else
enum { KERNEL_LEAST = 2048 };
#endif

static void compute(void)
{
    struct timespec now = { 0, 0 }, end;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &end);
    for (end.tv_nsec += 30000000; (now.tv_sec - end.tv_sec) * 1000000000 + now.tv_nsec < end.tv_nsec;)
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
}

static void *compute_with_stack(void *bytes)
{
    stack_t stack = { .ss_size = (size_t)bytes }, old = { .ss_flags = -1 };
    stack.ss_sp = painted(8 << 12) + (8 << 12) - stack.ss_size;
    say_result("sigaltstack", sigaltstack(&stack, &old));
    say("before: flags %#x, %zu bytes", (unsigned)old.ss_flags, old.ss_size);
    compute();
    raise(SIGURG);
    sigaltstack(NULL, &old);
    say("stack %s, %s bytes", old.ss_sp == stack.ss_sp ? "mine" : "another",
        old.ss_size == stack.ss_size ? "as many" : "other");
    return NULL;
}

PROGRAM(alternate_stacks_without_room)
{
    size_t frame = getauxval(51 /* AT_MINSIGSTKSZ */);
    size_t sizes[] = { KERNEL_LEAST, frame > KERNEL_LEAST ? frame : KERNEL_LEAST, KERNEL_LEAST + 1024 };
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, compute_with_stack, (void *)sizes[i]);
        pthread_join(thread, NULL);
    }
    compute_with_stack((void *)(size_t)KERNEL_LEAST);
    pid_t child = fork();
    if (child == 0) {
        compute();
        _exit(7);
    }
    say_child("child", child);
    sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL);
    compute();
    return 0;
}

/* Set, asked for and given up: in a thread, in handlers on a stack of their own or not, in children. */
static void say_stack(const char *when)
{
    stack_t now = { .ss_flags = -1 };
    int result = sigaltstack(NULL, &now);
    say("%s: %d, flags %#x, %s, %zu bytes", when, result, (unsigned)now.ss_flags, now.ss_sp ? "somewhere" : "nowhere",
        now.ss_size);
}

static void say_set(const char *what, const stack_t *stack)
{
    errno = 0;
    int result = sigaltstack(stack, NULL);
    say("%s: %d, errno %d", what, result, errno);
}

static char *memory_for_handlers;

static void look_in_handler(int number)
{
    stack_t stack = { .ss_sp = memory_for_handlers, .ss_size = 16384 }, none = { .ss_flags = SS_DISABLE };
    say_stack("in the handler");
    say_set("too small", &(stack_t){ .ss_sp = memory_for_handlers, .ss_size = 100 });
    say_set("no such flag", &(stack_t){ .ss_sp = memory_for_handlers, .ss_size = 16384, .ss_flags = 64 });
    say_set("set", &stack);
    say_set("give up", &none);
}

static int look_in_child(void)
{
    say_stack("in the child");
    say_set("give up", &(stack_t){ .ss_flags = SS_DISABLE });
    say_stack("then");
    return 0;
}

static void *look_in_thread(void *unused)
{
    say_stack("in the thread");
    say_set("set", &(stack_t){ .ss_sp = memory_for_handlers, .ss_size = 16384, .ss_flags = SS_ONSTACK });
    say_stack("then");
    return unused;
}

PROGRAM(alternate_stack_as_it_is_set)
{
    struct sigaction action = { .sa_handler = look_in_handler, .sa_flags = SA_ONSTACK };
    pthread_t thread;
    memory_for_handlers = painted(16384);
    stack_t stack = { .ss_sp = memory_for_handlers, .ss_size = 16384 };
    sigaction(SIGUSR1, &action, NULL);
    say_stack("at first");
    in_child("child", look_in_child);
    raise(SIGUSR1);
    say_stack("after the handler");
    say_set("bad address", nowhere);
    say_set("too small", &(stack_t){ .ss_sp = memory_for_handlers, .ss_size = 100 });
    say_set("no such flag", &(stack_t){ .ss_sp = memory_for_handlers, .ss_size = 16384, .ss_flags = 64 });
    say_set("set", &stack);
    in_child("child", look_in_child);
    raise(SIGUSR1);
    say_stack("after the handler");
    stack.ss_flags = (int)(1u << 31); /* SS_AUTODISARM */
    say_set("set, and off in handlers", &stack);
    raise(SIGUSR1);
    say_stack("after the handler");
    pthread_create(&thread, NULL, look_in_thread, NULL);
    pthread_join(thread, NULL);
    look_in_child();
    signal(SIGUSR1, SIG_DFL);
    return 0;
}

/* A thread that sets one after the other. */
PROGRAM(many_alternate_stacks)
{
    enum { STACKS = 80 };
    char *memory = painted(STACKS * SMALL);
    struct sigaction action = { .sa_handler = slow_handler, .sa_flags = SA_ONSTACK };
    int sum = 0;
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < STACKS; i++) {
        sigaltstack(&(stack_t){ .ss_sp = memory + i * SMALL, .ss_size = SMALL }, NULL);
        handled = 0;
        raise(SIGUSR1);
        sum += handled;
    }
    say("handled on the alternate stack: %d", sum);
    sigaltstack(&(stack_t){ .ss_flags = SS_DISABLE }, NULL);
    signal(SIGUSR1, SIG_DFL);
    return 0;
}

static char *of_main;

static void where(int number)
{
    char here;
    say("handler on %s stack", &here < of_main && of_main - &here < 1 << 20 ? "the thread's" : "another");
}

PROGRAM(handler_that_wants_an_alternate_stack)
{
    struct sigaction action = { .sa_handler = where, .sa_flags = SA_ONSTACK };
    of_main = __builtin_frame_address(0);
    sigaction(SIGUSR1, &action, NULL);
    raise(SIGUSR1);
    signal(SIGUSR1, SIG_DFL);
    return 0;
}

static void last_words(int number)
{
    slow_calls();
    say("last words");
    _exit(9);
}

static int __attribute__((noinline)) overflow(volatile char *before)
{
    volatile char block[4096];
    block[0] = before[0];
    block[1] = 0;
    return before[1] ? 0 : overflow(block) + block[0];
}

static int overflow_the_stack(void)
{
    stack_t stack = { .ss_sp = painted(16384), .ss_size = 16384 };
    struct sigaction action = { .sa_handler = last_words, .sa_flags = SA_ONSTACK };
    char first[2] = "";
    sigaltstack(&stack, NULL);
    sigaction(SIGSEGV, &action, NULL);
    return overflow(first);
}

PROGRAM(stack_overflow_is_handled)
{
    struct rlimit limit = { 256 << 10, RLIM_INFINITY };
    setrlimit(RLIMIT_STACK, &limit);
    in_child("child", overflow_the_stack);
    return 0;
}

/* ---- Fibers ---------------------------------------------------------------------------------------------------- */

enum { FIBERS = 20, TURNS = 10 };

static ucontext_t scheduler, fibers[FIBERS];
static int turns[FIBERS];

static void fiber(int number)
{
    for (int i = 0; i < TURNS; i++) {
        turns[number]++;
        slow_calls();
        swapcontext(&fibers[number], &scheduler);
    }
    for (;;)
        swapcontext(&fibers[number], &scheduler);
}

static int run_fibers(size_t bytes)
{
    char *stacks[FIBERS];
    for (int i = 0; i < FIBERS; i++) {
        stacks[i] = painted(bytes);
        getcontext(&fibers[i]);
        fibers[i].uc_stack = (stack_t){ .ss_sp = stacks[i], .ss_size = bytes };
        fibers[i].uc_link = &scheduler;
        makecontext(&fibers[i], (void (*)(void))fiber, 1, i);
    }
    int sum = 0;
    for (int turn = 0; turn < TURNS; turn++)
        for (int i = 0; i < FIBERS; i++)
            swapcontext(&scheduler, &fibers[i]);
    for (int i = 0; i < FIBERS; i++)
        sum += turns[i];
    say("turns %d", sum);
    return 0;
}

PROGRAM(fibers_of_16_kib)
{
    return run_fibers(SMALL);
}
PROGRAM(fibers_of_64_kib)
{
    return run_fibers(64 << 10);
}

static void *fibers_in_thread(void *unused)
{
    run_fibers(32 << 10);
    return unused;
}

PROGRAM(fibers_in_a_thread)
{
    pthread_t thread;
    pthread_create(&thread, NULL, fibers_in_thread, NULL);
    pthread_join(thread, NULL);
    return 0;
}

/* A fiber that is started by one thread and goes on in another. */
static void *go_on(void *unused)
{
    for (int i = 0; i < TURNS / 2; i++)
        swapcontext(&scheduler, &fibers[0]);
    return unused;
}

PROGRAM(fiber_that_changes_threads)
{
    pthread_t thread;
    getcontext(&fibers[0]);
    fibers[0].uc_stack = (stack_t){ .ss_sp = painted(64 << 10), .ss_size = 64 << 10 };
    fibers[0].uc_link = &scheduler;
    makecontext(&fibers[0], (void (*)(void))fiber, 1, 0);
    go_on(NULL);
    pthread_create(&thread, NULL, go_on, NULL);
    pthread_join(thread, NULL);
    say("turns %d", turns[0]);
    return 0;
}

/* A jump out of a handler, and out of the midst of calls. */
static sigjmp_buf back;

static void jump(int number)
{
    slow_calls();
    siglongjmp(back, 1);
}

PROGRAM(jumps_out_of_handlers)
{
    volatile int jumps = 0;
    signal(SIGALRM, jump);
    while (jumps < 20) {
        if (sigsetjmp(back, 1) == 0) {
            struct itimerval soon = { .it_value = { 0, 1000 } };
            setitimer(ITIMER_REAL, &soon, NULL);
            for (;;)
                slow_calls();
        }
        jumps++;
    }
    signal(SIGALRM, SIG_DFL);
    say("jumps %d", jumps);
    return 0;
}

/* ---- What alternate stacks are used for ------------------------------------------------------------------------ */

/* Where samples come by timers they come by SIGURG: raise(SIGURG) is a sample's signal at the worst moment.
 * By itself it does nothing. */
static void handle(int number, void (*handler)(int), int flags)
{
    struct sigaction action = { .sa_handler = handler, .sa_flags = flags };
    sigaction(number, &action, NULL);
}

static void set_alternate(char *memory, size_t bytes)
{
    stack_t stack = { .ss_sp = memory, .ss_size = bytes };
    sigaltstack(&stack, NULL);
}

static void give_up_alternate(void)
{
    stack_t none = { .ss_flags = SS_DISABLE };
    sigaltstack(&none, NULL);
}

PROGRAM(data_on_an_alternate_stack)
{
    char *memory = painted(64 << 10);
    int changed = 0;
    set_alternate(memory, 64 << 10);
    raise(SIGURG);
    compute();
    for (int i = 0; i < 64 << 10; i++)
        changed += memory[i] != PAINT;
    say("changed bytes: %d", changed);
    munmap(memory, 64 << 10);
    raise(SIGURG);
    compute();
    give_up_alternate();
    return 0;
}

/* As QEMU and GNU Pth make coroutines: a handler on the new stack saves its place and returns,
 * and is gone back to later. */
static sigjmp_buf in_coroutine, out_of_coroutine;

static void __attribute__((noinline)) begin_coroutine(int number)
{
    volatile int mine[4] = { 1, 22, 333, 4444 };
    if (sigsetjmp(in_coroutine, 0) == 0)
        return;
    slow_calls();
    raise(SIGURG);
    say("in the coroutine: %d %d %d %d", mine[0], mine[1], mine[2], mine[3]);
    siglongjmp(out_of_coroutine, 1);
}

static void run_coroutine(size_t bytes)
{
    set_alternate(painted(bytes), bytes);
    handle(SIGUSR2, begin_coroutine, SA_ONSTACK);
    raise(SIGUSR2);
    raise(SIGURG);
    slow_calls();
    give_up_alternate();
    if (sigsetjmp(out_of_coroutine, 0) == 0)
        siglongjmp(in_coroutine, 1);
    signal(SIGUSR2, SIG_DFL);
}

PROGRAM(coroutines_made_on_alternate_stacks)
{
    for (int i = 0; i < FIBERS; i++)
        run_coroutine(SMALL);
    return 0;
}

static void need_a_megabyte(int number)
{
    volatile char large[1 << 20];
    for (size_t i = 0; i < sizeof large; i += 4096)
        large[i] = PAINT;
    raise(SIGURG);
    say("a megabyte: %d", large[4096] == PAINT);
}

static void *handle_with_a_megabyte(void *unused)
{
    raise(SIGUSR1);
    return unused;
}

PROGRAM(large_handler_without_an_alternate_stack)
{
    pthread_t thread;
    handle(SIGUSR1, need_a_megabyte, SA_ONSTACK);
    handle_with_a_megabyte(NULL);
    pthread_create(&thread, NULL, handle_with_a_megabyte, NULL);
    pthread_join(thread, NULL);
    signal(SIGUSR1, SIG_DFL);
    return 0;
}

/* Preemptive user threads: the handler of a timer goes on with another of them, and comes back out
 * of its own handler there. */
static ucontext_t users[2];
static int running, switches[2];

static void preempt(int number)
{
    int me = running;
    running = !me;
    swapcontext(&users[me], &users[!me]);
}

static void work_until_preempted(void)
{
    for (int i = 0; i < TURNS; i++) {
        volatile int before = i;
        raise(SIGUSR1);
        raise(SIGURG);
        switches[running] += before == i;
    }
    setcontext(&scheduler);
}

PROGRAM(handlers_that_switch_contexts)
{
    volatile int ended = 0;
    handle(SIGUSR1, preempt, SA_ONSTACK | SA_NODEFER);
    for (int i = 0; i < 2; i++) {
        getcontext(&users[i]);
        users[i].uc_stack = (stack_t){ .ss_sp = painted(64 << 10), .ss_size = 64 << 10 };
        makecontext(&users[i], work_until_preempted, 0);
    }
    getcontext(&scheduler);
    if (!ended++)
        setcontext(&users[0]);
    say("switches %d and %d", switches[0], switches[1]);
    signal(SIGUSR1, SIG_DFL);
    return 0;
}

/* All but a kilobyte of it. */
static char *used_stack;

static void use_up(int number)
{
    char *volatile mine = __builtin_alloca((size_t)((char *)__builtin_frame_address(0) - used_stack) - 1024);
    *mine = PAINT;
    raise(SIGURG);
    handled = *mine == PAINT;
}

PROGRAM(alternate_stack_that_is_used_up)
{
    used_stack = painted(SMALL);
    set_alternate(used_stack, SMALL);
    handle(SIGUSR1, use_up, SA_ONSTACK);
    raise(SIGUSR1);
    say("came back: %d", (int)handled);
    give_up_alternate();
    signal(SIGUSR1, SIG_DFL);
    return 0;
}

/* ---- How handlers on alternate stacks are entered and left ----------------------------------------------------- */

static int depth, to_come;

static void say_handler(int number, siginfo_t *information, void *context)
{
    char here;
    stack_t now = { 0 };
    sigset_t mask;
    ucontext_t *interrupted = context;
    sigaltstack(NULL, &now);
    sigprocmask(SIG_BLOCK, NULL, &mask);
    say("signal %d of %d, value %d, flags %#x, here %d", number, information->si_signo,
        information->si_code == SI_QUEUE ? information->si_value.sival_int : 0, (unsigned)now.ss_flags,
        (size_t)(&here - (char *)now.ss_sp) < now.ss_size);
    say("blocks %d %d %d, blocked before %d", sigismember(&mask, SIGUSR1), sigismember(&mask, SIGUSR2),
        sigismember(&mask, SIGALRM), sigismember(&interrupted->uc_sigmask, SIGHUP));
    fesetround(FE_DOWNWARD);
    sigaddset(&interrupted->uc_sigmask, SIGCONT);
    depth++;
    if (to_come-- > 0)
        sigqueue(getpid(), SIGUSR2, (union sigval){ .sival_int = depth });
    say("leaves depth %d", depth--);
}

static void say_action(int number)
{
    struct sigaction now = { 0 };
    sigaction(number, NULL, &now);
    const char *handler = now.sa_sigaction == say_handler ? "mine" : now.sa_handler == SIG_DFL ? "default" : "another";
    say("action of %d: %s, flags %#x, blocks %d %d %d", number, handler,
        (unsigned)now.sa_flags & ~0x4000000u /* SA_RESTORER */, sigismember(&now.sa_mask, SIGUSR1),
        sigismember(&now.sa_mask, SIGALRM), sigismember(&now.sa_mask, SIGKILL));
}

static void say_handlers(int flags)
{
    struct sigaction action = { .sa_sigaction = say_handler, .sa_flags = SA_SIGINFO | SA_ONSTACK | flags };
    sigset_t mask;
    sigemptyset(&mask);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    sigaddset(&action.sa_mask, SIGALRM);
    sigaddset(&action.sa_mask, SIGKILL); /* which the kernel leaves out */
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    say_action(SIGUSR1);
    sigaddset(&mask, SIGHUP);
    sigprocmask(SIG_SETMASK, &mask, NULL);
    fesetround(FE_UPWARD);
    to_come = flags & (int)SA_RESETHAND ? 0 : 3;
    sigqueue(getpid(), SIGUSR1, (union sigval){ .sival_int = 4711 });
    say("rounds up: %d", fegetround() == FE_UPWARD);
    sigprocmask(SIG_SETMASK, NULL, &mask);
    say("blocked after: %d %d %d", sigismember(&mask, SIGUSR1), sigismember(&mask, SIGHUP),
        sigismember(&mask, SIGCONT));
    say_action(SIGUSR1);
    say("was mine: %d", (void *)signal(SIGUSR1, SIG_DFL) == (void *)say_handler);
    say_action(SIGUSR1);
    signal(SIGUSR2, SIG_DFL);
    fesetround(FE_TONEAREST);
}

static int say_handlers_in_child(void)
{
    say_handlers(0);
    return 0;
}

/* Two that wait are entered at once, one within the other. */
static void say_two_at_once(void)
{
    sigset_t both, before;
    sigemptyset(&both);
    sigaddset(&both, SIGUSR1);
    sigaddset(&both, SIGUSR2);
    sigprocmask(SIG_BLOCK, &both, NULL);
    struct sigaction action = { .sa_sigaction = say_handler, .sa_flags = SA_SIGINFO | SA_ONSTACK };
    sigaction(SIGUSR1, &action, NULL);
    sigaction(SIGUSR2, &action, NULL);
    raise(SIGUSR1);
    raise(SIGUSR2);
    raise(SIGURG);
    sigprocmask(SIG_UNBLOCK, &both, &before);
    sigprocmask(SIG_SETMASK, &before, NULL);
    raise(SIGUSR1);
    raise(SIGUSR2);
    sigemptyset(&both);
    say_result("sigsuspend", sigsuspend(&both));
    raise(SIGUSR1);
    raise(SIGUSR2);
    say_result("ppoll", ppoll(NULL, 0, NULL, &both));
    raise(SIGUSR1);
    raise(SIGUSR2);
    say_result("pselect", pselect(0, NULL, NULL, NULL, NULL, &both));
    int epoll = epoll_create1(EPOLL_CLOEXEC);
    raise(SIGUSR1);
    raise(SIGUSR2);
    say_result("epoll_pwait", epoll_pwait(epoll, &(struct epoll_event){ 0 }, 1, -1, &both));
    close(epoll);
    sigpending(&both);
    say("left %d %d", sigismember(&both, SIGUSR1), sigismember(&both, SIGUSR2));
    signal(SIGUSR1, SIG_DFL);
    signal(SIGUSR2, SIG_DFL);
}

PROGRAM(handlers_on_alternate_stacks)
{
    say_handlers(0);
    say_two_at_once();
    set_alternate(painted(64 << 10), 64 << 10);
    say_handlers(0);
    say_handlers(SA_NODEFER);
    say_handlers(SA_NODEFER | (int)SA_RESETHAND);
    say_two_at_once();
    in_child("child", say_handlers_in_child);
    give_up_alternate();
    return 0;
}

static void ring(int number)
{
}

/* SIGURG is the program's then, and there are no samples; its other handlers are entered as before. */
PROGRAM(handlers_in_a_program_that_uses_sigurg)
{
    set_alternate(painted(64 << 10), 64 << 10);
    handle(SIGURG, ring, 0);
    say_two_at_once();
    signal(SIGURG, SIG_DFL);
    give_up_alternate();
    return 0;
}

/* Handlers from before and from after; the last is refused. */
PROGRAM(handlers_of_a_program_that_gives_up_privileges)
{
    set_alternate(painted(64 << 10), 64 << 10);
    handle(SIGALRM, where, SA_ONSTACK);
    of_main = __builtin_frame_address(0);
    say_result("seccomp", prctl(PR_SET_SECCOMP, 4711));
    raise(SIGALRM);
    say_two_at_once();
    say_result("no_new_privs", prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0));
    raise(SIGALRM);
    say_two_at_once();
    say("was mine: %d", (void *)signal(SIGALRM, SIG_DFL) == (void *)where);
    give_up_alternate();
    return 0;
}

/* A fortified jump down the addresses is allowed from an alternate stack alone: libc asks the kernel where it is. */
extern void __longjmp_chk(void *, int) __attribute__((weak, noreturn));

static void jump_down(int number)
{
    if (__longjmp_chk)
        __longjmp_chk(back, 1);
    siglongjmp(back, 1);
}

static void *jump_from_above(void *above)
{
    volatile int jumps = 0;
    set_alternate(above, SMALL);
    while (sigsetjmp(back, 1) < 1 || ++jumps < 3)
        raise(SIGUSR1);
    give_up_alternate();
    return jumps == 3 ? above : NULL;
}

PROGRAM(fortified_jumps_out_of_handlers)
{
    char *memory = painted((256 << 10) + SMALL);
    pthread_attr_t attributes;
    pthread_t thread;
    void *result = NULL;
    handle(SIGUSR1, jump_down, SA_ONSTACK);
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, memory, 256 << 10);
    pthread_create(&thread, &attributes, jump_from_above, memory + (256 << 10));
    pthread_join(thread, &result);
    say("jumped: %d", result != NULL);
    signal(SIGUSR1, SIG_DFL);
    return 0;
}

/* As Go with cgo does: alternate stacks are the kernel's affair, and one that is there already is
 * kept; handlers are libc's. */
static stack_t known;

static void look_where(int number)
{
    char here;
    say("handler of %d on the stack that is known: %d", number, (size_t)(&here - (char *)known.ss_sp) < known.ss_size);
}

PROGRAM(runtime_that_sets_its_stack_without_libc)
{
    syscall(SYS_sigaltstack, NULL, &known);
    if (known.ss_flags & SS_DISABLE) {
        known = (stack_t){ .ss_sp = painted(32 << 10), .ss_size = 32 << 10 };
        syscall(SYS_sigaltstack, &known, NULL);
    }
    handle(SIGUSR1, look_where, SA_ONSTACK);
    handle(SIGURG, look_where, SA_ONSTACK);
    raise(SIGUSR1);
    raise(SIGURG);
    signal(SIGUSR1, SIG_DFL);
    signal(SIGURG, SIG_DFL);
    syscall(SYS_sigaltstack, &(stack_t){ .ss_flags = SS_DISABLE }, NULL);
    return 0;
}
