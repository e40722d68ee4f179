/* One function for each kind of record, in a table. Those of NVTX and OS runtime have files of their own; here is what
 * a process says about itself: threads, exec, exit, children, modules, the capture. */
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>

#include "collect/core/collector.h"
#include "collect/process/unattached.h"
#include "collect/sources/cuda/cuda_collect.h"
#include "collect/sources/nvtx/nvtx_collect.h"
#include "collect/sources/osrt/osrt_collect.h"
#include "collect/sources/stacks/stack_rows.h"
#include "collect/sources/torch/torch_collect.h"
#include "wire/wire_cuda.h"
#include "wire/wire_nvtx.h"
#include "wire/wire_osrt.h"
#include "wire/wire_python.h"
#include "wire/wire_samples.h"
#include "wire/wire_torch.h"

static int64_t time_of(const struct origin *origin, const struct wire_record *record)
{
    return clock_map_time(&origin->collector->clock, record->ticks);
}

/* The text behind so many body words: up to its first zero, or to the end of the record. Empty if there is none. */
static const char *text_of(const struct wire_record *record, uint32_t words, uint32_t body_words, size_t *length)
{
    uint32_t start = WIRE_HEAD_WORDS + body_words;
    const char *text = (const char *)record + (size_t)start * 8;
    *length = words > start ? strnlen(text, (size_t)(words - start) * 8) : 0;
    return *length ? text : "";
}

static void copy_text(char *out, size_t size, const struct wire_record *record, uint32_t words, uint32_t body_words)
{
    size_t length;
    const char *text = text_of(record, words, body_words, &length);
    snprintf(out, size, "%.*s", (int)length, text);
}

static int64_t text_id(const struct origin *origin, const struct wire_record *record, uint32_t words,
                       uint32_t body_words)
{
    size_t length;
    const char *text = text_of(record, words, body_words, &length);
    return writer_string(origin->collector->writer, text, length);
}

static int has_body(const struct origin *origin, uint32_t words, uint32_t body_words)
{
    if (words >= WIRE_HEAD_WORDS + body_words)
        return 1;
    origin->process->counts[WIRE_SOURCE_NVTX].damaged++;
    return 0;
}

static void thread_name(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    size_t length;
    const char *text = text_of(record, words, 0, &length);
    origin->reader->name_id = writer_string(origin->collector->writer, text, length);
    if (origin->reader->tid == (uint32_t)origin->process->pid && length && length < sizeof origin->process->name) {
        memcpy(origin->process->name, text, length);
        origin->process->name[length] = 0;
    }
}

static void thread_end(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    origin->reader->end_ns = time_of(origin, record);
}

/* Of a path, the last part. */
static void copy_name(char *out, size_t size, const struct wire_record *record, uint32_t words, uint32_t body_words)
{
    size_t length;
    const char *text = text_of(record, words, body_words, &length);
    for (size_t i = length; i-- > 0;)
        if (text[i] == '/') {
            text += i + 1;
            length -= i + 1;
            break;
        }
    snprintf(out, size, "%.*s", (int)length, text);
}

static void exec_begins(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    if (!has_body(origin, words, 1))
        return;
    origin->process->exec_ns = time_of(origin, record);
    origin->process->exec_cpu_ns = record->body[0] <= INT64_MAX ? (int64_t)record->body[0] : -1;
    origin->process->exec_path_id = text_id(origin, record, words, 1);
    origin->process->exec_cause = unattached_cause(record->a);
    copy_name(origin->process->exec_name, sizeof origin->process->exec_name, record, words, 1);
}

static void exec_failed(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    origin->process->exec_ns = PROCESS_NO_TIME;
}

static void exits(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    if (!has_body(origin, words, 1))
        return;
    origin->process->exit_seen = 1;
    origin->process->exit_status = (int)(record->body[0] & 0xff);
    if (words > WIRE_HEAD_WORDS + 1)
        process_set_cpu(origin->process, record->body[1]);
}

static void child_status(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    if (!has_body(origin, words, 2))
        return;
    int status = (int)record->body[1];
    if (WIFEXITED(status) || WIFSIGNALED(status))
        children_end_from_agent(origin->process, (pid_t)record->body[0], time_of(origin, record), status, record->a);
}

static void child(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    char name[64];
    if (!has_body(origin, words, 3))
        return;
    copy_name(name, sizeof name, record, words, 3);
    struct child_news news = {
        .pid = (pid_t)record->body[0],
        .time_ns = clock_map_time(&origin->collector->clock, record->body[2]),
        .what = (enum wire_child)record->body[1],
        .cause = unattached_cause(record->a),
        .path_id = name[0] ? text_id(origin, record, words, 3) : 0,
        .name = name,
    };
    children_add_from_agent(origin->process, &news);
}

