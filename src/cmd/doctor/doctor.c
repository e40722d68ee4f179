/* tacho doctor: what can be traced on this machine, what cannot, why, and how to allow it. */
#include <stddef.h>
#include <string.h>
#include <unistd.h>

#include "base/json_write.h"
#include "cmd/cmd_source.h"
#include "cmd/command.h"
#include "cmd/print/display.h"
#include "cmd/print/print.h"
#include "doctor_checks.h"

enum { NAME_COLUMN = 9, WHY_COLUMN = 25 };

static const struct {
    const char *word, *colour;
} verdicts[] = {
    [VERDICT_WORKS] = { "works", "\033[32m" }, [VERDICT_PARTLY] = { "partly", "\033[33m" },
    [VERDICT_FAILS] = { "fails", "\033[31m" }, [VERDICT_LATER] = { "later", "\033[36m" },
    [VERDICT_NOTE] = { "note", "" },
};

static void doctor_add_finding(struct text *out, const char *name, const struct doctor_finding *finding, int colours)
{
    const char *word = verdicts[finding->verdict].word;

    text_addf(out, "  %s%s%s", colours ? verdicts[finding->verdict].colour : "", word, colours ? "\033[0m" : "");
    text_add_repeat(out, ' ', NAME_COLUMN - 2 - strlen(word) + 1);
    text_addf(out, "%-*s", WHY_COLUMN - NAME_COLUMN - 1, name);
    display_add_wrapped(out, text_string(&finding->why), WHY_COLUMN, WHY_COLUMN, print_text_columns());
    for (const char *line = text_string(&finding->allow); *line;) {
        size_t length = strcspn(line, "\n");
        struct text advice = { 0 };
        text_add_bytes(&advice, line, length);
        text_add_repeat(out, ' ', WHY_COLUMN);
        text_add(out, "→ ");
        display_add_wrapped(out, text_string(&advice), WHY_COLUMN + 2, WHY_COLUMN + 2, print_text_columns());
        text_free(&advice);
        line += length + (line[length] == '\n');
    }
}

static void add_json_finding(struct text *out, const char *name, const struct doctor_finding *finding)
{
    const char *before = "";

    json_addf(out, "\n  {'name': %s, 'verdict': %s, 'why': %s, 'allow': [", name, verdicts[finding->verdict].word,
              text_string(&finding->why));
    for (const char *line = text_string(&finding->allow); *line;) {
        size_t length = strcspn(line, "\n");
        text_add(out, before);
        json_add_text(out, line, length);
        before = ", ";
        line += length + (line[length] == '\n');
    }
    text_add(out, "]}");
}

/* The output so far. */
struct checkup {
    struct text out;
    int is_json, colours;
    size_t count, verdicts[VERDICT_NOTE + 1];
    size_t arrows; /* findings that say what to do */
};

/* The lists of examinations, in the order of the output. */
enum { LISTS = CMD_SOURCE_COUNT + 2 };
typedef const struct doctor_examination *examination_lists[LISTS];

static const struct doctor_examination *find_examination(const struct doctor_examination *list, const char *name)
{
    for (const struct doctor_examination *at = list; at && at->name; at++)
        if (strcmp(at->name, name) == 0)
            return at;
    return NULL;
}

/* Looks at one thing with all examinations of this name; 0 if an earlier list had one. */
static int look_with_all(struct doctor_finding *finding, const examination_lists lists, size_t list, const char *name)
{
    for (size_t i = 0; i < list; i++)
        if (find_examination(lists[i], name))
            return 0;
    for (size_t i = list; i < LISTS; i++) {
        const struct doctor_examination *found = find_examination(lists[i], name);
        if (found)
            found->look(finding);
    }
    return 1;
}

