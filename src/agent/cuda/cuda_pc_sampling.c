/* PC sampling (--pc-sampling): why warps stall, by instruction. CUPTI counts samples on the GPU; the agent configures
 * it where a context is created, fetches the counts every 100 ms in its own thread, and once more before a module or
 * the context goes away and at the end of the process. One context of each GPU is sampled, which is CUPTI's limit.
 *
 * The buffer of the configuration belongs to CUPTI, which puts the samples of kernels that ended into it;
 * cuptiPCSamplingGetData() moves them out into another one, `read`. Only after Disable does the agent look into the
 * first. Records in `read` need their sizes and room again before each call.
 *
 * One thread at a time calls CUPTI here (`busy`), and only that thread changes what is sampled. A callback waits for it
 * no longer than PATIENCE_MS, because the holder may wait for a lock of CUPTI that the program's thread has. A context
 * that is about to be destroyed is marked first (`end`): the holder makes no further call for it, and its
 * destruction waits for END_MS. If the holder is in a call of CUPTI for even longer, the context is destroyed under
 * that call, which CUPTI must bear, and whoever is next forgets it. If CUPTI refuses anything, one sentence says so and
 * tracing goes on. */
#include <string.h>

#include "abi/cupti_pc_sampling.h"
#include "agent/core/arena_window.h"
#include "agent/core/small_text.h"
#include "agent/core/sys.h"
#include "cuda_agent.h"

#define PATIENCE_MS 100
#define END_MS 1000
#define PCS 4096u               /* instructions in a buffer */
#define REASONS_MAX 96u         /* an H200 has 36 */
#define BATCHES_MAX 64u         /* calls in a row: a GPU may produce samples as fast as they are fetched */
#define HARDWARE_BYTES (64u << 20) /* of GPU memory; CUPTI's default of 512 MiB is more than a full GPU has left */
#define GPUS_MAX 32u
#define FUNCTIONS 4096u         /* slots that remember which functions the collector knows */

struct pc_sampling_buffer {
    struct cupti_pc_data data;
    struct cupti_pc pcs[PCS];
    struct cupti_stall_samples stalls[PCS][REASONS_MAX];
};

enum context_end { CONTEXT_STAYS, CONTEXT_ENDS, CONTEXT_DESTROYED };

struct sampled {
    _Atomic(void *) context; /* NULL: none on this GPU */
    _Atomic uint32_t end;    /* of that context: enum context_end */
    uint32_t id, device;
    int is_running;
    struct pc_sampling_buffer *configured, *read;
};

static struct {
    _Atomic uint32_t busy;
    _Atomic uint32_t refused;
    struct cupti_pc_functions cupti;
    _Atomic uint32_t is_ready;       /* the functions were found; threads that load modules look for them, too */
    uint32_t reasons[REASONS_MAX], reason_count;
    char reason_names[REASONS_MAX][CUPTI_STALL_NAME_BYTES];
    char *reason_texts[REASONS_MAX]; /* pointers to these */
    uint64_t words[4 + REASONS_MAX]; /* of the record that is made now */
    int reasons_told;
    struct sampled gpus[GPUS_MAX];
    uint64_t functions[FUNCTIONS];
} pc;

#define CALL(name, ...) pc.cupti.name(&(__VA_ARGS__))
#define OF(type, of_context, ...)                                                                                      \
    (struct type)                                                                                                      \
    {                                                                                                                  \
        .bytes = sizeof(struct type), .context = (of_context), ##__VA_ARGS__                                           \
    }

int cuda_pc_wanted(void)
{
    return cuda.settings.pc_mode != 0 && !atomic_load_explicit(&pc.refused, memory_order_relaxed);
}

/* The context to make calls for; NULL: there is none, or it will be destroyed. */
static void *live(const struct sampled *sampled)
{
    return atomic_load(&sampled->end) == CONTEXT_STAYS ? sampled->context : NULL;
}

static void pc_sampling_forget(struct sampled *sampled)
{
    sampled->context = NULL;
    sampled->is_running = 0;
    atomic_store(&sampled->end, CONTEXT_STAYS);
}

static int pc_sampling_enter(void)
{
    if (!cuda_lock_within(&pc.busy, PATIENCE_MS))
        return 0;
    for (uint32_t i = 0; i < GPUS_MAX; i++)
        if (atomic_load(&pc.gpus[i].end) == CONTEXT_DESTROYED)
            pc_sampling_forget(&pc.gpus[i]);
    return 1;
}

