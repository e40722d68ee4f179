/* tacho completion: a script for bash, made from the table of commands. What changes from version to version are the
 * lines of three `case`s; all else is the same text. */
#include <string.h>

#include "cmd/command.h"

/* Before the tables. _tacho_operand finds the first word that is neither an option nor an
 * option's value: the program. */
static const char opening[] =
    "# Completion of tacho's commands, options and values for bash; made by: tacho completion bash\n"
    "_tacho_files() {\n"
    "    local IFS=$'\\n'\n"
    "    compopt -o filenames 2>/dev/null\n"
    "    COMPREPLY=($(compgen -d -- \"$current\"; shopt -s extglob; compgen -f -X \"!$1\" -- \"$current\"))\n"
    "}\n"
    "_tacho_operand() {\n"
    "    local i word\n"
    "    for ((i = 2; i < COMP_CWORD; i++)); do\n"
    "        word=\"${COMP_WORDS[i]}\"\n"
    "        if [ \"${COMP_WORDS[i+1]}\" = = ]; then ((i += 2))\n"
    "        elif [[ \" $1 \" == *\" $word \"* ]]; then ((i++))\n"
    "        elif [[ \"$word\" != -* ]]; then echo $i; return\n"
    "        fi\n"
    "    done\n"
    "}\n"
    "_tacho() {\n"
    "    local current=\"${COMP_WORDS[COMP_CWORD]}\" previous=\"${COMP_WORDS[COMP_CWORD-1]}\" "
    "command=\"${COMP_WORDS[1]}\"\n"
    "    local words=\"\" before=\"\" kind=\"\" valued=\"\" operand=\"\"\n"
    "    COMPREPLY=()\n"
    "    if [ \"$current\" = = ]; then current=\"\"; fi\n"
    "    if [ \"$previous\" = = ]; then previous=\"${COMP_WORDS[COMP_CWORD-2]}\"; fi\n";

/* After them. Where bash-completion is there, the program's own words are completed as they would be without tacho. */
static const char
    closing[] = "    if [ \"$kind\" = list ] && [[ \"$current\" == *,* ]]; then before=\"${current%,*},\"; fi\n"
                "    if [ -n \"$words\" ]; then COMPREPLY=($(compgen -P \"$before\" -W \"$words\" -- "
                "\"${current#\"$before\"}\")); fi\n"
                "}\n"
                "complete -F _tacho tacho\n";

static int takes_file(const struct option *option)
{
    return option->value && (strcmp(option->value, "FILE") == 0 || strcmp(option->value, "FOLDER") == 0 ||
                             strcmp(option->name, "output") == 0);
}

static int takes_list(const struct option *option)
{
    return option->kind == OPTION_LIST || (option->value && strcmp(option->value, "LIST") == 0);
}

/* Whether its value may stand in the next word. */
static int takes_next_word(const struct option *option)
{
    return option->kind != OPTION_FLAG && option->kind != OPTION_BOOL &&
           !(option->value && strcmp(option->value, "BOOL") == 0);
}

static void add_command_names(struct text *out)
{
    for (const struct command *const *at = commands; *at; at++)
        text_addf(out, "%s%s", at == commands ? "" : " ", (*at)->name);
}

static void add_option_words(struct text *out, const struct command *command)
{
    text_add(out, "--help");
    for (const struct option *option = command_option_table(command); option->name; option++)
        if (!option->hidden)
            text_addf(out, " --%s", option->name);
}

/* The lines that give the values of options: command:option) words. */
static void add_value_cases(struct text *out, const struct command *command)
{
    for (const struct option *option = command_option_table(command); option->name; option++) {
        if (option->kind != OPTION_BOOL && !option->choices && !takes_file(option))
            continue;
        text_addf(out, "    %s:--%s", command->name, option->name);
        if (option->letter)
            text_addf(out, "|%s:-%c", command->name, option->letter);
        if (takes_file(option)) {
            text_add(out, ") _tacho_files '*'; return ;;\n");
            continue;
        }
        text_addf(out, ")%s words=\"", takes_list(option) ? " kind=list" : "");
        if (option->choices)
            for (const char *const *choice = option->choices(); *choice; choice++)
                text_addf(out, "%s%s", choice == option->choices() ? "" : " ", *choice);
        else
            text_add(out, "true false");
        text_add(out, "\" ;;\n");
    }
}

