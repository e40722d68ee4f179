/* The call chains of CUDA calls, and the module of an address in a record.
 *
 * A chain comes with the records of its thread, but its call comes in a buffer that is delivered later. So a few
 * thousand chains wait, by correlation id; one that waits too long is replaced by another. stack_rows.c writes the
 * chains themselves. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/hash.h"
#include "cuda_records.h"
#include "cuda_state.h"

void cuda_chains_free(struct cuda_process *cuda)
{
    free(cuda->chains.waiting);
    free(cuda->chains.frames);
}

static int cuda_chains_prepare(struct cuda_chains *chains)
{
    if (!chains->waiting)
        chains->waiting = calloc(CUDA_CHAINS_WAITING, sizeof *chains->waiting);
    if (!chains->frames)
        chains->frames = calloc(CUDA_FRAMES_KNOWN, sizeof *chains->frames);
    return chains->waiting && chains->frames ? 0 : -1;
}

static int64_t cuda_chains_module_of(const struct process *process, uint64_t address)
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
    if (cuda_chains_prepare(chains) != 0)
        return &nothing;
    /* A module of an unknown address may be known now. */
    if (process && process->module_count != chains->module_count) {
        chains->module_count = process->module_count;
        memset(chains->frames, 0, CUDA_FRAMES_KNOWN * sizeof *chains->frames);
    }
    struct cuda_frame *frame = &chains->frames[hash_number(address) >> 16 & (CUDA_FRAMES_KNOWN - 1)];
    if (frame->address == address && frame->symbol_id)
        return frame;
    char text[24];
    int length = snprintf(text, sizeof text, "0x%" PRIx64, address);
    int64_t module = cuda_chains_module_of(process, address);
    *frame = (struct cuda_frame){
        .address = address,
        .symbol_id = writer_string(cuda->writer, text, (size_t)length),
        .module_id = module ? module : writer_string(cuda->writer, "[Unknown]", strlen("[Unknown]")),
    };
    return frame;
}

static struct cuda_chain_id *cuda_chains_place_of(const struct cuda_chains *chains, enum cuda_domain domain,
                                                  uint32_t correlation)
{
    return &chains->waiting[hash_number((uint64_t)correlation << 1 | domain) >> 16 & (CUDA_CHAINS_WAITING - 1)];
}

void cuda_chain(struct cuda_process *cuda, int is_driver, uint32_t correlation, struct call_chains of)
{
    struct cuda_chains *chains = &cuda->chains;
    enum cuda_domain domain = is_driver ? CUDA_DRIVER : CUDA_RUNTIME;
    if (cuda_chains_prepare(chains) != 0)
        return;
    chains->count++;
    *cuda_chains_place_of(chains, domain, correlation) = (struct cuda_chain_id){ correlation, domain, of };
}

struct call_chains cuda_chain_of(struct cuda_process *cuda, enum cuda_domain domain, uint32_t correlation)
{
    struct call_chains none = { 0 };
    if (!cuda->chains.count)
        return none;
    struct cuda_chain_id *place = cuda_chains_place_of(&cuda->chains, domain, correlation);
    if (place->correlation != correlation || place->domain != (uint32_t)domain)
        return none;
    struct call_chains chains = place->chains;
    place->chains = none;
    return chains;
}
