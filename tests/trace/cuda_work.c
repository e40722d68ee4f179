/* Gives the GPU one thing of each kind, and says what: cuda_work
 * kernels|copies|waits|graph|graph-beside|memory|modules|names|devices|calls|lingering|threads|clock|launch|killed|
 * jump|thread-end|same-tid|meeting|once */
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "cuda_truth.h"

/* ---- Kernels, by every way there is to launch one -------------------------------------------------------------- */

static void kernel_truth(const char *name, struct dim3 grid, struct dim3 block, unsigned shared, int cluster, int type)
{
    truth("kernel",
          "\"name\": \"%s\", \"grid\": [%u, %u, %u], \"block\": [%u, %u, %u], \"shared\": %u, \"cluster\": %d, "
          "\"type\": %d, \"registers\": %d, \"static\": %d, \"local\": %d",
          name, grid.x, grid.y, grid.z, block.x, block.y, block.z, shared, cluster, type, (int)fake_get("registers"),
          (int)fake_get("static_shared"), (int)fake_get("local_bytes"));
}

static void kernels(void)
{
    struct dim3 grid = { 4, 5, 6 }, block = { 128, 2, 1 };
    void *stream;
    MUST(cudaStreamCreateWithPriority(&stream, cudaStreamNonBlocking, -3));
    fake_set("duration_ns", 40000);
    fake_set("registers", 40);
    fake_set("static_shared", 512);
    fake_set("local_bytes", 24);
    MUST(cudaLaunchKernel(fake_kernel("_Z6squarePfi"), grid, block, NULL, 1000, NULL));
    kernel_truth("_Z6squarePfi", grid, block, 1000, 0, 0);
    MUST(cudaLaunchKernel_ptsz(fake_kernel("own_stream"), grid, ONE, NULL, 0, NULL));
    kernel_truth("own_stream", grid, ONE, 0, 0, 0);
    MUST(cudaLaunchKernel(fake_kernel("legacy"), ONE, block, NULL, 0, cudaStreamLegacy));
    kernel_truth("legacy", ONE, block, 0, 0, 0);
    fake_set("registers", 255);
    MUST(cudaLaunchCooperativeKernel(fake_kernel("together"), grid, block, NULL, 7, stream));
    kernel_truth("together", grid, block, 7, 0, 1);
    struct launch_attribute cluster = { .id = 4, .value.cluster = { 2, 1, 1 } };
    struct launch_config config = {
        .grid = grid, .block = block, .shared = 2048, .stream = stream, .attributes = &cluster, .attribute_count = 1
    };
    MUST(cudaLaunchKernelExC(&config, fake_kernel("clustered"), NULL));
    kernel_truth("clustered", grid, block, 2048, 2, 0);
    MUST(cudaLaunchKernelExC_ptsz(&config, fake_kernel("clustered_ptsz"), NULL));
    kernel_truth("clustered_ptsz", grid, block, 2048, 2, 0);
    MUST(cuLaunchKernel(fake_kernel("by_driver"), 9, 8, 7, 32, 4, 2, 300, stream, NULL, NULL));
    kernel_truth("by_driver", (struct dim3){ 9, 8, 7 }, (struct dim3){ 32, 4, 2 }, 300, 0, 0);
    MUST(cuLaunchKernel_ptsz(fake_kernel("by_driver_ptsz"), 9, 8, 7, 32, 4, 2, 0, NULL, NULL, NULL));
    kernel_truth("by_driver_ptsz", (struct dim3){ 9, 8, 7 }, (struct dim3){ 32, 4, 2 }, 0, 0, 0);
    struct driver_launch_config driver = { 3, 1, 1, 64, 1, 1, 10, stream, &cluster, 1 };
    MUST(cuLaunchKernelEx(&driver, fake_kernel("by_driver_ex"), NULL, NULL));
    kernel_truth("by_driver_ex", (struct dim3){ 3, 1, 1 }, (struct dim3){ 64, 1, 1 }, 10, 2, 0);
    MUST(cudaDeviceSynchronize());
}

/* ---- Copies and fills ------------------------------------------------------------------------------------------ */

