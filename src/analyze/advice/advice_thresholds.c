/* Reads the thresholds of a rule, and describes them: see advice_thresholds.h. */
#include "advice_thresholds.h"

#include <string.h>

#include "analyze/engine/report_options.h"

static const struct threshold {
    const char *rule, *option;
    int64_t fallback, least, greatest;
    const char *unit, *meaning;
} thresholds[ADVICE_THRESHOLDS] = {
#define THRESHOLD(id, ...) [THRESHOLD_##id] = { __VA_ARGS__ },
#include "advice_thresholds.def"
};

static int advice_limits_is_of(const struct threshold *threshold, const struct analysis *rule)
{
    return analysis_is_replayed(rule) && (!*threshold->rule || strcmp(threshold->rule, rule->name) == 0);
}

int advice_thresholds_read(int64_t out[ADVICE_THRESHOLDS], const struct analysis *rule,
                           const struct analysis_request *request, struct error *err)
{
    static const struct analysis_request none;
    struct text usage = { 0 };

    request = request ? request : &none;
    advice_thresholds_usage(&usage, rule);
    int code = text_failed(&usage) ? error_no_memory(err)
                                   : options_check(rule->name, text_string(&usage), request, err);
    text_free(&usage);
    if (code != 0)
        return code;
    for (size_t i = 0; i < ADVICE_THRESHOLDS; i++) {
        const struct threshold *threshold = &thresholds[i];
        if ((code = option_number(advice_limits_is_of(threshold, rule) ? request : &none, threshold->option,
                                  threshold->fallback, threshold->least, threshold->greatest, &out[i], err)) != 0)
            return code;
        out[i] *= strcmp(threshold->unit, "us") == 0 ? 1000 : 1;
    }
    return 0;
}

void advice_thresholds_usage(struct text *out, const struct analysis *rule)
{
    for (size_t i = 0; i < ADVICE_THRESHOLDS; i++)
        if (advice_limits_is_of(&thresholds[i], rule))
            text_addf(out, "[:%s=<%s>]", thresholds[i].option, thresholds[i].unit);
}

void advice_thresholds_help(struct text *out, const struct analysis *rule)
{
    for (size_t i = 0; i < ADVICE_THRESHOLDS; i++)
        if (advice_limits_is_of(&thresholds[i], rule))
            text_addf(out, " %s: %s %s. Default: %lld.", thresholds[i].option, thresholds[i].unit,
                      thresholds[i].meaning, (long long)thresholds[i].fallback);
}
