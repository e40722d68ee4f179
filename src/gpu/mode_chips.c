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
    const char *why = counters_load();
    int result = why ? 0 : cupti_profiler_call(&counters_cupti, CUPTI_CALL_host_chips, &chips);

    (void)options;
    if (why || result != CUPTI_RESULT_SUCCESS) {
        frames_add_refusal(GPU_ORIGIN_COUNTERS, GPU_ALL, "%s", why ? why : counters_result_text(result));
        return GPU_MODE_REFUSED;
    }
    for (size_t i = 0; i < chips.count; i++)
        send_chip(chips.names[i]);
    return 0;
}