static void module_row(const struct origin *origin, const struct process_module *module, int64_t end_ns)
{
    struct row_TACHO_MODULE row = { 0 };
    ROW_SET(&row, TACHO_MODULE, start, module->start_ns);
    if (end_ns != PROCESS_NO_TIME)
        ROW_SET(&row, TACHO_MODULE, end, end_ns);
    ROW_SET(&row, TACHO_MODULE, globalPid, origin->process->global_pid);
    ROW_SET(&row, TACHO_MODULE, pathId, module->path_id);
    ROW_SET(&row, TACHO_MODULE, address, (int64_t)module->address);
    ROW_SET(&row, TACHO_MODULE, size, (int64_t)module->bytes);
    if (module->build_id)
        ROW_SET(&row, TACHO_MODULE, buildId, module->build_id);
    writer_append(origin->collector->writer, TABLE_TACHO_MODULE, &row);
}

#define BUILD_ID_WORDS 3

static int64_t build_id(const struct origin *origin, const struct wire_record *record)
{
    char hex[2 * 8 * BUILD_ID_WORDS + 1];
    size_t bytes = record->a <= 8 * BUILD_ID_WORDS ? record->a : 0;
    const unsigned char *id = (const unsigned char *)(record->body + 2);
    for (size_t i = 0; i < bytes; i++)
        snprintf(hex + 2 * i, 3, "%02x", id[i]);
    return bytes ? writer_string(origin->collector->writer, hex, 2 * bytes) : 0;
}

static void module(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    if (!has_body(origin, words, 2 + BUILD_ID_WORDS))
        return;
    struct process_module module = {
        .start_ns = time_of(origin, record),
        .path_id = text_id(origin, record, words, 2 + BUILD_ID_WORDS),
        .build_id = build_id(origin, record),
        .address = record->body[0],
        .bytes = record->body[1],
    };
    module_row(origin, &module, PROCESS_NO_TIME);
    process_add_module(origin->process, &module);
    char path[4096];
    copy_text(path, sizeof path, record, words, 2 + BUILD_ID_WORDS);
    stacks_module(origin->process, &(struct symbols_mapping){
                                       .address = module.address,
                                       .bytes = module.bytes,
                                       .path = path,
                                       .is_whole = 1,
                                       .build_id = (const unsigned char *)(record->body + 2),
                                       .build_id_bytes = record->a <= 8 * BUILD_ID_WORDS ? record->a : 0,
                                   });
}

static void module_end(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    struct process_module module;
    if (has_body(origin, words, 1) && process_take_module(origin->process, record->body[0], &module)) {
        module_row(origin, &module, time_of(origin, record));
        stacks_module_ends(origin->process, module.address, module.bytes);
    }
}

static void diagnostic(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    size_t length;
    const char *text = text_of(record, words, 0, &length);
    char copy[512];
    length = length < sizeof copy ? length : sizeof copy - 1;
    memcpy(copy, text, length);
    copy[length] = 0;
    collector_diagnostic(origin->collector, time_of(origin, record), record->a, origin->process->global_pid, copy);
}

static void leaves(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    static const char *const texts[] = {
#define LIMIT_TEXT(name, text) [WIRE_LIMIT_##name] = text,
        WIRE_LIMITS(LIMIT_TEXT)
#undef LIMIT_TEXT
    };
    struct process *process = origin->process;
    char sentence[512];
    if (record->a >= WIRE_LIMIT_COUNT)
        return;
    process->has_left = 1;
    process->left_ns = time_of(origin, record);
    process->cause = record->a == WIRE_LIMIT_FILTER ? WIRE_CAUSE_FILTERED : WIRE_CAUSE_UNKNOWN;
    snprintf(sentence, sizeof sentence, "Recording of %s (pid %d) stopped: %s.", process->name, (int)process->pid,
             texts[record->a]);
    collector_diagnostic(origin->collector, time_of(origin, record), 2, process->global_pid, sentence);
}

static void capture_elsewhere(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    size_t length;
    const char *text = text_of(record, words, 0, &length);
    snprintf(origin->collector->capture.elsewhere, sizeof origin->collector->capture.elsewhere, "%.*s", (int)length,
             text);
}

/* What CUDA goes by: which CUPTI it is, or why there is none. */
static void cupti_row(const struct origin *origin, const struct wire_record *record,
                      const struct row_TACHO_CUPTI *known)
{
    struct row_TACHO_CUPTI row = *known;
    ROW_SET(&row, TACHO_CUPTI, timestamp, time_of(origin, record));
    ROW_SET(&row, TACHO_CUPTI, globalPid, origin->process->global_pid);
    writer_append(origin->collector->writer, TABLE_TACHO_CUPTI, &row);
}

