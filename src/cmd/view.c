/* tacho view: the timeline of a report in a browser. */
#include <ctype.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/human.h"
#include "cmd/print/display.h"
#include "command.h"
#include "install_paths.h"
#include "open_report.h"
#include "serve/serve.h"

#define HOST_MOST 256

struct settings {
    int port;
    int no_browser;
    int as_map;
    const char *host;
    struct option_list allowed;
    struct foreign_rep_settings input;
};

static int take_port(void *settings, const char *value, struct error *err)
{
    char *end;
    long port = strtol(value, &end, 10);

    if (!isdigit((unsigned char)*value) || *end || port < 0 || port > 65535)
        return error_set(err, ERR_BAD_ARGUMENT, "--port must be a number up to 65535, not '%s'", value);
    ((struct settings *)settings)->port = (int)port;
    return 0;
}

/* clang-format off */
static const struct option options[] = {
    { .name = "port", .letter = 'p', .kind = OPTION_CUSTOM, .take = take_port, .value = "N",
      .help = "Port to listen on; 0 picks a free one. Default: 7878, or a free one if 7878 is in use." },
    { .name = "no-browser", .kind = OPTION_FLAG, .offset = offsetof(struct settings, no_browser),
      .help = "Print the address, but do not open a browser; the default under ssh and without a display." },
    { .name = "host", .kind = OPTION_TEXT, .offset = offsetof(struct settings, host), .value = "ADDRESS",
      .help = "Listen on ADDRESS instead of loopback only; 0.0.0.0 listens on all interfaces. The connection is not "
              "encrypted: prefer an ssh tunnel." },
    { .name = "allow-host", .kind = OPTION_LIST, .offset = offsetof(struct settings, allowed), .value = "NAME",
      .help = "Also accept requests for this host name, such as the name of a proxy in front of the server." },
    { .name = "map", .kind = OPTION_FLAG, .offset = offsetof(struct settings, as_map),
      .help = "Show how busy each rank of a job was, and its events after a click on it; the default for more than 64 "
              "ranks with more than 20 million events." },
    SET_OPTIONS(struct settings, input),
    { 0 },
};
/* clang-format on */

static int is_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value;
}

static int is_under_ssh(void)
{
    return is_set("SSH_CONNECTION") || is_set("SSH_TTY");
}

static int has_browser(const struct settings *settings)
{
    return !settings->no_browser && !is_under_ssh() && (is_set("DISPLAY") || is_set("WAYLAND_DISPLAY"));
}

/* Starts the user's browser, else the desktop's. It is detached, and its output does not go to this terminal. */
static void start_browser(const char *address)
{
    pid_t child = fork();

    if (child == 0) {
        const char *browser = is_set("BROWSER") && !strpbrk(getenv("BROWSER"), ":% ") ? getenv("BROWSER") : "xdg-open";
        int nowhere = open("/dev/null", O_RDWR);
        if (nowhere < 0 || fork() != 0)
            _exit(0);
        setsid();
        for (int fd = 0; fd < 3; fd++)
            dup2(nowhere, fd);
        execlp(browser, browser, address, (char *)NULL);
        _exit(EXIT_NOT_FOUND);
    }
    if (child > 0)
        waitpid(child, NULL, 0);
}

/* What the server is called by others: its address in numbers, unless that means every one of them. */
static void name_host(const struct settings *settings, char own_name[HOST_MOST], char shown[HOST_MOST])
{
    int is_any = settings->host && (strcmp(settings->host, "0.0.0.0") == 0 || strcmp(settings->host, "::") == 0);

    if (gethostname(own_name, HOST_MOST) != 0)
        *own_name = 0;
    own_name[HOST_MOST - 1] = 0;
    if (!settings->host)
        snprintf(shown, HOST_MOST, "localhost");
    else if (is_any)
        snprintf(shown, HOST_MOST, "%s", *own_name ? own_name : "localhost");
    else
        snprintf(shown, HOST_MOST, strchr(settings->host, ':') ? "[%s]" : "%s", settings->host);
}

/* How to get here: the address, and from another machine the way to it. */
static void add_address(struct text *out, const struct serve *server, const struct settings *settings,
                        const char *own_name, const char *address)
{
    text_addf(out, "\n  %s\n\n", address);
    if (is_under_ssh() && !settings->host) {
        text_add(out, "To open it in the browser of your own machine, run this there:\n\n");
        text_addf(out, "  ssh -L %d:localhost:%d ", serve_port(server), serve_port(server));
        display_add_quoted(out, *own_name ? own_name : "HOST");
        text_add(out, "\n\n");
    }
    text_add(out, "Press Ctrl-C to stop.\n");
}