static void add_program_case(struct text *out, const struct command *command)
{
    text_addf(out, "    %s) valued=\"", command->name);
    for (const struct option *option = command_option_table(command); option->name; option++)
        if (takes_next_word(option)) {
            text_addf(out, " --%s", option->name);
            if (option->letter)
                text_addf(out, " -%c", option->letter);
        }
    text_add(out, "\"\n"
                  "        operand=$(_tacho_operand \"$valued\")\n"
                  "        if [ -n \"$operand\" ]; then\n"
                  "            if declare -F _command_offset >/dev/null; then _command_offset \"$operand\"; else "
                  "_tacho_files '*'; fi\n"
                  "            return\n"
                  "        fi ;;\n");
}

/* What reads nsys's SQLite also takes the .nsys-rep that it was made from. */
static void add_file_pattern(struct text *out, const char *endings)
{
    text_add(out, "@(");
    for (const char *at = endings; *at; at++)
        text_add_char(out, *at == ',' ? '|' : *at);
    text_add(out, strstr(endings, "sqlite") ? "|nsys-rep)" : ")");
}

static void add_operand_case(struct text *out, const struct command *command)
{
    text_addf(out, "        %s) ", command->name);
    if (command->files) {
        text_add(out, "_tacho_files '*.");
        add_file_pattern(out, command->files);
        text_add(out, "' ;;\n");
    } else if (command->takes_program) {
        text_add(out, "compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -c -- \"$current\"; compgen -f -- "
                      "\"$current\")) ;;\n");
    } else {
        text_add(out, "words=\"");
        if (command == &command_help_row)
            add_command_names(out);
        if (command == &command_completion)
            text_add(out, "bash");
        text_add(out, "\" ;;\n");
    }
}

static void add_script(struct text *out)
{
    text_add(out, opening);
    text_add(out, "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                  "        words=\"");
    add_command_names(out);
    text_add(out, "\"\n"
                  "        if [[ \"$current\" == -* ]]; then words=\"--help --version\"; fi\n"
                  "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                  "        return\n"
                  "    fi\n"
                  "    case \"$command\" in\n");
    for (const struct command *const *at = commands; *at; at++)
        if ((*at)->takes_program)
            add_program_case(out, *at);
    text_add(out, "    esac\n"
                  "    case \"$command:$previous\" in\n");
    for (const struct command *const *at = commands; *at; at++)
        add_value_cases(out, *at);
    text_add(out, "    esac\n"
                  "    if [ -z \"$words\" ] && [[ \"$current\" == -* ]]; then\n"
                  "        case \"$command\" in\n");
    for (const struct command *const *at = commands; *at; at++) {
        text_addf(out, "        %s) words=\"", (*at)->name);
        add_option_words(out, *at);
        text_add(out, "\" ;;\n");
    }
    text_add(out, "        esac\n"
                  "    elif [ -z \"$words\" ]; then\n"
                  "        case \"$command\" in\n");
    for (const struct command *const *at = commands; *at; at++)
        add_operand_case(out, *at);
    text_add(out, "        esac\n"
                  "    fi\n");
    text_add(out, closing);
}

static int run(const struct command *self, int argc, char **argv)
{
    struct text out = { 0 };
    struct error err;
    const char *operands[argc];
    size_t count;
    int status;

    if (!command_options(self, argc, argv, NULL, operands, &count, &status))
        return status;
    if (count != 1 || strcmp(operands[0], "bash") != 0) {
        if (count == 1)
            error_set(&err, ERR_BAD_ARGUMENT, "there is no completion for '%s', only for bash: tacho completion bash",
                      operands[0]);
        else
            error_set(&err, ERR_BAD_ARGUMENT, "no shell given: tacho completion bash");
        return command_fail(self, &err);
    }
    add_script(&out);
    status = command_write(self, &out);
    text_free(&out);
    return status;
}

static const struct option no_options[] = { { 0 } };

static const struct entry examples[] = {
    { "source <(tacho completion bash)", "Complete tacho's words in this shell." },
    { 0 },
};

const struct command command_completion = {
    .name = "completion",
    .arguments = "bash",
    .summary = "Print a completion script for a shell",
    .about = "Print a completion script for bash. Use it now: source <(tacho completion bash). Install it: tacho "
             "completion bash > ~/.local/share/bash-completion/completions/tacho",
    .examples = examples,
    .options = no_options,
    .run = run,
};