static void copy_truth(int kind, int from, int to, size_t bytes)
{
    truth("copy", "\"kind\": %d, \"from\": %d, \"to\": %d, \"bytes\": %zu", kind, from, to, bytes);
}

static void copies(void)
{
    void *device, *other, *pinned, *managed, *stream;
    static char pageable[4096];
    MUST(cudaMalloc(&device, 1 << 20));
    MUST(cudaMalloc(&other, 1 << 20));
    MUST(cudaMallocHost(&pinned, 8192));
    MUST(cudaMallocManaged(&managed, 8192, 1));
    MUST(cudaStreamCreate(&stream));
    MUST(cudaMemcpy(device, pageable, 100, cudaMemcpyHostToDevice));
    copy_truth(1, 0, 2, 100);
    MUST(cudaMemcpy(pageable, device, 200, cudaMemcpyDeviceToHost));
    copy_truth(2, 2, 0, 200);
    MUST(cudaMemcpyAsync(other, device, 1 << 20, cudaMemcpyDeviceToDevice, stream));
    copy_truth(8, 2, 2, 1 << 20);
    MUST(cudaMemcpyAsync(device, pinned, 300, cudaMemcpyHostToDevice, stream));
    copy_truth(1, 1, 2, 300);
    MUST(cudaMemcpyAsync_ptsz(pinned, device, 400, cudaMemcpyDefault, NULL));
    copy_truth(2, 2, 1, 400);
    MUST(cudaMemcpyAsync(device, managed, 500, cudaMemcpyDeviceToDevice, stream));
    copy_truth(8, 4, 2, 500);
    MUST(cudaMemcpy(pageable, pinned, 600, cudaMemcpyHostToHost));
    copy_truth(9, 1, 0, 600);
    MUST(cuMemcpyHtoD_v2((CUdeviceptr)device, pageable, 700));
    copy_truth(1, 0, 2, 700);
    MUST(cuMemcpyDtoH_v2(pageable, (CUdeviceptr)device, 800));
    copy_truth(2, 2, 0, 800);
    MUST(cudaMemset(device, 17, 900));
    truth("fill", "\"value\": 17, \"memory\": 2, \"bytes\": 900");
    MUST(cudaMemsetAsync(device, 0, 1000, stream));
    truth("fill", "\"value\": 0, \"memory\": 2, \"bytes\": 1000");
    MUST(cuMemsetD32_v2((CUdeviceptr)device, 0xabcd, 50));
    truth("fill", "\"value\": 43981, \"memory\": 2, \"bytes\": 200");
    MUST(cudaDeviceSynchronize());
}

/* ---- Streams that wait for each other -------------------------------------------------------------------------- */

static void waits(void)
{
    void *first, *second, *event, *other;
    MUST(cudaStreamCreateWithFlags(&first, cudaStreamNonBlocking));
    MUST(cudaStreamCreateWithFlags(&second, cudaStreamNonBlocking));
    MUST(cudaEventCreate(&event));
    MUST(cudaEventCreateWithFlags(&other, 2));
    fake_set("duration_ns", 3000000);
    launch("before", first);
    truth("kernel", "\"name\": \"before\"");
    MUST(cudaEventRecord(event, first));
    truth("record", "\"event\": %llu", (unsigned long long)(uintptr_t)event);
    MUST(cudaStreamWaitEvent(second, event, 0));
    fake_set("duration_ns", 1000000);
    launch("after", second);
    truth("kernel", "\"name\": \"after\"");
    MUST(cudaEventRecordWithFlags(other, second, 0));
    truth("record", "\"event\": %llu", (unsigned long long)(uintptr_t)other);
    MUST(cudaEventSynchronize(other));
    truth("wait", "\"type\": 1");
    MUST(cudaStreamSynchronize(first));
    truth("wait", "\"type\": 3");
    MUST(cudaDeviceSynchronize());
    truth("wait", "\"type\": 4");
    MUST(cudaEventRecord_ptsz(event, NULL)); /* again, in this thread's own default stream */
    truth("record", "\"event\": %llu", (unsigned long long)(uintptr_t)event);
    MUST(cudaStreamSynchronize_ptsz(NULL));
    MUST(cuStreamSynchronize(second));
    MUST(cuCtxSynchronize());
}

