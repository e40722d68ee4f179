/* The chips whose counters CUPTI knows: a frame each. */
#include "abi/cupti.h"
#include "gpu/counters/counters_frames.h"
#include "gpu/counters/counters_library.h"
#include "gpu/frames/frames_out.h"
#include "gpu_mode.h"

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
        counters_send_chip(chips.names[i]);
    return 0;
}
