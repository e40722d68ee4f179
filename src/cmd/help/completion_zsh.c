/* Completion for zsh: a function for each command, which hands its options to _arguments as specs. The script is both
 * a file that compinit finds (#compdef) and one to be sourced. */
#include "completion.h"

/* A sentence inside a spec, which stands in single quotes: a quote, brackets and colons have meanings there. */
static void completion_zsh_add_explanation(struct text *out, const char *text)
{
    completion_add_sentence(out, text, "[]:\\", "'\\''");
}

/* The known values; a colon would end the action. */
static void completion_zsh_add_values(struct text *out, const char *const *values)
{
    struct text words = { 0 };

    completion_add_words(&words, values);
    for (const char *at = text_string(&words); *at; at++)
        text_addf(out, "%s%c", *at == ':' ? "\\" : "", *at);
    text_free(&words);
}

/* A message, and the action that finds the values; optional if the value need not be there. */
static void completion_zsh_add_value(struct text *out, const struct option *option)
{
    const char *const *values = completion_values(option);

    text_add(out, completion_takes_next_word(option) ? ":value:" : "::value:");
    if (completion_takes_file(option)) {
        text_add(out, "_files");
    } else if (!values) {
        text_add_char(out, ' ');
    } else if (completion_takes_list(option)) {
        text_add(out, "_values -s , value ");
        completion_zsh_add_values(out, values);
    } else {
        text_add_char(out, '(');
        completion_zsh_add_values(out, values);
        text_add_char(out, ')');
    }
}

/* '(-o --output)'{-o+,--output=}'[explanation]:value:_files' */
static void completion_zsh_add_option(struct text *out, const struct option *option)
{
    const char *next = option->kind == OPTION_FLAG ? "" : "+", *attached = option->kind == OPTION_FLAG ? "" : "=";

    text_add(out, " \\\n            '");
    if (option->kind == OPTION_LIST)
        text_add_char(out, '*');
    else if (option->letter)
        text_addf(out, "(-%c --%s)", option->letter, option->name);
    if (option->letter)
        text_addf(out, "'{-%c%s,--%s%s}'[", option->letter, next, option->name, attached);
    else
        text_addf(out, "--%s%s[", option->name, attached);
    completion_zsh_add_explanation(out, option->help);
    text_add_char(out, ']');
    if (option->kind != OPTION_FLAG)
        completion_zsh_add_value(out, option);
    text_add_char(out, '\'');
}

static void completion_zsh_add_command(struct text *out, const struct command *command)
{
    const char *const *operands = completion_operands(command);

    text_addf(out, "    (%s)\n        _arguments -s -S '(- *)'{-h,--help}'[print the help]'", command->name);
    for (const struct option *option = command_option_table(command); option->name; option++)
        if (!option->hidden)
            completion_zsh_add_option(out, option);
    if (command->takes_program) {
        text_add(out, " \\\n            '(-)1:program:_command_names -e' '*::arguments:_normal'");
    } else if (command->files) {
        text_add(out, " \\\n            '*:file:_files -g \"*.(");
        completion_add_endings(out, command, "|");
        text_add(out, ")(-.)\"'");
    } else if (operands) {
        text_add(out, " \\\n            '1:word:(");
        completion_add_words(out, operands);
        text_add(out, ")'");
    }
    text_add(out, " ;;\n");
}

void completion_zsh(struct text *out)
{
    text_add(out, "#compdef tacho\n"
                  "# Completion of tacho's commands, options and values for zsh; made by: tacho completion zsh\n"
                  "_tacho() {\n"
                  "    local curcontext=$curcontext\n"
                  "    local -a commands=(\n");
    for (const struct command *const *at = command_table(); *at; at++) {
        text_addf(out, "        '%s:", (*at)->name);
        completion_zsh_add_explanation(out, (*at)->summary);
        text_add(out, "'\n");
    }
    text_add(out, "    )\n"
                  "    if (( CURRENT == 2 )); then\n"
                  "        _describe -t commands command commands\n"
                  "        _arguments '(- *)--help[list the commands]' '(- *)--version[print the version]'\n"
                  "        return\n"
                  "    fi\n"
                  "    shift words\n"
                  "    (( CURRENT-- ))\n"
                  "    curcontext=${curcontext%:*}-$words[1]:\n"
                  "    case $words[1] in\n");
    for (const struct command *const *at = command_table(); *at; at++)
        completion_zsh_add_command(out, *at);
    text_add(out, "    esac\n"
                  "}\n"
                  "if [[ $funcstack[1] = _tacho ]]; then _tacho \"$@\"; else compdef _tacho tacho; fi\n");
}
