/* The option parser: it looks an option up, finds its value, and stores it where its row says. */
#include "option.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/nearest.h"

int option_seconds(const char *name, const char *value, double *seconds, struct error *err)
{
    char *end;

    *seconds = strtod(value, &end);
    if (end == value || *end || !(*seconds > 0 && *seconds < 1e9))
        return error_set(err, ERR_BAD_ARGUMENT, "--%s must be a number of seconds, not '%s'", name, value);
    return 0;
}

int option_read_number(const char *value, uint64_t least, uint64_t most, uint64_t *number)
{
    char *end;

    errno = 0;
    *number = strtoull(value, &end, 10);
    return isdigit((unsigned char)*value) && !*end && !errno && *number >= least && *number <= most ? 0 : -1;
}

int option_range_read(const struct option_range *range, const char *value, uint64_t *number, struct error *err)
{
    if (option_read_number(value, range->least, range->most, number) == 0)
        return 0;
    return error_set(err, ERR_BAD_ARGUMENT, "--%s must be a number of %s from %llu to %llu, not '%s'", range->name,
                     range->unit, (unsigned long long)range->least, (unsigned long long)range->most, value);
}

int option_range_read_small(const struct option_range *range, const char *value, uint32_t *number, struct error *err)
{
    uint64_t read;
    int code;

    if ((code = option_range_read(range, value, &read, err)) != 0)
        return code;
    *number = (uint32_t)read;
    return 0;
}

int option_bool(const char *value)
{
    static const struct {
        const char *text;
        int truth;
    } words[] = {
        { "true", 1 }, { "false", 0 }, { "yes", 1 }, { "no", 0 }, { "on", 1 }, { "off", 0 }, { "1", 1 }, { "0", 0 },
    };

    for (size_t i = 0; i < COUNT_OF(words); i++)
        if (strcasecmp(value, words[i].text) == 0)
            return words[i].truth;
    return -1;
}

uint64_t option_size(const char *value, unsigned thousand)
{
    static const char suffixes[] = "KMGT";
    char *end;
    uint64_t bytes = (errno = 0, strtoull(value, &end, 10));
    const char *suffix = *end ? strchr(suffixes, toupper((unsigned char)*end)) : NULL;

    if (suffix) {
        for (const char *step = suffixes; step <= suffix; step++)
            bytes = bytes > UINT64_MAX / thousand ? 0 : bytes * thousand;
        end++;
        if (strcasecmp(end, "B") == 0 || strcasecmp(end, "iB") == 0)
            end += strlen(end);
    }
    return isdigit((unsigned char)*value) && *end == 0 && errno == 0 ? bytes : 0;
}

char **option_split(const char *value, size_t *count)
{
    size_t length = strlen(value), parts = 0, room = 2;

    for (const char *at = value; *at; at++)
        room += *at == ',';
    char **list = malloc(room * sizeof *list + length + 1);
    if (!list)
        return NULL;
    char *out = (char *)(list + room);
    const char *at = value;
    while (*at) {
        char *part = out;
        for (; *at && *at != ','; at++) {
            if (*at == '\\' && at[1])
                at++;
            *out++ = *at;
        }
        if (out > part) {
            *out++ = 0;
            list[parts++] = part;
        }
        at += *at == ',';
    }
    list[parts] = NULL;
    if (count)
        *count = parts;
    return list;
}

static const struct option *find_long(const struct option *options, const char *name, size_t length)
{
    for (; options->name; options++)
        if (strlen(options->name) == length && memcmp(options->name, name, length) == 0)
            return options;
    return NULL;
}

static const struct option *find_short(const struct option *options, char letter)
{
    for (; options->name; options++)
        if (options->letter == letter)
            return options;
    return NULL;
}

static int complain_unknown(const struct option *options, const char *argument, struct error *err)
{
    const char *names[256];
    size_t count = 0, length = strcspn(argument, "=");
    char name[128];

    for (; options->name && count < 255; options++)
        if (!options->hidden)
            names[count++] = options->name;
    names[count] = NULL;
    if (length >= sizeof name)
        length = sizeof name - 1;
    memcpy(name, argument, length);
    name[length] = 0;
    const char *nearest = argument[1] == '-' ? nearest_name(name + 2, names) : NULL;
    if (nearest)
        return error_set(err, ERR_BAD_ARGUMENT, "unknown option %s; did you mean --%s?", name, nearest);
    return error_set(err, ERR_BAD_ARGUMENT, "unknown option %s; --help lists the options", name);
}

const char *const *option_choices(const struct option *option)
{
    return option->choices ? option->choices() : option->words;
}

static int check_choice(const struct option *option, const char *value, struct error *err)
{
    char all[256] = "";

    for (const char *const *choice = option_choices(option); *choice; choice++) {
        if (strcmp(*choice, value) == 0)
            return 0;
        if (strlen(all) + strlen(*choice) + 3 < sizeof all)
            strcat(strcat(all, *all ? ", " : ""), *choice);
    }
    return error_set(err, ERR_BAD_ARGUMENT, "--%s cannot be '%s': use one of %s", option->name, value, all);
}

