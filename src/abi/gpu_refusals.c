/* Makes sentences of the rows of gpu_refusals.def. */
#include "gpu_refusals.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "cupti.h"

static const struct {
    const char *sentence, *allow;
} refusals[GPU_REFUSALS] = {
    [GPU_REFUSAL_NONE] = { "", "" },
#define GPU_REFUSAL(id, sentence, allow) [GPU_REFUSAL_##id] = { sentence, allow },
#include "gpu_refusals.def"
#undef GPU_REFUSAL
};

static void gpu_refusals_add(char *out, size_t bytes, size_t *at, const char *text, size_t length)
{
    size_t room = bytes - 1 - *at;

    length = length < room ? length : room;
    memcpy(out + *at, text, length);
    *at += length;
}

void gpu_refusal_write(char *out, size_t bytes, enum gpu_refusal_id id, uint32_t gpu, const char *const texts[2])
{
    const char *from = refusals[id < GPU_REFUSALS ? id : GPU_REFUSAL_NONE].sentence;
    char number[16];
    size_t at = 0, text = 0;

    snprintf(number, sizeof number, "%u", (unsigned)gpu);
    while (*from) {
        size_t length = strcspn(from, "#{");
        gpu_refusals_add(out, bytes, &at, from, length);
        from += length;
        if (*from == '#') {
            gpu_refusals_add(out, bytes, &at, number, strlen(number));
            from++;
        } else if (*from == '{') {
            const char *brought = text < 2 && texts[text] ? texts[text] : "";
            gpu_refusals_add(out, bytes, &at, brought, strlen(brought));
            text++;
            from += strlen("{}");
        }
    }
    out[at] = 0;
}

const char *gpu_refusal_allow(enum gpu_refusal_id id)
{
    return refusals[id < GPU_REFUSALS ? id : GPU_REFUSAL_NONE].allow;
}

enum gpu_refusal_id gpu_refusal_of_cupti(int result)
{
    static const struct {
        int result;
        enum gpu_refusal_id id;
    } rows[] = {
        { CUPTI_RESULT_ERROR_INSUFFICIENT_PRIVILEGES, GPU_REFUSAL_COUNTERS_FOR_ADMINS },
        { CUPTI_RESULT_ERROR_INVALID_OPERATION, GPU_REFUSAL_COUNTERS_TAKEN },
        { CUPTI_RESULT_ERROR_HARDWARE_BUSY, GPU_REFUSAL_COUNTERS_TAKEN },
        { CUPTI_RESULT_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES, GPU_REFUSAL_COUNTERS_VIRTUAL },
        { CUPTI_RESULT_ERROR_CONFIDENTIAL_COMPUTING_NOT_SUPPORTED, GPU_REFUSAL_COUNTERS_CONFIDENTIAL },
    };

    for (size_t i = 0; i < COUNT_OF(rows); i++)
        if (rows[i].result == result)
            return rows[i].id;
    return GPU_REFUSAL_NONE;
}