static void pc_sampling_leave(void)
{
    atomic_store_explicit(&pc.busy, 0, memory_order_release);
}

static struct sampled *sampled_of(const void *context)
{
    for (uint32_t i = 0; i < GPUS_MAX; i++)
        if (context && pc.gpus[i].context == context)
            return &pc.gpus[i];
    return NULL;
}

/* ---- Refusals -------------------------------------------------------------------------------------------------- */

/* Once in a process, for all GPUs: what one refuses, the others would too. */
static void pc_sampling_refuse(const struct sampled *sampled, int result, const char *why)
{
    char text[512] = "Warps are not sampled (--pc-sampling). ";
    if (atomic_exchange(&pc.refused, 1))
        return;
    if (!why)
        why = cuda_counters_sentence_of(result);
    small_text_add(text, sizeof text, why);
    uint64_t words[] = { sampled->id | (uint64_t)sampled->device << 32, cuda.settings.pc_period };
    cuda_emit(&(struct cuda_note){ .type = WIRE_CUDA_PC_SAMPLING,
                                   .a = (uint16_t)(result ? result : CUPTI_RESULT_ERROR_NOT_SUPPORTED),
                                   .b = cuda.settings.pc_mode,
                                   .words = words,
                                   .word_count = 2,
                                   .text = text });
}

/* ---- Setting up ------------------------------------------------------------------------------------------------ */

static int find_functions(void)
{
    if (pc.is_ready || cuda.version < CUPTI_PC_OLDEST)
        return pc.is_ready;
#define FIND(name, type) pc.cupti.name = (int (*)(struct type *))cuda_library_function("cupti" #name);
    CUPTI_PC_FUNCTIONS(FIND)
#undef FIND
#define HAS(name, type) &&pc.cupti.name
    pc.is_ready = 1 CUPTI_PC_FUNCTIONS(HAS);
#undef HAS
    return pc.is_ready;
}

static struct pc_sampling_buffer *pc_sampling_buffer_new(void)
{
    struct pc_sampling_buffer *buffer = window_map(-1, 0, sizeof *buffer);
    if (!buffer)
        return NULL;
    buffer->data = (struct cupti_pc_data){ .bytes = sizeof buffer->data, .room = PCS, .pcs = buffer->pcs };
    for (uint32_t i = 0; i < PCS; i++)
        buffer->pcs[i] = (struct cupti_pc){ .bytes = sizeof(struct cupti_pc),
                                            .stall_count = REASONS_MAX,
                                            .stalls = buffer->stalls[i] };
    return buffer;
}

static void tell_reasons(void)
{
    for (uint32_t i = 0; i < pc.reason_count && !pc.reasons_told; i++)
        cuda_emit(&(struct cuda_note){
            .type = WIRE_CUDA_STALL_REASON, .a = (uint16_t)pc.reasons[i], .text = pc.reason_names[i] });
    pc.reasons_told = 1;
}

static int read_reasons(void *context)
{
    size_t count = 0;
    int result = CALL(PCSamplingGetNumStallReasons, OF(cupti_stall_count, context, .count = &count));
    if (result != CUPTI_RESULT_SUCCESS)
        return result;
    if (count > REASONS_MAX)
        return CUPTI_RESULT_ERROR_NOT_SUPPORTED;
    for (size_t i = 0; i < count; i++)
        pc.reason_texts[i] = pc.reason_names[i];
    result = CALL(PCSamplingGetStallReasons,
                  OF(cupti_stall_names, context, .count = count, .indexes = pc.reasons, .names = pc.reason_texts));
    if (result != CUPTI_RESULT_SUCCESS)
        return result;
    pc.reason_count = (uint32_t)count;
    tell_reasons();
    return CUPTI_RESULT_SUCCESS;
}

static int pc_sampling_configure(const struct sampled *sampled)
{
    int result = read_reasons(sampled->context);
    if (result != CUPTI_RESULT_SUCCESS)
        return result;
    struct cupti_pc_setting settings[] = {
        { .attribute = CUPTI_PC_ATTRIBUTE_MODE, .number = cuda.settings.pc_mode },
        { .attribute = CUPTI_PC_ATTRIBUTE_REASONS, .reasons = { pc.reason_count, pc.reasons } },
        { .attribute = CUPTI_PC_ATTRIBUTE_HARDWARE_BYTES, .size = HARDWARE_BYTES },
        { .attribute = CUPTI_PC_ATTRIBUTE_START_STOP, .number = 1 },
        { .attribute = CUPTI_PC_ATTRIBUTE_FORMAT, .number = CUPTI_PC_PARSED },
        { .attribute = CUPTI_PC_ATTRIBUTE_BUFFER, .buffer = &sampled->configured->data },
        { .attribute = CUPTI_PC_ATTRIBUTE_PERIOD, .number = cuda.settings.pc_period },
    };
    return CALL(PCSamplingSetConfigurationAttribute,
                OF(cupti_pc_settings, sampled->context, .count = COUNT_OF(settings), .settings = settings));
}

