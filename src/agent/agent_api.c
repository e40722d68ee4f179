/* The agent's side of <tacho/tacho.h>: the functions that libtacho.so calls in a program that is being profiled. */
#include "tacho/tacho.h"

#include "agent/core/agent.h"
#include "agent/core/attach.h"
#include "agent/core/capture_control.h"
#include "agent/core/modules.h"
#include "agent/nvtx/nvtx_agent.h"
#include "agent/torch/torch_agent.h"
#include "wire/wire_nvtx.h"
#include "wire/wire_torch.h"

/* Steps are numbered over the whole process and may come from any thread. If one comes while another is being changed,
 * it is counted but has no range. */
static _Atomic uint64_t step_count;
static _Atomic uint64_t open_step; /* id of its range; 0: none */

static void agent_api_start(void)
{
    agent_note_modules(); /* an agent that was not preloaded has no hook of dlopen */
    agent_capture_begin(WIRE_CAPTURE_API);
}

static void agent_api_stop(void)
{
    agent_capture_end(WIRE_CAPTURE_API);
}

static void agent_api_mark(const char *text)
{
    nvtx_mark(&(struct nvtx_event){ .text = nvtx_ascii(text) });
}

static void agent_api_push(const char *text)
{
    nvtx_push(&(struct nvtx_event){ .text = nvtx_ascii(text) });
}

static void agent_api_pop(void)
{
    nvtx_pop(&(struct nvtx_event){ 0 });
}

static uint32_t step_domain(void)
{
    static _Atomic(const void *) domain;
    const void *handle = atomic_load(&domain);
    if (!handle) {
        handle = nvtx_new_domain(nvtx_ascii("tacho"));
        atomic_store(&domain, handle);
    }
    return nvtx_domain_of(handle);
}

static void agent_api_step(void)
{
    struct nvtx_event event = {
        .domain = step_domain(),
        .flags = 2 << WIRE_NVTX_PAYLOAD_SHIFT, /* a signed 64-bit number */
        .payload = atomic_fetch_add(&step_count, 1),
        .text = nvtx_ascii("step"),
    };
    uint64_t ended = atomic_exchange(&open_step, 0);
    if (ended)
        nvtx_end(ended, &(struct nvtx_event){ .domain = event.domain });
    atomic_store(&open_step, nvtx_start(&event));
}

static int recording(void)
{
    return agent_attached() && agent_recording(UINT32_MAX);
}

static int agent_api_flush(void)
{
    if (!agent_thread())
        return -ENOTCONN;
    int saved_errno = errno;
    sources_flush();
    int result = attach_flush();
    errno = saved_errno;
    return result;
}

static const char *report(void)
{
    return agent_attached() && agent.arena->report_path ? agent.arena->text + agent.arena->report_path : NULL;
}

/* Maps the public bits for PyTorch to those of the wire. */
static const struct {
    unsigned choice, flag;
} torch_choices[] = {
    { TACHO_TORCH_SHAPES, WIRE_TORCH_SHAPES },
    { TACHO_TORCH_MEMORY, WIRE_TORCH_MEMORY },
    { TACHO_TORCH_STACKS, WIRE_TORCH_STACKS },
    { TACHO_TORCH_MODULES, WIRE_TORCH_MODULES },
};

static unsigned agent_api_choose(unsigned what)
{
    if (!agent_thread())
        return 0;
    uint32_t cuda = agent.sources & WIRE_BIT(CUDA), flags = 0;
    uint32_t sources = (agent.sources & ~cuda) | (what & TACHO_CUDA ? cuda : 0);
    unsigned before = atomic_exchange(&agent.chosen, sources) & WIRE_BIT(CUDA) ? TACHO_CUDA : 0;
    for (size_t i = 0; i < COUNT_OF(torch_choices); i++)
        flags |= what & torch_choices[i].choice ? torch_choices[i].flag : 0;
    uint32_t flags_before = torch_choose(flags);
    for (size_t i = 0; i < COUNT_OF(torch_choices); i++)
        before |= flags_before & torch_choices[i].flag ? torch_choices[i].choice : 0;
    return before;
}

static unsigned long agent_api_module_begin(const char *name)
{
    return torch_module_begin(name);
}

static void agent_api_module_end(unsigned long call)
{
    torch_module_end(call);
}

static unsigned long event_begin(void)
{
    return torch_event_begin();
}

static void event_end(unsigned long begun, unsigned kind, const char *fields)
{
    torch_event_end(begun, kind, fields);
}

static const struct tacho_calls agent_api_calls = {
    .size = sizeof agent_api_calls,
    .start = agent_api_start,
    .stop = agent_api_stop,
    .step = agent_api_step,
    .mark = agent_api_mark,
    .push = agent_api_push,
    .pop = agent_api_pop,
    .recording = recording,
    .flush = agent_api_flush,
    .report = report,
    .choose = agent_api_choose,
    .module_begin = agent_api_module_begin,
    .module_end = agent_api_module_end,
    .modules = &torch_modules_wanted,
    .event_begin = event_begin,
    .event_end = event_end,
};

/* libtacho.so finds this by name. NULL when this process is not recorded. */
EXPORT const struct tacho_calls *tacho_agent_calls(void);
EXPORT const struct tacho_calls *tacho_agent_calls(void)
{
    return agent_thread() ? &agent_api_calls : NULL;
}