/* ---- A graph of three nodes, twice ----------------------------------------------------------------------------- */

static void graph(void)
{
    void *stream, *made, *exec, *memory;
    MUST(cudaMalloc(&memory, 4096));
    MUST(cudaStreamCreate(&stream));
    launch("no_node", stream);
    MUST(cudaStreamBeginCapture(stream, 0));
    launch("node_a", stream);
    MUST(cudaMemsetAsync(memory, 1, 64, stream));
    launch("node_b", stream);
    MUST(cudaStreamEndCapture(stream, &made));
    MUST(cudaGraphInstantiateWithFlags(&exec, made, 0));
    for (int i = 0; i < 2; i++) {
        MUST(cudaGraphLaunch(exec, stream));
        truth("graph", "\"nodes\": 3");
    }
    MUST(cuGraphLaunch(exec, stream));
    truth("graph", "\"nodes\": 3");
    MUST(cudaStreamSynchronize(stream));
    MUST(cudaGraphExecDestroy(exec));
    MUST(cudaGraphDestroy(made));
}

static void *launch_only(void *name)
{
    launch(name, NULL);
    return NULL;
}

/* A graph, while the range profiler is being disabled at the launch of another thread. */
static void graph_beside(void)
{
    void *stream, *made, *exec;
    pthread_t thread;
    MUST(cudaStreamCreate(&stream));
    MUST(cudaStreamBeginCapture(stream, 0));
    launch("node", stream);
    MUST(cudaStreamEndCapture(stream, &made));
    MUST(cudaGraphInstantiateWithFlags(&exec, made, 0));
    pthread_create(&thread, NULL, launch_only, "refused");
    while (fake_get("subscribers") && !fake_get("disables"))
        usleep(1000);
    MUST(cudaGraphLaunch(exec, stream));
    truth("graph", "\"nodes\": 1");
    MUST(cudaStreamSynchronize(stream));
    pthread_join(thread, NULL);
}

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

static void allocated(void *pointer, size_t bytes, int kind)
{
    printf("{\"what\": \"memory\", \"address\": %llu, \"bytes\": %zu, \"kind\": %d}\n",
           (unsigned long long)(uintptr_t)pointer, bytes, kind);
}

static void memory(void)
{
    void *device, *pinned, *managed, *pool, *pooled, *async;
    MUST(cudaMalloc(&device, 12345));
    allocated(device, 12345, 2);
    MUST(cudaMallocHost(&pinned, 4097));
    allocated(pinned, 4097, 1);
    MUST(cudaMallocManaged(&managed, 1 << 20, 1));
    allocated(managed, 1 << 20, 4);
    MUST(cudaMemPoolCreate(&pool, NULL));
    MUST(cudaMallocFromPoolAsync(&pooled, 70000, pool, NULL));
    allocated(pooled, 70000, 2);
    MUST(cudaMallocAsync(&async, 80000, NULL));
    allocated(async, 80000, 2);
    fake_unified(1, (uintptr_t)managed, 65536);
    truth("unified", "\"kind\": 11, \"bytes\": 65536, \"address\": %llu", (unsigned long long)(uintptr_t)managed);
    fake_unified(2, (uintptr_t)managed, 32768);
    truth("unified", "\"kind\": 12, \"bytes\": 32768, \"address\": %llu", (unsigned long long)(uintptr_t)managed);
    fake_unified(3, (uintptr_t)managed, 1);
    truth("cpu_fault", "\"address\": %llu", (unsigned long long)(uintptr_t)managed);
    fake_unified(4, (uintptr_t)managed + 4096, 3);
    truth("gpu_fault", "\"address\": %llu, \"faults\": 3", (unsigned long long)(uintptr_t)managed + 4096);
    MUST(cudaFreeAsync(async, NULL));
    MUST(cudaFreeAsync(pooled, NULL));
    MUST(cudaMemPoolTrimTo(pool, 1024));
    MUST(cudaMemPoolDestroy(pool));
    MUST(cudaFree(managed));
    MUST(cudaFreeHost(pinned));
    MUST(cudaFree(device));
    MUST(cudaDeviceSynchronize());
}

