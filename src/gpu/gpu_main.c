/* tacho-gpu: what Tacho knows from NVIDIA's libraries, in a program of its own.
 *
 * bin/tacho is static and cannot load libraries; and a library that crashes or hangs takes only this program with it.
 * It writes frames (wire/wire_gpu.h) to the socket that is its standard input and output, and ends when that hangs up.
 */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "gpu_mode.h"

#include "base/array.h"
#include "base/text.h"
#include "gpu/frames/frames_out.h"
#include "privileges.h"

static const struct {
    const char *name;
    int (*run)(char **options);
    int needs_rights;
} modes[] = {
#define GPU_MODE(name, needs_rights) { #name, gpu_mode_##name, needs_rights },
#include "gpu_modes.def"
#undef GPU_MODE
};

const char *gpu_option(char **options, const char *name)
{
    size_t length = strlen(name);

    for (; *options; options++)
        if (strncmp(*options, name, length) == 0 && (*options)[length] == '=')
            return *options + length + 1;
    return NULL;
}

uint64_t gpu_option_digits(const char **at)
{
    uint64_t number = 0;

    for (; **at >= '0' && **at <= '9'; ++*at)
        number = number * 10 + (uint64_t)(**at - '0');
    return number;
}

uint64_t gpu_option_number(char **options, const char *name, uint64_t fallback)
{
    const char *digits = gpu_option(options, name);

    return digits ? gpu_option_digits(&digits) : fallback;
}

/* The options of the command line and, before them, those of the descriptor; they live as long as the program. NULL:
 * memory is short. */
static char **all_options(int argc, char **argv)
{
    static struct text more;
    char **options = NULL, bytes[4096];
    size_t room = 0, count = 0;
    ssize_t got;

    if (!gpu_option(argv + 2, GPU_OPTION_LONG))
        return argv + 2;
    while ((got = read(GPU_OPTIONS_FD, bytes, sizeof bytes)) > 0)
        text_add_bytes(&more, bytes, (size_t)got);
    close(GPU_OPTIONS_FD);
    if (text_failed(&more))
        return NULL;
    for (size_t at = 0; at < more.length; at += strlen(more.bytes + at) + 1) {
        if (array_reserve(&options, &room, count + 1, sizeof *options))
            return NULL;
        options[count++] = more.bytes + at;
    }
    if (array_reserve(&options, &room, count + (size_t)argc, sizeof *options))
        return NULL;
    memcpy(options + count, argv + 2, (size_t)(argc - 1) * sizeof *options); /* with the NULL at its end */
    return options;
}

int main(int argc, char **argv)
{
    /* Ctrl-C is for the program that started this one; its end is a hang-up. */
    signal(SIGINT, SIG_IGN);
    signal(SIGPIPE, SIG_IGN);
    for (size_t i = 0; argc > 1 && i < COUNT_OF(modes); i++)
        if (strcmp(argv[1], modes[i].name) == 0) {
            char **options;
            if (privileges_begin(modes[i].needs_rights) != 0 || !(options = all_options(argc, argv)))
                return 2;
            frames_begin();
            int status = modes[i].run(options);
            frames_send();
            return status;
        }
    fputs("tacho-gpu is a part of tacho, which starts it: see tacho help\n", stderr);
    return 2;
}
