/* Annotations of GitHub Actions: a line each on stdout, which the runner of a workflow shows beside the line of a pull
 * request. Problems are warnings. Rules without a problem, and rules that could not be checked, are two notices. */
#include <ctype.h>
#include <string.h>

#include "finding_format.h"

/* The runner ends a command at a line break, and a property at a colon or a comma as well. Other control characters
 * have no code there; a terminal that shows the log must not obey those of a name. */
static void format_github_add_escaped(struct text *out, const char *text, const char *special)
{
    for (; *text; text++) {
        if (strchr(special, *text))
            text_addf(out, "%%%02X", (unsigned char)*text);
        else if (iscntrl((unsigned char)*text))
            text_addf(out, "\\x%02x", (unsigned char)*text);
        else
            text_add_char(out, *text);
    }
}
#define IN_MESSAGES "%\r\n"
#define IN_PROPERTIES "%\r\n:,"

/* "::warning file=train.py,line=57,title=result_waits::loss.item() waits …" */
static void format_github_add_finding(struct text *out, const struct finding *finding, const struct analyze_file *file)
{
    struct text path = { 0 }, message = { 0 };

    finding_add_path(&path, finding);
    finding_add_message(&message, finding, file);
    text_add(out, "::warning ");
    if (path.length) {
        text_add(out, "file=");
        format_github_add_escaped(out, text_string(&path), IN_PROPERTIES);
        text_addf(out, ",line=%lld,", (long long)finding->line);
    }
    text_addf(out, "title=%s::", finding->rule->name);
    format_github_add_escaped(out, text_string(&message), IN_MESSAGES);
    text_add_char(out, '\n');
    text_free(&path);
    text_free(&message);
}

/* "::notice title=no problem::train.tacho: launch_bound, data_loader"; nothing if no rule gives this answer. */
static void add_answers(struct text *out, const struct analyze_file *file, enum finding_answer answer)
{
    const struct findings *findings = &file->findings;
    struct text list = { 0 };

    for (size_t i = 0; i < findings->answer_count; i++) {
        const struct rule_answer *at = &findings->answers[i];
        if (at->answer != answer)
            continue;
        text_addf(&list, "%s%s", list.length ? ", " : "", at->rule->name);
        if (at->missing) {
            text_add(&list, " (");
            answer_add_reason(&list, at);
            text_add_char(&list, ')');
        }
    }
    if (list.length) {
        text_addf(out, "::notice title=%s::", finding_answer_names[answer]);
        format_github_add_escaped(out, text_string(&file->path), IN_MESSAGES);
        text_add(out, ": ");
        format_github_add_escaped(out, text_string(&list), IN_MESSAGES);
        text_add_char(out, '\n');
    }
    text_free(&list);
}

static void format_github_add_file(struct text *out, const struct analyze_file *file, size_t number)
{
    for (size_t i = 0; i < file->findings.count; i++)
        format_github_add_finding(out, &file->findings.list[i], file);
    add_answers(out, file, ANSWER_NO_PROBLEM);
    add_answers(out, file, ANSWER_NOT_CHECKED);
}

const struct finding_format finding_github = {
    .name = "github",
    .help = "Annotations of GitHub Actions: a warning for each finding, on its line, and notices that name the rules "
            "that found no problem and those that could not be checked",
    .file = format_github_add_file,
};
