/* Texts about samples: see samples_text.h. */
#include "samples_text.h"

#include "analyze/engine/cell_text.h"
#include "analyze/rules/rule.h"
#include "base/human.h"

int samples_set_source(struct table *table, struct table_cell *cell, struct report *report,
                       const struct gpu_metrics *metrics, const struct gpu_metric *metric)
{
    struct text source = { 0 };

    gpu_metric_add_source(&source, report, metrics, metric);
    int code = cell_set_built(table, cell, &source);
    text_free(&source);
    return code;
}

void samples_say(struct text *out, const struct table_cell *samples, const struct table_cell *source)
{
    text_add_char(out, '(');
    human_count(out, (uint64_t)samples->integer);
    text_addf(out, " sample%s of ", samples->integer == 1 ? "" : "s");
    rule_add_text(out, "", source);
    text_add_char(out, ')');
}
