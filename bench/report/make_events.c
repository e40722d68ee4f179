/* Makes a report of a GPU program that never ran, for the benches of tables, exports and imports: kernels, the calls
 * that launched them, and nested NVTX ranges around the calls. The same seed makes the same file.
 *
 * make_events FILE [KERNELS [RANGES [SEED [STEP [RANK RANKS]]]]]: by default 2 M kernels with as many calls (4 M
 * events) and no ranges, from four threads and in no order that repeats. With STEP, one thread launches the same STEP
 * kernels again and again, and waits for them. With RANK, it is one of the RANKS of a job with eight ranks a host. */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/writer/writer.h"

#define THREADS 4
#define STREAMS 8
#define KERNEL_NAMES 48
#define PID 4242
#define GLOBAL_PID (INT64_C(1) << 48 | (int64_t)PID << 24)

static uint64_t seed;

static uint64_t random_number(void)
{
    seed ^= seed << 13;
    seed ^= seed >> 7;
    seed ^= seed << 17;
    return seed;
}

static double random_unit(void)
{
    return ((double)(random_number() >> 11) + 1) / 9007199254740993.0;
}

/* A duration around typical with a long tail, as measured ones have. */
static int64_t jitter(double typical)
{
    double normal = sqrt(-2 * log(random_unit())) * cos(6.283185307179586 * random_unit());

    return 1 + (int64_t)(typical * exp(0.4 * normal));
}

struct kernel {
    int64_t demangled, brief, mangled;
    int64_t registers, grid, block, shared;
    double typical_ns;
};

/* An open NVTX range of a thread. */
struct range {
    int64_t start, text;
};

struct thread {
    int64_t now, tid;
    uint64_t launches;
    struct range open[4];
};

struct program {
    struct writer *writer;
    struct kernel kernels[KERNEL_NAMES];
    struct thread threads[THREADS];
    int64_t stream_free[STREAMS];
    int64_t launch_name, driver_launch_name, wait_name;
    int64_t step_names[64], layer_names[16], op_names[40], inner_names[12];
    uint64_t correlation, ranges_left, step;
};

static int64_t text(struct program *program, const char *format, ...) __attribute__((format(printf, 2, 3)));

static int64_t text(struct program *program, const char *format, ...)
{
    char bytes[512];
    va_list list;

    va_start(list, format);
    int length = vsnprintf(bytes, sizeof bytes, format, list);
    va_end(list);
    return writer_string(program->writer, bytes, (size_t)length);
}

static void make_names(struct program *program)
{
    static const char *const kinds[] = { "elementwise", "gemm", "reduce", "softmax", "copy", "norm" };

    for (int i = 0; i < KERNEL_NAMES; i++) {
        const char *kind = kinds[i % 6];
        program->kernels[i] = (struct kernel){
            .demangled = text(
                program,
                "void lib::%s_kernel<%d, float, lib::Tile<%d, %d>>(float *, const float *, int, lib::Shape<%d>)", kind,
                i, 16 << (i % 4), 8 << (i % 3), i % 5),
            .brief = text(program, "%s_kernel", kind),
            .mangled = text(program, "_ZN3lib%zu%s_kernelILi%dEfNS_4TileILi%dELi%dEEEEvPfPKfiNS_5ShapeILi%dEEE",
                            strlen(kind) + 7, kind, i, 16 << (i % 4), 8 << (i % 3), i % 5),
            .registers = 16 + 8 * (i % 12),
            .grid = 1 << (i % 11),
            .block = 64 << (i % 4),
            .shared = i % 3 ? 0 : 4096 * (i % 7),
            .typical_ns = 500 * (1 + (i * 7) % 23),
        };
    }
    program->launch_name = text(program, "cudaLaunchKernel_v7000");
    program->driver_launch_name = text(program, "cuLaunchKernel");
    program->wait_name = text(program, "cudaStreamSynchronize_v3020");
    for (int i = 0; i < 64; i++)
        program->step_names[i] = text(program, "step %d", i);
    for (int i = 0; i < 16; i++)
        program->layer_names[i] = text(program, "layer%d/%s", i / 2, i % 2 ? "backward" : "forward");
    for (int i = 0; i < 40; i++)
        program->op_names[i] = text(program, "aten::op_%d", i);
    for (int i = 0; i < 12; i++)
        program->inner_names[i] = text(program, "launch %d", i);
    for (int i = 0; i < THREADS; i++)
        program->threads[i] = (struct thread){ .now = 1000000 + i * 1357, .tid = GLOBAL_PID | (PID + i * 3) };
}

