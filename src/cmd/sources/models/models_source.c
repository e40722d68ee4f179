/* Programming models (abi/models/models.def): the checks of `doctor`, the models that the processes of a report had
 * loaded, and a line of the summary about a model that was used but not recorded.
 *
 * The line is for captures without -t, which is the user's choice of sources. It needs a sign that the program itself
 * uses the model (TACHO_MODEL.usedBy), since many libraries are loaded for the sake of others. */
#include <dirent.h>
#include <stdlib.h>
#include <string.h>

#include "abi/models/models.h"
#include "base/human.h"
#include "base/path.h"
#include "cmd/cmd_source.h"
#include "cmd/doctor/finding.h"
#include "cmd/small_table.h"
#include "cmd/summary/source_summary.h"

/* Whether this version has the -t that records a model. */
static int models_source_is_known(enum model model)
{
    for (size_t i = 0; cmd_sources[i]; i++)
        for (const struct cmd_source_trace *trace = cmd_sources[i]->traces; trace && trace->name; trace++)
            if (strcmp(trace->name, model_rows[model].trace) == 0)
                return 1;
    return 0;
}

/* ---- What a report has ----------------------------------------------------------------------------------------- */

enum { PROCESS, MODEL_NAME, IMPLEMENTATION, USED_BY };
static const char *const models_source_names[] = { "globalPid", "model", "implementation", "usedBy", NULL };

struct model_use {
    uint64_t loaded, used;      /* processes */
    const char *implementation; /* that of the first process that uses it, else of the first one */
};

static void count_uses(struct model_use uses[MODEL_COUNT], const struct small_table *rows)
{
    memset(uses, 0, MODEL_COUNT * sizeof *uses);
    for (size_t i = 0; i < rows->columns.rows; i++) {
        enum model model = model_find(small_table_text(rows, i, MODEL_NAME, NULL));
        if (model == MODEL_COUNT)
            continue;
        int is_used = !small_table_is_null(rows, i, USED_BY);
        if (!uses[model].loaded || (is_used && !uses[model].used))
            uses[model].implementation = small_table_text(rows, i, IMPLEMENTATION, NULL);
        uses[model].loaded++;
        uses[model].used += (uint64_t)is_used;
    }
}

/* Whether a name is in a list with commas. */
static int is_in_list(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; *at;) {
        size_t own = strcspn(at, ",");
        if (own == length && memcmp(at, name, length) == 0)
            return 1;
        at += own + (at[own] == ',');
    }
    return 0;
}

/* Events of the model in the report. */
static uint64_t recorded(const struct report_sources *sources, enum model model)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < sources->count; i++)
        if (is_in_list(model_rows[model].sources, sources->list[i].name))
            sum += sources->list[i].recorded;
    return sum;
}

/* Whether a process had the library that records the model: then there was nothing to record. */
static int models_source_was_ready(struct report *report, enum model model)
{
    static const char *const names[] = { "pathId", NULL };
    struct small_table rows;
    struct text file = { 0 };
    struct error err;
    int was_ready = 0;

    if (small_table_read(&rows, report, "TACHO_MODULE", names, &err) != 0)
        return 0;
    text_addf(&file, "libtacho-%s.so", model_rows[model].trace);
    for (size_t i = 0; i < rows.columns.rows && !was_ready; i++)
        was_ready = strcmp(path_base_name(small_table_text(&rows, i, 0, NULL)), text_string(&file)) == 0;
    text_free(&file);
    small_table_free(&rows);
    return was_ready;
}

/* ---- tacho info ------------------------------------------------------------------------------------------------ */

static void models_source_add_processes(struct text *out, uint64_t count)
{
    human_count(out, count);
    text_add(out, count == 1 ? " process" : " processes");
}

