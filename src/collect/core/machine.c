/* Facts about the machine and the job: see machine.h. */
#include "machine.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "abi/jobs/job_variables.h"
#include "base/clock.h"
#include "base/parallel.h"
#include "capture_rows.h"
#include "collect_sources.h"
#include "collector.h"
#include "procfs.h"

/* ---- Ranks ----------------------------------------------------------------------------------------------------- */

struct machine_block {
    const char *bytes;
    size_t length;
};

/* The value of a variable in a block of NUL-separated NAME=value texts, or NULL. */
static const char *machine_find_variable(const void *context, const char *name)
{
    const struct machine_block *block = context;
    size_t name_length = strlen(name);
    for (size_t at = 0; at < block->length; at += strlen(block->bytes + at) + 1)
        if (strncmp(block->bytes + at, name, name_length) == 0 && block->bytes[at + name_length] == '=')
            return block->bytes + at + name_length + 1;
    return NULL;
}

struct job_place machine_place(const char *block, size_t length)
{
    struct job_place place = job_place_read(machine_find_variable, &(struct machine_block){ block, length });
    place.host_ranks = NULL; /* the block goes */
    return place;
}

/* ---- Memory ---------------------------------------------------------------------------------------------------- */

static uint64_t machine_read_number(const char *path)
{
    struct text text = { 0 };
    uint64_t number = procfs_read(path, &text) == 0 ? strtoull(text_string(&text), NULL, 10) : 0; /* "max" reads as 0 */
    text_free(&text);
    return number;
}

static uint64_t machine_lower(uint64_t a, uint64_t b)
{
    return !a || (b && b < a) ? b : a;
}

/* The limits of all parent groups apply too. The path is the one of /proc; inside a container only the root of the
 * hierarchy may be mounted. */
static uint64_t limit_of_group(const char *hierarchy, const char *file, const char *own_group)
{
    char path[2 * 4096 + 64], group[4096];
    uint64_t lowest = 0;
    snprintf(group, sizeof group, "%s", strcmp(own_group, "/") == 0 ? "" : own_group);
    for (;;) {
        snprintf(path, sizeof path, "%s%s/%s", hierarchy, group, file);
        uint64_t limit = machine_read_number(path);
        if (limit < (UINT64_C(1) << 60)) /* cgroup v1 reports "no limit" as a huge number */
            lowest = machine_lower(lowest, limit);
        char *slash = strrchr(group, '/');
        if (!slash)
            return lowest;
        *slash = 0;
    }
}

static int names_memory(const char *controllers)
{
    for (const char *at = controllers; *at; at += strcspn(at, ","), at += *at == ',')
        if (strncmp(at, "memory", 6) == 0 && (at[6] == ',' || !at[6]))
            return 1;
    return 0;
}

uint64_t machine_group_limit(const char *groups, const char *root)
{
    uint64_t limit = 0;
    char line[3 * 4096], hierarchy[4096];
    for (const char *at = groups; *at; at += strcspn(at, "\n"), at += *at == '\n') {
        snprintf(line, sizeof line, "%.*s", (int)strcspn(at, "\n"), at);
        char *controllers = strchr(line, ':'), *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = 0;
        controllers++;
        if (!*controllers) {
            limit = machine_lower(limit, limit_of_group(root, "memory.max", group));
        } else if (names_memory(controllers)) {
            snprintf(hierarchy, sizeof hierarchy, "%s/memory", root);
            limit = machine_lower(limit, limit_of_group(hierarchy, "memory.limit_in_bytes", group));
        }
    }
    return limit;
}

uint64_t machine_memory_limit(void)
{
    struct text text = { 0 };
    uint64_t limit = procfs_read("/proc/self/cgroup", &text) == 0
                         ? machine_group_limit(text_string(&text), "/sys/fs/cgroup")
                         : 0;
    text_free(&text);
    return limit;
}

/* ---- Rows ------------------------------------------------------------------------------------------------------ */