static void tell_sampled(const struct sampled *sampled)
{
    uint64_t words[] = { sampled->id | (uint64_t)sampled->device << 32, cuda.settings.pc_period };
    cuda_emit(&(struct cuda_note){
        .type = WIRE_CUDA_PC_SAMPLING, .b = cuda.settings.pc_mode, .words = words, .word_count = 2, .text = "" });
}

static void pc_sampling_run(struct sampled *sampled, int on)
{
    void *context = live(sampled);
    if (!context || sampled->is_running == on)
        return;
    int result = on ? CALL(PCSamplingStart, OF(cupti_pc_context, context))
                    : CALL(PCSamplingStop, OF(cupti_pc_context, context));
    if (result == CUPTI_RESULT_SUCCESS)
        sampled->is_running = on;
    else
        pc_sampling_refuse(sampled, result, NULL);
}

static void enable(struct sampled *sampled, void *context)
{
    if (!find_functions()) {
        pc_sampling_refuse(sampled, 0, "CUPTI 12.6 or later is needed.");
        return;
    }
    sampled->configured = sampled->configured ? sampled->configured : pc_sampling_buffer_new();
    sampled->read = sampled->read ? sampled->read : pc_sampling_buffer_new();
    if (!sampled->configured || !sampled->read) {
        pc_sampling_refuse(sampled, 0, "There is no memory for its buffers.");
        return;
    }
    int result = CALL(PCSamplingEnable, OF(cupti_pc_context, context));
    if (result != CUPTI_RESULT_SUCCESS) {
        pc_sampling_refuse(sampled, result, NULL);
        return;
    }
    sampled->context = context;
    result = pc_sampling_configure(sampled);
    if (result != CUPTI_RESULT_SUCCESS) {
        CALL(PCSamplingDisable, OF(cupti_pc_context, context));
        sampled->context = NULL;
        pc_sampling_refuse(sampled, result, NULL);
        return;
    }
    tell_sampled(sampled);
}

void cuda_pc_context_created(void *context, uint32_t id, uint32_t device)
{
    if (!cuda_pc_wanted() || device >= GPUS_MAX || !pc_sampling_enter())
        return;
    sigset_t before;
    struct sampled *sampled = &pc.gpus[device];
    if (!sampled->context) {
        cuda_block_signals(&before); /* for the threads that CUPTI starts */
        sampled->id = id;
        sampled->device = device;
        enable(sampled, context);
        if (agent_recording(WIRE_BIT(CUDA)))
            pc_sampling_run(sampled, 1);
        cuda_restore_signals(&before);
    }
    pc_sampling_leave();
}

/* ---- Samples --------------------------------------------------------------------------------------------------- */

/* Names are long and few. A function that loses its slot to another one is reported again. */
static void tell_function(const struct cupti_pc *at)
{
    uint64_t key = (at->cubin_crc ^ at->function_index) * 0x9e3779b97f4a7c15u | 1;
    uint64_t *slot = &pc.functions[key >> 52 & (FUNCTIONS - 1)];
    if (*slot == key)
        return;
    *slot = key;
    uint64_t words[] = { at->cubin_crc, at->function_index };
    cuda_emit(&(struct cuda_note){
        .type = WIRE_CUDA_PC_FUNCTION, .words = words, .word_count = 2, .text = at->function ? at->function : "" });
}

static void tell_pc(const struct sampled *sampled, const struct cupti_pc *at)
{
    uint64_t *words = pc.words;
    words[0] = at->cubin_crc;
    words[1] = at->function_index | (uint64_t)sampled->id << 32;
    words[2] = at->offset;
    words[3] = at->correlation;
    uint16_t count = 4;
    for (size_t i = 0; i < at->stall_count && i < REASONS_MAX; i++)
        if (at->stalls[i].samples)
            words[count++] = (uint64_t)at->stalls[i].reason << 32 | at->stalls[i].samples;
    tell_function(at);
    cuda_emit(&(struct cuda_note){ .type = WIRE_CUDA_PC, .words = words, .word_count = count });
}

