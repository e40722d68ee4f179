/* Libraries of CUDA (cuBLAS and others) whose calls are recorded as ranges. */
#include "cmd/cmd_source.h"
#include "cmd/profile/profile_settings.h"
#include "wire/wire_libraries.h"

/* The names of --trace; each stands for the bits at its place in libraries[]. */
static const struct cmd_source_trace library_source_traces[] = {
#define LIBRARY(id, text, domain)                                                                                      \
    { .name = text },                                                                                                  \
    { .name = text "-verbose", .is_other_name = 1 },
#include "wire/libraries.def"
#undef LIBRARY
    { 0 },
};

/* Bits of collect_options.libraries. */
static const uint32_t libraries[] = {
#define LIBRARY(id, text, domain)                                                                                      \
    WIRE_LIBRARY_BIT(WIRE_LIBRARY_##id),                                                                               \
    WIRE_LIBRARY_BIT(WIRE_LIBRARY_##id) | WIRE_LIBRARY_VERBOSE(WIRE_LIBRARY_##id),
#include "wire/libraries.def"
#undef LIBRARY
};

static int library_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    for (size_t i = 0; library_source_traces[i].name; i++)
        collect->libraries |= profile_is_traced(settings, library_source_traces[i].name) ? libraries[i] : 0;
    return 0;
}

const struct cmd_source cmd_source_libraries = {
    .events = WIRE_BIT(LIBRARIES),
    .traces = library_source_traces,
    .finish = library_source_finish,
};
