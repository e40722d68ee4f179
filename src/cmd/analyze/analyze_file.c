/* Opens a file and runs its rules: see analyze_file.h. */
#include "analyze_file.h"

#include "analyze/rules/rule.h"
#include "cmd/open_report.h"

/* Each rule once: the last options of a rule that is named twice count. */
static size_t analyze_file_choose(struct finding_choice choices[WANTED_MOST], const struct selection_list *wanted)
{
    size_t count = 0;

    for (size_t i = 0; i < wanted->count; i++) {
        const struct selection_item *item = &wanted->items[i];
        size_t at = 0;
        while (at < count && choices[at].rule != item->analysis)
            at++;
        choices[at] = (struct finding_choice){ item->analysis, item->options, item->option_count };
        count += at == count;
    }
    return count;
}

/* The context of analyze_file_refine(), which measures modelled causes. */
struct refinement {
    const struct measure_settings *settings;
    struct table **measured;
};

static int analyze_file_refine(void *context, struct adviser *adviser, struct error *err)
{
    const struct refinement *refinement = context;

    return measure_causes(adviser, refinement->settings, refinement->measured, err);
}

static int read_findings(struct analyze_file *file, const struct run_reports_settings *settings,
                         const struct selection_list *wanted, const struct measure_settings *measure, struct error *err)
{
    static const struct selection_item all = { 0 };
    struct finding_choice choices[WANTED_MOST];
    int code = selection_part_find(&settings->part, file->report, &file->part, err);

    if (code != 0)
        return code;
    const struct analysis_request part = selection_part_request(&file->part, &all);
    if ((code = adviser_open(&file->adviser, file->report, &part, err)) != 0 ||
        (code = rule_capture_time(file->report, &file->capture_ns, err)) != 0)
        return code;
    struct refinement refinement = { measure, &file->measured };
    const struct findings_request request = { .part = &part,
                                              .choices = choices,
                                              .count = analyze_file_choose(choices, wanted),
                                              .refine = measure ? analyze_file_refine : NULL,
                                              .context = &refinement };
    return findings_read(&file->findings, &file->adviser, &request, err);
}

int analyze_file_open(struct analyze_file *file, struct input input, const struct run_reports_settings *settings,
                      const struct selection_list *wanted, const struct measure_settings *measure, struct error *err)
{
    int code = open_input(input, &settings->input, &file->path, &file->report, err);

    if (code != 0)
        return code;
    return read_findings(file, settings, wanted, measure, err);
}

void analyze_file_close(struct analyze_file *file)
{
    table_delete(file->measured);
    findings_free(&file->findings);
    adviser_free(&file->adviser);
    selection_part_free(&file->part);
    if (file->report)
        close_report(file->report, text_string(&file->path));
    text_free(&file->path);
    *file = (struct analyze_file){ 0 };
}
