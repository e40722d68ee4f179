/* Texts for the causes: see cause.h. */
#include "cause.h"

static const struct {
    const char *text, *reason;
} causes[] = {
#define CAUSE(name, text, reason) [WIRE_CAUSE_##name] = {text, reason},
    WIRE_CAUSES(CAUSE)
#undef CAUSE
};

enum wire_cause cause_of(uint32_t word)
{
    return word < WIRE_CAUSE_COUNT ? (enum wire_cause)word : WIRE_CAUSE_UNKNOWN;
}

const char *cause_text(enum wire_cause cause)
{
    return causes[cause].text;
}

const char *cause_reason(enum wire_cause cause)
{
    return causes[cause].reason;
}
