/* The reports of a set: whose each is, what it holds and on which clock. */
#ifndef TACHO_CMD_INFO_INFO_SET_H
#define TACHO_CMD_INFO_INFO_SET_H

#include "base/error.h"
#include "base/text.h"
#include "report/reader/reader.h"

int info_add_set(struct text *out, struct report *set, struct error *err);

#endif