static void cuda_loaded(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    struct row_TACHO_CUPTI row = { 0 };
    if (!has_body(origin, words, 1))
        return;
    ROW_SET(&row, TACHO_CUPTI, version, (int64_t)record->body[0]);
    ROW_SET(&row, TACHO_CUPTI, path, text_id(origin, record, words, 1));
    ROW_SET(&row, TACHO_CUPTI, calls, collector_string(origin->collector, record->a == 1 ? "all" : "chosen"));
    cupti_row(origin, record, &row);
    origin->collector->result->cuda.processes++;
}

static void cuda_refused(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    struct collect_cuda_result *result = &origin->collector->result->cuda;
    struct row_TACHO_CUPTI row = { 0 };
    char text[sizeof result->refusal];
    ROW_SET(&row, TACHO_CUPTI, result, record->a);
    ROW_SET(&row, TACHO_CUPTI, refusal, text_id(origin, record, words, 0));
    cupti_row(origin, record, &row);
    copy_text(text, sizeof text, record, words, 0);
    if (result->refused++)
        return;
    memcpy(result->refusal, text, sizeof text);
    collector_warn(origin->collector, origin->process->global_pid, "%s (pid %d): %s", origin->process->name,
                   (int)origin->process->pid, text);
}

static void cuda(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    if (origin->process->cuda)
        cuda_record(origin->process->cuda, record, words, origin->reader->tid);
}

/* A stream that the program names: only CUDA's records say which one it is. */
static void name_stream(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    if (record->type == WIRE_NVTX_RESOURCE && record->flags == WIRE_RESOURCE_CUDA_STREAM && words > WIRE_HEAD_WORDS + 2)
        cuda_name_stream(origin->process->cuda, record->body[0], text_id(origin, record, words, 2));
}

static void nvtx(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    if (origin->process->cuda)
        name_stream(origin, record, words);
    if (origin->reader->nvtx)
        nvtx_record(origin->reader->nvtx, record, words);
}

/* ---- PyTorch --------------------------------------------------------------------------------------------------- */

static void torch_metadata(const struct origin *origin, const char *name, const char *value)
{
    struct row_TACHO_TORCH_METADATA row = { 0 };
    ROW_SET(&row, TACHO_TORCH_METADATA, name, collector_string(origin->collector, name));
    ROW_SET(&row, TACHO_TORCH_METADATA, value, collector_string(origin->collector, value));
    writer_append(origin->collector->writer, TABLE_TACHO_TORCH_METADATA, &row);
}

/* The settings of a capture, once, under the names that torch's own traces have for them. */
static void torch_loaded(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    struct collect_torch_result *result = &origin->collector->result->torch;
    char version[sizeof result->version], quoted[sizeof version + 2];
    uint32_t flags = origin->collector->options->torch_flags;
    if (result->processes++)
        return;
    copy_text(version, sizeof version, record, words, 0);
    for (char *at = version; *at; at++)
        *at = *at == '"' || *at == '\\' || (unsigned char)*at < ' ' ? '?' : *at;
    memcpy(result->version, version, sizeof version);
    snprintf(quoted, sizeof quoted, "\"%s\"", version);
    torch_metadata(origin, "tacho.torchVersion", quoted);
    torch_metadata(origin, "record_shapes", flags & WIRE_TORCH_SHAPES ? "1" : "0");
    torch_metadata(origin, "profile_memory", flags & WIRE_TORCH_MEMORY ? "1" : "0");
    torch_metadata(origin, "with_stack", flags & WIRE_TORCH_STACKS ? "1" : "0");
    torch_metadata(origin, "with_modules", flags & WIRE_TORCH_MODULES ? "1" : "0");
}

static void torch_refused(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    struct collect_torch_result *result = &origin->collector->result->torch;
    char text[sizeof result->refusal];
    copy_text(text, sizeof text, record, words, 0);
    if (result->refused++)
        return;
    memcpy(result->refusal, text, sizeof text);
    collector_warn(origin->collector, origin->process->global_pid, "%s (pid %d): %s", origin->process->name,
                   (int)origin->process->pid, text);
}

static void torch(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    struct process *process = origin->process;
    struct torch_setup setup = {
        .writer = origin->collector->writer,
        .clock = &origin->collector->clock,
        .global_pid = process->global_pid,
        .as_nvtx = origin->collector->options->torch_nvtx,
    };
    if (!process->torch)
        process->torch = torch_process_new(&setup);
    if (process->torch && !origin->reader->torch)
        origin->reader->torch = torch_thread_new(process->torch, process_global_tid(process, origin->reader->tid));
    if (origin->reader->torch)
        torch_record(origin->reader->torch, record, words);
    else
        process->counts[WIRE_SOURCE_TORCH].damaged++;
}

