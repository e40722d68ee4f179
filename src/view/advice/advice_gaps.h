/* Advice on the largest gaps of GPUs. */
#ifndef TACHO_VIEW_ADVICE_ADVICE_GAPS_H
#define TACHO_VIEW_ADVICE_ADVICE_GAPS_H

#include "analyze/advice/adviser.h"
#include "base/error.h"
#include "view/answer/advice_list.h"

/* Adds the longest times in which a GPU was idle, with their causes. */
int advice_add_gaps(struct advice *advice, struct adviser *adviser, struct error *err);

#endif