/* ---- Modules: the second one's names stand where the first one's stood ----------------------------------------- */

static void modules(void)
{
    const char *images[] = { "first_kernel\nshared_name", "other_hmma_kernel\nshared_name" };
    for (int i = 0; i < 6; i++) {
        void *module;
        CUfunction kernel;
        const char *name = i % 2 ? "other_hmma_kernel" : "first_kernel";
        if (i < 4) {
            MUST(cudaLibraryLoadData(&module, images[i % 2], NULL, NULL, 0, NULL, NULL, 0));
            MUST(cudaLibraryGetKernel(&kernel, module, name));
        } else {
            MUST(cuModuleLoadData(&module, images[i % 2]));
            MUST(cuModuleGetFunction(&kernel, module, name));
        }
        MUST(cuLaunchKernel(kernel, 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
        truth("kernel", "\"name\": \"%s\"", name);
        MUST(i < 4 ? cudaLibraryUnload(module) : cuModuleUnload(module));
    }
}

/* ---- Names that no compiler would make ------------------------------------------------------------------------- */

static void name_truth(const char *name)
{
    char hex[513] = "";
    for (size_t i = 0; name && name[i] && i < 256; i++)
        snprintf(hex + 2 * i, 3, "%02x", (unsigned char)name[i]);
    truth("kernel", "\"is_null\": %d, \"length\": %zu, \"hex\": \"%s\"", name == NULL, name ? strlen(name) : 0, hex);
}

static void names(void)
{
    static char huge[200001];
    memset(huge, 'k', sizeof huge - 1);
    static char templates[5000] = "_Z1f";
    for (int i = 0; i < 600; i++)
        strcat(templates, "N1aI");
    const char *all[] = { "",       NULL,      "\xff\xfe\x80", "a\tb\nc\"d\\e", "_Z",
                          "_ZZZZZ", templates, huge,           "plain",         "\xf0\x9f\x98\x80" };
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++) {
        launch(all[i], NULL);
        name_truth(all[i]);
    }
    MUST(cudaDeviceSynchronize());
}

/* ---- Two GPUs and a context of one's own ----------------------------------------------------------------------- */

static void devices(void)
{
    void *context;
    for (int i = 0; i < 2; i++) {
        char name[32];
        snprintf(name, sizeof name, "on_%d", i);
        MUST(cudaSetDevice(i));
        launch(name, NULL);
        truth("kernel", "\"name\": \"%s\"", name);
        MUST(cudaDeviceSynchronize());
    }
    MUST(cudaMemcpyPeerAsync(NULL, 1, NULL, 0, 4242, NULL));
    truth("peer", "\"bytes\": 4242, \"from\": 0, \"to\": 1");
    MUST(cudaDeviceSynchronize());
    MUST(cuCtxCreate_v2(&context, 0, 0));
    MUST(cuLaunchKernel(fake_kernel("own_context"), 1, 1, 1, 1, 1, 1, 0, NULL, NULL, NULL));
    truth("kernel", "\"name\": \"own_context\"");
    MUST(cuCtxSynchronize());
    MUST(cuCtxDestroy_v2(context));
    for (int i = 0; i < 2; i++) {
        size_t bytes;
        char name[64];
        int processors;
        MUST(cuDeviceTotalMem_v2(&bytes, i));
        MUST(cuDeviceGetName(name, sizeof name, i));
        MUST(cuDeviceGetAttribute(&processors, 16, i));
        printf("{\"what\": \"device\", \"id\": %d, \"name\": \"%s\", \"bytes\": %zu, \"processors\": %d}\n", i, name,
               bytes, processors);
    }
}

/* ---- Calls: many that only ask, before the first kernel and after ---------------------------------------------- */

static void ask(int times)
{
    int device, status;
    for (int i = 0; i < times; i++) {
        MUST(cudaGetDevice(&device));
        MUST(cudaGetLastError());
        MUST(cudaStreamIsCapturing(NULL, &status));
    }
}

static void calls(void)
{
    MUST(cudaSetDevice(0));
    ask(5);
    launch("first", NULL);
    MUST(cudaDeviceSynchronize());
    /* From here on, only the calls that matter: once it is seen that the kernel has finished,
     * which takes some flushes. */
    for (int64_t last = fake_get("flushes") + 4; fake_get("subscribers") && fake_get("flushes") < last;) {
        launch("more", NULL);
        MUST(cudaDeviceSynchronize());
        usleep(1000);
    }
    launch("quiet", NULL);
    ask(200);
    launch("last", NULL);
    MUST(cudaDeviceSynchronize());
    if (cudaStreamQuery(cudaStreamLegacy) != 0)
        exit(98);
    int attribute;
    if (cudaDeviceGetAttribute(&attribute, 9999, 0) != 1) /* one that fails */
        exit(97);
    MUST(cudaPeekAtLastError() != 1);
}

/* A thread is in a call that only asks, from the first kernel until callbacks are disabled. */
static void lingering(void)
{
    int device;
    launch("first", NULL);
    MUST(cudaDeviceSynchronize());
    fake_set("linger", fake_get("subscribers"));
    MUST(cudaGetDevice(&device));
    for (int i = 0; i < 10; i++)
        launch("later", NULL);
    MUST(cudaDeviceSynchronize());
}

/* ---- Threads --------------------------------------------------------------------------------------------------- */

static void *thread(void *argument)
{
    void *stream;
    const void *kernel = fake_kernel("threaded");
    MUST(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking));
    for (int i = 0; i < *(int *)argument; i++)
        MUST(cudaLaunchKernel(kernel, ONE, ONE, NULL, 0, stream));
    MUST(cudaStreamSynchronize(stream));
    return NULL;
}

