/* PyTorch: values of --pytorch, with nsys's names for them, and what else can be asked for. */
#include <stdlib.h>
#include <string.h>

#include "cmd/cmd_source.h"
#include "cmd/doctor/finding.h"
#include "cmd/profile/profile_settings.h"
#include "torch_info.h"
#include "torch_summary.h"
#include "wire/wire_torch.h"

enum torch_source_mode { UNSET, OFF, ON };

struct torch_source_settings {
    enum torch_source_mode mode;
    int mode_shapes, nvtx, functions, replaces;  /* from --pytorch */
    int shapes, memory, stacks, modules, events; /* options of their own */
};

static struct torch_source_settings *torch_source_settings(struct profile_settings *settings)
{
    return profile_source_settings(settings, &cmd_source_torch);
}

static const struct {
    const char *name;
    enum torch_source_mode mode;
    int shapes, nvtx, functions, replaces;
} modes[] = {
    { "off", OFF, 0, 0, 0, 0 },
    { "none", OFF, 0, 0, 0, 0 },
    { "auto", ON, 0, 0, 0, 0 },
    { "autograd-nvtx", ON, 0, 1, 0, 0 },
    { "autograd-shapes-nvtx", ON, 1, 1, 0, 0 },
    { "functions-trace", ON, 0, 0, 1, 0 },
    { "replace", ON, 0, 0, 0, 1 },
};
enum { MODES = COUNT_OF(modes) };

static const char *const *torch_source_mode_names(void)
{
    static const char *names[MODES + 1];

    for (size_t i = 0; i < MODES; i++)
        names[i] = modes[i].name;
    return names;
}

static int torch_source_take_one(struct torch_source_settings *pytorch, const char *name, struct error *err)
{
    for (size_t i = 0; i < MODES; i++) {
        if (strcmp(modes[i].name, name) != 0)
            continue;
        pytorch->mode = modes[i].mode;
        pytorch->mode_shapes |= modes[i].shapes;
        pytorch->nvtx |= modes[i].nvtx;
        pytorch->functions |= modes[i].functions;
        pytorch->replaces |= modes[i].replaces;
        return 0;
    }
    return error_set(err, ERR_BAD_ARGUMENT,
                     "--pytorch must be off, auto, replace, or a list of autograd-nvtx, autograd-shapes-nvtx and "
                     "functions-trace, not '%s'",
                     name);
}

static int torch_source_take(void *settings, const char *value, struct error *err)
{
    struct torch_source_settings *pytorch = torch_source_settings(settings);
    char **names = option_split(value, NULL);
    int code = 0;

    if (!names)
        return error_no_memory(err);
    *pytorch = (struct torch_source_settings){ .shapes = pytorch->shapes,
                                               .memory = pytorch->memory,
                                               .stacks = pytorch->stacks,
                                               .modules = pytorch->modules,
                                               .events = pytorch->events };
    if (!names[0])
        code = torch_source_take_one(pytorch, value, err);
    for (char **name = names; *name; name++) {
        if ((code = torch_source_take_one(pytorch, *name, err)) != 0)
            goto free_names;
        if (pytorch->mode == OFF && names[1]) {
            code = error_set(err, ERR_BAD_ARGUMENT,
                             "--pytorch=%s: %s cannot be combined with other "
                             "values",
                             value, *name);
            goto free_names;
        }
    }
free_names:
    free(names);
    return code;
}

static int has_options(const struct torch_source_settings *pytorch)
{
    return pytorch->shapes || pytorch->memory || pytorch->stacks || pytorch->modules || pytorch->events;
}

/* PyTorch is watched for unless something else was asked for by name. Advice needs it. */
static int torch_source_is_wanted(struct profile_settings *settings)
{
    const struct torch_source_settings *pytorch = torch_source_settings(settings);
    int is_asked = has_options(pytorch) || settings->advise;

    return pytorch->mode == ON || (pytorch->mode == UNSET && (is_asked || !settings->has_sources));
}

