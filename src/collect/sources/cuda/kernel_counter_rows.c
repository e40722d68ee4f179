/* Counted kernels of a process: the agent reports which launches were counted, CUPTI's records say which kernels these
 * were. */
#include "base/array.h"
#include "cuda_state.h"
#include "kernel_counter_capture.h"

static int counted_rows_add_counted(struct cuda_process *cuda, const struct wire_counted *launch, uint32_t passes,
                                    int64_t end_ns)
{
    struct cuda_counted counted = { .correlation = launch->correlation,
                                    .passes = passes,
                                    .image = launch->image,
                                    .range = launch->range,
                                    .launch = (int64_t)launch->number,
                                    .end_ns = end_ns };
    return cuda_counted_map_find(&cuda->counted, counted.correlation) ||
           !cuda_counted_map_add(&cuda->counted, &counted);
}

CUDA_TOLD(cuda_counted_told)
{
    struct wire_counted launch;
    int64_t end_ns = (int64_t)wire_cuda_time(record->ticks, cuda->setup.ns_per_tick);
    (void)tid;
    if (words < WIRE_HEAD_WORDS + sizeof launch / sizeof(uint64_t))
        return -1;
    memcpy(&launch, record->body, sizeof launch);
    if (counted_rows_add_counted(cuda, &launch, record->a ? record->a : 1, end_ns) ||
        !(cuda->setup.flags & WIRE_CUDA_REPLAY))
        return 0;
    if (array_reserve(&cuda->replayed, &cuda->replayed_room, cuda->replayed_count + 1, sizeof *cuda->replayed) == 0)
        cuda->replayed[cuda->replayed_count++] = launch;
    return 0;
}

CUDA_TOLD(cuda_image_told)
{
    (void)tid;
    if (words < WIRE_HEAD_WORDS + 2)
        return -1;
    if (cuda->setup.gpus->counters)
        counter_capture_add_image(cuda->setup.gpus->counters,
                                  &(struct counted_image){ .number = (uint32_t)(record->body[0] >> 32),
                                                           .launches = (uint32_t)record->body[0],
                                                           .ranges = (uint32_t)(record->body[1] >> 32),
                                                           .dropped = (uint32_t)record->body[1],
                                                           .result = record->a });
    return 0;
}

CUDA_TOLD(cuda_uncounted_told)
{
    (void)tid;
    if (words < WIRE_HEAD_WORDS + WIRE_UNCOUNTED_CAUSES)
        return -1;
    if (cuda->setup.gpus->counters)
        counter_capture_add_uncounted(cuda->setup.gpus->counters, record->body);
    return 0;
}

int cuda_counted_again(struct cuda_process *cuda, uint32_t correlation)
{
    const struct cuda_counted *counted = cuda_counted_map_find(&cuda->counted, correlation);
    return counted && counted->is_seen;
}

static int64_t counted_rows_text_id(struct cuda_process *cuda, const char *text)
{
    return writer_string(cuda->writer, text, strlen(text));
}

#define LOCAL_HOST "127.0.0.1" /* what ncu calls the host that it runs on */
#define COPY(column) ROW_SET(&row, TACHO_KERNEL_COUNTERS, column, kernel->column)

static void counted_rows_counter_row(struct cuda_process *cuda, const struct cuda_counted *counted,
                                     const struct row_CUPTI_ACTIVITY_KIND_KERNEL *kernel, int64_t id)
{
    struct row_TACHO_KERNEL_COUNTERS row = { 0 };

    ROW_SET(&row, TACHO_KERNEL_COUNTERS, id, id);
    ROW_SET(&row, TACHO_KERNEL_COUNTERS, launchId, counted->launch);
    ROW_SET(&row, TACHO_KERNEL_COUNTERS, globalPid, cuda->setup.global_pid);
    COPY(correlationId), COPY(deviceId), COPY(contextId), COPY(streamId), COPY(demangledName), COPY(shortName);
    COPY(gridX), COPY(gridY), COPY(gridZ), COPY(blockX), COPY(blockY), COPY(blockZ);
    ROW_SET(&row, TACHO_KERNEL_COUNTERS, passes, counted->passes);
    if (cuda->setup.process)
        ROW_SET(&row, TACHO_KERNEL_COUNTERS, processName, counted_rows_text_id(cuda, cuda->setup.process->name));
    ROW_SET(&row, TACHO_KERNEL_COUNTERS, hostName, counted_rows_text_id(cuda, LOCAL_HOST));
    const char *asked = cuda->setup.gpus->counters->collector->options->kernel_counters.replay;
    if (counted->passes > 1 || (asked && strcmp(asked, "application") == 0))
        ROW_SET(&row, TACHO_KERNEL_COUNTERS, replayMode,
                counted_rows_text_id(cuda, counted->passes > 1 ? "kernel" : asked));
    ROW_SET(&row, TACHO_KERNEL_COUNTERS, cacheControl, counted_rows_text_id(cuda, "none"));
    ROW_SET(&row, TACHO_KERNEL_COUNTERS, clockControl, counted_rows_text_id(cuda, "none"));
    ROW_SET(&row, TACHO_KERNEL_COUNTERS, source, counted_rows_text_id(cuda, "tacho"));
    writer_append(cuda->writer, TABLE_TACHO_KERNEL_COUNTERS, &row);
}

