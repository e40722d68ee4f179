/* Launchers in front of which tacho does not belong: see profile_launchers.h.
 *
 * A launcher that forks its ranks on this host is recorded as any program. The check must not warn of those, so it
 * knows launchers by name, and other hosts by options, files and variables that name them. */
#include "profile_launchers.h"

#include <arpa/inet.h>
#include <ctype.h>
#include <ifaddrs.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "collect/process/program_file.h"

enum launchers_how {
    BY_DAEMON, /* never starts ranks as its own children */
    BY_HOST,   /* starts ranks as children on this host, through daemons on others */
};

static const struct profile_launcher {
    const char *name;
    const char *words; /* first words of its arguments, with blanks around each; NULL: any */
    enum launchers_how how;
    const char *usage; /* between its name and tacho */
} launchers[] = {
    { "srun", NULL, BY_DAEMON, "-n 4" },
    { "jsrun", NULL, BY_DAEMON, "-n 4" },
    { "lrun", NULL, BY_DAEMON, "-n 4" },
    { "aprun", NULL, BY_DAEMON, "-n 4" },
    { "flux", " run submit alloc batch mini ", BY_DAEMON, "run -n 4" },
    { "kubectl", " exec run debug ", BY_DAEMON, "exec POD --" },
    { "mpirun", NULL, BY_HOST, "-n 4" },
    { "mpiexec", NULL, BY_HOST, "-n 4" },
    { "orterun", NULL, BY_HOST, "-n 4" },
    { "prterun", NULL, BY_HOST, "-n 4" },
    { "oshrun", NULL, BY_HOST, "-n 4" },
};

static const char *const host_options[] = { "-H", "-host", "--host", "-hosts", "--hosts", NULL };
static const char *const file_options[] = { "-hostfile", "--hostfile",        "-machinefile",       "--machinefile",
                                            "-f",        "-default-hostfile", "--default-hostfile", NULL };
/* Variables that a launcher reads if no option names hosts: numbers of hosts, and files of their names. */
static const char *const count_variables[] = { "SLURM_JOB_NUM_NODES", "SLURM_NNODES", "FLUX_JOB_NNODES", NULL };
static const char *const file_variables[] = { "PBS_NODEFILE",
                                              "LSB_DJOB_HOSTFILE",
                                              "PE_HOSTFILE",
                                              "HYDRA_HOST_FILE",
                                              "I_MPI_HYDRA_HOST_FILE",
                                              "OMPI_MCA_orte_default_hostfile",
                                              "PRTE_MCA_prte_default_hostfile",
                                              NULL };

/* ---- hosts ----------------------------------------------------------------------------------------------------- */

static int is_own_address(const char *name)
{
    struct ifaddrs *list = NULL;
    char text[INET6_ADDRSTRLEN];
    int found = 0;

    if (getifaddrs(&list) != 0)
        return 0;
    for (const struct ifaddrs *at = list; at && !found; at = at->ifa_next) {
        const void *address = NULL;
        if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET)
            address = &((const struct sockaddr_in *)(const void *)at->ifa_addr)->sin_addr;
        else if (at->ifa_addr && at->ifa_addr->sa_family == AF_INET6)
            address = &((const struct sockaddr_in6 *)(const void *)at->ifa_addr)->sin6_addr;
        found = address && inet_ntop(at->ifa_addr->sa_family, address, text, sizeof text) && strcmp(text, name) == 0;
    }
    freeifaddrs(list);
    return found;
}

/* Open MPI's +n0, +n1, … count the hosts of an allocation. */
static int is_this_host(const char *name)
{
    char own[256] = "";

    gethostname(own, sizeof own - 1);
    if (strncmp(name, "localhost", 9) == 0 || strncmp(name, "127.", 4) == 0 || name[0] == '+' ||
        strcmp(name, "n0") == 0)
        return 1;
    size_t length = strcspn(name, "."), own_length = strcspn(own, ".");
    if (length == own_length && strncasecmp(name, own, length) == 0 && !isdigit((unsigned char)name[0]))
        return 1;
    return is_own_address(name);
}

