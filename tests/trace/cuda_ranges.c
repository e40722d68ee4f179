/* Kernels in NVTX ranges of every kind: push/pop and start/end, in a domain, with a registered string, in a thread. */
#include <pthread.h>

#include "cuda_truth.h"
#include "nvtx_client.h"

static void *of_thread(void *name)
{
    launch(name, NULL);
    return NULL;
}

static void launch_in_thread(const char *name)
{
    pthread_t thread;
    pthread_create(&thread, NULL, of_thread, (void *)name);
    pthread_join(thread, NULL);
}

int main(void)
{
    const void *domain = nvtx_domain("own");
    const void *string = nvtx_register(domain, "A");
    launch("before", NULL);
    nvtx_push("A");
    launch("a1", NULL);
    nvtx_push("B");
    launch("ab", NULL);
    nvtx_pop();
    launch_in_thread("thread_a");
    nvtx_pop();
    nvtx_push("A");
    launch("a2", NULL);
    nvtx_pop();
    uint64_t range = nvtx_start("S");
    launch("s", NULL);
    launch_in_thread("thread_s");
    nvtx_end(range);
    struct nvtx_attributes attributes = nvtx_registered(string);
    nvtx_domain_push(domain, &attributes);
    launch("own_a", NULL);
    nvtx_domain_pop(domain);
    for (int i = 0; i < 3; i++) {
        static const char *const names[] = { "profiled_1", "profiled_2", "profiled_3" };
        MUST(cudaProfilerStart());
        launch(names[i], NULL);
        MUST(cudaProfilerStop());
    }
    launch("after", NULL);
    truth_counters();
    return 0;
}
