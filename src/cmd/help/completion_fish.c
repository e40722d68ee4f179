/* Completion for fish: a line for each command, option and kind of file, and functions that look at the words before
 * the cursor. */
#include "completion.h"

/* __tacho_is COMMAND [OPTION…]: whether this command is on the line and, where options that take a word follow, its
 * program is not yet. __tacho_program: completes the program's own words, as without tacho. */
static const char completion_fish_functions[] =
    "# Completion of tacho's commands, options and values for fish; made by: tacho completion fish\n"
    "function __tacho_operand\n"
    "    set -l words (commandline -opc)\n"
    "    set -l at 3\n"
    "    while test $at -le (count $words)\n"
    "        if contains -- $words[$at] $argv\n"
    "            set at (math $at + 1)\n"
    "        else if not string match -q -- '-*' $words[$at]\n"
    "            echo $at\n"
    "            return 0\n"
    "        end\n"
    "        set at (math $at + 1)\n"
    "    end\n"
    "    return 1\n"
    "end\n"
    "function __tacho_program\n"
    "    set -l words (commandline -opc)\n"
    "    __fish_complete_subcommand --commandline $words[(__tacho_operand $argv)..] (commandline -ct)\n"
    "end\n"
    "function __tacho_none\n"
    "    test (count (commandline -opc)) -eq 1\n"
    "end\n"
    "function __tacho_is\n"
    "    set -l words (commandline -opc)\n"
    "    test \"$words[2]\" = $argv[1]; or return 1\n"
    "    set -q argv[2]; or return 0\n"
    "    not __tacho_operand $argv[2..] >/dev/null\n"
    "end\n"
    "function __tacho_list\n"
    "    set -l before (commandline -ct | string replace -r '^--?[^=]*=' '' | string replace -r '[^,]*$' '')\n"
    "    printf '%s\\n' \"$before\"$argv\n"
    "end\n"
    "function __tacho_files\n"
    "    __fish_complete_path (commandline -ct) | string match -r '.*(?:/|\\.(?:'$argv[1]'))(?:\\t.*)?$'\n"
    "end\n"
    "complete -c tacho -f\n"
    "complete -c tacho -n __tacho_none -l help -d 'list the commands'\n"
    "complete -c tacho -n __tacho_none -l version -d 'print the version'\n";

static void completion_fish_add_explanation(struct text *out, const char *text)
{
    text_add(out, " -d '");
    completion_add_sentence(out, text, "\\", "\\'");
    text_add(out, "'\n");
}

/* The condition under which the options of a command are offered: before its program, if it takes one. */
static void add_condition(struct text *out, const struct command *command)
{
    text_addf(out, "complete -c tacho -n '__tacho_is %s%s'", command->name,
              command->takes_program ? " $__tacho_valued" : "");
}

static void completion_fish_add_option(struct text *out, const struct command *command, const struct option *option)
{
    const char *const *values = completion_values(option);

    add_condition(out, command);
    if (option->letter)
        text_addf(out, " -s %c", option->letter);
    text_addf(out, " -l %s%s", option->name, completion_takes_next_word(option) ? " -r" : "");
    if (completion_takes_file(option)) {
        text_add(out, " -F");
    } else if (values) {
        text_addf(out, " -a '%s", completion_takes_list(option) ? "(__tacho_list " : "");
        completion_add_words(out, values);
        text_add(out, completion_takes_list(option) ? ")'" : "'");
    }
    completion_fish_add_explanation(out, option->help);
}

static void completion_fish_add_program(struct text *out, const struct command *command)
{
    text_add(out, "set -g __tacho_valued");
    completion_add_valued(out, command);
    text_addf(out,
              "\ncomplete -c tacho -n '__tacho_is %s; and not __tacho_is %s $__tacho_valued' -a "
              "'(__tacho_program $__tacho_valued)'\n",
              command->name, command->name);
    add_condition(out, command);
    text_add(out, " -a '(__fish_complete_command)'\n");
}

static void completion_fish_add_command(struct text *out, const struct command *command)
{
    const char *const *operands = completion_operands(command);

    text_addf(out, "complete -c tacho -n __tacho_none -a %s", command->name);
    completion_fish_add_explanation(out, command->summary);
    if (command->takes_program)
        completion_fish_add_program(out, command);
    add_condition(out, command);
    text_add(out, " -s h -l help -d 'print the help'\n");
    for (const struct option *option = command_option_table(command); option->name; option++)
        if (!option->hidden)
            completion_fish_add_option(out, command, option);
    if (command->files) {
        add_condition(out, command);
        text_add(out, " -a '(__tacho_files \"");
        completion_add_endings(out, command, "|");
        text_add(out, "\")'\n");
    } else if (operands) {
        add_condition(out, command);
        text_add(out, " -a '");
        completion_add_words(out, operands);
        text_add(out, "'\n");
    }
}

void completion_fish(struct text *out)
{
    text_add(out, completion_fish_functions);
    for (const struct command *const *at = command_table(); *at; at++)
        completion_fish_add_command(out, *at);
}
