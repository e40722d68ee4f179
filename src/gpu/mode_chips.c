/* The chips whose counters CUPTI knows: a frame each. */
#include <string.h>

#include "abi/counters/counter_sections.h"
#include "abi/cupti.h"
#include "base/text.h"
#include "gpu/counters/counters_library.h"
#include "gpu/frames/frames_out.h"
#include "gpu_mode.h"

static void send_chip(const char *name)
{
    struct gpu_chip head = { .capability = (uint32_t)counter_chip_capability(name) };
    struct text frame = { 0 };

    text_add_bytes(&frame, &head, sizeof head);
    text_add_bytes(&frame, name, strlen(name) + 1);
    if (!text_failed(&frame))
        frames_add(GPU_FRAME_CHIP, frame.bytes, frame.length);
    text_free(&frame);
}

int gpu_mode_chips(char **options)
{
    struct cupti_host_chips chips = { 0 };
    struct refusal why = { .id = GPU_REFUSAL_NONE };
    int result = counters_load(&why) ? 0 : cupti_profiler_call(&counters_cupti, CUPTI_CALL_host_chips, &chips);

    (void)options;
    if (result != CUPTI_RESULT_SUCCESS)
        refusal_set(&why, GPU_REFUSAL_CUPTI_FAILED, counters_result_text(result), NULL);
    if (why.id != GPU_REFUSAL_NONE) {
        frames_refuse(GPU_ORIGIN_COUNTERS, GPU_ALL, &why);
        return GPU_MODE_REFUSED;
    }
    for (size_t i = 0; i < chips.count; i++)
        send_chip(chips.names[i]);
    return 0;
}
