/* Two lookups for the command line: the path of the agent, and names of signals. */
#include <ctype.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/install_place.h"
#include "collect.h"

#define AGENT_PLACE "lib/tacho/libtacho-agent.so" /* relative to the directory above bin */

const char *collect_agent_path(struct error *err)
{
    static char path[INSTALL_PLACE_BYTES];
    const char *chosen = getenv("TACHO_AGENT");
    if (chosen && *chosen)
        snprintf(path, sizeof path, "%s", chosen);
    else
        install_place(path, AGENT_PLACE);
    if (access(path, R_OK) == 0)
        return path;
    if (chosen && *chosen) {
        error_set(err, ERR_NOT_FOUND,
                  "cannot read the agent at %.300s, the value of TACHO_AGENT: set it to the path of libtacho-agent.so, "
                  "or unset it to use the agent of this Tacho",
                  path);
        return NULL;
    }
    error_set(err, ERR_NOT_FOUND,
              "cannot find the agent at %.300s: %s, or set TACHO_AGENT to the path of libtacho-agent.so", path,
              access("/proc/self/exe", F_OK) == 0 ? "reinstall Tacho"
                                                  : "/proc is not mounted, by which tacho finds where it is installed. "
                                                    "Mount it (mount -t proc proc /proc)");
    return NULL;
}

static const struct {
    const char *name;
    int number;
} signals[] = {
    { "none", 0 },       { "hup", SIGHUP },   { "int", SIGINT },   { "quit", SIGQUIT },
    { "abrt", SIGABRT }, { "kill", SIGKILL }, { "usr1", SIGUSR1 }, { "usr2", SIGUSR2 },
    { "alrm", SIGALRM }, { "term", SIGTERM }, { "cont", SIGCONT }, { "stop", SIGSTOP },
};

int collect_signal_number(const char *text)
{
    if (isdigit((unsigned char)*text)) {
        char *end;
        long number = strtol(text, &end, 10);
        return *end == 0 && number < NSIG ? (int)number : -1;
    }
    if (strncasecmp(text, "sig", 3) == 0)
        text += 3;
    for (size_t i = 0; i < COUNT_OF(signals); i++)
        if (strcasecmp(text, signals[i].name) == 0)
            return signals[i].number;
    return -1;
}

const char *collect_signal_name(int number)
{
    static char text[24];
    snprintf(text, sizeof text, "signal %d", number);
    for (size_t i = 1; i < COUNT_OF(signals); i++)
        if (signals[i].number == number) {
            size_t length = (size_t)snprintf(text, sizeof text, "SIG%s", signals[i].name);
            for (size_t at = 0; at < length; at++)
                text[at] = (char)toupper((unsigned char)text[at]);
        }
    return text;
}
