/* SARIF 2.1.0, the format of static analysers: a run for each file, a result for each finding.
 *
 * GitHub's code scanning refuses results without a location, so that only findings are results, and one without a line
 * is at the report. The other two answers of a rule are notifications of the run. */
#include <string.h>

#include "base/json_write.h"
#include "finding_format.h"

static void add_string(struct text *out, const char *text)
{
    json_add_text(out, text, strlen(text));
}

/* "\"text\":…" of a message, in braces. */
static void add_message(struct text *out, const char *member, const char *text)
{
    text_addf(out, "\"%s\":{\"text\":", member);
    add_string(out, text);
    text_add_char(out, '}');
}

/* ---- rules ----------------------------------------------------------------------------------------------------- */

static void add_rule(struct text *out, const struct analysis *rule)
{
    text_addf(out, "{\"id\":\"%s\",", rule->name);
    add_message(out, "shortDescription", rule->title);
    text_add_char(out, ',');
    add_message(out, "fullDescription", rule->help);
    text_add_char(out, ',');
    add_message(out, "help", rule->rule->advice);
    text_add(out, ",\"defaultConfiguration\":{\"level\":\"warning\"}}");
}

static void add_tool(struct text *out, const struct findings *findings)
{
    text_add(out, "{\"driver\":{\"name\":\"Tacho\",\"version\":\"" TACHO_VERSION "\",\"rules\":[");
    for (size_t i = 0; i < findings->answer_count; i++) {
        text_add(out, i ? ",\n" : "\n");
        add_rule(out, findings->answers[i].rule);
    }
    text_add(out, "\n],\"notifications\":[");
    for (int answer = ANSWER_NO_PROBLEM; answer < FINDING_ANSWERS; answer++)
        text_addf(out, "%s{\"id\":\"%s\"}", answer > ANSWER_NO_PROBLEM ? "," : "", finding_answer_names[answer]);
    text_add(out, "]}}");
}

/* The place of a rule in the list of the tool. */
static size_t index_of(const struct findings *findings, const struct analysis *rule)
{
    size_t at = 0;

    while (at < findings->answer_count && findings->answers[at].rule != rule)
        at++;
    return at;
}

/* ---- results --------------------------------------------------------------------------------------------------- */

/* A path in a URI: bytes that have no meaning of their own there stay. */
static void add_uri(struct text *out, const char *path)
{
    static const char plain[] = "-._~/@+0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

    text_add(out, *path == '/' ? "\"file://" : "\"");
    for (; *path; path++) {
        if (strchr(plain, *path))
            text_add_char(out, *path);
        else
            text_addf(out, "%%%02X", (unsigned char)*path);
    }
    text_add_char(out, '"');
}

static void add_location(struct text *out, const struct finding *finding, const struct analyze_file *file)
{
    struct text path = { 0 };

    finding_add_path(&path, finding);
    text_add(out, "\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":");
    add_uri(out, text_string(path.length ? &path : &file->path));
    text_add_char(out, '}');
    if (path.length)
        text_addf(out, ",\"region\":{\"startLine\":%lld}", (long long)finding->line);
    text_add(out, "}}]");
    text_free(&path);
}

/* Times in ns: what a program that reads the file compares. */
static void add_properties(struct text *out, const struct finding *finding, const struct analyze_file *file)
{
    const struct advice_cause *cause = finding->cause;

    text_addf(out, "\"properties\":{\"impact_ns\":%lld", (long long)finding->impact_ns);
    if (cause)
        text_addf(out, ",\"confidence\":\"%s\"", advice_confidence_names[cause->confidence]);
    if (cause && cause->confidence != ADVICE_TRY)
        text_addf(out, ",\"bound_ns\":%lld,\"estimate_ns\":%lld,\"step_ns\":%lld", (long long)cause->bound_ns,
                  (long long)cause->estimate_ns, (long long)file->adviser.step_ns);
    text_add_char(out, '}');
}

static void add_result(struct text *out, const struct finding *finding, const struct analyze_file *file)
{
    struct text message = { 0 };

    finding_add_message(&message, finding, file);
    text_addf(out, "{\"ruleId\":\"%s\",\"ruleIndex\":%zu,\"level\":\"warning\",\"kind\":\"fail\",", finding->rule->name,
              index_of(&file->findings, finding->rule));
    add_message(out, "message", text_string(&message));
    text_add(out, ",\n");
    add_location(out, finding, file);
    text_add_char(out, ',');
    add_properties(out, finding, file);
    text_add_char(out, '}');
    text_free(&message);
}

/* ---- notifications --------------------------------------------------------------------------------------------- */

static void add_notification(struct text *out, const struct rule_answer *answer, size_t rule)
{
    struct text message = { 0 };

    text_addf(&message, "%s: ", finding_answer_names[answer->answer]);
    if (answer->missing)
        answer_add_reason(&message, answer);
    else
        text_add(&message, answer->rule->rule->praise);
    text_addf(out, "{\"descriptor\":{\"id\":\"%s\"},\"associatedRule\":{\"id\":\"%s\",\"index\":%zu},\"level\":\"%s\",",
              finding_answer_names[answer->answer], answer->rule->name, rule, answer->missing ? "note" : "none");
    add_message(out, "message", text_string(&message));
    text_add_char(out, '}');
    text_free(&message);
}

static void add_invocation(struct text *out, const struct findings *findings)
{
    const char *before = "\n";

    text_add(out, "{\"executionSuccessful\":true,\"toolExecutionNotifications\":[");
    for (size_t i = 0; i < findings->answer_count; i++) {
        if (findings->answers[i].answer == ANSWER_PROBLEM)
            continue;
        text_add(out, before);
        add_notification(out, &findings->answers[i], i);
        before = ",\n";
    }
    text_add(out, "]}");
}

/* ---- the document ---------------------------------------------------------------------------------------------- */

static void begin(struct text *out)
{
    text_add(out, "{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[");
}

static void add_run(struct text *out, const struct analyze_file *file, size_t number)
{
    text_add(out, number ? ",\n{\"tool\":" : "\n{\"tool\":");
    add_tool(out, &file->findings);
    text_add(out, ",\n\"automationDetails\":{\"id\":");
    add_string(out, text_string(&file->path));
    text_add(out, "},\n\"invocations\":[");
    add_invocation(out, &file->findings);
    text_add(out, "],\n\"results\":[");
    for (size_t i = 0; i < file->findings.count; i++) {
        text_add(out, i ? ",\n" : "\n");
        add_result(out, &file->findings.list[i], file);
    }
    text_add(out, "]}");
}

static void end(struct text *out)
{
    text_add(out, "\n]}\n");
}

const struct finding_format finding_sarif = {
    .name = "sarif",
    .help = "SARIF 2.1.0: a result for each finding, on its line, and a notification for each rule that found no "
            "problem or could not be checked",
    .begin = begin,
    .file = add_run,
    .end = end,
};