static void add_model(struct text *out, enum model model, const struct model_use *use, uint64_t events, int is_wanted)
{
    enum { LABEL_WIDTH = 18 };
    size_t length = strlen(model_rows[model].name);

    text_add(out, model_rows[model].name);
    text_add_repeat(out, ' ', length < LABEL_WIDTH ? LABEL_WIDTH - length : 1);
    if (strcmp(use->implementation, model_rows[model].name) != 0)
        text_addf(out, "%s, ", use->implementation);
    if (use->used) {
        text_add(out, "in use by ");
        models_source_add_processes(out, use->used);
    } else {
        text_add(out, "loaded by ");
        models_source_add_processes(out, use->loaded);
        text_add(out, ", perhaps for another library");
    }
    if (events) {
        text_add(out, "; recorded: ");
        human_count(out, events);
        text_add(out, events == 1 ? " event" : " events");
    } else if (!models_source_is_known(model)) {
        text_add(out, "; this version cannot record it");
    } else if (is_wanted) {
        text_add(out, "; no event was recorded");
    } else {
        text_addf(out, "; not recorded (-t %s)", model_rows[model].trace);
    }
    text_add_char(out, '\n');
}

static int info(struct text *out, struct report *report, struct error *err)
{
    struct capture_facts *facts = malloc(sizeof *facts);
    struct model_use uses[MODEL_COUNT];
    struct small_table rows;
    int code = facts ? 0 : error_no_memory(err);

    if (code != 0 || (code = small_table_read(&rows, report, "TACHO_MODEL", models_source_names, err)) != 0)
        goto free_facts;
    if ((code = capture_facts_read(facts, report, err)) != 0)
        goto free_rows;
    count_uses(uses, &rows);
    if (rows.columns.rows)
        text_add(out, "\nProgramming models\n");
    for (enum model model = 0; model < MODEL_COUNT; model++)
        if (uses[model].loaded)
            add_model(out, model, &uses[model], recorded(&facts->sources, model),
                      capture_is_requested(facts, model_rows[model].trace) || models_source_was_ready(report, model));
    capture_facts_free(facts);
free_rows:
    small_table_free(&rows);
free_facts:
    free(facts);
    return code;
}

/* ---- The summary ----------------------------------------------------------------------------------------------- */

static void models_source_add_notes(struct text *out, const struct summary *summary)
{
    struct model_use uses[MODEL_COUNT];
    struct small_table rows;
    struct error err;

    if (*summary->facts.requested ||
        small_table_read(&rows, summary->request->report, "TACHO_MODEL", models_source_names, &err) != 0)
        return;
    count_uses(uses, &rows);
    for (enum model model = 0; model < MODEL_COUNT; model++) {
        const struct model_row *row = &model_rows[model];
        if (!uses[model].used || !models_source_is_known(model) || recorded(&summary->facts.sources, model) ||
            models_source_was_ready(summary->request->report, model))
            continue;
        text_addf(out, "  %s is in use", row->name);
        if (strcmp(uses[model].implementation, row->name) != 0)
            text_addf(out, " (%s)", uses[model].implementation);
        text_addf(out, "; record its calls with -t %s\n", row->trace);
    }
    small_table_free(&rows);
}

static const struct source_summary models_source_summary = { .add_notes = models_source_add_notes };

/* ---- tacho doctor ---------------------------------------------------------------------------------------------- */

/* Implementations that were found; each is reported once, with the first of its files. */
enum { MOST_FOUND = 8 };
struct found_libraries {
    const char *names[MOST_FOUND];
    size_t count;
};

static int is_new(const struct found_libraries *found, const char *name)
{
    for (size_t i = 0; i < found->count; i++)
        if (strcmp(found->names[i], name) == 0)
            return 0;
    return found->count < MOST_FOUND;
}

/* The implementation of a file, by the target of its links if that names one. */
static const char *implementation_of(enum model model, const char *folder, const char *file)
{
    const char *name = strstr(file, ".so") ? model_implementation(model, file) : NULL, *behind = NULL;
    struct text path = { 0 };

    if (!name)
        return NULL;
    text_addf(&path, "%s/%s", folder, file);
    char *real = realpath(text_string(&path), NULL);
    if (real)
        behind = model_implementation(model, path_base_name(real));
    free(real);
    text_free(&path);
    return behind ? behind : name;
}