/* Those that follow in the handlers' lane wait until the thread's own is read so far. */
static void place(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    if (words > WIRE_HEAD_WORDS)
        origin->reader->place = record->body[0];
}

/* Who made the call whose record comes next. */
static void stack(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    int is_osrt = record->a == WIRE_SOURCE_OSRT;
    if (words < WIRE_HEAD_WORDS + 3)
        return;
    struct call_chains chains = {
        .native = stacks_record(origin->process, record, words, is_osrt ? STACKS_OSRT : STACKS_CUDA),
        .python = python_calls_find(origin->process, record->body[1]),
    };
    if (is_osrt) {
        origin->reader->chains = chains;
        origin->reader->chains_ticks = record->ticks;
    } else if (origin->process->cuda) {
        cuda_chain(origin->process->cuda, (record->body[0] & WIRE_CUDA_STACK_OF_DRIVER) != 0, (uint32_t)record->body[0],
                   chains);
    }
}

/* What is lost here is no event: calls of it have no Python stack. */
static void python_stack(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    python_calls_record(origin->process, record, words);
}

static struct call_chains take_chains(struct reader *reader, uint64_t ticks)
{
    struct call_chains none = { 0 }, chains = reader->chains_ticks == ticks ? reader->chains : none;
    reader->chains = none;
    return chains;
}

static void osrt_call(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    struct call_chains chains = take_chains(origin->reader, record->ticks);
    if (osrt_record(&origin->collector->osrt, process_global_tid(origin->process, origin->reader->tid), record, words,
                    chains) == 0)
        origin->process->counts[WIRE_SOURCE_OSRT].recorded++;
    else
        origin->process->counts[WIRE_SOURCE_OSRT].damaged++;
}

static void sample(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    if (cpu_sample(origin, record, words) == 0)
        origin->process->counts[WIRE_SOURCE_SAMPLES].recorded++;
    else
        origin->process->counts[WIRE_SOURCE_SAMPLES].damaged++;
}

static void thread_sums(const struct origin *origin, const struct wire_record *record, uint32_t words)
{
    if (cpu_thread_sums(origin, record, words) != 0)
        origin->process->counts[WIRE_SOURCE_SAMPLES].damaged++;
}

void record_open_call(const struct origin *origin, struct wire_thread *slot, int64_t end_ns)
{
    uint64_t ticks = atomic_load_explicit(&slot->call_ticks, memory_order_acquire);
    uint32_t function = atomic_load_explicit(&slot->call_function, memory_order_relaxed);
    if (end_ns == PROCESS_NO_TIME)
        end_ns = collector_now(origin->collector);
    int64_t global_tid = process_global_tid(origin->process, origin->reader->tid);
    if (ticks && osrt_incomplete(&origin->collector->osrt, global_tid, function, ticks, end_ns) == 0)
        origin->process->counts[WIRE_SOURCE_OSRT].recorded++;
}

const record_handler record_handlers[WIRE_TYPE_COUNT] = {
    [WIRE_THREAD_NAME] = thread_name,
    [WIRE_THREAD_END] = thread_end,
    [WIRE_THREAD_SUMS] = thread_sums,
    [WIRE_EXEC] = exec_begins,
    [WIRE_EXEC_FAILED] = exec_failed,
    [WIRE_EXIT] = exits,
    [WIRE_CHILD] = child,
    [WIRE_CHILD_STATUS] = child_status,
    [WIRE_LEAVE] = leaves,
    [WIRE_MODULE] = module,
    [WIRE_MODULE_END] = module_end,
    [WIRE_PLACE] = place,
    [WIRE_DIAGNOSTIC] = diagnostic,
    [WIRE_CAPTURE_ELSEWHERE] = capture_elsewhere,
    [WIRE_STACK] = stack,
    [WIRE_PYTHON_STACK] = python_stack,
    [WIRE_OSRT_CALL] = osrt_call,
    [WIRE_SAMPLE] = sample,
    [WIRE_CUDA_LOADED] = cuda_loaded,
    [WIRE_CUDA_REFUSED] = cuda_refused,
    [WIRE_CUDA_DEVICE... WIRE_CUDA_CALL] = cuda,
    [WIRE_NVTX_MARK... WIRE_NVTX_SYNC] = nvtx,
    [WIRE_TORCH_LOADED] = torch_loaded,
    [WIRE_TORCH_REFUSED] = torch_refused,
    [WIRE_TORCH_BEGIN... WIRE_TORCH_BYTES] = torch,
};