/* All at once start CUDA. */
static void threads(int count, int launches)
{
    pthread_t all[64];
    fake_set("duration_ns", 500);
    for (int i = 0; i < count; i++)
        pthread_create(&all[i], NULL, thread, &launches);
    for (int i = 0; i < count; i++)
        pthread_join(all[i], NULL);
}

/* ---- Launches that do not return ------------------------------------------------------------------------------- */

static void launch_named(const char *name)
{
    launch(name, NULL);
    truth("kernel", "\"name\": \"%s\"", name);
}

static sigjmp_buf before;

static void jump_out(int signal)
{
    (void)signal;
    siglongjmp(before, 1);
}

/* In the middle of a launch, a signal handler jumps out of it; the program goes on. */
static void jump(void)
{
    struct sigaction action = { .sa_handler = jump_out };
    launch_named("first");
    sigaction(SIGUSR1, &action, NULL);
    fake_set("raise", 1);
    if (sigsetjmp(before, 1) == 0)
        launch("left", NULL);
    fake_jumped();
    for (int i = 0; i < 3; i++)
        launch_named("later");
}

static void end_thread(int signal)
{
    (void)signal;
    pthread_exit(NULL);
}

static void *left_in_launch(void *tid)
{
    if (tid)
        *(long *)tid = syscall(SYS_gettid);
    launch("left", NULL);
    return NULL;
}

/* In the middle of a launch, its thread ends. */
static void thread_end(void)
{
    struct sigaction action = { .sa_handler = end_thread };
    pthread_t thread;
    launch_named("first");
    sigaction(SIGUSR1, &action, NULL);
    fake_set("raise", 1);
    pthread_create(&thread, NULL, left_in_launch, NULL);
    pthread_join(thread, NULL);
    for (int i = 0; i < 3; i++)
        launch_named("later");
}

static pthread_mutex_t stays = PTHREAD_MUTEX_INITIALIZER;

static void *get_tid(void *tid)
{
    *(long *)tid = syscall(SYS_gettid);
    pthread_mutex_lock(&stays);
    pthread_mutex_unlock(&stays);
    return NULL;
}

static void *launch_later(void *unused)
{
    (void)unused;
    launch_named("later");
    return NULL;
}