/* Sends what a buffer holds, and prepares it for the next call. */
static void tell_buffer(const struct sampled *sampled, struct pc_sampling_buffer *buffer, int is_full)
{
    struct cupti_pc_data *data = &buffer->data;
    uint64_t totals[] = { sampled->id, data->total_samples, data->dropped_samples, data->foreign_samples,
                          is_full || data->is_hardware_full };
    for (size_t i = 0; i < data->count && i < PCS; i++) {
        tell_pc(sampled, &buffer->pcs[i]);
        buffer->pcs[i].stall_count = REASONS_MAX;
    }
    if (totals[1] || totals[4])
        cuda_emit(&(struct cuda_note){ .type = WIRE_CUDA_PC_TOTALS, .words = totals, .word_count = 5 });
    *data = (struct cupti_pc_data){ .bytes = sizeof *data, .room = PCS, .pcs = buffer->pcs };
}

static void fetch(struct sampled *sampled)
{
    void *context;
    for (uint32_t i = 0; (context = live(sampled)) && i < BATCHES_MAX; i++) {
        struct cupti_pc_data *data = &sampled->read->data;
        int result = CALL(PCSamplingGetData, OF(cupti_pc_get, context, .data = data));
        int is_full = result == CUPTI_RESULT_ERROR_OUT_OF_MEMORY;
        if (result != CUPTI_RESULT_SUCCESS && !is_full)
            return;
        int is_last = (data->count == 0 || data->remaining == 0) && !(is_full && i == 0);
        tell_buffer(sampled, sampled->read, is_full);
        if (is_last)
            return;
    }
}

void cuda_pc_record(int on)
{
    if (!cuda_pc_wanted() || !pc_sampling_enter())
        return;
    for (uint32_t i = 0; i < GPUS_MAX; i++) {
        pc_sampling_run(&pc.gpus[i], on);
        if (!on)
            fetch(&pc.gpus[i]); /* the capture may end here, before the agent's thread comes to it */
    }
    pc_sampling_leave();
}

void cuda_pc_fetch(void)
{
    if (!pc.is_ready || !pc_sampling_enter())
        return;
    for (uint32_t i = 0; i < GPUS_MAX; i++) {
        if (cuda_pc_wanted())
            pc_sampling_run(&pc.gpus[i],
                            agent_recording(WIRE_BIT(CUDA))); /* where cuda_pc_record() did not come to it */
        fetch(&pc.gpus[i]);
    }
    pc_sampling_leave();
}

/* Stopping makes CUPTI hand over what the GPU's buffer still has. */
void cuda_pc_finish(void)
{
    if (!pc.is_ready || !pc_sampling_enter())
        return;
    for (uint32_t i = 0; i < GPUS_MAX; i++) {
        int was_running = pc.gpus[i].is_running;
        pc_sampling_run(&pc.gpus[i], 0);
        fetch(&pc.gpus[i]);
        if (was_running)
            pc_sampling_run(&pc.gpus[i], 1);
    }
    pc_sampling_leave();
}

void cuda_pc_context_destroyed(void *context)
{
    struct sampled *sampled = pc.is_ready ? sampled_of(context) : NULL;
    if (!sampled)
        return;
    atomic_store(&sampled->end, CONTEXT_ENDS);
    if (!cuda_lock_within(&pc.busy, END_MS)) {
        atomic_store(&sampled->end, CONTEXT_DESTROYED);
        return;
    }
    atomic_store(&sampled->end, CONTEXT_STAYS); /* keeps the context until this function returns */
    pc_sampling_run(sampled, 0);
    fetch(sampled);
    if (CALL(PCSamplingDisable, OF(cupti_pc_context, context)) == CUPTI_RESULT_SUCCESS)
        tell_buffer(sampled, sampled->configured, 0);
    pc_sampling_forget(sampled);
    pc_sampling_leave();
}

/* ---- Modules --------------------------------------------------------------------------------------------------- */

int cuda_pc_crc(const struct cupti_module_data *module, uint64_t *crc)
{
    struct cupti_cubin_crc of = { .bytes = sizeof of, .cubin_bytes = module->cubin_bytes, .cubin = module->cubin };
    if (!cuda_pc_wanted() || !find_functions() || pc.cupti.GetCubinCrc(&of) != CUPTI_RESULT_SUCCESS)
        return -1;
    *crc = of.crc;
    return 0;
}