void machine_fact(struct collector *collector, const char *name, int number, const char *value)
{
    if (!*value)
        return;
    struct row_TARGET_INFO_SYSTEM_ENV row = { 0 };
    ROW_SET(&row, TARGET_INFO_SYSTEM_ENV, globalVid, COLLECTOR_VM_ID);
    ROW_SET(&row, TARGET_INFO_SYSTEM_ENV, devStateName, collector_string(collector, collector->host));
    ROW_SET(&row, TARGET_INFO_SYSTEM_ENV, name, collector_string(collector, name));
    ROW_SET(&row, TARGET_INFO_SYSTEM_ENV, nameEnum, number);
    ROW_SET(&row, TARGET_INFO_SYSTEM_ENV, value, collector_string(collector, value));
    writer_append(collector->writer, TABLE_TARGET_INFO_SYSTEM_ENV, &row);
}

void machine_parameter(struct collector *collector, const char *name, const char *value)
{
    capture_row_parameter(collector->writer, name, value);
}

/* The rest of the first line that starts with `key`, without leading quotes, colons and blanks. */
static void line_value(const char *path, const char *key, char *value, size_t size)
{
    struct text text = { 0 };
    value[0] = 0;
    const char *at = procfs_read(path, &text) == 0 ? text_string(&text) : "";
    for (; at && *at; at = strchr(at, '\n') ? strchr(at, '\n') + 1 : NULL) {
        if (strncmp(at, key, strlen(key)) != 0)
            continue;
        at += strlen(key);
        at += strspn(at, " \t:=\"");
        snprintf(value, size, "%.*s", (int)strcspn(at, "\"\n"), at);
        break;
    }
    text_free(&text);
}

/* Identifies the system: kernel boot id and pid namespace, because containers have their own. */
static void describe_system(struct collector *collector)
{
    struct text boot = { 0 };
    char link[64] = "", number[64] = "";
    if (procfs_read("/proc/sys/kernel/random/boot_id", &boot) == 0) {
        snprintf(link, sizeof link, "%.*s", (int)strcspn(text_string(&boot), "\n"), text_string(&boot));
        machine_fact(collector, "BootId", 0, link);
    }
    ssize_t length = readlink("/proc/self/ns/pid", link, sizeof link - 1);
    link[length > 0 ? length : 0] = 0;
    if (sscanf(link, "pid:[%63[0-9]", number) == 1)
        machine_fact(collector, "PidNamespace", 0, number);
    text_free(&boot);
}

static void describe_host(struct collector *collector)
{
    struct utsname kernel;
    char value[512];
    uname(&kernel);
    snprintf(value, sizeof value, "%d", parallel_cores());
    machine_fact(collector, "CpuCores", 1, value);
    machine_fact(collector, "CpuArchitecture", 3, kernel.machine);
    line_value("/proc/cpuinfo", "model name", value, sizeof value);
    machine_fact(collector, "CpuDescription", 13, value);
    machine_fact(collector, "HardwarePlatform", 600, kernel.machine);
    line_value("/etc/os-release", "PRETTY_NAME", value, sizeof value);
    machine_fact(collector, "OsDescription", 605, value);
    machine_fact(collector, "KernelVersion", 0, kernel.release);
    line_value("/proc/meminfo", "MemTotal", value, sizeof value);
    machine_fact(collector, "MemoryTotal", 0, value);
    uint64_t limit = machine_memory_limit();
    snprintf(value, sizeof value, "%llu", (unsigned long long)limit);
    machine_fact(collector, "MemoryLimit", 0, limit ? value : "");
    machine_fact(collector, "Hostname", 619, collector->host);
    describe_system(collector);
}

/* The end of the value after NAME= in a command line. If quotes and backslashes make the value look different there, it
 * is the end of the argument. */
static const char *end_of_value(const char *line, const char *start, const char *value)
{
    if (strncmp(start, value, strlen(value)) == 0)
        return start + strlen(value);
    int quoted = 0;
    for (const char *at = line; *at; at++) {
        if (*at == '\'')
            quoted = !quoted;
        if (*at == ' ' && !quoted && at >= start)
            return at;
    }
    return start + strlen(start);
}