static void *next_row(struct program *program, enum table_id table)
{
    size_t count = 1;

    return writer_reserve(program->writer, table, &count);
}

static void add_range(struct program *program, const struct thread *thread, int level)
{
    if (program->ranges_left == 0)
        return;
    program->ranges_left--;
    struct row_NVTX_EVENTS *row = next_row(program, TABLE_NVTX_EVENTS);
    row->present = 0;
    ROW_SET(row, NVTX_EVENTS, start, thread->open[level].start);
    ROW_SET(row, NVTX_EVENTS, end, thread->now);
    ROW_SET(row, NVTX_EVENTS, eventType, 59);
    ROW_SET(row, NVTX_EVENTS, text, thread->open[level].text);
    ROW_SET(row, NVTX_EVENTS, globalTid, thread->tid);
    ROW_SET(row, NVTX_EVENTS, domainId, 0);
    writer_commit(program->writer, TABLE_NVTX_EVENTS, 1);
}

static void open_range(struct thread *thread, int level, int64_t name)
{
    thread->open[level] = (struct range){ thread->now, name };
    thread->now += jitter(60);
}

static void close_range(struct program *program, struct thread *thread, int level)
{
    thread->now += jitter(60);
    add_range(program, thread, level);
}

static void add_call(struct program *program, const struct thread *thread, int64_t start, int64_t name)
{
    struct row_CUPTI_ACTIVITY_KIND_RUNTIME *row = next_row(program, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME);
    int driver = name == program->driver_launch_name;

    row->present = 0;
    ROW_SET(row, CUPTI_ACTIVITY_KIND_RUNTIME, start, start);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_RUNTIME, end, thread->now);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_RUNTIME, eventClass, driver);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_RUNTIME, globalTid, thread->tid);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_RUNTIME, correlationId, (int64_t)program->correlation);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_RUNTIME, nameId, name);
    ROW_SET(row, CUPTI_ACTIVITY_KIND_RUNTIME, returnValue, 0);
    writer_commit(program->writer, TABLE_CUPTI_ACTIVITY_KIND_RUNTIME, 1);
}

/* Few kernels make most of the launches: the square of a random number prefers small ones. */
static const struct kernel *pick_kernel(const struct program *program)
{
    double pick = random_unit();

    if (program->step)
        return &program->kernels[program->correlation % program->step * 7 % KERNEL_NAMES];
    return &program->kernels[(int)(pick * pick * (KERNEL_NAMES - 1))];
}

static void add_kernel(struct program *program, int64_t launched, int stream)
{
    const struct kernel *kernel = pick_kernel(program);
    int64_t start = launched + jitter(3000);
    struct row_CUPTI_ACTIVITY_KIND_KERNEL *row = next_row(program, TABLE_CUPTI_ACTIVITY_KIND_KERNEL);

    start = start > program->stream_free[stream] ? start : program->stream_free[stream] + 500;
    program->stream_free[stream] = start + jitter(kernel->typical_ns);
    row->present = 0;
#define SET(column, value) ROW_SET(row, CUPTI_ACTIVITY_KIND_KERNEL, column, value)
    SET(start, start);
    SET(end, program->stream_free[stream]);
    SET(deviceId, 0);
    SET(contextId, 1);
    SET(streamId, 7 + stream);
    SET(correlationId, (int64_t)program->correlation);
    SET(globalPid, GLOBAL_PID);
    SET(demangledName, kernel->demangled);
    SET(shortName, kernel->brief);
    SET(mangledName, kernel->mangled);
    SET(launchType, 0);
    SET(cacheConfig, 0);
    SET(registersPerThread, kernel->registers);
    SET(gridX, kernel->grid);
    SET(gridY, 1);
    SET(gridZ, 1);
    SET(blockX, kernel->block);
    SET(blockY, 1);
    SET(blockZ, 1);
    SET(staticSharedMemory, kernel->shared);
    SET(dynamicSharedMemory, 0);
    SET(localMemoryPerThread, 0);
    SET(localMemoryTotal, 107479040);
    SET(gridId, (int64_t)program->correlation);
    SET(sharedMemoryExecuted, 32768);
    SET(sharedMemoryLimitConfig, 0);
#undef SET
    writer_commit(program->writer, TABLE_CUPTI_ACTIVITY_KIND_KERNEL, 1);
}

