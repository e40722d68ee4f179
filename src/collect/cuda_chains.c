/* Who made a call into CUDA: chains of return addresses become rows of CUDA_CALLCHAINS, and calls refer to them.
 *
 * A chain comes with its thread's records, its call in a buffer that is delivered later: a few thousand chains wait, by correlation
 * id, and one that waits too long gives its place to another. Symbols are another source's: here an address stays an address. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "../base/hash.h"
#include "cuda_state.h"

#define FRAMES_MAX 1024u

void cuda_chains_free(struct cuda_process *cuda)
{
    free(cuda->chains.waiting);
    free(cuda->chains.frames);
}

static int prepare(struct cuda_chains *chains)
{
    if (!chains->waiting)
        chains->waiting = calloc(CUDA_CHAINS_WAITING, sizeof *chains->waiting);
    if (!chains->frames)
        chains->frames = calloc(CUDA_FRAMES_KNOWN, sizeof *chains->frames);
    return chains->waiting && chains->frames ? 0 : -1;
}

static int64_t module_of(const struct process *process, uint64_t address)
{
    for (size_t i = 0; process && i < process->module_count; i++)
        if (address - process->modules[i].address < process->modules[i].bytes)
            return process->modules[i].path_id;
    return 0;
}

const struct cuda_frame *cuda_frame_of(struct cuda_process *cuda, uint64_t address)
{
    static const struct cuda_frame nothing;
    struct cuda_chains *chains = &cuda->chains;
    const struct process *process = cuda->setup.process;
    if (prepare(chains) != 0)
        return &nothing;
    if (process && process->module_count != chains->module_count) { /* what was unknown may be known now */
        chains->module_count = process->module_count;
        memset(chains->frames, 0, CUDA_FRAMES_KNOWN * sizeof *chains->frames);
    }
    struct cuda_frame *frame = &chains->frames[hash_number(address) >> 16 & (CUDA_FRAMES_KNOWN - 1)];
    if (frame->address == address && frame->symbol_id)
        return frame;
    char text[24];
    int length = snprintf(text, sizeof text, "0x%" PRIx64, address);
    int64_t module = module_of(process, address);
    *frame = (struct cuda_frame){.address = address, .symbol_id = writer_string(cuda->writer, text, (size_t)length),
                                 .module_id = module ? module : writer_string(cuda->writer, "[Unknown]", strlen("[Unknown]"))};
    return frame;
}

static void frame_row(struct cuda_process *cuda, int64_t chain, uint32_t depth, uint64_t address)
{
    const struct cuda_frame *frame = cuda_frame_of(cuda, address);
    struct row_CUDA_CALLCHAINS *row = CUDA_ROW(cuda, CUDA_CALLCHAINS);
    ROW_SET(row, CUDA_CALLCHAINS, id, chain);
    ROW_SET(row, CUDA_CALLCHAINS, symbol, frame->symbol_id);
    ROW_SET(row, CUDA_CALLCHAINS, module, frame->module_id);
    ROW_SET(row, CUDA_CALLCHAINS, unresolved, 1);
    ROW_SET(row, CUDA_CALLCHAINS, originalIP, (int64_t)address);
    ROW_SET(row, CUDA_CALLCHAINS, stackDepth, depth);
    CUDA_COMMIT(cuda, CUDA_CALLCHAINS);
}

static struct cuda_chain_id *place_of(const struct cuda_chains *chains, enum cuda_domain domain, uint32_t correlation)
{
    return &chains->waiting[hash_number((uint64_t)correlation << 1 | domain) >> 16 & (CUDA_CHAINS_WAITING - 1)];
}

CUDA_TOLD(cuda_chain_told)
{
    struct cuda_chains *chains = &cuda->chains;
    uint32_t frames = record->b;
    if (record->a > CUDA_DRIVER || frames == 0 || frames > FRAMES_MAX || words < WIRE_HEAD_WORDS + 1 + frames || prepare(chains) != 0)
        return -1;
    int64_t chain = cuda->setup.chain_ids ? (*cuda->setup.chain_ids)++ : chains->count;
    chains->count++;
    for (uint32_t i = 0; i < frames; i++)
        frame_row(cuda, chain, i, record->body[1 + i]);
    uint32_t correlation = (uint32_t)record->body[0];
    *place_of(chains, record->a, correlation) = (struct cuda_chain_id){correlation, record->a, chain + 1};
    return 0;
}

int64_t cuda_chain_of(struct cuda_process *cuda, enum cuda_domain domain, uint32_t correlation)
{
    if (!cuda->chains.count)
        return -1;
    struct cuda_chain_id *place = place_of(&cuda->chains, domain, correlation);
    if (!place->id || place->correlation != correlation || place->domain != (uint32_t)domain)
        return -1;
    int64_t chain = place->id - 1;
    place->id = 0;
    return chain;
}
