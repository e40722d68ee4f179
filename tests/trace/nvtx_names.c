/* Threads that register strings of their own and use each one at once, while children are forked off. Prints how many
 * marks there were in this process, and in all children together.
 *
 *   nvtx_names THREADS STRINGS FORKS
 *   nvtx_names THREADS STRINGS FORKS full     once threads run, the process gets no more memory */
#include "nvtx_client.h"

#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

static long strings;
static int is_full;
static const void *domain;

static void *body(void *argument)
{
    char text[64];
    if (is_full && setrlimit(RLIMIT_AS, &(struct rlimit){ 1, 1 }) != 0)
        abort();
    for (long i = 0; i < strings; i++) {
        snprintf(text, sizeof text, "string %ld of thread %ld", i, (long)(intptr_t)argument);
        struct nvtx_attributes attributes = nvtx_registered(nvtx_register(domain, text));
        nvtx_domain_mark(domain, &attributes);
    }
    return NULL;
}

int main(int argc, char **argv)
{
    int threads = argc > 1 ? atoi(argv[1]) : 4, forks = argc > 3 ? atoi(argv[3]) : 0;
    strings = argc > 2 ? atol(argv[2]) : 1000;
    pthread_t *ids = calloc((size_t)threads, sizeof *ids);
    is_full = argc > 4;
    domain = nvtx_domain("names");
    const void *first = nvtx_register(domain, "before all");
    for (int i = 0; i < threads; i++)
        if (pthread_create(&ids[i], NULL, body, (void *)(intptr_t)i) != 0)
            return 1;
    for (int i = 0; i < forks; i++) {
        pid_t child = fork();
        if (child == 0) {
            struct nvtx_attributes attributes = nvtx_registered(first);
            nvtx_domain_mark(domain, &attributes);
            _exit(0);
        }
        int status = -1;
        while (child > 0 && waitpid(child, &status, 0) < 0)
            ;
        if (status != 0)
            return 1;
    }
    for (int i = 0; i < threads; i++)
        pthread_join(ids[i], NULL);
    printf("%ld %d\n", strings * threads, forks);
    return 0;
}
