/* Libraries of CUDA (cuBLAS and others) whose calls are recorded as ranges. */
#include "cmd/cmd_source.h"
#include "cmd/profile/profile_settings.h"
#include "wire/wire_libraries.h"

/* The names of --trace: two for each library, in the order of their numbers. */
static const struct cmd_source_trace library_source_traces[] = {
#define LIBRARY(id, text, ...)                                                                                         \
    { .name = text },                                                                                                  \
    { .name = text "-verbose", .is_other_name = 1 },
#include "wire/libraries.def"
#undef LIBRARY
    { 0 },
};

static int library_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    for (uint32_t i = 0; library_source_traces[i].name; i++)
        if (profile_is_traced(settings, library_source_traces[i].name))
            collect->libraries |= WIRE_LIBRARY_BIT(i / 2) | (i % 2 ? WIRE_LIBRARY_VERBOSE(i / 2) : 0);
    return 0;
}

const struct cmd_source cmd_source_libraries = {
    .events = WIRE_BIT(LIBRARIES),
    .traces = library_source_traces,
    .finish = library_source_finish,
};
