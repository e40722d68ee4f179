/* Values of --pytorch, with nsys's names for them, and what else can be asked for of PyTorch. */
#include "profile_pytorch.h"

#include <stdlib.h>
#include <string.h>

#include "cmd/option.h"
#include "wire/wire_torch.h"

static const struct {
    const char *name;
    enum profile_pytorch_mode mode;
    int shapes, nvtx, functions, replaces;
} modes[] = {
    { "off", PROFILE_PYTORCH_OFF, 0, 0, 0, 0 },
    { "none", PROFILE_PYTORCH_OFF, 0, 0, 0, 0 },
    { "auto", PROFILE_PYTORCH_ON, 0, 0, 0, 0 },
    { "autograd-nvtx", PROFILE_PYTORCH_ON, 0, 1, 0, 0 },
    { "autograd-shapes-nvtx", PROFILE_PYTORCH_ON, 1, 1, 0, 0 },
    { "functions-trace", PROFILE_PYTORCH_ON, 0, 0, 1, 0 },
    { "replace", PROFILE_PYTORCH_ON, 0, 0, 0, 1 },
};
enum { MODES = sizeof modes / sizeof modes[0] };

const char *const *profile_pytorch_choices(void)
{
    static const char *names[MODES + 1];

    for (size_t i = 0; i < MODES; i++)
        names[i] = modes[i].name;
    return names;
}

static int take_one(struct profile_pytorch *pytorch, const char *name, struct error *err)
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
                     "--pytorch is off, auto, replace, or a list of autograd-nvtx, autograd-shapes-nvtx and "
                     "functions-trace, not '%s'",
                     name);
}

int profile_pytorch_take(void *settings, const char *value, struct error *err)
{
    struct profile_pytorch *pytorch = &((struct profile_settings *)settings)->pytorch;
    char **names = option_split(value, NULL);

    if (!names)
        return error_set(err, ERR_NO_MEMORY, "out of memory");
    *pytorch = (struct profile_pytorch){
        .shapes = pytorch->shapes, .memory = pytorch->memory, .stacks = pytorch->stacks, .modules = pytorch->modules
    };
    if (!names[0])
        take_one(pytorch, value, err);
    for (char **name = names; *name && err->code == 0; name++) {
        take_one(pytorch, *name, err);
        if (err->code == 0 && pytorch->mode == PROFILE_PYTORCH_OFF && names[1])
            error_set(err, ERR_BAD_ARGUMENT, "--pytorch=%s: %s stands alone", value, *name);
    }
    free(names);
    return err->code;
}

/* PyTorch is watched for unless something else was asked for by name. */
static int is_wanted(const struct profile_settings *settings)
{
    const struct profile_pytorch *pytorch = &settings->pytorch;
    int is_asked = pytorch->shapes || pytorch->memory || pytorch->stacks || pytorch->modules;

    return pytorch->mode == PROFILE_PYTORCH_ON ||
           (pytorch->mode == PROFILE_PYTORCH_UNSET && (is_asked || !settings->has_sources));
}

void profile_pytorch_finish(struct profile_settings *settings, struct collect_options *collect)
{
    const struct profile_pytorch *pytorch = &settings->pytorch;

    if (!is_wanted(settings)) {
        if (pytorch->shapes || pytorch->memory || pytorch->stacks || pytorch->modules)
            text_add(&settings->warnings, "the options for PyTorch have no effect: --pytorch is off\n");
        return;
    }
    collect->sources |= WIRE_BIT(TORCH);
    collect->torch_flags = (pytorch->shapes || pytorch->mode_shapes ? WIRE_TORCH_SHAPES : 0) |
                           (pytorch->memory ? WIRE_TORCH_MEMORY : 0) | (pytorch->stacks ? WIRE_TORCH_STACKS : 0) |
                           (pytorch->modules || pytorch->nvtx ? WIRE_TORCH_MODULES : 0);
    collect->torch_nvtx = pytorch->nvtx;
    collect->torch_functions = pytorch->functions;
    collect->torch_replace = pytorch->replaces;
}
