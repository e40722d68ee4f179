/* tacho doctor: what can be traced on this machine, what cannot, why, and how to allow it. */
#include <string.h>
#include <unistd.h>

#include "cmd/cmd_source.h"
#include "cmd/command.h"
#include "doctor_checks.h"

enum { NAME_COLUMN = 9, WHY_COLUMN = 25, LINE_WIDTH = 110 };

static const struct {
    const char *word, *colour;
} verdicts[] = {
    [VERDICT_WORKS] = { "works", "\033[32m" }, [VERDICT_PARTLY] = { "partly", "\033[33m" },
    [VERDICT_FAILS] = { "fails", "\033[31m" }, [VERDICT_LATER] = { "later", "\033[36m" },
    [VERDICT_NOTE] = { "note", "" },
};

/* Words broken to lines that start at the column of explanations. */
static void add_wrapped(struct text *out, const char *words)
{
    size_t column = WHY_COLUMN;

    while (*words) {
        size_t length = strcspn(words, " ");
        if (column > WHY_COLUMN && column + 1 + length > LINE_WIDTH) {
            text_add_char(out, '\n');
            text_add_repeat(out, ' ', WHY_COLUMN);
            column = WHY_COLUMN;
        } else if (column > WHY_COLUMN) {
            text_add_char(out, ' ');
            column++;
        }
        text_add_bytes(out, words, length);
        column += length;
        words += length + (words[length] == ' ');
    }
    text_add_char(out, '\n');
}

static void add_finding(struct text *out, const char *name, const struct finding *finding, int colours)
{
    const char *word = verdicts[finding->verdict].word;

    text_addf(out, "  %s%s%s", colours ? verdicts[finding->verdict].colour : "", word, colours ? "\033[0m" : "");
    text_add_repeat(out, ' ', NAME_COLUMN - 2 - strlen(word) + 1);
    text_addf(out, "%-*s", WHY_COLUMN - NAME_COLUMN - 1, name);
    add_wrapped(out, text_string(&finding->why));
    for (const char *line = text_string(&finding->allow); *line;) {
        size_t length = strcspn(line, "\n");
        text_add_repeat(out, ' ', WHY_COLUMN);
        text_add(out, "→ ");
        text_add_bytes(out, line, length);
        text_add_char(out, '\n');
        line += length + (line[length] == '\n');
    }
}

/* Adds what a list of examinations finds, and counts the verdicts. */
static void examine(struct text *out, const struct doctor_examination *list, int colours, size_t *verdict_counts)
{
    for (const struct doctor_examination *at = list; at && at->name; at++) {
        struct finding finding = { .verdict = VERDICT_WORKS };
        at->look(&finding);
        add_finding(out, at->name, &finding, colours);
        verdict_counts[finding.verdict]++;
        text_free(&finding.why);
        text_free(&finding.allow);
    }
}

static int run(const struct command *self, int argc, char **argv)
{
    struct text out = { 0 };
    const struct cmd_source *sources[CMD_SOURCE_COUNT];
    const char *operands[argc];
    size_t count, counts[VERDICT_NOTE + 1] = { 0 };
    int status, colours = isatty(STDOUT_FILENO);

    if (!command_options(self, argc, argv, NULL, operands, &count, &status))
        return status;
    if (count) {
        struct error err = { 0 };
        error_set(&err, ERR_BAD_ARGUMENT,
                  "doctor checks this machine and takes no '%s'; for a report use: tacho info FILE", operands[0]);
        return command_fail(self, &err);
    }
    cmd_sources_order(SOURCE_LAST_IN_DOCTOR, sources);
    examine(&out, doctor_program, colours, counts);
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        examine(&out, sources[i]->examinations, colours, counts);
    examine(&out, doctor_machine, colours, counts);
    if (counts[VERDICT_FAILS])
        text_addf(&out, "\n%zu of these checks failed; the lines with an arrow say what to do.\n",
                  counts[VERDICT_FAILS]);
    else
        text_add(&out, "\nTacho can record everything that this machine offers.\n");
    status = command_write(self, &out);
    text_free(&out);
    return status;
}

static const struct option no_options[] = { { 0 } };

static const struct entry examples[] = {
    { "tacho doctor", "Check what can be recorded on this machine, and how to enable the rest." },
    { 0 },
};

static const struct entry exits[] = {
    { "0", "The checks were made, whatever they found." },
    { "2", "The command line is wrong." },
    { 0 },
};

const struct command command_doctor = {
    .name = "doctor",
    .arguments = "",
    .summary = "Check what can be recorded on this machine, and how to enable the rest",
    .about = "Check every source and every system facility that Tacho needs. For each that does not work, print the "
             "cause and the command or setting that enables it.",
    .examples = examples,
    .exits = exits,
    .options = no_options,
    .run = run,
};