/* The first name of a list that is another host, without its number of slots. */
static int find_other(const char *list, const char *ends, char *other, size_t size)
{
    while (*list) {
        size_t length = strcspn(list, ends);
        snprintf(other, size, "%.*s", (int)length, list);
        other[strcspn(other, ":")] = 0;
        for (char *at = other; *at; at++)
            *at = isgraph((unsigned char)*at) ? *at : '?'; /* it is printed */
        if (*other && !is_this_host(other))
            return 1;
        list += length + (list[length] != 0);
    }
    return 0;
}

/* A host on each line, first; a # starts a remark. */
static int find_other_in_file(const char *path, char *other, size_t size)
{
    FILE *file = path && *path ? fopen(path, "re") : NULL;
    char line[1024];
    int found = 0;

    while (file && !found && fgets(line, sizeof line, file)) {
        line[strcspn(line, "#\r\n")] = 0;
        const char *name = line + strspn(line, " \t");
        line[name - line + (long)strcspn(name, " \t")] = 0;
        found = find_other(name, "", other, size);
    }
    if (file)
        fclose(file);
    return found;
}

/* ---- the command line ------------------------------------------------------------------------------------------ */

static int launchers_is_among(const char *word, size_t length, const char *const *names)
{
    for (; *names; names++)
        if (strlen(*names) == length && memcmp(*names, word, length) == 0)
            return 1;
    return 0;
}

/* The launcher's own arguments end where its program begins. A value that is also the name of a program ends them too
 * early: then hosts after it are missed, and no warning is wrong. */
static int launchers_is_program(const char *word)
{
    struct program_file program;
    struct error unused;
    int status;

    return word[0] != '-' && program_file_find(&program, word, getenv("PATH"), &status, &unused) == 0;
}

/* -1: the options name no hosts; 0: they are this one; 1: another one is among them. */
static int options_name_other(const char *const *argv, char *other, size_t size)
{
    int named = -1;

    for (size_t i = 1; argv[i] && named < 1 && !launchers_is_program(argv[i]); i++) {
        size_t length = strcspn(argv[i], "=");
        int is_list = launchers_is_among(argv[i], length, host_options),
            is_file = launchers_is_among(argv[i], length, file_options);
        if (!is_list && !is_file)
            continue;
        const char *value = argv[i][length] ? argv[i] + length + 1 : argv[++i];
        if (!value)
            break;
        named = is_list ? find_other(value, ",", other, size) : find_other_in_file(value, other, size);
    }
    return named;
}

static int variables_name_other(char *other, size_t size)
{
    for (size_t i = 0; count_variables[i]; i++) {
        const char *count = getenv(count_variables[i]);
        if (count && strtol(count, NULL, 10) > 1) {
            snprintf(other, size, "%s=%.8s", count_variables[i], count);
            return 1;
        }
    }
    for (size_t i = 0; file_variables[i]; i++)
        if (find_other_in_file(getenv(file_variables[i]), other, size))
            return 1;
    return 0;
}

/* mpirun.openmpi and mpiexec.hydra are mpirun and mpiexec. */
static const struct profile_launcher *find_launcher(const char *const *argv)
{
    const char *slash = strrchr(argv[0], '/'), *name = slash ? slash + 1 : argv[0];
    size_t length = strcspn(name, ".");
    char word[32];

    snprintf(word, sizeof word, " %.28s ", argv[1] ? argv[1] : "");
    for (size_t i = 0; i < COUNT_OF(launchers); i++)
        if (strlen(launchers[i].name) == length && memcmp(launchers[i].name, name, length) == 0 &&
            (!launchers[i].words || strstr(launchers[i].words, word)))
            return &launchers[i];
    return NULL;
}

void profile_launchers_check(const char *const *argv, struct text *warnings)
{
    const struct profile_launcher *launcher = find_launcher(argv);
    char other[256] = "";

    if (!launcher)
        return;
    if (launcher->how == BY_HOST) {
        int named = options_name_other(argv, other, sizeof other);
        if (named == 0 || (named < 0 && !variables_name_other(other, sizeof other)))
            return;
        text_addf(warnings, "ranks that %s starts on other hosts (%s) are not recorded", launcher->name, other);
    } else {
        text_addf(warnings, "the processes that %s starts are not its children and are not recorded", launcher->name);
    }
    text_addf(warnings, ": put tacho behind it: %s %s tacho profile -o run/ PROGRAM …\n", launcher->name,
              launcher->usage);
}
