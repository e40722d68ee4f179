/* Finds and runs commands of the table. */
#include "command.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/nearest.h"
#include "base/newfile.h"
#include "cmd/print/display.h"

#define NAME_COLUMNS 60 /* for an unknown command */

static const char *called_as = "tacho"; /* argv[0] */
static int stdout_failure;              /* the errno of a write to stdout that failed */
static struct command_program program;  /* as main() has it */

const char *command_name(void)
{
    return called_as;
}

const struct command_origin *command_origin(void)
{
    return &program.origin;
}

const struct command *const *command_table(void)
{
    return program.commands;
}

const struct command *command_find(const char *name)
{
    for (const struct command *const *at = program.commands; *at; at++)
        if (strcmp((*at)->name, name) == 0)
            return *at;
    return NULL;
}

int command_fail(const struct command *self, const struct error *err)
{
    struct text clean = { 0 }; /* it has names of files, and text from those files */

    display_add(&clean, err->text, strlen(err->text), 0);
    fprintf(stderr, "tacho %s: %s\n", self->name, text_string(&clean));
    text_free(&clean);
    return err->code == ERR_BAD_ARGUMENT ? EXIT_USAGE : EXIT_FAILED;
}

/* The reader of stdout has closed it: ends as every program of a pipe does, without a message. Where SIGPIPE is
 * ignored, as in the children of Python, the kernel does not do so. */
static void end_with_pipe(void)
{
    sigset_t pipe;

    signal(SIGPIPE, SIG_DFL);
    sigemptyset(&pipe);
    sigaddset(&pipe, SIGPIPE);
    sigprocmask(SIG_UNBLOCK, &pipe, NULL);
    raise(SIGPIPE);
}

/* Writes what stdio holds. Remembers the first failure, since most commands do not check stdout again: command_main()
 * does. */
static int flush_stdout(void)
{
    errno = EIO; /* for an earlier failure within stdio */
    if (fflush(stdout) == 0 && !ferror(stdout))
        return 0;
    if (errno == EPIPE)
        end_with_pipe();
    stdout_failure = stdout_failure ? stdout_failure : errno;
    return -1;
}

int command_print(const struct text *text)
{
    if (flush_stdout() != 0)
        return -1;
    if (newfile_write(STDOUT_FILENO, text->bytes, text->length) == 0)
        return 0;
    if (errno == EPIPE)
        end_with_pipe();
    stdout_failure = errno;
    return -1;
}

int command_write(const struct command *self, const struct text *text)
{
    if (text_failed(text)) {
        fprintf(stderr, "tacho %s: out of memory\n", self->name);
        return EXIT_FAILED;
    }
    if (command_print(text) == 0)
        return EXIT_OK;
    fprintf(stderr, "tacho %s: cannot write the output: %s\n", self->name, strerror(errno));
    return EXIT_FAILED;
}

const struct option *command_option_table(const struct command *command)
{
    return command->make_options ? command->make_options() : command->options;
}

int command_options(const struct command *self, int argc, char **argv, void *settings, const char **operands,
                    size_t *operand_count, int *status)
{
    struct option_parse parse = { .options = command_option_table(self),
                                  .settings = settings,
                                  .stop_at_operand = self->takes_program,
                                  .operands = operands };
    struct error err = { 0 };
    int code = options_parse(&parse, argc, argv, &err);

    *operand_count = parse.operand_count;
    *status = EXIT_OK;
    for (const char *line = text_string(&parse.warnings); *line;) {
        size_t length = strcspn(line, "\n");
        fprintf(stderr, "tacho %s: %.*s\n", self->name, (int)length, line);
        line += length + 1;
    }
    text_free(&parse.warnings);
    if (code != 0) {
        *status = command_fail(self, &err);
        return 0;
    }
    if (parse.wants_help) {
        struct text help = { 0 };
        command_help(self, &help);
        *status = command_write(self, &help);
        text_free(&help);
    }
    return !parse.wants_help;
}

/* A name that is spelt like that of a file. */
static int run_unreadable(const char *path)
{
    struct text clean = { 0 };
    struct stat status;
    const char *why = stat(path, &status) != 0 ? strerror(errno) : "it is not a regular file";

    display_add(&clean, path, strlen(path), 0);
    fprintf(stderr, "tacho: cannot open %s: %s\n", text_string(&clean), why);
    text_free(&clean);
    return EXIT_FAILED;
}

static int run_unknown(const char *name)
{
    for (const struct command_elsewhere *other = program.elsewhere; other->name; other++)
        if (strcmp(name, other->name) == 0) {
            fprintf(stderr, "tacho: no command '%s' like that of %s; %s\n", name, other->tool, other->advice);
            return EXIT_USAGE;
        }
    if (*name != '-' && strpbrk(name, "./"))
        return run_unreadable(name);
    const char *names[32];
    size_t count = 0;

    for (; program.commands[count]; count++)
        names[count] = program.commands[count]->name;
    names[count] = NULL;
    const char *nearest = nearest_name(name, names);
    struct text clean = { 0 };
    display_add(&clean, name, strlen(name), NAME_COLUMNS);
    if (nearest)
        fprintf(stderr, "tacho: unknown command '%s'; did you mean '%s'?\n", text_string(&clean), nearest);
    else
        fprintf(stderr, "tacho: unknown command '%s'; 'tacho help' lists the commands\n", text_string(&clean));
    text_free(&clean);
    return EXIT_USAGE;
}

static int command_is_file(const char *path)
{
    struct stat status;

    return stat(path, &status) == 0 && S_ISREG(status.st_mode);
}

/* No command succeeds whose output is lost. One that failed has said why. */
static int end_output(const struct command *command, int status)
{
    flush_stdout();
    if (status != EXIT_OK || !stdout_failure)
        return status;
    fprintf(stderr, "tacho %s: cannot write the output: %s\n", command->name, strerror(stdout_failure));
    return EXIT_FAILED;
}

/* If a standard stream is closed, a file that is opened next would get its number, and the output. Programs that are
 * started find it closed, as without us. */
static void keep_standard_numbers(void)
{
    for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
        if (fcntl(fd, F_GETFD) < 0 && errno == EBADF)
            open("/dev/null", (fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC); /* the lowest number is free */
}

int command_main(int argc, char **argv, const struct command_program *of)
{
    static const struct {
        const char *spelling, *name;
    } spellings[] = {
        { "--version", "version" },
        { "-v", "version" },
        { "--help", "help" },
        { "-h", "help" },
    };
    const char *name = argc > 1 ? argv[1] : "help";

    keep_standard_numbers();
    program = *of;
    if (argc > 0 && *argv[0])
        called_as = argv[0];
    for (size_t i = 0; i < COUNT_OF(spellings); i++)
        if (strcmp(name, spellings[i].spelling) == 0)
            name = spellings[i].name;
    const struct command *command = command_find(name);
    if (!command && command_is_file(name)) { /* tacho report1.tacho */
        command = command_find("summary");
        return end_output(command, command->run(command, argc, argv));
    }
    if (!command)
        return run_unknown(name);
    if (argc < 2) {
        struct text help = { 0 };
        commands_help(&help);
        fputs(text_string(&help), stderr);
        text_free(&help);
        return EXIT_USAGE;
    }
    return end_output(command, command->run(command, argc - 1, argv + 1));
}