/* Adds the implementations that lie in this folder. */
static void models_source_look_into(struct text *out, enum model model, const char *folder, size_t length,
                                    struct found_libraries *found)
{
    char path[4096];
    DIR *open_folder;

    if (!length || length >= sizeof path)
        return;
    memcpy(path, folder, length);
    path[length] = 0;
    if (!(open_folder = opendir(path)))
        return;
    for (struct dirent *entry; (entry = readdir(open_folder)) != NULL;) {
        const char *name = implementation_of(model, path, entry->d_name);
        if (!name || !is_new(found, name))
            continue;
        text_addf(out, "%s%s/%s (%s)", found->count ? ", " : " Found: ", path, entry->d_name, name);
        found->names[found->count++] = name;
    }
    closedir(open_folder);
}

static int models_source_find_library(struct text *out, enum model model)
{
#if defined(__x86_64__)
    static const char system[] = "/usr/lib/x86_64-linux-gnu:/usr/lib64:/usr/lib:/usr/local/lib:/usr/local/lib64";
#else
    static const char system[] = "/usr/lib/aarch64-linux-gnu:/usr/lib64:/usr/lib:/usr/local/lib:/usr/local/lib64";
#endif
    const char *own = getenv("LD_LIBRARY_PATH");
    const char *const lists[] = { own ? own : "", system };
    struct found_libraries found = { 0 };

    for (size_t i = 0; i < COUNT_OF(lists); i++)
        for (const char *at = lists[i]; *at; at += strspn(at, ":")) {
            size_t length = strcspn(at, ":");
            models_source_look_into(out, model, at, length, &found);
            at += length;
        }
    text_add(out, found.count ? "." : "");
    return found.count != 0;
}

/* For models whose source has no examination of its own. */
static void look_at_source(struct doctor_finding *finding, enum model model)
{
    const struct model_row *row = &model_rows[model];

    if (!models_source_is_known(model)) {
        finding->verdict = VERDICT_LATER;
        text_addf(&finding->why, "This version does not record calls of %s.", row->name);
        return;
    }
    if (!finding_has_agent(finding))
        return;
    text_addf(&finding->why, "-t %s records calls into %s.", row->trace, row->name);
}

/* Variables that keep Tacho from recording the model, whichever source has examined it. */
static void look_at_variables(struct doctor_finding *finding, enum model model)
{
    for (const struct model_variable *at = model_variables; at->variable; at++) {
        const char *value = at->model == model ? getenv(at->variable) : NULL;
        if (!value || !*value || (at->value && strcmp(value, at->value) != 0))
            continue;
        enum finding_verdict verdict = at->is_all ? VERDICT_FAILS : VERDICT_PARTLY;
        if (verdict > finding->verdict)
            finding->verdict = verdict;
        text_addf(&finding->why, " %s is set: %s.", at->variable, at->effect);
        text_addf(&finding->allow, "unset %s\n", at->variable);
    }
}

static void models_source_look_at(struct doctor_finding *finding, enum model model)
{
    if (!finding->why.length)
        look_at_source(finding, model);
    if (finding->verdict != VERDICT_LATER)
        look_at_variables(finding, model);
    if (!models_source_find_library(&finding->why, model) && finding->verdict != VERDICT_LATER)
        text_add(&finding->why, " No library was found in LD_LIBRARY_PATH or the system folders.");
}

#define MODEL(id, ...)                                                                                                 \
    static void look_at_##id(struct doctor_finding *finding)                                                           \
    {                                                                                                                  \
        models_source_look_at(finding, MODEL_##id);                                                                    \
    }
#include "abi/models/models.def"

static const struct doctor_examination models_source_examinations[] = {
#define MODEL(id, name, ...) { name, look_at_##id },
#include "abi/models/models.def"
    { 0 },
};

const struct cmd_source cmd_source_models = {
    .examinations = models_source_examinations,
    .info = info,
    .summary = &models_source_summary,
};
