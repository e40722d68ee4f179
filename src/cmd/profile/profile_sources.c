/* What `tacho profile` records: the names of -t, of which many are nsys's alone, NVTX domains,
 * and how short a call may be. */
#include "profile_sources.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "wire/wire_libraries.h"

enum { BY_AGENT, BY_NOBODY, BY_PYTHON_SAMPLING };

/* What -t can name, and who records it: agents (WIRE_BIT()s, for libraries their own bits), nobody
 * yet, or Python's sampler. */
static const struct {
    const char *name;
    uint32_t bits, libraries;
    int how;
} sources[] = {
    { "cuda", WIRE_BIT(CUDA), 0, 0 },
    { "nvtx", WIRE_BIT(NVTX), 0, 0 },
    { "osrt", WIRE_BIT(OSRT), 0, 0 },
    { "none", 0, 0, 0 },
    { "python-gil", 0, 0, BY_PYTHON_SAMPLING },
    { "cuda-hw", WIRE_BIT(CUDA), 0, 0 },
    { "cuda-sw", WIRE_BIT(CUDA), 0, 0 },
#define LIBRARY(id, name, domain)                                                                                      \
    { name, WIRE_BIT(LIBRARY), WIRE_LIBRARY_BIT(WIRE_LIBRARY_##id), 0 },                                               \
    { name "-verbose", WIRE_BIT(LIBRARY),                                                                              \
      WIRE_LIBRARY_BIT(WIRE_LIBRARY_##id) | WIRE_LIBRARY_VERBOSE(WIRE_LIBRARY_##id), 0 },
#include "wire/libraries.def"
#undef LIBRARY
#define KNOWN_ONLY(name) { name, 0, 0, BY_NOBODY }
    KNOWN_ONLY("cudla"),
    KNOWN_ONLY("cudla-verbose"),
    KNOWN_ONLY("gds"),
    KNOWN_ONLY("mpi"),
    KNOWN_ONLY("oshmem"),
    KNOWN_ONLY("ucx"),
    KNOWN_ONLY("opengl"),
    KNOWN_ONLY("opengl-annotations"),
    KNOWN_ONLY("openacc"),
    KNOWN_ONLY("openmp"),
    KNOWN_ONLY("nvvideo"),
    KNOWN_ONLY("nvmedia"),
    KNOWN_ONLY("vulkan"),
    KNOWN_ONLY("vulkan-annotations"),
    KNOWN_ONLY("openxr"),
    KNOWN_ONLY("syscall"),
    KNOWN_ONLY("tegra-accelerators"),
    KNOWN_ONLY("nvshmem"),
    KNOWN_ONLY("cusparse-lt"),
    KNOWN_ONLY("cufft"),
    KNOWN_ONLY("curand"),
    KNOWN_ONLY("npp"),
    KNOWN_ONLY("dx11"),
    KNOWN_ONLY("dx11-annotations"),
    KNOWN_ONLY("dx12"),
    KNOWN_ONLY("dx12-annotations"),
    KNOWN_ONLY("wddm"),
    KNOWN_ONLY("sw"),
    KNOWN_ONLY("hw"),
#undef KNOWN_ONLY
};

enum { SOURCE_NAMES = sizeof sources / sizeof sources[0] };

const char *const *profile_source_names(void)
{
    static const char *names[SOURCE_NAMES + 1];

    for (size_t i = 0; i < SOURCE_NAMES; i++)
        names[i] = sources[i].name;
    return names;
}

static int take_one_source(struct profile_settings *settings, const char *name, struct error *err)
{
    for (size_t i = 0; i < SOURCE_NAMES; i++) {
        if (strcmp(sources[i].name, name) != 0)
            continue;
        settings->sources_given |= sources[i].bits;
        settings->libraries_given |= sources[i].libraries;
        settings->python.gil |= sources[i].how == BY_PYTHON_SAMPLING;
        if (sources[i].how == BY_NOBODY)
            text_addf(&settings->unsupported, "%s%s", settings->unsupported.length ? ", " : "", name);
        return 0;
    }
    const char *nearest = nearest_name(name, profile_source_names());
    if (nearest)
        return error_set(err, ERR_BAD_ARGUMENT, "--trace does not know '%s'; did you mean %s?", name, nearest);
    return error_set(err, ERR_BAD_ARGUMENT,
                     "--trace does not know '%s': it is a list of cuda, nvtx, osrt, cublas, cudnn, cusolver, cusparse, "
                     "nccl, python-gil and none; nsys's other names are taken without an effect",
                     name);
}

int profile_sources_take(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;
    char **names = option_split(value, NULL);

    if (!names)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    settings->has_sources = 1;
    settings->sources_given = settings->libraries_given = 0;
    settings->python.gil = 0;
    text_clear(&settings->unsupported);
    for (char **name = names; *name && err->code == 0; name++)
        take_one_source(settings, *name, err);
    free(names);
    return err->code;
}

static int take_domains(struct profile_settings *settings, const char *value, const char *const **field,
                        struct error *err)
{
    char **names = profile_own(settings, option_split(value, NULL));

    *field = (const char *const *)names;
    return names ? 0 : error_set(err, ERR_NO_MEMORY, "out of memory");
}

int profile_sources_take_include(void *settings, const char *value, struct error *err)
{
    return take_domains(settings, value, &((struct profile_settings *)settings)->collect.nvtx_domain_include, err);
}

int profile_sources_take_exclude(void *settings, const char *value, struct error *err)
{
    return take_domains(settings, value, &((struct profile_settings *)settings)->collect.nvtx_domain_exclude, err);
}

#define LONGEST_NS UINT64_C(1000000000000000000) /* 30 years; in ticks of any counter it still fits */

int profile_sources_take_osrt_threshold(void *settings, const char *value, struct error *err)
{
    char *end;
    unsigned long long ns = strtoull(value, &end, 10);

    if (!isdigit((unsigned char)*value) || *end || ns > LONGEST_NS)
        return error_set(err, ERR_BAD_ARGUMENT, "--osrt-threshold is a number of nanoseconds, not '%s'", value);
    ((struct profile_settings *)settings)->collect.osrt_threshold_ns = ns;
    return 0;
}

/* One sentence for all names that were taken without an effect. */
static void warn_unsupported(struct profile_settings *settings)
{
    const char *names = text_string(&settings->unsupported);

    if (!settings->unsupported.length)
        return;
    text_addf(&settings->warnings, "--trace=%s %s no effect: this version does not record %s yet%s\n", names,
              strchr(names, ',') ? "have" : "has", strchr(names, ',') ? "them" : "it",
              settings->sources_given ? "" : "; nothing is recorded but processes and threads: add cuda, nvtx, osrt");
}

void profile_sources_finish(struct profile_settings *settings, struct collect_options *collect)
{
    warn_unsupported(settings);
    collect->sources = settings->has_sources ? settings->sources_given
                                             : WIRE_BIT(CUDA) | WIRE_BIT(NVTX) | WIRE_BIT(OSRT);
    collect->libraries = settings->libraries_given;
}
