/* A program that uses the signal that samples come by, or has no room for its handler: sample_signal MODE. What it
 * prints, it prints without a profiler too: that no signal came, and that the handler before its own was none. */
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/mman.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

#define COROUTINES 20
#define COROUTINE_BYTES 2048

static volatile sig_atomic_t came;
static sigset_t urgent;

static void count(int number)
{
    came++;
}

static void burn(double seconds)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    double end = (double)now.tv_sec + (double)now.tv_nsec / 1e9 + seconds;
    do
        clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    while ((double)now.tv_sec + (double)now.tv_nsec / 1e9 < end);
}

static void *burn_in_thread(void *unused)
{
    burn(0.03);
    return unused;
}

static void burn_in_threads(void)
{
    pthread_t threads[4];
    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, burn_in_thread, NULL);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void say_handler(const char *when, void (*handler)(int))
{
    printf("%s: %s\n", when,
           handler == SIG_DFL   ? "default"
           : handler == SIG_IGN ? "ignored"
           : handler == count   ? "count"
                                : "another");
}

/* ---- The modes ------------------------------------------------------------------------------------------------- */

static void handle(void)
{
    struct sigaction old, own = { .sa_handler = count };
    burn(0.05);
    sigaction(SIGURG, NULL, &old);
    say_handler("asked", old.sa_handler);
    sigaction(SIGURG, &own, &old);
    say_handler("before", old.sa_handler);
    burn(0.1);
    burn_in_threads();
    raise(SIGURG);
    printf("came %d\n", (int)came);
}

static void ignore(void)
{
    say_handler("before", signal(SIGURG, SIG_IGN));
    burn(0.1);
    say_handler("after", signal(SIGURG, count));
}

static void set_default(void)
{
    say_handler("before", signal(SIGURG, SIG_DFL));
    burn(0.2);
    say_handler("after", signal(SIGURG, SIG_DFL));
}

static void wait_for(void)
{
    struct timespec none = { 0 };
    burn(0.05);
    sigprocmask(SIG_BLOCK, &urgent, NULL);
    burn(0.1);
    printf("waited %d\n", sigtimedwait(&urgent, NULL, &none));
    burn(0.1);
    printf("waited %d\n", sigtimedwait(&urgent, NULL, &none));
    raise(SIGURG);
    printf("raised %d\n", sigtimedwait(&urgent, NULL, &none) == SIGURG);
}

static void read_file(void)
{
    struct signalfd_siginfo got;
    sigprocmask(SIG_BLOCK, &urgent, NULL);
    burn(0.1);
    int file = signalfd(-1, &urgent, SFD_NONBLOCK);
    burn(0.1);
    printf("read %zd\n", read(file, &got, sizeof got));
    raise(SIGURG);
    printf("raised %d\n", read(file, &got, sizeof got) == sizeof got);
}

static void suspend(void)
{
    sigset_t mask, pending;
    sigprocmask(SIG_BLOCK, &urgent, &mask);
    signal(SIGALRM, count);
    burn(0.1);
    sigpending(&pending);
    printf("pending %d\n", sigismember(&pending, SIGURG));
    alarm(1);
    sigsuspend(&mask);
    printf("came %d\n", (int)came);
}

static ucontext_t scheduler, coroutines[COROUTINES];

static void coroutine(int index)
{
    for (;;) {
        for (volatile unsigned i = 0; i < 20000; i++)
            ;
        swapcontext(&coroutines[index], &scheduler);
    }
}

/* At the lower end of their stacks, with nothing below. */
static void run_coroutines(void)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    for (int i = 0; i < COROUTINES; i++) {
        char *stack = mmap(NULL, 2 * page, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        mprotect(stack + page, page, PROT_READ | PROT_WRITE);
        getcontext(&coroutines[i]);
        coroutines[i].uc_stack.ss_sp = stack + page;
        coroutines[i].uc_stack.ss_size = COROUTINE_BYTES;
        makecontext(&coroutines[i], (void (*)(void))coroutine, 1, i);
    }
    for (int round = 0; round < 250; round++)
        for (int i = 0; i < COROUTINES; i++)
            swapcontext(&scheduler, &coroutines[i]);
    puts("still here");
}

/* Stacks of ours go with their threads, and a child has its own use of them. */
static void run_threads(void)
{
    int status = -1;
    for (int i = 0; i < 10; i++)
        burn_in_threads();
    fflush(stdout);
    pid_t child = fork();
    if (child == 0) {
        burn_in_threads();
        run_coroutines();
        fflush(stdout);
        _exit(0);
    }
    waitpid(child, &status, 0);
    printf("child %d\n", status);
}

/* Threads with alternate stacks of their own: as small as the kernel lets them be, or just large
 * enough. Nothing lies below. */
#if defined(__aarch64__)
enum { KERNEL_LEAST = 5120 };
#else
enum { KERNEL_LEAST = 2048 };
#endif

static void *burn_with_stack(void *bytes)
{
    size_t whole = 1 << 16;
    char *memory = mmap(NULL, 2 * whole, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    stack_t stack = { .ss_sp = memory + 2 * whole - (size_t)bytes, .ss_size = (size_t)bytes };
    mprotect(memory + 2 * whole - ((size_t)bytes + 4095) / 4096 * 4096, ((size_t)bytes + 4095) / 4096 * 4096,
             PROT_READ | PROT_WRITE);
    printf("%d\n", sigaltstack(&stack, NULL));
    burn(0.1);
    return NULL;
}

static void run_with_stacks(void)
{
    size_t frame = getauxval(51 /* AT_MINSIGSTKSZ */), least = frame > KERNEL_LEAST ? frame : KERNEL_LEAST;
    size_t sizes[] = { KERNEL_LEAST, least, least + 2048 };
    for (int i = 0; i < 3; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, burn_with_stack, (void *)sizes[i]);
        pthread_join(thread, NULL);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {
        { "handle", handle },
        { "ignore", ignore },
        { "default", set_default },
        { "wait", wait_for },
        { "file", read_file },
        { "suspend", suspend },
        { "coroutines", run_coroutines },
        { "threads", run_threads },
        { "stacks", run_with_stacks },
    };
    sigemptyset(&urgent);
    sigaddset(&urgent, SIGURG);
    for (size_t i = 0; argc > 1 && i < sizeof modes / sizeof *modes; i++)
        if (strcmp(argv[1], modes[i].name) == 0) {
            modes[i].run();
            return 0;
        }
    return 1;
}
