/* Calls the stand-ins in every way there is and checks what comes back; prints each thing that
 * is wrong, "ok" at the end.
 *
 *   library_caller all           every kind of argument and result
 *   library_caller pages         the same from every place of a page that a stack can be at
 *   library_caller edge          from the end of a stack, with nothing readable behind it
 *   library_caller threads       4 threads, 1000 calls each
 *   library_caller jump          leaves a call by longjmp(), then goes on
 *   library_caller handler       calls in a handler whose alternate stack is above the call that it interrupts
 *   library_caller fork          forks inside a call; the child returns through it, and calls another
 *   library_caller missing       calls a function that no library has
 *   library_caller load MODULE   a module that was loaded for itself alone calls cuDNN
 *   library_caller symbol LIB    finds functions with dlsym() in a library that it loads
 *   library_caller nested DEPTH  a call in a call in a call
 *   library_caller cost BATCHES  prints the ns that a call takes, of the best batch of 1000
 *   library_caller die           dies inside a call */
#define _GNU_SOURCE
#include "library_calls.h"

#include <dlfcn.h>
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <ucontext.h>
#include <unistd.h>

static int wrong;
#define EXPECT(got, wanted)                                                                                          \
    do {                                                                                                             \
        if (!((got) == (wanted))) {                                                                                  \
            printf("line %d: %s is %.17g, not %.17g\n", __LINE__, #got, (double)(got), (double)(wanted));             \
            wrong = 1;                                                                                               \
        }                                                                                                            \
    } while (0)

static void numbers(void)
{
    EXPECT(cublasSgemm_v2(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14), 1015);
    EXPECT(cublasSgemm_v2(-1, INT64_C(1) << 40, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, INT64_C(-1) << 40),
           -1 - 12 * (INT64_C(1) << 40));
    EXPECT(cublasDgemm_v2(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18), 2109);
    EXPECT(cublasHgemm(1, 2, 3, 4, 5, 6, 7, 8, 9, 10), 385);
    __int128 big = (__int128)1 << 100;
    EXPECT(cublasDotEx(1, big, 2, 2 * big, 3, 4 * big) == 1 + 6 + 15 + 2 * big + 8 * big + 24 * big, 1);
    EXPECT(cublasNrm2Ex(1, 0.5L, 2.0, 1.0L / 3), 1 + 1.0L + 6 + 4 * (1.0L / 3));
    EXPECT(cublasAxpyEx(12, 1, 2.0, 3, 4.0, 5, 6.0, 7, 8.0, 9, 10.0, 11, 12.0), 650);
    EXPECT(cublasAxpyEx(2, 1, 2.0), 5);
    EXPECT(cublasTheNextVersionHasThis(1, 2, 3, 4, 5, 6, 7, 8), 36);
}

static void structs(void)
{
    struct large large;
    int64_t sum = 0;
    for (int i = 0; i < 16; i++)
        sum += (i + 1) * (large.words[i] = 100 + i);
    EXPECT(cublasGemmEx(large, 1, (struct pair){ 2, 3 }, (struct reals){ 4, 5 }, (struct mixed){ 6, 7 },
                        (struct four){ 8, 9, 10, 11 }, 12),
           sum + 1 + 8 + 14 + 13 + 8 + 18 + 30 + 44 + 12);
    EXPECT(large.words[3], 103);
    struct result result = cublasGemmBatchedEx(1, large, 2, 3, 4, 5, 6, 7);
    EXPECT(result.words[0], 101);
    EXPECT(result.words[1], 105);
    EXPECT(result.words[2], 7);
    EXPECT(result.words[3], 120);
    EXPECT(result.words[4], 27);
    struct pair pair = cublasIsamax_v2(INT64_C(1) << 50);
    EXPECT(pair.a, (INT64_C(1) << 50) + 1);
    EXPECT(pair.b, INT64_C(1) << 51);
    struct reals reals = cublasDasum_v2(1.5);
    EXPECT(reals.a, 2.5);
    EXPECT(reals.b, 3.0);
    struct mixed mixed = cublasSasum_v2(1.5, 7);
    EXPECT(mixed.a, 8);
    EXPECT(mixed.b, 3.0);
    struct four four = cublasScasum_v2(1);
    EXPECT(four.a + 10 * four.b + 100 * four.c + 1000 * four.d, 4321);
}

#if defined(__x86_64__)
__attribute__((target("avx"), noinline)) static void avx(void)
{
    wide32 a = { 1, 2, 3, 4 }, b = { 10, 20, 30, 40 }, d = { 100, 200, 300, 400 },
           got = cublasSsyrk_v2(a, b, 0.5, d, 7);
    for (int i = 0; i < 4; i++)
        EXPECT(got[i], a[i] + 2 * b[i] + 0.5 + 3 * d[i] + 7);
}
__attribute__((target("avx512f"), noinline)) static void avx512(void)
{
    wide64 a = { 1, 2, 3, 4, 5, 6, 7, 8 }, b = a * 10, d = a * 100, got = cublasDsyrk_v2(a, b, 0.5, d, 7);
    for (int i = 0; i < 8; i++)
        EXPECT(got[i], a[i] + 2 * b[i] + 0.5 + 3 * d[i] + 7);
}
static void *vectors(void *unused)
{
    for (int i = 0; i < 2; i++) { /* the first call, and one after it */
        if (__builtin_cpu_supports("avx"))
            avx();
/* in a file that is not built for AVX-512 it passes these on the stack, more words than any known function has */
#if !defined(__clang__)
        if (__builtin_cpu_supports("avx512f"))
            avx512();
#endif
    }
    return unused;
}
#else
static void *vectors(void *unused)
{
    return unused;
}
#endif

static void rest(void)
{
    int before = 0, frames = 0;
    errno = 17;
    EXPECT(cublasScalEx(&before, 23), 0);
    EXPECT(errno, 23);
    EXPECT(before, 17);
    EXPECT(cublasZgemm_v2(&frames, (void *)rest) != NULL, 1);
    EXPECT(frames >= 4, 1);
    EXPECT(cublasGemmStridedBatchedEx(4), 9);
    EXPECT(cublasSetStream_v2(1), 2);
    EXPECT(cublasCreate_v2(1), 3);
    EXPECT(cusparseSpMM(5), 4);
    EXPECT(cusolverDnXgetrf(5), 7);
    EXPECT(strcmp(cublasTestVersion(), "12"), 0);
}

static void pages(void)
{
    for (size_t shift = 0; shift < 4096 + 512; shift += 16) {
        char *space = __builtin_alloca(16); /* one step further down each time */
        __asm__ volatile("" : : "r"(space) : "memory");
        numbers();
        structs();
    }
}

static void at_the_edge(void)
{
    EXPECT(cublasLtMatmul(4), 8);
    EXPECT(cublasSgemm_v2(1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14), 1015);
}

static void edge(void)
{
    static ucontext_t here, there;
    const size_t bytes = 1 << 18, guard = 1 << 16;
    char *stack = mmap(NULL, bytes + guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    mprotect(stack, bytes, PROT_READ | PROT_WRITE);
    getcontext(&there);
    there.uc_stack.ss_sp = stack;
    there.uc_stack.ss_size = bytes;
    there.uc_link = &here;
    makecontext(&there, at_the_edge, 0);
    swapcontext(&here, &there);
}

static void *many(void *argument)
{
    int64_t base = (int64_t)(intptr_t)argument;
    for (int i = 0; i < 1000; i++)
        EXPECT(cublasSgemm_v2(i, base, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 0, base), i + 16 * base + 8);
    return NULL;
}

static void in_threads(void)
{
    pthread_t threads[4];
    for (intptr_t i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, many, (void *)(i + 1));
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
}

static void jump_out(void *context)
{
    longjmp(*(jmp_buf *)context, 1);
}

static void jumps(void)
{
    jmp_buf place;
    for (volatile int i = 0; i < 40; i++)
        if (!setjmp(place))
            cublasCgemm_v2(jump_out, &place);
    EXPECT(cublasGemmStridedBatchedEx(4), 9);
}

enum { STACK_BYTES = 1 << 18 };

static void call_in_handler(int signal)
{
    EXPECT(cublasLtMatmul(4), 8);
}

static void raise_inside(void *unused)
{
    raise(SIGUSR1);
}

static void *call_with_handler(void *stacks)
{
    stack_t above = { .ss_sp = (char *)stacks + STACK_BYTES, .ss_size = STACK_BYTES };
    sigaltstack(&above, NULL);
    sigaction(SIGUSR1, &(struct sigaction){ .sa_handler = call_in_handler, .sa_flags = SA_ONSTACK }, NULL);
    EXPECT(cublasCgemm_v2(raise_inside, NULL), 5);
    return NULL;
}

/* The thread's stack and its alternate stack are halves of one mapping: which of them is
 * above is not left to chance. */
static void handlers(void)
{
    char *stacks = mmap(NULL, 2 * STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    pthread_attr_t attributes;
    pthread_t thread;
    pthread_attr_init(&attributes);
    pthread_attr_setstack(&attributes, stacks, STACK_BYTES);
    pthread_create(&thread, &attributes, call_with_handler, stacks);
    pthread_join(thread, NULL);
}

static void fork_inside(void *context)
{
    *(pid_t *)context = fork();
}

static void forks(void)
{
    pid_t pid = -1;
    EXPECT(cublasCgemm_v2(fork_inside, &pid), 5);
    EXPECT(cublasLtMatmul(4), 8);
    if (pid == 0)
        _exit(wrong);
    int status = -1;
    waitpid(pid, &status, 0);
    EXPECT(status, 0);
}

/* Programs that ask whether a function is there believe that it is; they get the status of a
 * library that is not set up. */
extern int cublasDtrsm_v2(int value) __attribute__((weak));
static void missing(void)
{
    int (*volatile function)(int) = cublasDtrsm_v2;
    printf("missing: %s\n", !function ? "no" : function(7) == 1 ? "1" : "other");
}

static void load(const char *path)
{
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*run)(void) = module ? (int (*)(void))dlsym(module, "run") : NULL;
    EXPECT(run != NULL, 1);
    if (run)
        EXPECT(run(), 2 * 258);
}

static void symbol(const char *path)
{
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    int (*matmul)(int) = library ? (int (*)(int))dlsym(library, "cublasLtMatmul") : NULL;
    const char *(*version)(void) = library ? (const char *(*)(void))dlsym(library, "cublasTestVersion") : NULL;
    EXPECT(matmul != NULL && version != NULL, 1);
    EXPECT(library ? dlsym(library, "cublasDtrsm_v2") == NULL : 0, 1);
    if (matmul && version) {
        EXPECT(matmul(21), 42);
        printf("version %s\n", version());
    }
}

static void nest(void *context)
{
    int *depth = context;
    if ((*depth)-- > 0)
        EXPECT(cublasCgemm_v2(nest, depth), 5);
}

static double now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

/* The best of many batches: what the call takes when nobody disturbs it. */
static void cost(int batches)
{
    double best = 1e9;
    cublasLtMatmul(1);
    for (int batch = 0; batch < batches; batch++) {
        double begin = now_ns();
        for (int i = 0; i < 1000; i++)
            cublasLtMatmul(i);
        double each = (now_ns() - begin) / 1000;
        best = each < best ? each : best;
    }
    printf("%.1f\n", best);
}

static void die(void *unused)
{
    raise(SIGKILL);
}

int main(int count, char **arguments)
{
    const char *what = count > 1 ? arguments[1] : "all", *more = count > 2 ? arguments[2] : "";
    if (strcmp(what, "all") == 0) {
        pthread_t thread;
        vectors(NULL);
        pthread_create(&thread, NULL, vectors, NULL); /* its first call of all has wide arguments */
        pthread_join(thread, NULL);
        numbers();
        structs();
        rest();
    } else if (strcmp(what, "pages") == 0) {
        pages();
    } else if (strcmp(what, "edge") == 0) {
        edge();
    } else if (strcmp(what, "threads") == 0) {
        in_threads();
    } else if (strcmp(what, "jump") == 0) {
        jumps();
    } else if (strcmp(what, "handler") == 0) {
        handlers();
    } else if (strcmp(what, "fork") == 0) {
        forks();
    } else if (strcmp(what, "missing") == 0) {
        missing();
    } else if (strcmp(what, "load") == 0) {
        load(more);
    } else if (strcmp(what, "symbol") == 0) {
        symbol(more);
    } else if (strcmp(what, "nested") == 0) {
        int depth = atoi(more);
        nest(&depth);
    } else if (strcmp(what, "cost") == 0) {
        cost(atoi(more));
    } else if (strcmp(what, "die") == 0) {
        cublasCgemm_v2(die, NULL);
    }
    puts(wrong ? "wrong" : "ok");
    return wrong;
}
