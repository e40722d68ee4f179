/* Launches kernels and ends in some way: cuda_end ENDING [KERNELS]. On stdout, how many each process has launched. */
#include <pthread.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cuda_truth.h"

static void work(const char *name, int kernels)
{
    const void *kernel = fake_kernel(name);
    for (int i = 0; i < kernels; i++)
        MUST(cudaLaunchKernel(kernel, ONE, ONE, NULL, 0, NULL));
    MUST(cudaDeviceSynchronize());
    printf("{\"what\": \"launched\", \"name\": \"%s\", \"kernels\": %d, \"pid\": %d}\n", name, kernels, (int)getpid());
    fflush(stdout);
}

/* The records are in CUPTI's buffers, whether those have been given back or not. */
static void await_records(int kernels)
{
    while (fake_get("subscribers") && fake_get("recorded_kernels") < kernels)
        usleep(1000);
}

static void *launch_for_ever(void *unused)
{
    const void *kernel = fake_kernel("daemon");
    for (int i = 1;; i++) {
        cudaLaunchKernel(kernel, ONE, ONE, NULL, 0, cudaStreamPerThread);
        if (i % 100 == 0)
            cudaStreamSynchronize(cudaStreamPerThread);
    }
    return unused;
}

static void daemons(void)
{
    for (int i = 0; i < 4; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, launch_for_ever, NULL);
        pthread_detach(thread);
    }
    usleep(20000);
}

static void at_exit(void)
{
    work("at_exit", 3);
}

/* The parent has used CUDA: its child cannot, and finds that out by itself. */
static void fork_after(int kernels)
{
    work("parent", kernels);
    pid_t child = fork();
    if (child == 0) {
        int result = cudaLaunchKernel(fake_kernel("child"), ONE, ONE, NULL, 0, NULL);
        printf("{\"what\": \"child\", \"result\": %d}\n", result);
        fflush(stdout);
        exit(0);
    }
    int status;
    waitpid(child, &status, 0);
    work("parent", kernels);
    printf("{\"what\": \"child status\", \"status\": %d}\n", status);
}

static void *wait_for_ever(void *unused)
{
    for (;;)
        pause();
    return unused;
}

/* libc asks every thread to change, and waits for all of them: also for those that CUDA and
 * its tools have made since. */
static int change_ids(int kernels)
{
    pthread_t thread;
    pthread_create(&thread, NULL, wait_for_ever, NULL);
    work("work", kernels);
    return setgid(getgid()) == 0 && setuid(getuid()) == 0 ? 0 : 93;
}

static void fork_before(int kernels)
{
    pid_t child = fork();
    work(child ? "parent" : "child", kernels);
    if (child)
        waitpid(child, NULL, 0);
}

int main(int argc, char **argv)
{
    const char *ending = argc > 1 ? argv[1] : "";
    int kernels = argc > 2 ? atoi(argv[2]) : 10;

    if (strcmp(ending, "for-ever") == 0) {
        daemons();
        for (;;)
            pause();
    }
    if (strcmp(ending, "set-ids") == 0)
        return change_ids(kernels);
    if (strcmp(ending, "fork-before") == 0) {
        fork_before(kernels);
        return 0;
    }
    if (strcmp(ending, "fork-after") == 0) {
        fork_after(kernels);
        return 0;
    }
    if (strcmp(ending, "atexit") == 0)
        atexit(at_exit);
    if (strcmp(ending, "spawn") == 0) {
        work("work", kernels);
        if (system("exit 0") != 0)
            return 92;
    }
    work("work", kernels);
    if (strcmp(ending, "exit") == 0 || strcmp(ending, "atexit") == 0)
        exit(3);
    if (strcmp(ending, "_exit") == 0)
        _exit(4);
    if (strcmp(ending, "quick_exit") == 0)
        quick_exit(5);
    if (strcmp(ending, "pthread_exit") == 0)
        pthread_exit(NULL);
    if (strcmp(ending, "abort") == 0)
        abort();
    if (strcmp(ending, "segfault") == 0)
        raise(SIGSEGV);
    if (strcmp(ending, "kill") == 0) {
        await_records(kernels);
        truth_counters();
        raise(SIGKILL);
    }
    if (strcmp(ending, "daemons") == 0) {
        daemons();
        _exit(argc > 3 ? atoi(argv[3]) : 6);
    }
    if (strcmp(ending, "daemons-return") == 0)
        daemons();
    if (strcmp(ending, "exec") == 0) {
        execl(argv[0], argv[0], "return", "7", (char *)NULL);
        _exit(96);
    }
    if (strcmp(ending, "running") == 0) {
        fake_set("duration_ns", 60000000000); /* a kernel that does not end while we live */
        MUST(cudaLaunchKernel(fake_kernel("unfinished"), ONE, ONE, NULL, 0, NULL));
    }
    for (int i = 0; i < 40 && strcmp(ending, "hang-after-ranges") == 0; i++) {
        MUST(cudaProfilerStart());
        MUST(cudaLaunchKernel(fake_kernel("in_range"), ONE, ONE, NULL, 0, NULL));
        MUST(cudaDeviceSynchronize());
        MUST(cudaProfilerStop());
    }
    if (strncmp(ending, "hang", 4) == 0)
        fake_set("hang", 1);
    printf("{\"what\": \"end\"}\n");
    return 0;
}
