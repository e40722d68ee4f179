/* SARIF 2.1.0, the format of static analysers: a run for each file, a result for each finding.
 *
 * GitHub's code scanning refuses results without a location, so that only findings are results, and one without a line
 * is at the report. The other two answers of a rule are notifications of the run. */
#include <string.h>

#include "base/json_write.h"
#include "finding_format.h"

/* ---- rules ----------------------------------------------------------------------------------------------------- */

static void format_sarif_add_rule(struct text *out, const struct analysis *rule)
{
    json_addf(out, "\n{'id':%s,'shortDescription':{'text':%s},'fullDescription':{'text':%s},'help':{'text':%s}",
              rule->name, rule->title, rule->help, rule->rule->advice);
    json_addf(out, "'defaultConfiguration':{'level':'warning'}}");
}

static void add_tool(struct text *out, const struct findings *findings)
{
    json_addf(out, "{'driver':{'name':'Tacho','version':%s,'rules':[", TACHO_VERSION);
    for (size_t i = 0; i < findings->answer_count; i++)
        format_sarif_add_rule(out, findings->answers[i].rule);
    text_add_char(out, '\n');
    json_addf(out, "],'notifications':[");
    for (int answer = ANSWER_NO_PROBLEM; answer < FINDING_ANSWERS; answer++)
        json_addf(out, "{'id':%s}", finding_answer_names[answer]);
    text_add(out, "]}}");
}

/* The place of a rule in the list of the tool. */
static size_t format_sarif_index_of(const struct findings *findings, const struct analysis *rule)
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

static void format_sarif_add_location(struct text *out, const struct finding *finding, const struct analyze_file *file)
{
    struct text path = { 0 };

    finding_add_path(&path, finding);
    json_addf(out, "'locations':[{'physicalLocation':{'artifactLocation':{'uri':");
    add_uri(out, text_string(path.length ? &path : &file->path));
    text_add_char(out, '}');
    if (path.length)
        json_addf(out, "'region':{'startLine':%jd}", finding->line);
    text_add(out, "}}]");
    text_free(&path);
}

/* Times in ns: what a program that reads the file compares. */
static void add_properties(struct text *out, const struct finding *finding, const struct analyze_file *file)
{
    const struct advice_cause *cause = finding->cause;

    json_addf(out, "'properties':{'impact_ns':%jd", finding->impact_ns);
    if (cause)
        json_addf(out, "'confidence':%s", advice_confidence_names[cause->confidence]);
    if (cause && cause->confidence != ADVICE_TRY)
        json_addf(out, "'low_ns':%jd,'high_ns':%jd,'estimate_ns':%jd,'step_ns':%jd", cause->range.low_ns,
                  cause->range.high_ns, cause->estimate_ns, file->adviser.step_ns);
    text_add_char(out, '}');
}

static void format_sarif_add_result(struct text *out, const struct finding *finding, const struct analyze_file *file)
{
    struct text message = { 0 };

    finding_add_message(&message, finding, file);
    json_addf(out, "\n{'ruleId':%s,'ruleIndex':%zu,'level':'warning','kind':'fail','message':{'text':%s},\n",
              finding->rule->name, format_sarif_index_of(&file->findings, finding->rule), text_string(&message));
    format_sarif_add_location(out, finding, file);
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
    json_addf(out, "\n{'descriptor':{'id':%s},'associatedRule':{'id':%s,'index':%zu},'level':%s,'message':{'text':%s}}",
              finding_answer_names[answer->answer], answer->rule->name, rule, answer->missing ? "note" : "none",
              text_string(&message));
    text_free(&message);
}

static void add_invocation(struct text *out, const struct findings *findings)
{
    json_addf(out, "{'executionSuccessful':true,'toolExecutionNotifications':[");
    for (size_t i = 0; i < findings->answer_count; i++)
        if (findings->answers[i].answer != ANSWER_PROBLEM)
            add_notification(out, &findings->answers[i], i);
    text_add(out, "]}");
}

/* ---- the document ---------------------------------------------------------------------------------------------- */

static void format_sarif_begin(struct text *out)
{
    json_addf(out, "{'$schema':'https://json.schemastore.org/sarif-2.1.0.json','version':'2.1.0','runs':[");
}

static void format_sarif_add_run(struct text *out, const struct analyze_file *file, size_t number)
{
    json_addf(out, number ? ",\n{'tool':" : "\n{'tool':");
    add_tool(out, &file->findings);
    json_addf(out, ",\n'automationDetails':{'id':%s},\n'invocations':[", text_string(&file->path));
    add_invocation(out, &file->findings);
    json_addf(out, "],\n'results':[");
    for (size_t i = 0; i < file->findings.count; i++)
        format_sarif_add_result(out, &file->findings.list[i], file);
    text_add(out, "]}");
}

static void format_sarif_end(struct text *out)
{
    text_add(out, "\n]}\n");
}

const struct finding_format finding_sarif = {
    .name = "sarif",
    .help = "SARIF 2.1.0: a result for each finding, on its line, and a notification for each rule that found no "
            "problem or could not be checked",
    .begin = format_sarif_begin,
    .file = format_sarif_add_run,
    .end = format_sarif_end,
};