static int torch_source_finish(struct profile_settings *settings, struct collect_options *collect, struct error *err)
{
    const struct torch_source_settings *pytorch = torch_source_settings(settings);

    if (!torch_source_is_wanted(settings)) {
        if (has_options(pytorch))
            text_add(&settings->warnings, "the PyTorch options have no effect: --pytorch is off\n");
        return 0;
    }
    collect->sources |= WIRE_BIT(TORCH);
    settings->names_operators = pytorch->mode == ON || has_options(pytorch);
    /* auto and replace are for any program: one without PyTorch gets no warning. */
    collect->requested |= pytorch->nvtx || pytorch->functions ? WIRE_BIT(TORCH) : 0;
    collect->torch_flags = (pytorch->shapes || pytorch->mode_shapes ? WIRE_TORCH_SHAPES : 0) |
                           (pytorch->memory ? WIRE_TORCH_MEMORY : 0) | (pytorch->stacks ? WIRE_TORCH_STACKS : 0) |
                           (pytorch->modules || pytorch->nvtx ? WIRE_TORCH_MODULES : 0);
    collect->torch_nvtx = pytorch->nvtx;
    collect->torch_functions = pytorch->functions;
    collect->torch_replace = pytorch->replaces;
    collect->python_events = pytorch->events || settings->advise;
    return 0;
}

/* clang-format off */
static const struct option torch_source_options[] = {
    { .name = "pytorch", .kind = OPTION_CUSTOM, .value = "WHAT", .choices = torch_source_mode_names,
      .take = torch_source_take,
      .help = "Record PyTorch operators: off, auto (in programs that load PyTorch), autograd-nvtx (also as NVTX "
              "ranges), autograd-shapes-nvtx (with input shapes), functions-trace (also the Python functions of "
              "torch), replace (Tacho stands in for torch.profiler). Default: auto, or off if --trace is given." },
    { .name = "pytorch-shapes", .kind = OPTION_BOOL, .offset = offsetof(struct torch_source_settings, shapes),
      .help = "Record shapes, types and values of operator inputs. Default: false." },
    { .name = "pytorch-memory", .kind = OPTION_BOOL, .offset = offsetof(struct torch_source_settings, memory),
      .help = "Record the allocations of PyTorch on the CPU and on GPUs. Default: false." },
    { .name = "pytorch-stacks", .kind = OPTION_BOOL, .offset = offsetof(struct torch_source_settings, stacks),
      .help = "Record the Python call stack of each operator. Default: false." },
    { .name = "pytorch-modules", .kind = OPTION_BOOL, .offset = offsetof(struct torch_source_settings, modules),
      .help = "Record nn.Module calls, which attribute operators and kernels to modules. Default: false, or true with "
              "autograd-nvtx and autograd-shapes-nvtx." },
    { .name = "python-events", .kind = OPTION_BOOL, .offset = offsetof(struct torch_source_settings, events),
      .help = "Record each of Python's garbage collections, and the compilations and graph breaks of torch.compile "
              "with their reasons, in programs that import PyTorch. Default: false (only what Python samples see), or "
              "true with --advise." },
    { 0 },
};
/* clang-format on */

static void torch_source_look(struct doctor_finding *finding)
{
    if (finding_has_agent(finding))
        text_add(&finding->why,
                 "Operators of programs that load PyTorch 1.8 or later are recorded, with shapes and memory on "
                 "request. For older versions use torch.autograd.profiler.emit_nvtx: it makes them NVTX ranges.");
}

static const struct doctor_examination torch_source_examinations[] = { { "PyTorch", torch_source_look }, { 0 } };

static const struct cmd_source_table torch_source_tables[] = {
    { "pytorch operators", "TACHO_TORCH_OP" },
    { "pytorch memory", "TACHO_TORCH_MEMORY" },
    { "python functions", "TACHO_TORCH_PYTHON" },
    { "python events", "TACHO_PYTHON_EVENT" },
    { 0 },
};

const struct cmd_source cmd_source_torch = {
    .events = WIRE_BIT(TORCH),
    .options = torch_source_options,
    .settings_bytes = sizeof(struct torch_source_settings),
    .finish = torch_source_finish,
    .examinations = torch_source_examinations,
    .tables = torch_source_tables,
    .info = torch_info,
    .summary = &torch_summary,
    .last = SOURCE_LAST_IN_TABLES,
};