/* Adds what a list of examinations finds, and counts the verdicts. */
static void examine(struct checkup *checkup, const examination_lists lists, size_t list)
{
    for (const struct doctor_examination *at = lists[list]; at && at->name; at++) {
        struct doctor_finding finding = { .verdict = VERDICT_WORKS };
        if (!look_with_all(&finding, lists, list, at->name))
            continue;
        if (checkup->is_json) {
            add_json_finding(&checkup->out, at->name, &finding);
        } else {
            doctor_add_finding(&checkup->out, at->name, &finding, checkup->colours);
        }
        checkup->count++;
        checkup->verdicts[finding.verdict]++;
        checkup->arrows += finding.allow.length > 0;
        text_free(&finding.why);
        text_free(&finding.allow);
    }
}

static void add_conclusion(struct checkup *checkup)
{
    size_t failed = checkup->verdicts[VERDICT_FAILS], partly = checkup->verdicts[VERDICT_PARTLY];
    struct text sentence = { 0 };

    if (checkup->is_json) {
        json_addf(&checkup->out, "],\n 'failed': %zu, 'partly': %zu}\n", failed, partly);
        return;
    }
    if (failed)
        text_addf(&sentence, "%zu of these checks failed%s.", failed,
                  checkup->arrows ? "; the lines with an arrow say what to do" : "");
    else if (partly)
        text_addf(&sentence, "Tacho works here, %zu of these checks in part%s.", partly,
                  checkup->arrows ? "; the lines with an arrow say how to get the rest" : "");
    else
        text_add(&sentence, "Tacho can record everything that this machine offers.");
    text_add_char(&checkup->out, '\n');
    display_add_wrapped(&checkup->out, text_string(&sentence), 0, 0, print_text_columns());
    text_free(&sentence);
}

struct doctor_settings {
    const char *format;
};

/* clang-format off */
static const struct option doctor_options[] = {
    { .name = "format", .letter = 'f', .kind = OPTION_CHOICE, .offset = offsetof(struct doctor_settings, format),
      .words = OPTION_WORDS("human", "json"), .help = "Output format: human (the default), or json." },
    { 0 },
};
/* clang-format on */

static int doctor_run(const struct command *self, int argc, char **argv)
{
    struct doctor_settings settings = { 0 };
    struct checkup checkup = { .colours = isatty(STDOUT_FILENO) };
    const struct cmd_source *sources[CMD_SOURCE_COUNT];
    examination_lists lists = { [0] = doctor_program, [LISTS - 1] = doctor_machine };
    const char *operands[argc];
    size_t count;
    int status;

    if (!command_options(self, argc, argv, &settings, operands, &count, &status))
        return status;
    if (count) {
        struct error err = { 0 };
        error_set(&err, ERR_BAD_ARGUMENT,
                  "doctor checks this machine and takes no '%s'; for a report use: tacho info FILE", operands[0]);
        return command_fail(self, &err);
    }
    checkup.is_json = settings.format && strcmp(settings.format, "json") == 0;
    json_addf(&checkup.out, checkup.is_json ? "{'checks': [" : "");
    cmd_sources_order(SOURCE_LAST_IN_DOCTOR, sources);
    for (size_t i = 0; i < CMD_SOURCE_COUNT; i++)
        lists[1 + i] = sources[i]->examinations;
    for (size_t i = 0; i < LISTS; i++)
        examine(&checkup, lists, i);
    add_conclusion(&checkup);
    status = command_write(self, &checkup.out);
    text_free(&checkup.out);
    return status;
}

static const struct entry doctor_examples[] = {
    { "tacho doctor", "Check what can be recorded on this machine, and how to enable the rest." },
    { "tacho doctor -f json", "Print the same as one JSON document, for scripts." },
    { 0 },
};

static const struct entry doctor_exits[] = {
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
    .examples = doctor_examples,
    .exits = doctor_exits,
    .options = doctor_options,
    .variables = "ACC_PROFLIB,CUDA_HOME,NCCL_PROFILER_PLUGIN,TACHO_AGENT,TACHO_CUPTI",
    .run = doctor_run,
};
