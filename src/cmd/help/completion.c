/* tacho completion: scripts for shells, made from the table of commands, so that they know what this version knows. */
#include "completion.h"

#include <string.h>

static const struct {
    const char *name;
    void (*add_script)(struct text *out);
} shells[] = {
    { "bash", completion_bash },
    { "zsh", completion_zsh },
    { "fish", completion_fish },
};
enum { SHELLS = COUNT_OF(shells) };

int completion_takes_file(const struct option *option)
{
    return option->value && (strcmp(option->value, "FILE") == 0 || strcmp(option->value, "FOLDER") == 0 ||
                             strcmp(option->name, "output") == 0);
}

int completion_takes_list(const struct option *option)
{
    return option->kind == OPTION_LIST || (option->value && strcmp(option->value, "LIST") == 0);
}

int completion_takes_next_word(const struct option *option)
{
    return option->kind != OPTION_FLAG && option->kind != OPTION_BOOL &&
           !(option->value && strcmp(option->value, "BOOL") == 0);
}

const char *const *completion_values(const struct option *option)
{
    static const char *const truth[] = { "true", "false", NULL };

    const char *const *choices = option_choices(option);
    return choices || option->kind != OPTION_BOOL ? choices : truth;
}

const char *const *completion_operands(const struct command *command)
{
    static const char *names[32];
    size_t count = 0;

    if (command == &command_help_row)
        for (; command_table()[count]; count++)
            names[count] = command_table()[count]->name;
    else if (command == &command_completion)
        for (; count < SHELLS; count++)
            names[count] = shells[count].name;
    names[count] = NULL;
    return count ? names : NULL;
}

/* Commands that read nsys's SQLite also take the .nsys-rep that it was made from. */
void completion_add_endings(struct text *out, const struct command *command, const char *between)
{
    for (const char *at = command->files; *at; at++)
        text_addf(out, "%.*s", *at == ',' ? (int)strlen(between) : 1, *at == ',' ? between : at);
    if (strstr(command->files, "sqlite"))
        text_addf(out, "%snsys-rep", between);
}

void completion_add_words(struct text *out, const char *const *words)
{
    for (const char *const *word = words; word && *word; word++)
        text_addf(out, "%s%s", word == words ? "" : " ", *word);
}

void completion_add_valued(struct text *out, const struct command *command)
{
    for (const struct option *option = command_option_table(command); option->name; option++) {
        if (!completion_takes_next_word(option))
            continue;
        text_addf(out, " --%s", option->name);
        if (option->letter)
            text_addf(out, " -%c", option->letter);
    }
}

void completion_add_sentence(struct text *out, const char *text, const char *escaped, const char *quote)
{
    for (; *text && !(text[0] == '.' && (text[1] == ' ' || !text[1])); text++)
        if (*text == '\'')
            text_add(out, quote);
        else
            text_addf(out, "%s%c", strchr(escaped, *text) ? "\\" : "", *text);
}

static int completion_run(const struct command *self, int argc, char **argv)
{
    struct text out = { 0 };
    struct error err;
    const char *operands[argc];
    size_t count, shell = 0;
    int status;

    if (!command_options(self, argc, argv, NULL, operands, &count, &status))
        return status;
    while (shell < SHELLS && count == 1 && strcmp(operands[0], shells[shell].name) != 0)
        shell++;
    if (count != 1 || shell == SHELLS) {
        error_set(&err, ERR_BAD_ARGUMENT, "no shell given, or an unknown one: use tacho completion bash, zsh or fish");
        return command_fail(self, &err);
    }
    shells[shell].add_script(&out);
    status = command_write(self, &out);
    text_free(&out);
    return status;
}

static const struct option no_options[] = { { 0 } };

static const struct entry completion_examples[] = {
    { "source <(tacho completion bash)", "Complete tacho's words in this bash; the same with zsh." },
    { "tacho completion bash > ~/.local/share/bash-completion/completions/tacho", "In every new bash." },
    { "tacho completion zsh > ~/.zfunc/_tacho", "In every new zsh whose fpath has ~/.zfunc." },
    { "tacho completion fish > ~/.config/fish/completions/tacho.fish", "In every new fish." },
    { 0 },
};

const struct command command_completion = {
    .name = "completion",
    .arguments = "bash|zsh|fish",
    .summary = "Print a completion script for a shell",
    .about = "Print a script that completes tacho's commands, options, values and files in a shell. An installed Tacho "
             "already has these scripts where the shells look for them.",
    .examples = completion_examples,
    .options = no_options,
    .run = completion_run,
};
