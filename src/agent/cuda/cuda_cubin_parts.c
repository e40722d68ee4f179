/* Line information of modules, for PC sampling: the collector gets the parts of a cubin that map instructions to lines,
 * and reads them there. Only programs that were compiled with -lineinfo have any; it is small beside the code. */
#include <string.h>

#include "abi/cuda_code.h"
#include "cuda_agent.h"

#define MODULE_BYTES_MAX (16u << 20)
#define PROCESS_BYTES_MAX (128u << 20)

static void send(uint64_t crc, size_t size, uint64_t offset, const char *bytes, uint32_t count)
{
    struct agent_thread *thread = agent_thread();
    struct agent_lane *lane;
    uint32_t words = WIRE_HEAD_WORDS + 4 + (count + 7) / 8;
    struct wire_record *record = thread ? emit_begin(thread, &lane, WIRE_SOURCE_CUDA, WIRE_CUDA_CUBIN, words) : NULL;
    if (!record)
        return;
    record->ticks = agent_ticks();
    record->body[0] = crc;
    record->body[1] = size;
    record->body[2] = offset;
    record->body[3] = count;
    record->body[3 + (count + 7) / 8] = 0; /* pads the last word; it is written over where the bytes fill it */
    memcpy(record->body + 4, bytes, count);
    emit_commit(lane, record);
}

void cuda_cubin_loaded(const struct cupti_module_data *module, const struct cuda_code *code)
{
    static _Atomic uint64_t sent;
    struct cuda_code_part parts[CUDA_CODE_LINE_PARTS];
    unsigned count = cuda_pc_wanted() ? cuda_code_line_parts(code, parts) : 0;
    uint64_t bytes = 0, crc;
    for (unsigned i = 0; i < count; i++)
        bytes += parts[i].size;
    if (!bytes || bytes > MODULE_BYTES_MAX || cuda_pc_crc(module, &crc) != 0 ||
        atomic_fetch_add_explicit(&sent, bytes, memory_order_relaxed) > PROCESS_BYTES_MAX)
        return;
    for (unsigned i = 0; i < count; i++)
        for (uint64_t at = 0; at < parts[i].size; at += WIRE_CUDA_CUBIN_PIECE) {
            uint64_t left = parts[i].size - at;
            send(crc, module->cubin_bytes, parts[i].offset + at, module->cubin + parts[i].offset + at,
                 (uint32_t)(left < WIRE_CUDA_CUBIN_PIECE ? left : WIRE_CUDA_CUBIN_PIECE));
        }
}
