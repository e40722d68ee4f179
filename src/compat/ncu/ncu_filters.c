/* ncu's filters as lines for the agent. Every error in them is reported here, before the program starts. */
#include <stdlib.h>
#include <string.h>

#include "abi/counters/name_pattern.h"
#include "ncu_command.h"

enum { LONGEST_PART = 128, LONGEST_DOMAIN = 63, MOST_RANGES = 16 }; /* the agent has room for this */

static int refuse_expression(const char *option, const char *value, const char *wrong, struct error *err)
{
    return error_set(err, ERR_BAD_ARGUMENT, "cannot use --%s '%s': %s", option, value, wrong);
}

static int check_pattern(const char *option, const char *value, const char *name, size_t length, struct error *err)
{
    struct name_pattern pattern;
    const char *wrong = name_pattern_read(&pattern, name, length);

    return wrong ? refuse_expression(option, value, wrong, err) : 0;
}

static int ncu_filters_add_number(struct text *lines, const char *option, const char *key, const char *value, int least,
                                  struct error *err)
{
    if (!value)
        return 0;
    if (!*value || strspn(value, "0123456789") != strlen(value) || strlen(value) > 18 || atoll(value) < least)
        return error_set(err, ERR_BAD_ARGUMENT, "--%s must be a whole number from %d on, not '%s'", option, least,
                         value);
    text_addf(lines, "%s=%s\n", key, value);
    return 0;
}

/* CONTEXT:STREAM:[regex:]NAME:INVOCATION */
static int ncu_filters_add_id(struct text *lines, const char *id, struct error *err)
{
    const char *stream = strchr(id, ':'), *name = stream ? strchr(stream + 1, ':') : NULL;
    const char *invocation = strrchr(id, ':');
    struct name_pattern pattern;
    const char *wrong = NULL;

    if (!name || invocation == name || strchr(id, '\n'))
        return error_set(err, ERR_BAD_ARGUMENT, "--kernel-id must be CONTEXT:STREAM:[regex:]NAME:INVOCATION, not '%s'",
                         id);
    if (stream - id > LONGEST_PART || name - stream > LONGEST_PART || strlen(invocation) > LONGEST_PART)
        wrong = "an expression for a number is too long";
    if (wrong || (wrong = name_pattern_compile(&pattern, id, (size_t)(stream - id))) ||
        (wrong = name_pattern_compile(&pattern, stream + 1, (size_t)(name - stream) - 1)) ||
        (wrong = name_pattern_compile(&pattern, invocation + 1, strlen(invocation + 1))))
        return refuse_expression("kernel-id", id, wrong, err);
    text_addf(lines, "kernel-id=%s\n", id);
    return check_pattern("kernel-id", id, name + 1, (size_t)(invocation - name) - 1, err);
}

static int ncu_filters_add_devices(struct text *lines, const char *list, struct error *err)
{
    char **numbers = option_split(list, NULL);
    int code = 0;

    if (!numbers)
        return error_no_memory(err);
    for (char **number = numbers; *number; number++)
        if ((code = ncu_filters_add_number(lines, "devices", "device", *number, 0, err)) != 0)
            break;
    free(numbers);
    return code;
}

/* Kernels that may wait forever are counted if they are named: by an exact name, or by an expression that can mean
 * nothing else. */
static int names_collectives(const char *name)
{
    return strncmp(name, "regex:", 6) != 0 || strstr(name, "nccl") || strstr(name, "nvshmem");
}

int ncu_add_filters(struct text *lines, const struct ncu_settings *settings, struct error *err)
{
    const char *name = settings->kernel_name, *base = settings->kernel_name_base;

    if (base && strcmp(base, "demangled") == 0)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--kernel-name-base demangled is not supported: use function or mangled");
    if (name && strchr(name, '\n'))
        return error_set(err, ERR_BAD_ARGUMENT, "--kernel-name must be one line");
    if (name && check_pattern("kernel-name", name, name, strlen(name), err) != 0)
        return err->code;
    if (name)
        text_addf(lines, "kernel=%s\n%s", name, names_collectives(name) ? "collective=1\n" : "");
    if (base)
        text_addf(lines, "base=%s\n", base);
    if (settings->filter_mode)
        text_addf(lines, "filter-mode=%s\n", settings->filter_mode);
    if (settings->kernel_id && ncu_filters_add_id(lines, settings->kernel_id, err) != 0)
        return err->code;
    if (settings->devices && ncu_filters_add_devices(lines, settings->devices, err) != 0)
        return err->code;
    if (ncu_filters_add_number(lines, "launch-skip", "skip", settings->launch_skip, 0, err) != 0 ||
        ncu_filters_add_number(lines, "launch-count", "count", settings->launch_count, 1, err) != 0)
        return err->code;
    return ncu_filters_add_number(lines, "launch-skip-before-match", "skip-before", settings->skip_before, 0, err);
}