static void warn(const struct command *self, const struct serve *server, const struct settings *settings)
{
    if (settings->host)
        fprintf(stderr,
                "tacho %s: everyone who can reach %s and knows the address can read the report, and the connection is "
                "not encrypted; prefer an ssh tunnel to loopback\n",
                self->name, settings->host);
    if (!serve_has_page(server))
        fprintf(stderr,
                "tacho %s: this tacho was built without the page, so only the API answers. To get the page, install "
                "nodejs, npm, clang, lld and wasi-libc, and build again\n",
                self->name);
}

/* Serves until a signal comes. */
static int serve(const struct command *self, struct view *view, const char *file, const struct settings *settings,
                 int64_t begun_ns, struct error *err)
{
    const char *hosts[sizeof settings->allowed.values / sizeof *settings->allowed.values + 1];
    char own_name[HOST_MOST], shown[HOST_MOST], address[HOST_MOST + 128];
    struct text out = { 0 }, notes = { 0 };
    struct serve *server;
    size_t count = settings->allowed.count;
    int code;

    memcpy(hosts, settings->allowed.values, count * sizeof *hosts);
    name_host(settings, own_name, shown);
    if (settings->host && *own_name)
        hosts[count++] = own_name;
    text_addf(&notes, "%s.notes.json", file);
    struct serve_settings wanted = {
        .view = view,
        .page_folder = install_page_folder(),
        .notes_path = text_string(&notes),
        .address = settings->host,
        .port = settings->port,
        .allowed_hosts = hosts,
        .allowed_host_count = count,
        .far = is_under_ssh() || count > 0,
    };
    if ((code = serve_open(&wanted, &server, err)) != 0)
        goto free_texts;
    snprintf(address, sizeof address, "http://%s:%d/?token=%s", shown, serve_port(server), serve_token(server));
    display_add(&out, file, strlen(file), 0);
    text_add(&out, " is ready after ");
    human_time(&out, clock_monotonic_ns() - begun_ns);
    text_add(&out, ":\n");
    add_address(&out, server, settings, own_name, address);
    warn(self, server, settings);
    command_write(self, &out);
    if (has_browser(settings))
        start_browser(address);
    code = serve_run(server, err);
    serve_close(server);
free_texts:
    text_free(&out);
    text_free(&notes);
    return code;
}

static int run(const struct command *self, int argc, char **argv)
{
    struct settings settings = { .port = SERVE_USUAL };
    int64_t begun_ns = clock_monotonic_ns();
    const char *files[argc];
    struct error err = { 0 };
    struct report *report;
    struct view *view;
    struct text found = { 0 }, name = { 0 };
    size_t count;
    int status, code;

    if (!command_options(self, argc, argv, &settings, files, &count, &status))
        return status;
    if (!count) {
        error_set(&err, ERR_BAD_ARGUMENT, "no file given: tacho view FILE");
        return command_fail(self, &err);
    }
    if ((code = open_input((struct input){ files, count }, &settings.input, &found, &report, &err)) != 0)
        goto free_name;
    input_name(&name, (struct input){ files, count });
    if ((code = view_open_as(report, &(struct view_options){ .as_map = settings.as_map }, &view, &err)) != 0)
        goto close_file;
    view_set_name(view, text_string(&name));
    code = serve(self, view, text_string(&name), &settings, begun_ns, &err);
    view_close(view);
close_file:
    close_report(report, text_string(&name));
free_name:
    text_free(&found);
    text_free(&name);
    return code != 0 ? command_fail(self, &err) : EXIT_OK;
}

static const struct entry examples[] = {
    { "tacho view report1.tacho", "Open the timeline in the browser." },
    { "tacho view run/", "Show all ranks of a job, whose reports are in this folder." },
    { "tacho view --filter-rank 8-15 run/", "Show some ranks of a job." },
    { "tacho view --no-browser -p 8000 report1.tacho", "Serve the timeline at port 8000 and print its address." },
    { 0 },
};

const struct command command_view = {
    .name = "view",
    .arguments = "FILE …",
    .summary = "Show the timeline of a report in a browser",
    .about = "Serve the timeline of a report (or of another profiler's file) on this machine, and open a browser. "
             "Under ssh, print the ssh command that forwards the port instead. Requests without the token in the "
             "printed address are rejected.",
    .examples = examples,
    .options = options,
    .files = "tacho,sqlite,json,gz,zst",
    .run = run,
};