static int option_store(struct option_parse *parse, const struct option *option, const char *value, struct error *err)
{
    void *field = (char *)parse->settings + option->offset;
    struct option_list *list = field;
    int truth;

    switch (option->kind) {
    case OPTION_FLAG: *(int *)field = 1; return 0;
    case OPTION_BOOL:
        truth = value ? option_bool(value) : 1;
        if (truth < 0)
            return error_set(err, ERR_BAD_ARGUMENT, "--%s must be true or false, not '%s'", option->name, value);
        *(int *)field = truth;
        return 0;
    case OPTION_CHOICE:
        if (check_choice(option, value, err) != 0)
            return err->code;
        *(const char **)field = value;
        return 0;
    case OPTION_TEXT: *(const char **)field = value ? value : ""; return 0;
    case OPTION_LIST:
        if (list->count == COUNT_OF(list->values))
            return error_set(err, ERR_BAD_ARGUMENT, "--%s is given too many times", option->name);
        list->values[list->count++] = value;
        return 0;
    case OPTION_CUSTOM: return option->take(parse->settings, value, err);
    case OPTION_IGNORED:
        if (value && (strcmp(value, "none") == 0 || option_bool(value) == 0))
            return 0; /* nothing was asked for */
        text_addf(&parse->warnings, "--%s has no effect: %s\n", option->name, option->help);
        return 0;
    }
    return 0;
}

/* Whether it may be left out, and is then one of its choices when it is there. */
static int has_optional_value(const struct option *option)
{
    return option->kind == OPTION_TEXT && option_choices(option) && option->value && option->value[0] == '[';
}

/* Whether it may stand without a value: it is true or false, or says so. */
static int may_stand_alone(const struct option *option)
{
    return option->kind == OPTION_BOOL || (option->kind == OPTION_IGNORED && strcmp(option->value, "BOOL") == 0) ||
           has_optional_value(option);
}

/* A value that stands in the next argument. */
static const char *separate_value(const struct option *option, const char *next)
{
    if (option->kind == OPTION_IGNORED && next && next[0] == '-' && next[1] && !strchr("0123456789", next[1]))
        return NULL; /* the next option */
    if (!next || !may_stand_alone(option))
        return next;
    if (!has_optional_value(option))
        return option_bool(next) < 0 ? NULL : next;
    for (const char *const *choice = option_choices(option); *choice; choice++)
        if (strcmp(*choice, next) == 0)
            return next;
    return NULL;
}

/* One option at argv[0]; returns how many arguments it took, or an error. */
static int option_parse_one(struct option_parse *parse, char **argv, struct error *err)
{
    const char *argument = argv[0], *attached;
    const struct option *option;

    if (argument[1] == '-') {
        size_t length = strcspn(argument + 2, "=");
        option = find_long(parse->options, argument + 2, length);
        attached = argument[2 + length] ? argument + 3 + length : NULL;
    } else {
        option = find_short(parse->options, argument[1]);
        attached = !argument[2] ? NULL : argument[2] == '=' ? argument + 3 : argument + 2;
    }
    if (!option)
        return complain_unknown(parse->options, argument, err);
    if (option->kind == OPTION_FLAG && attached && option_bool(attached) == 0)
        return 1; /* --quiet=false */
    if (option->kind == OPTION_FLAG && attached && option_bool(attached) != 1)
        return error_set(err, ERR_BAD_ARGUMENT, "--%s takes no value", option->name);
    if (option->kind == OPTION_FLAG || attached)
        return option_store(parse, option, attached, err) == 0 ? 1 : err->code;
    const char *value = separate_value(option, argv[1]);
    if (!value && !may_stand_alone(option) && option->kind != OPTION_IGNORED)
        return error_set(err, ERR_BAD_ARGUMENT, "--%s needs a value%s%s", option->name, option->value ? ": " : "",
                         option->value ? option->value : "");
    return option_store(parse, option, value, err) == 0 ? (value ? 2 : 1) : err->code;
}

int options_parse(struct option_parse *parse, int argc, char **argv, struct error *err)
{
    int at = 1;

    while (at < argc) {
        const char *argument = argv[at];
        if (argument[0] != '-' || !argument[1]) {
            if (parse->stop_at_operand)
                break;
            parse->operands[parse->operand_count++] = argv[at++];
            continue;
        }
        if (strcmp(argument, "--") == 0) {
            at++;
            break;
        }
        if (strcmp(argument, "--help") == 0 || strcmp(argument, "-h") == 0) {
            parse->wants_help = 1;
            return 0;
        }
        int taken = option_parse_one(parse, argv + at, err);
        if (taken < 0)
            return taken;
        at += taken;
    }
    while (at < argc)
        parse->operands[parse->operand_count++] = argv[at++];
    return 0;
}