/* One launch of a thread, in its ranges: a step holds eight layers, a layer eight ops, most ops one range more. */
static void launch(struct program *program, struct thread *thread)
{
    uint64_t place = thread->launches++ % 64;
    int inner = place >= 9;

    thread->now += jitter(2500);
    if (place == 0)
        open_range(thread, 0, program->step_names[thread->launches / 64 % 64]);
    if (place % 8 == 0)
        open_range(thread, 1, program->layer_names[place / 8 + (thread->launches / 64 % 2 ? 8 : 0)]);
    open_range(thread, 2, program->op_names[random_number() % 40]);
    if (inner)
        open_range(thread, 3, program->inner_names[random_number() % 12]);
    int64_t start = thread->now;
    thread->now += jitter(2000);
    program->correlation++;
    add_call(program, thread, start, random_number() % 8 ? program->launch_name : program->driver_launch_name);
    add_kernel(program, start,
               program->step ? 0 : (int)((uint64_t)(thread - program->threads) * 2 + random_number() % 2));
    if (inner)
        close_range(program, thread, 3);
    close_range(program, thread, 2);
    if (place % 8 == 7)
        close_range(program, thread, 1);
    if (place == 63)
        close_range(program, thread, 0);
}

/* The end of a step. Its correlation id is beyond those of launches. */
static void wait_for_all(struct program *program, struct thread *thread)
{
    uint64_t launched = program->correlation;
    int64_t start = thread->now += jitter(5000);

    thread->now = (program->stream_free[0] > start ? program->stream_free[0] : start) + jitter(3000);
    program->correlation = launched + (UINT64_C(1) << 31);
    add_call(program, thread, start, program->wait_name);
    program->correlation = launched;
}

static void add_machine(struct program *program)
{
    struct row_TARGET_INFO_GPU gpu = { 0 };
    struct row_PROCESSES process = { 0 };
    struct row_ANALYSIS_DETAILS details = { 0 };
    int64_t last = 0;

    for (int i = 0; i < STREAMS; i++)
        last = program->stream_free[i] > last ? program->stream_free[i] : last;
    ROW_SET(&gpu, TARGET_INFO_GPU, vmId, INT64_C(1) << 48);
    ROW_SET(&gpu, TARGET_INFO_GPU, id, 0);
    ROW_SET(&gpu, TARGET_INFO_GPU, name, text(program, "Made-up GPU"));
    ROW_SET(&gpu, TARGET_INFO_GPU, smCount, 132);
    writer_append(program->writer, TABLE_TARGET_INFO_GPU, &gpu);
    ROW_SET(&process, PROCESSES, globalPid, GLOBAL_PID);
    ROW_SET(&process, PROCESSES, pid, PID);
    ROW_SET(&process, PROCESSES, name, text(program, "made_up"));
    writer_append(program->writer, TABLE_PROCESSES, &process);
    ROW_SET(&details, ANALYSIS_DETAILS, globalVid, INT64_C(1) << 48);
    ROW_SET(&details, ANALYSIS_DETAILS, duration, last);
    ROW_SET(&details, ANALYSIS_DETAILS, startTime, 0);
    ROW_SET(&details, ANALYSIS_DETAILS, stopTime, last);
    writer_append(program->writer, TABLE_ANALYSIS_DETAILS, &details);
    for (int i = 0; i < THREADS; i++) {
        struct row_ThreadNames name = { 0 };
        ROW_SET(&name, ThreadNames, nameId, text(program, "worker %d", i));
        ROW_SET(&name, ThreadNames, globalTid, program->threads[i].tid);
        writer_append(program->writer, TABLE_ThreadNames, &name);
    }
}

