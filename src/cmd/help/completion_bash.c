/* Completion for bash. Only the lines of three `case`s change from version to version. */
#include "completion.h"

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
        if (!completion_values(option) && !completion_takes_file(option))
            continue;
        text_addf(out, "    %s:--%s", command->name, option->name);
        if (option->letter)
            text_addf(out, "|%s:-%c", command->name, option->letter);
        if (completion_takes_file(option)) {
            text_add(out, ") _tacho_files '*'; return ;;\n");
            continue;
        }
        text_addf(out, ")%s words=\"", completion_takes_list(option) ? " kind=list" : "");
        completion_add_words(out, completion_values(option));
        text_add(out, "\" ;;\n");
    }
}

static void add_program_case(struct text *out, const struct command *command)
{
    text_addf(out, "    %s) valued=\"", command->name);
    completion_add_valued(out, command);
    text_add(out, "\"\n"
                  "        operand=$(_tacho_operand \"$valued\")\n"
                  "        if [ -n \"$operand\" ]; then\n"
                  "            if declare -F _command_offset >/dev/null; then _command_offset \"$operand\"; else "
                  "_tacho_files '*'; fi\n"
                  "            return\n"
                  "        fi ;;\n");
}

static void add_operand_case(struct text *out, const struct command *command)
{
    text_addf(out, "        %s) ", command->name);
    if (command->files) {
        text_add(out, "_tacho_files '*.@(");
        completion_add_endings(out, command, "|");
        text_add(out, ")' ;;\n");
    } else if (command->takes_program) {
        text_add(out, "compopt -o filenames 2>/dev/null; COMPREPLY=($(compgen -c -- \"$current\"; compgen -f -- "
                      "\"$current\")) ;;\n");
    } else {
        text_add(out, "words=\"");
        completion_add_words(out, completion_operands(command));
        text_add(out, "\" ;;\n");
    }
}

void completion_bash(struct text *out)
{
    text_add(out, opening);
    text_add(out, "    if [ \"$COMP_CWORD\" -eq 1 ]; then\n"
                  "        words=\"");
    completion_add_words(out, completion_operands(&command_help_row));
    text_add(out, "\"\n"
                  "        if [[ \"$current\" == -* ]]; then words=\"--help --version\"; fi\n"
                  "        COMPREPLY=($(compgen -W \"$words\" -- \"$current\"))\n"
                  "        return\n"
                  "    fi\n"
                  "    case \"$command\" in\n");
    for (const struct command *const *at = command_table(); *at; at++)
        if ((*at)->takes_program)
            add_program_case(out, *at);
    text_add(out, "    esac\n"
                  "    case \"$command:$previous\" in\n");
    for (const struct command *const *at = command_table(); *at; at++)
        add_value_cases(out, *at);
    text_add(out, "    esac\n"
                  "    if [ -z \"$words\" ] && [[ \"$current\" == -* ]]; then\n"
                  "        case \"$command\" in\n");
    for (const struct command *const *at = command_table(); *at; at++) {
        text_addf(out, "        %s) words=\"", (*at)->name);
        add_option_words(out, *at);
        text_add(out, "\" ;;\n");
    }
    text_add(out, "        esac\n"
                  "    elif [ -z \"$words\" ]; then\n"
                  "        case \"$command\" in\n");
    for (const struct command *const *at = command_table(); *at; at++)
        add_operand_case(out, *at);
    text_add(out, "        esac\n"
                  "    fi\n");
    text_add(out, closing);
}
