/* The options after a report's name, read by the report. */
#ifndef TACHO_ANALYZE_ENGINE_REPORT_OPTIONS_H
#define TACHO_ANALYZE_ENGINE_REPORT_OPTIONS_H

#include "base/error.h"
#include "request.h"

/* Whether the flag was given. */
int option_given(const struct analysis_request *request, const char *name);

/* The text after "name=", or NULL. The last one counts. */
const char *option_text(const struct analysis_request *request, const char *name);

/* The number after "name=", or fallback if the option is not given. ERR_BAD_ARGUMENT if the text is no number, or the
 * number is not between least and greatest. */
int option_number(const struct analysis_request *request, const char *name, int64_t fallback, int64_t least,
                  int64_t greatest, int64_t *out, struct error *err);

/* The value after "name=", true or false; false if the option is not given. ERR_BAD_ARGUMENT if it is neither. */
int option_truth(const struct analysis_request *request, const char *name, int *out, struct error *err);

/* Checks that the usage of the report of this name, "[:base|:mangled][:rows=<limit>]", names all options of the
 * request; else ERR_BAD_ARGUMENT. */
int options_check(const char *name, const char *usage, const struct analysis_request *request, struct error *err);

#endif