static void add_fact(struct program *program, const char *name, const char *value)
{
    struct row_TARGET_INFO_SYSTEM_ENV row = { 0 };

    ROW_SET(&row, TARGET_INFO_SYSTEM_ENV, globalVid, INT64_C(1) << 48);
    ROW_SET(&row, TARGET_INFO_SYSTEM_ENV, devStateName, text(program, "System"));
    ROW_SET(&row, TARGET_INFO_SYSTEM_ENV, name, text(program, "%s", name));
    ROW_SET(&row, TARGET_INFO_SYSTEM_ENV, nameEnum, 0);
    ROW_SET(&row, TARGET_INFO_SYSTEM_ENV, value, text(program, "%s", value));
    writer_append(program->writer, TABLE_TARGET_INFO_SYSTEM_ENV, &row);
}

/* All ranks have the same process number, so each has processes of its own. */
static const char *text_of_rank(long rank)
{
    static char bytes[32];

    snprintf(bytes, sizeof bytes, "%ld", 4026531836 + rank);
    return bytes;
}

static void add_clock(struct program *program, int64_t time_ns, int64_t begin_ns)
{
    struct row_TACHO_CLOCK row = { 0 };

    ROW_SET(&row, TACHO_CLOCK, timestamp, time_ns);
    ROW_SET(&row, TACHO_CLOCK, ticks, begin_ns + time_ns);
    ROW_SET(&row, TACHO_CLOCK, monotonicNs, begin_ns + time_ns);
    ROW_SET(&row, TACHO_CLOCK, utcNs, INT64_C(1700000000000000000) + begin_ns + time_ns);
    ROW_SET(&row, TACHO_CLOCK, errorNs, 50);
    writer_append(program->writer, TABLE_TACHO_CLOCK, &row);
}

static void add_rank(struct program *program, long rank, long ranks)
{
    enum { RANKS_A_HOST = 8 };
    struct row_TACHO_PROCESS process = { 0 };
    char host[32];

    snprintf(host, sizeof host, "node%04ld", rank / RANKS_A_HOST);
    add_fact(program, "Hostname", host);
    add_fact(program, "BootId", host);
    add_fact(program, "PidNamespace", text_of_rank(rank));
    add_clock(program, 0, rank * 1000);
    add_clock(program, program->threads[0].now, rank * 1000);
    ROW_SET(&process, TACHO_PROCESS, start, 0);
    ROW_SET(&process, TACHO_PROCESS, globalPid, GLOBAL_PID);
    ROW_SET(&process, TACHO_PROCESS, image, 0);
    ROW_SET(&process, TACHO_PROCESS, host, text(program, "%s", host));
    ROW_SET(&process, TACHO_PROCESS, rank, rank);
    ROW_SET(&process, TACHO_PROCESS, localRank, rank % RANKS_A_HOST);
    ROW_SET(&process, TACHO_PROCESS, worldSize, ranks);
    ROW_SET(&process, TACHO_PROCESS, job, text(program, "made-up"));
    writer_append(program->writer, TABLE_TACHO_PROCESS, &process);
}

int main(int argc, char **argv)
{
    static struct program program;
    struct error err = { 0 };

    if (argc < 2) {
        fprintf(stderr, "usage: make_events FILE [KERNELS [RANGES [SEED [STEP [RANK RANKS]]]]]\n");
        return 2;
    }
    uint64_t kernels = argc > 2 ? strtoull(argv[2], NULL, 10) : 2000000;
    program.ranges_left = argc > 3 ? strtoull(argv[3], NULL, 10) : 0;
    seed = argc > 4 ? strtoull(argv[4], NULL, 10) : 1;
    seed = seed * UINT64_C(0x9E3779B97F4A7C15) | 1;
    if (writer_open(argv[1], &(struct writer_options){ .overwrite = 1 }, &program.writer, &err)) {
        fprintf(stderr, "make_events: %s\n", err.text);
        return 1;
    }
    make_names(&program);
    program.step = argc > 5 ? strtoull(argv[5], NULL, 10) : 0;
    for (uint64_t i = 0; i < kernels; i++) {
        struct thread *thread = &program.threads[program.step ? 0 : i / 64 % THREADS];
        launch(&program, thread);
        if (program.step && (i + 1) % program.step == 0)
            wait_for_all(&program, thread);
    }
    add_machine(&program);
    if (argc > 7)
        add_rank(&program, strtol(argv[6], NULL, 10), strtol(argv[7], NULL, 10));
    if (writer_close(program.writer, &err)) {
        fprintf(stderr, "make_events: %s\n", err.text);
        return 1;
    }
    return 0;
}