/* ---- Ranges ---------------------------------------------------------------------------------------------------- */

/* Copies without the backslashes that keep the next character as it is. */
static void add_unescaped(struct text *out, const char *from, const char *to)
{
    for (; from < to; from++) {
        from += *from == '\\' && from + 1 < to;
        text_add_char(out, *from);
    }
}

/* [DOMAIN@]RANGE, for a push/pop range with a '/' after it. */
static int ncu_filters_add_range(struct text *lines, const char *option, char what, const char *value,
                                 struct error *err)
{
    const char *range = value, *end = value + strlen(value);
    int is_wrong = strncmp(value, "regex:", 6) == 0;

    for (const char *at = value; *at; at++) {
        if (*at == '\\' && at[1])
            at++;
        else if (*at == '@' && range == value)
            range = at + 1;
        else if (strchr("@,[]+*\t\n", *at) || (*at == '/' && at[1]))
            is_wrong = 1;
    }
    int is_push = end > range && end[-1] == '/';
    const char *domain_end = range > value ? range - 1 : value;
    if (is_wrong || end - is_push <= range || domain_end - value >= LONGEST_DOMAIN)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--%s takes one range, [DOMAIN@]RANGE/ (push/pop) or [DOMAIN@]RANGE (start/end), not '%s': "
                         "lists, positions in the stack and expressions are not supported",
                         option, value);
    text_addf(lines, "%c%c", what, is_push ? 'p' : 's');
    add_unescaped(lines, value, domain_end);
    text_add_char(lines, '\t');
    add_unescaped(lines, range, end - is_push);
    text_add_char(lines, '\n');
    return 0;
}

/* Numbers and spans of them, with commas between them and brackets around any: adds a rule, if there are any. */
static int add_instances(struct text *lines, char what, const char *from, size_t length)
{
    int is_wrong = length > LONGEST_PART;
    char before = ',';

    if (!length)
        return 0;
    text_add_char(lines, what);
    for (const char *at = from; at < from + length; before = *at++) {
        int is_number = *at >= '0' && *at <= '9';
        is_wrong |= !strchr("0123456789,-[]", *at) || (!is_number && before == '-') || (*at == '-' && before == ',');
        if (*at != '[' && *at != ']')
            text_add_char(lines, *at);
    }
    text_add_char(lines, '\n');
    return is_wrong ? -1 : 0;
}

/* [no|off]:[INSTANCES of cudaProfilerStart()]:[INSTANCES of NVTX ranges] */
static int add_range_filter(struct text *lines, const struct ncu_settings *settings, struct error *err)
{
    const char *value = settings->range_filter, *first = strchr(value, ':'), *last = strrchr(value, ':');
    size_t length = first ? (size_t)(first - value) : 0;
    int is_no = length == 0 || (length == 2 && strncmp(value, "no", 2) == 0) ||
                (length == 3 && strncmp(value, "off", 3) == 0);

    if (!first || first == last || !is_no || (last == first + 1 && !last[1]) ||
        add_instances(lines, 'c', first + 1, (size_t)(last - first) - 1) != 0 ||
        add_instances(lines, 'n', last + 1, strlen(last + 1)) != 0)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--range-filter takes instances of ranges of cudaProfilerStart() and of NVTX, such as :2: or "
                         "::[1-3],7, not '%s': NVTX ranges are not counted anew in each range",
                         value);
    if (last[1] && !settings->nvtx_include.count)
        return error_set(err, ERR_BAD_ARGUMENT, "--range-filter needs --nvtx-include for instances of NVTX ranges");
    return 0;
}

int ncu_add_ranges(struct text *lines, const struct ncu_settings *settings, struct error *err)
{
    if (settings->nvtx_include.count + settings->nvtx_exclude.count > MOST_RANGES)
        return error_set(err, ERR_BAD_ARGUMENT, "at most %d ranges can be included and excluded", MOST_RANGES);
    for (size_t i = 0; i < settings->nvtx_include.count; i++)
        if (ncu_filters_add_range(lines, "nvtx-include", 'i', settings->nvtx_include.values[i], err) != 0)
            return err->code;
    for (size_t i = 0; i < settings->nvtx_exclude.count; i++)
        if (ncu_filters_add_range(lines, "nvtx-exclude", 'e', settings->nvtx_exclude.values[i], err) != 0)
            return err->code;
    return settings->range_filter ? add_range_filter(lines, settings, err) : 0;
}
