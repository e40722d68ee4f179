/* The functions and the struct sizes of CUPTI's profiler interfaces by version, from cupti_profiler.def. */
#include "cupti_profiler.h"

#include "base/array.h"

struct argument {
    uint32_t call, since;
    size_t end; /* offset of the byte behind it */
};

static const struct argument arguments_by_call[] = {
#define CUPTI_CALL(call, function, struct_name)                                                                        \
    { CUPTI_CALL_##call, 0, offsetof(struct cupti_##call, reserved) + sizeof(void *) },
#define CUPTI_ARGUMENT(call, type, ours, theirs, since)                                                                \
    { CUPTI_CALL_##call, CUPTI_VERSION_##since, offsetof(struct cupti_##call, ours) + sizeof(type) },
#define CUPTI_END(call)
#include "cupti_profiler.def"
#undef CUPTI_CALL
#undef CUPTI_ARGUMENT
#undef CUPTI_END
};

size_t cupti_call_bytes(uint32_t version, enum cupti_call_id call)
{
    size_t bytes = 0;
    for (size_t i = 0; i < COUNT_OF(arguments_by_call); i++)
        if (arguments_by_call[i].call == call && arguments_by_call[i].since <= version)
            bytes = arguments_by_call[i].end;
    return bytes;
}

const char *cupti_profiler_find(struct cupti_profiler *cupti, uint32_t version,
                                void *(*find)(void *library, const char *name), void *library)
{
    static const char *const names[] = {
#define CUPTI_CALL(call, function, struct_name) #function,
#define CUPTI_ARGUMENT(call, type, ours, theirs, since)
#define CUPTI_END(call)
#include "cupti_profiler.def"
#undef CUPTI_CALL
#undef CUPTI_ARGUMENT
#undef CUPTI_END
    };
    cupti->version = version;
    for (size_t i = 0; i < CUPTI_CALL_COUNT; i++) {
        cupti->functions[i] = (int (*)(void *))find(library, names[i]);
        if (!cupti->functions[i])
            return names[i];
    }
    return NULL;
}

int cupti_profiler_call(const struct cupti_profiler *cupti, enum cupti_call_id call, void *arguments)
{
    *(size_t *)arguments = cupti_call_bytes(cupti->version, call);
    return cupti->functions[call](arguments);
}
