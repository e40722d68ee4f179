/* The option fold of reports on NVTX ranges: ranges that emit_nvtx made of calls of one operator,
 * "aten::add, seq = 12, op_id = 34", have one name, "aten::add". */
#ifndef TACHO_ANALYZE_MODEL_NVTX_FOLD_H
#define TACHO_ANALYZE_MODEL_NVTX_FOLD_H

#include "analyze/engine/request.h"
#include "base/error.h"
#include "base/intern.h"
#include "base/text.h"

#define NVTX_FOLD_USAGE "[:fold=<true|false>]"
#define NVTX_FOLD_FOR_PEOPLE { "fold", "true" }

struct nvtx_fold {
    struct report *report;
    int is_on, failed;   /* failed: memory ran short */
    struct intern names; /* the folded ones; empty while it is off */
};

/* Reads the option. */
int nvtx_fold_open(struct nvtx_fold *fold, struct report *report, const struct analysis_request *request,
                   struct error *err);
void nvtx_fold_close(struct nvtx_fold *fold);

/* The name to group a range by, for the string id of its text or NVTX_NO_NAME. */
int64_t nvtx_fold_name(struct nvtx_fold *fold, int64_t name);

/* Makes out the label of such a name: "domain:text", as nvtx_label(); folded, ranges of the default domain have no
 * colon. */
void nvtx_fold_label(struct text *out, const struct nvtx_fold *fold, int64_t domain_name, int64_t name);

#endif