/* A thread that runs this and has this tid, in a pid namespace that no other process changes. */
static pthread_t thread_with_tid(long tid, void *(*run)(void *), void *argument)
{
    pthread_t thread;
    FILE *last = fopen("/proc/sys/kernel/ns_last_pid", "w");
    usleep(200000); /* the kernel tells when threads started in hundredths of a second */
    if (!last || fprintf(last, "%ld", tid - 1) < 0 || fclose(last) != 0)
        exit(99);
    pthread_create(&thread, NULL, run, argument);
    return thread;
}

/* In the middle of a launch its thread ends, and another one gets its tid: it only lives, or it launches, too. */
static void same_tid(int launches)
{
    struct sigaction action = { .sa_handler = end_thread };
    pthread_t thread;
    long tid = 0, other = 0;
    launch_named("first");
    MUST(cudaDeviceSynchronize());
    usleep(300000); /* until the agent knows that it has ended, and flushes rarely: to flush, it takes the lock over */
    sigaction(SIGUSR1, &action, NULL);
    fake_set("raise", 1);
    pthread_create(&thread, NULL, left_in_launch, &tid);
    pthread_join(thread, NULL);
    pthread_mutex_lock(&stays);
    thread = launches ? thread_with_tid(tid, launch_later, NULL) : thread_with_tid(tid, get_tid, &other);
    if (launches)
        pthread_join(thread, NULL);
    else
        while (!*(volatile long *)&other)
            usleep(1000);
    if (!launches && other != tid)
        exit(98);
    for (int i = launches; i < 3; i++)
        launch_named("later");
    pthread_mutex_unlock(&stays);
    if (!launches)
        pthread_join(thread, NULL);
}

static void killed(void)
{
    for (int i = 0; i < 5; i++)
        launch_named("unfinished");
    fflush(stdout);
    kill(getpid(), SIGKILL);
}

/* ---- Kernels that wait for each other, on two GPUs ------------------------------------------------------------- */

static void *launch_partner(void *unused)
{
    (void)unused;
    MUST(cudaSetDevice(1));
    while (fake_get("meet") > 1) /* until the other launch has begun */
        usleep(1000);
    launch_named("partner");
    return NULL;
}

static void meeting(void)
{
    pthread_t thread;
    MUST(cudaSetDevice(0));
    launch_named("first");
    fake_set("meet", 2);
    pthread_create(&thread, NULL, launch_partner, NULL);
    launch_named("waits");
    pthread_join(thread, NULL);
    launch_named("last");
}

/* ---- Time passes, and the clocks part -------------------------------------------------------------------------- */

static void clock_drifts(int milliseconds)
{
    for (int i = 0; i < milliseconds / 25; i++) {
        launch("tick", NULL);
        truth("kernel", "\"name\": \"tick\"");
        MUST(cudaDeviceSynchronize());
        usleep(25000);
    }
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
    } modes[] = {
        { "kernels", kernels },     { "copies", copies },   { "waits", waits },
        { "graph", graph },         { "memory", memory },   { "modules", modules },
        { "names", names },         { "devices", devices }, { "calls", calls },
        { "lingering", lingering }, { "jump", jump },       { "thread-end", thread_end },
        { "killed", killed },       { "meeting", meeting }, { "graph-beside", graph_beside },
    };
    const char *mode = argc > 1 ? argv[1] : "";
    for (size_t i = 0; i < sizeof modes / sizeof modes[0]; i++)
        if (strcmp(mode, modes[i].name) == 0)
            modes[i].run();
    if (strcmp(mode, "threads") == 0)
        threads(atoi(argv[2]), atoi(argv[3]));
    if (strcmp(mode, "clock") == 0)
        clock_drifts(atoi(argv[2]));
    if (strcmp(mode, "same-tid") == 0)
        same_tid(atoi(argv[2]));
    for (int i = 2; i < argc && strcmp(mode, "launch") == 0; i++)
        launch_named(argv[i]);
    if (strcmp(mode, "once") == 0) /* another kernel when the file is there */
        launch_named(access(argv[2], F_OK) == 0 ? "again" : (fclose(fopen(argv[2], "w")), "first_time"));
    truth_counters();
    return 0;
}
