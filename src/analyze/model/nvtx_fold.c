/* Names of ranges without what makes each call of an operator unique. Folded names are numbers of an intern table,
 * since the report need not hold them as strings. */
#include "nvtx_fold.h"

#include "analyze/engine/report_options.h"
#include "analyze/model/names/operator_text.h"
#include "nvtx_domains.h"

int nvtx_fold_open(struct nvtx_fold *fold, struct report *report, const struct analysis_request *request,
                   struct error *err)
{
    *fold = (struct nvtx_fold){ .report = report };
    return option_truth(request, "fold", &fold->is_on, err);
}

void nvtx_fold_close(struct nvtx_fold *fold)
{
    intern_free(&fold->names);
}

int64_t nvtx_fold_name(struct nvtx_fold *fold, int64_t name)
{
    size_t length;

    if (!fold->is_on || name == NVTX_NO_NAME)
        return name;
    const char *text = report_string(fold->report, name, &length);
    int64_t folded = intern_add(&fold->names, text, operator_name_length(text, length));
    fold->failed |= folded < 0;
    return folded;
}

void nvtx_fold_label(struct text *out, const struct nvtx_fold *fold, int64_t domain_name, int64_t name)
{
    size_t length = 0;

    if (!fold->is_on) {
        nvtx_label(out, fold->report, domain_name, name);
        return;
    }
    text_clear(out);
    if (domain_name != NVTX_NO_NAME) {
        const char *domain = report_string(fold->report, domain_name, &length);
        text_add_bytes(out, domain, length);
        text_add_char(out, ':');
    }
    if (name != NVTX_NO_NAME)
        text_add_bytes(out, fold->names.strings[name].bytes, fold->names.strings[name].length);
}
