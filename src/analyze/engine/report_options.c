/* Options of reports: found by name, checked against the words of the usage, so that a
 * misspelt one is never ignored. */
#include "report_options.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

static const struct analysis_option *report_options_find(const struct analysis_request *request, const char *name)
{
    for (size_t i = request->option_count; i > 0; i--)
        if (strcmp(request->options[i - 1].name, name) == 0)
            return &request->options[i - 1];
    return NULL;
}

int option_given(const struct analysis_request *request, const char *name)
{
    return report_options_find(request, name) != NULL;
}

const char *option_text(const struct analysis_request *request, const char *name)
{
    const struct analysis_option *option = report_options_find(request, name);

    return option ? option->value : NULL;
}

int option_truth(const struct analysis_request *request, const char *name, int *out, struct error *err)
{
    const char *value = option_text(request, name);

    *out = value && strcmp(value, "true") == 0;
    if (value && !*out && strcmp(value, "false") != 0)
        return error_set(err, ERR_BAD_ARGUMENT, "%s is true or false, not '%s'", name, value);
    return 0;
}

int option_number(const struct analysis_request *request, const char *name, int64_t fallback, int64_t least,
                  int64_t greatest, int64_t *out, struct error *err)
{
    const struct analysis_option *option = report_options_find(request, name);
    char *end;

    *out = fallback;
    if (!option)
        return 0;
    errno = 0;
    *out = strtoll(option->value ? option->value : "", &end, 10);
    if (errno || *end || !option->value || !*option->value || *out < least || *out > greatest)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "invalid value '%s' for option '%s': use a whole number from %lld to "
                         "%lld",
                         option->value ? option->value : "", name, (long long)least, (long long)greatest);
    return 0;
}

/* Whether the usage names this option: names follow a ':' and end before a character that no name holds. */
static int names_option(const char *usage, const struct analysis_option *option)
{
    size_t length = strlen(option->name);

    for (const char *at = usage; (at = strchr(at, ':')) != NULL;) {
        at++;
        if (strncmp(at, option->name, length) != 0 || !strchr("=|]", at[length]) || !at[length])
            continue;
        return (at[length] == '=') == (option->value != NULL);
    }
    return 0;
}

/* Every report takes this option, although the usage of nsys's reports names it only where nsys does. */
static const char rows_usage[] = "[:rows=<limit>]";

int options_check(const char *name, const char *usage, const struct analysis_request *request, struct error *err)
{
    for (size_t i = 0; i < request->option_count; i++) {
        if (names_option(usage, &request->options[i]) || names_option(rows_usage, &request->options[i]))
            continue;
        return error_set(err, ERR_BAD_ARGUMENT, "%s takes %s%s, not '%s'", name, usage,
                         strstr(usage, rows_usage) ? "" : rows_usage, request->options[i].name);
    }
    return 0;
}
