/* The commands, one row each. The user types the name; help and completion come from the row. The table of them is at
 * the top of the program (main/commands.def). */
#ifndef TACHO_CMD_COMMAND_H
#define TACHO_CMD_COMMAND_H

#include "option.h"

/* A word or a command line, and the sentence that explains it. A row without a term ends a table. */
struct entry {
    const char *term, *text;
};

struct command {
    const char *name;
    const char *arguments;                      /* "FILE …" */
    const char *summary;                        /* one line for the list of commands */
    const char *about;                          /* a few lines for the command's own help, or NULL */
    const struct entry *examples;               /* command lines that work as they stand; NULL: none */
    const struct entry *exits;                  /* exit statuses; NULL: EXIT_OK, EXIT_FAILED and EXIT_USAGE alone */
    const struct option *options;               /* ends with a row without a name */
    const struct option *(*make_options)(void); /* instead of `options`, if they must be assembled first */
    const char *variables; /* environment variables that not all commands read: "TACHO_AGENT"; several
                            * have commas between them; NULL: none */
    const char *files;     /* file extensions for completion: "tacho,sqlite"; NULL: none */
    int takes_program;     /* the first operand is a program, and everything after it belongs to the program */
    /* argv[0] is the command's name. Returns the exit status. */
    int (*run)(const struct command *self, int argc, char **argv);
};

#define COMMAND_GPU_VARIABLES "TACHO_GPU_DEBUG,TACHO_GPU_HELPER,TACHO_NVML" /* for commands that run tacho-gpu */

/* A command of another profiler, and what to use instead. One without a name ends a table. */
struct command_elsewhere {
    const char *name, *tool, *advice;
};

/* Exit statuses of tacho itself; profile also returns its program's. */
enum { EXIT_OK = 0, EXIT_FAILED = 1, EXIT_USAGE = 2, EXIT_NOT_EXECUTABLE = 126, EXIT_NOT_FOUND = 127 };

/* The source of the build: an abbreviated commit ("8135029", "8135029-dirty") and the day of that commit
 * ("2026-11-16"); both empty if not known. */
struct command_origin {
    const char *commit, *date;
};

/* The facts that main() has. A new commit recompiles only main.c. */
struct command_program {
    const struct command *const *commands; /* NULL-terminated */
    const struct command_elsewhere *elsewhere;
    struct command_origin origin;
};

/* Runs the command that argv names and returns the exit status. */
int command_main(int argc, char **argv, const struct command_program *of);
const struct command *const *command_table(void);
const struct command_origin *command_origin(void);

/* Parses a command's options. Returns 1 when the command should go on, or 0 when it is done (it printed its help, or
 * the arguments were wrong): *status is then its exit status. operands has room for argc pointers. */
int command_options(const struct command *self, int argc, char **argv, void *settings, const char **operands,
                    size_t *operand_count, int *status);

/* Prints "tacho NAME: sentence" to stderr; returns EXIT_FAILED, or EXIT_USAGE for ERR_BAD_ARGUMENT. */
int command_fail(const struct command *self, const struct error *err);

/* Writes all of the text to stdout; 0, or -1 with errno. If nobody reads it any more, tacho ends with SIGPIPE. */
int command_print(const struct text *text);

/* The same for a command: EXIT_OK, or EXIT_FAILED after a message on stderr. */
int command_write(const struct command *self, const struct text *text);

/* The command's options: `options`, or the result of make_options(). */
const struct option *command_option_table(const struct command *command);

/* The command of that name, or NULL. */
const struct command *command_find(const char *name);

/* Add the help of a command, and of all commands, as wide as the terminal allows: help_text.c. */
void command_help(const struct command *command, struct text *out);
void commands_help(struct text *out);

/* The path by which tacho was called ("build/bin/tacho"), for commands that a message suggests; add it with
 * display_add_quoted(). */
const char *command_name(void);

#endif