/* Replaces each NAME=VALUE by NAME=***, so that not even the length of the value is stored. */
static void hide_value(struct text *line, const struct collect_variable *variable)
{
    struct text shown = { 0 };
    const char *at = text_string(line), *found;
    size_t length = strlen(variable->name);
    while ((found = strstr(at, variable->name)) != NULL) {
        const char *after = found + length;
        text_add_bytes(&shown, at, (size_t)(after - at));
        at = after;
        if (*after != '=' || (found > text_string(line) && !strchr(" =,'e", found[-1])))
            continue;
        text_add(&shown, "=***");
        at = end_of_value(text_string(line), after + 1, variable->value);
    }
    text_add(&shown, at);
    text_free(line);
    *line = shown;
}

/* Values given with -e are as private as the environment: only those of kept variables are stored. */
static void command_line(struct collector *collector)
{
    const struct collect_options *options = collector->options;
    struct text line = { 0 };
    text_add(&line, options->command_line);
    for (size_t i = 0; i < options->environment_count; i++)
        if (!job_variable_is_kept(options->environment[i].name, strlen(options->environment[i].name)))
            hide_value(&line, &options->environment[i]);
    machine_parameter(collector, "COMMAND_LINE", text_string(&line));
    text_free(&line);
}

static void add_source_names(struct collector *collector, const char *name, uint32_t sources)
{
    struct text text = { 0 };
    for (int i = 0; i < WIRE_SOURCE_COUNT; i++)
        if (sources >> i & 1)
            text_addf(&text, "%s%s", text.length ? "," : "", wire_source_name(i));
    machine_parameter(collector, name, text_string(&text));
    text_free(&text);
}

static void number_parameter(struct collector *collector, const char *name, int64_t value)
{
    char number[32];
    if (value < 0)
        return;
    snprintf(number, sizeof number, "%lld", (long long)value);
    machine_parameter(collector, name, number);
}

/* The capture is itself a rank of a job. */
static void describe_place(struct collector *collector)
{
    const struct job_place *place = &collector->place;
    if (!place->launcher)
        return;
    if (place->job[0])
        machine_parameter(collector, "JOB", place->job);
    machine_parameter(collector, "LAUNCHER", place->launcher);
    number_parameter(collector, "RANK", place->rank);
    number_parameter(collector, "LOCAL_RANK", place->local_rank);
    number_parameter(collector, "LOCAL_SIZE", place->local_size);
    number_parameter(collector, "WORLD_SIZE", place->world_size);
    if (collector->options->left_to)
        machine_parameter(collector, "LEFT_TO", collector->options->left_to);
}

static void describe_capture(struct collector *collector)
{
    const struct collect_options *options = collector->options;
    struct text text = { 0 };
    char number[32], folder[4096];
    machine_parameter(collector, "TACHO_VERSION", TACHO_VERSION);
    if (options->command_line && !options->redact)
        command_line(collector);
    for (char *const *argument = options->argv; *argument && !(options->redact && argument != options->argv);
         argument++) {
        if (argument != options->argv)
            text_add_char(&text, ' ');
        procfs_quote(&text, *argument);
    }
    machine_parameter(collector, "PROGRAM", text_string(&text));
    add_source_names(collector, "SOURCES", options->sources);
    if (options->requested)
        add_source_names(collector, "SOURCES_REQUESTED", options->requested);
    if (!options->redact)
        machine_parameter(collector, "WORKING_DIRECTORY", getcwd(folder, sizeof folder) ? folder : "");
    describe_place(collector);
    SOURCES_CALL(describe, collector);
    snprintf(number, sizeof number, "%llu", (unsigned long long)collector->buffer_bytes);
    machine_parameter(collector, "BUFFER_LIMIT_BYTES", number);
    if (collector->options->cost_limit > 0) {
        snprintf(number, sizeof number, "%g %%", collector->options->cost_limit * 100);
        machine_parameter(collector, "COST_LIMIT", number);
    }
    machine_parameter(collector, "CLOCK", collector->clock.clock == WIRE_CLOCK_COUNTER ? "counter" : "monotonic");
    text_free(&text);
}

void machine_describe(struct collector *collector)
{
    if (gethostname(collector->host, sizeof collector->host - 1) != 0)
        strcpy(collector->host, "localhost");
    collector->place = job_place_own();
    describe_host(collector);
    capture_row_start(collector->writer, clock_utc_ns() - collector_now(collector));
    describe_capture(collector);
}