int cuda_counted_kernel(struct cuda_process *cuda, struct row_CUPTI_ACTIVITY_KIND_KERNEL *kernel, int64_t *start_ns)
{
    struct cuda_counted *counted = cuda_counted_map_find(&cuda->counted, (uint32_t)kernel->correlationId);

    if (!counted || !cuda->setup.gpus->counters)
        return 0;
    counted->is_seen = 1;
    struct counted_place key = { counted->image, counted->range };
    int64_t id = counter_capture_add_kernel(cuda->setup.gpus->counters, &key);
    if (id < 0)
        return 0;
    counted_rows_counter_row(cuda, counted, kernel, id);
    if (*start_ns)
        return 0;
    *start_ns = counted->end_ns;
    kernel->start = kernel->end = cuda_time(cuda, counted->end_ns);
    return counter_capture_add_untimed(cuda->setup.gpus->counters, &key, kernel) == 0;
}

/* The hardware allocates at least 16 registers per thread, and CUPTI and ncu report that; the driver reports those that
 * the code uses. */
static uint32_t registers_of(uint32_t used)
{
    enum { REGISTERS_LEAST = 16 };
    return used && used < REGISTERS_LEAST ? REGISTERS_LEAST : used;
}

/* What CUPTI's record would say, as far as the launch says it. */
static void replayed_row(struct cuda_process *cuda, const struct wire_counted *launch)
{
    const struct cuda_name *name = cuda_names_find(cuda, launch->name);
    struct row_CUPTI_ACTIVITY_KIND_KERNEL row = { 0 };
    int64_t start_ns = 0;

#define SET(column, value) ROW_SET(&row, CUPTI_ACTIVITY_KIND_KERNEL, column, value)
    SET(start, 0), SET(end, 0), SET(deviceId, launch->device), SET(contextId, launch->context);
    SET(greenContextId, 0), SET(streamId, launch->stream), SET(correlationId, launch->correlation);
    SET(globalPid, cuda->setup.global_pid), SET(demangledName, name->demangled_id), SET(shortName, name->short_id);
    SET(mangledName, name->text_id), SET(registersPerThread, registers_of(launch->registers));
    SET(gridX, launch->grid[0]), SET(gridY, launch->grid[1]), SET(gridZ, launch->grid[2]);
    SET(blockX, launch->block[0]), SET(blockY, launch->block[1]), SET(blockZ, launch->block[2]);
    SET(staticSharedMemory, launch->fixed_bytes), SET(dynamicSharedMemory, launch->shared_bytes);
    SET(localMemoryPerThread, launch->local_bytes), SET(localMemoryTotal, 0), SET(gridId, 0);
#undef SET
    if (!cuda_counted_kernel(cuda, &row, &start_ns))
        return;
    cuda->counts.kernels++;
    cuda_launches_kernel(&cuda->pairs, launch->correlation, (uint64_t)start_ns);
}

void cuda_counters_finish(struct cuda_process *cuda)
{
    for (size_t i = 0; i < cuda->replayed_count; i++)
        replayed_row(cuda, &cuda->replayed[i]);
}

void cuda_counters_free(struct cuda_process *cuda)
{
    cuda_counted_map_free(&cuda->counted);
    free(cuda->replayed);
}
