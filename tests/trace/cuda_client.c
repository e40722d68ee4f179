/* A program that uses CUPTI itself: cuda_client early|late linked|LIBCUPTI. It says how many kernels its
 * own records hold. Early: before CUDA is initialised. It is linked with CUPTI, as PyTorch is; or it looks
 * the calls up in a library. */
#include <dlfcn.h>

#include "cuda_truth.h"

int cuptiSubscribe(void **subscriber, void *callback, void *user);
int cuptiUnsubscribe(void *subscriber);
int cuptiActivityRegisterCallbacks(void *request, void *complete);
int cuptiActivityEnable(uint32_t kind);
int cuptiActivityDisable(uint32_t kind);
int cuptiActivityFlushAll(uint32_t flags);
int cuptiActivityGetNextRecord(uint8_t *buffer, size_t valid, uint8_t **record);

static int (*subscribe)(void **, void *, void *) = cuptiSubscribe;
static int (*unsubscribe)(void *) = cuptiUnsubscribe;
static int (*register_callbacks)(void *, void *) = cuptiActivityRegisterCallbacks;
static int (*enable)(uint32_t) = cuptiActivityEnable;
static int (*disable)(uint32_t) = cuptiActivityDisable;
static int (*flush)(uint32_t) = cuptiActivityFlushAll;
static int (*next_record)(uint8_t *, size_t, uint8_t **) = cuptiActivityGetNextRecord;

static void look_up(const char *path)
{
    void *library = dlopen(path, RTLD_NOW);
    if (!library)
        exit(95);
    subscribe = (int (*)(void **, void *, void *))dlsym(library, "cuptiSubscribe");
    unsubscribe = (int (*)(void *))dlsym(library, "cuptiUnsubscribe");
    register_callbacks = (int (*)(void *, void *))dlsym(library, "cuptiActivityRegisterCallbacks");
    enable = (int (*)(uint32_t))dlsym(library, "cuptiActivityEnable");
    disable = (int (*)(uint32_t))dlsym(library, "cuptiActivityDisable");
    flush = (int (*)(uint32_t))dlsym(library, "cuptiActivityFlushAll");
    next_record = (int (*)(uint8_t *, size_t, uint8_t **))dlsym(library, "cuptiActivityGetNextRecord");
}

static int seen;

static void wanted(uint8_t **buffer, size_t *bytes, size_t *most)
{
    *bytes = 65536;
    *buffer = calloc(1, *bytes);
    *most = 0;
}

static void done(void *context, uint32_t stream, uint8_t *buffer, size_t bytes, size_t valid)
{
    (void)context, (void)stream, (void)bytes;
    for (uint8_t *record = NULL; next_record(buffer, valid, &record) == 0;) {
        uint32_t kind;
        memcpy(&kind, record, 4);
        seen += kind == 10;
    }
    free(buffer);
}

static void told(void *user, int domain, uint32_t id, const void *data)
{
    (void)user, (void)domain, (void)id, (void)data;
}

static void profile(void)
{
    void *subscriber;
    int refused = subscribe(&subscriber, told, NULL);
    printf("{\"what\": \"subscribe\", \"result\": %d}\n", refused);
    if (!refused) {
        register_callbacks(wanted, done);
        enable(10);
    }
    for (int i = 0; i < 5; i++)
        launch("profiled", NULL);
    MUST(cudaDeviceSynchronize());
    if (!refused) {
        flush(1);
        disable(10);
        unsubscribe(subscriber);
    }
    printf("{\"what\": \"own\", \"kernels\": %d}\n", seen);
}

int main(int argc, char **argv)
{
    if (argc < 3)
        return 2;
    if (strcmp(argv[2], "linked") != 0)
        look_up(argv[2]);
    if (strcmp(argv[1], "late") == 0) {
        for (int i = 0; i < 3; i++)
            launch("before", NULL);
        MUST(cudaDeviceSynchronize());
    }
    profile();
    launch("after", NULL);
    MUST(cudaDeviceSynchronize());
    truth_counters();
    return 0;
}
