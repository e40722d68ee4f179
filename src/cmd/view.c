/* tacho view: the timeline of a report in a browser. */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/human.h"
#include "cmd/print/display.h"
#include "command.h"
#include "install_paths.h"
#include "open_report.h"
#include "report/reader/unite.h"
#include "serve/durable_token.h"
#include "serve/serve.h"

#define HOST_MOST 256

struct view_cmd_settings {
    int port;
    int no_browser;
    int as_map;
    int compares;
    int new_token;
    const char *host;
    const char *place; /* "#…" of a link; NULL: none */
    struct option_list allowed;
    struct foreign_rep_settings input;
};

static int take_port(void *settings, const char *value, struct error *err)
{
    uint64_t port;

    if (option_read_number(value, 0, 65535, &port) != 0)
        return error_set(err, ERR_BAD_ARGUMENT, "--port must be a number up to 65535, not '%s'", value);
    ((struct view_cmd_settings *)settings)->port = (int)port;
    return 0;
}

/* clang-format off */
static const struct option view_cmd_options[] = {
    { .name = "port", .letter = 'p', .kind = OPTION_CUSTOM, .take = take_port, .value = "N",
      .help = "Port to listen on; 0 picks a free one. Default: 7878, or a free one if 7878 is in use." },
    { .name = "no-browser", .kind = OPTION_FLAG, .offset = offsetof(struct view_cmd_settings, no_browser),
      .help = "Print the address, but do not open a browser; the default under ssh and without a display." },
    { .name = "host", .kind = OPTION_TEXT, .offset = offsetof(struct view_cmd_settings, host), .value = "ADDRESS",
      .help = "Listen on ADDRESS instead of loopback only; 0.0.0.0 listens on all interfaces. The connection is not "
              "encrypted: prefer an ssh tunnel." },
    { .name = "allow-host", .kind = OPTION_LIST, .offset = offsetof(struct view_cmd_settings, allowed), .value = "NAME",
      .help = "Also accept requests for this host name, such as the name of a proxy in front of the server." },
    { .name = "new-token", .kind = OPTION_FLAG, .offset = offsetof(struct view_cmd_settings, new_token),
      .help = "Use a random token for this run. Default: the token of the last run with this file, so that links "
              "last." },
    { .name = "map", .kind = OPTION_FLAG, .offset = offsetof(struct view_cmd_settings, as_map),
      .help = "Show how busy each rank of a job was, and its events after a click on it; the default for more than 64 "
              "ranks with more than 20 million events." },
    { .name = "compare", .kind = OPTION_FLAG, .offset = offsetof(struct view_cmd_settings, compares),
      .help = "Compare two runs, A and B: their steps side by side, and the tables of tacho diff. The default for two "
              "FILEs, unless they are of different ranks." },
    SET_OPTIONS(struct view_cmd_settings, input),
    { 0 },
};
/* clang-format on */

static int view_cmd_is_set(const char *name)
{
    const char *value = getenv(name);

    return value && *value;
}

static int is_under_ssh(void)
{
    return view_cmd_is_set("SSH_CONNECTION") || view_cmd_is_set("SSH_TTY");
}

static int has_browser(const struct view_cmd_settings *settings)
{
    return !settings->no_browser && !is_under_ssh() &&
           (view_cmd_is_set("DISPLAY") || view_cmd_is_set("WAYLAND_DISPLAY"));
}

/* Starts the user's browser, else the desktop's. It is detached, and its output does not go to this terminal. */
static void start_browser(const char *address)
{
    pid_t child = fork();

    if (child == 0) {
        const char *browser = view_cmd_is_set("BROWSER") && !strpbrk(getenv("BROWSER"), ":% ") ? getenv("BROWSER")
                                                                                               : "xdg-open";
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

/* The name of the server for other machines: its numeric address, unless that is the wildcard. */
static void name_host(const struct view_cmd_settings *settings, char own_name[HOST_MOST], char shown[HOST_MOST])
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
static void view_cmd_add_address(struct text *out, const struct serve *server, const struct view_cmd_settings *settings,
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

static void view_cmd_warn(const struct command *self, const struct serve *server,
                          const struct view_cmd_settings *settings)
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

/* The token that links to this file have; NULL: the server makes a random one. */
static const char *lasting_token(const struct command *self, const struct view_cmd_settings *settings, const char *file,
                                 char token[2 * GUARD_TOKEN_BYTES + 1])
{
    struct error err = { 0 };
    int code = settings->new_token ? ERR_NOT_FOUND : durable_token(file, token, &err);

    if (code == ERR_BAD_ARGUMENT)
        fprintf(stderr, "tacho %s: links to this report will not last: %s\n", self->name, err.text);
    return code != 0 ? NULL : token;
}

struct view_cmd_shown {
    struct report *report;
    struct view *view;
    struct text name; /* owned */
};

/* Serves a report, or two runs, until a signal comes. */
static int serve(const struct command *self, const struct view_cmd_shown *shown, size_t shown_count,
                 const struct view_cmd_settings *settings, int64_t begun_ns, struct error *err)
{
    const char *hosts[COUNT_OF(settings->allowed.values) + 1];
    char own_name[HOST_MOST], host[HOST_MOST], token[2 * GUARD_TOKEN_BYTES + 1];
    struct text out = { 0 }, notes[2] = { { 0 }, { 0 } }, address = { 0 };
    struct serve *server;
    size_t count = settings->allowed.count;
    int code;

    memcpy(hosts, settings->allowed.values, count * sizeof *hosts);
    name_host(settings, own_name, host);
    if (settings->host && *own_name)
        hosts[count++] = own_name;
    for (size_t i = 0; i < shown_count; i++) {
        text_addf(&notes[i], "%s.notes.json", text_string(&shown[i].name));
        text_add(&out, i ? " and " : "");
        display_add(&out, text_string(&shown[i].name), shown[i].name.length, 0);
    }
    struct serve_settings wanted = {
        .view = shown->view,
        .page_folder = install_page_folder(),
        .notes_path = text_string(&notes[0]),
        .other_notes_path = shown_count > 1 ? text_string(&notes[1]) : NULL,
        .address = settings->host,
        .port = settings->port,
        .allowed_hosts = hosts,
        .allowed_host_count = count,
        .token = shown_count > 1 ? NULL : lasting_token(self, settings, text_string(&shown->name), token),
        .far = is_under_ssh() || count > 0,
    };
    if ((code = serve_open(&wanted, &server, err)) != 0)
        goto free_texts;
    text_addf(&address, "http://%s:%d/?token=%s%s", host, serve_port(server), serve_token(server),
              settings->place ? settings->place : "");
    text_add(&out, shown_count > 1 ? " are ready after " : " is ready after ");
    human_time(&out, clock_monotonic_ns() - begun_ns);
    text_add(&out, ":\n");
    view_cmd_add_address(&out, server, settings, own_name, text_string(&address));
    view_cmd_warn(self, server, settings);
    command_write(self, &out);
    if (has_browser(settings))
        start_browser(text_string(&address));
    code = serve_run(server, err);
    serve_close(server);
free_texts:
    text_free(&out);
    text_free(&notes[0]);
    text_free(&notes[1]);
    text_free(&address);
    return code;
}

/* ---- one report, or two runs ------------------------------------------------------------------------------------ */

static int open_shown(struct view_cmd_shown *shown, struct input input, const struct view_cmd_settings *settings,
                      struct error *err)
{
    struct text found = { 0 };
    int code = open_input(input, &settings->input, &found, &shown->report, err);

    text_free(&found);
    if (code != 0)
        return code;
    input_name(&shown->name, input);
    if ((code = view_open_as(shown->report, &(struct view_options){ .as_map = settings->as_map }, &shown->view, err)) ==
        0)
        view_set_name(shown->view, text_string(&shown->name));
    return code;
}

static void close_shown(struct view_cmd_shown *shown)
{
    view_close(shown->view);
    if (shown->report)
        close_report(shown->report, text_string(&shown->name));
    text_free(&shown->name);
}

/* Whether all ranks of a set are known, and each is there once. */
static int is_one_job(struct report *set)
{
    int64_t *ranks = NULL;
    size_t count = 0, room = 0;
    int is_known = 1;

    for (size_t p = 0; is_known && p < report_part_count(set); p++) {
        const struct report_part *part = report_part_at(set, p);
        size_t own = part->rank_count ? part->rank_count : 1;
        is_known = (part->rank_count || part->rank >= 0) &&
                   array_reserve(&ranks, &room, count + own, sizeof *ranks) == 0;
        for (size_t i = 0; is_known && i < own; i++)
            ranks[count++] = part->rank_count ? part->ranks[i].rank : part->rank;
    }
    if (count)
        qsort(ranks, count, sizeof *ranks, array_by_int64);
    for (size_t i = 1; i < count; i++)
        is_known &= ranks[i] != ranks[i - 1];
    free(ranks);
    return is_known && count > 0;
}

/* Two files are two runs unless they are of different ranks, or options of sets say that they belong together. */
static int are_runs(struct input input, const struct view_cmd_settings *settings)
{
    struct foreign_rep_settings quiet = settings->input;
    struct text found = { 0 };
    struct error err = { 0 };
    struct report *set;

    if (settings->compares)
        return 1;
    if (input.count != 2 || settings->as_map || quiet.ranks || quiet.hosts || quiet.clock || quiet.by)
        return 0;
    quiet.is_quiet = 1;
    int code = open_input(input, &quiet, &found, &set, &err);
    text_free(&found);
    if (code != 0)
        return 0; /* the code that opens it says why */
    int is_job = is_one_job(set);
    report_close(set);
    return !is_job;
}

static int view_cmd_show_report(const struct command *self, struct input input,
                                const struct view_cmd_settings *settings, int64_t begun_ns, struct error *err)
{
    struct view_cmd_shown shown = { 0 };
    int code;

    if ((code = open_shown(&shown, input, settings, err)) != 0)
        goto close_shown;
    code = serve(self, &shown, 1, settings, begun_ns, err);
close_shown:
    close_shown(&shown);
    return code;
}

static int show_runs(const struct command *self, struct input input, const struct view_cmd_settings *settings,
                     int64_t begun_ns, struct error *err)
{
    struct view_cmd_shown runs[2] = { { 0 }, { 0 } };
    int code;

    if (input.count != 2)
        return error_set(err, ERR_BAD_ARGUMENT, "--compare takes two reports: tacho view --compare A B");
    for (size_t i = 0; i < 2; i++)
        if ((code = open_shown(&runs[i], input_at(input.paths, 2, 1, i), settings, err)) != 0)
            goto close_runs;
    view_set_other(runs[0].view, runs[1].view);
    code = serve(self, runs, 2, settings, begun_ns, err);
close_runs:
    close_shown(&runs[0]);
    close_shown(&runs[1]);
    return code;
}

/* "#…" after the files: the part of a link that says where to look. It is printed and goes into an address. */
static int take_place(struct view_cmd_settings *settings, const char **files, size_t *count, struct error *err)
{
    if (!*count || *files[*count - 1] != '#')
        return 0;
    settings->place = files[--*count];
    for (const char *at = settings->place; *at; at++)
        if (*at <= ' ' || *at > '~' || strchr("\"'<>\\^`{|}", *at))
            return error_set(err, ERR_BAD_ARGUMENT, "'#…' must be the end of a link, as 'Copy link' copies it");
    return 0;
}

static int view_cmd_run(const struct command *self, int argc, char **argv)
{
    struct view_cmd_settings settings = { .port = SERVE_USUAL };
    int64_t begun_ns = clock_monotonic_ns();
    const char *files[argc];
    struct error err = { 0 };
    size_t count;
    int status;

    if (!command_options(self, argc, argv, &settings, files, &count, &status))
        return status;
    if (take_place(&settings, files, &count, &err) != 0)
        return command_fail(self, &err);
    if (!count) {
        error_set(&err, ERR_BAD_ARGUMENT, "no file given: tacho view FILE");
        return command_fail(self, &err);
    }
    const struct input input = { files, count };
    int code = are_runs(input, &settings) ? show_runs(self, input, &settings, begun_ns, &err)
                                          : view_cmd_show_report(self, input, &settings, begun_ns, &err);
    return code != 0 ? command_fail(self, &err) : EXIT_OK;
}

static const struct entry view_cmd_examples[] = {
    { "tacho view report1.tacho", "Open the timeline in the browser." },
    { "tacho view run/", "Show all ranks of a job, whose reports are in this folder." },
    { "tacho view --filter-rank 8-15 run/", "Show some ranks of a job." },
    { "tacho view before.tacho after.tacho", "Compare two runs, step by step and table by table." },
    { "tacho view report1.tacho '#v=2000-5000'", "Open at a place, as 'Copy link' copies it." },
    { "tacho view --no-browser -p 8000 report1.tacho", "Serve the timeline at port 8000 and print its address." },
    { 0 },
};

const struct command command_view = {
    .name = "view",
    .arguments = "FILE … ['#PLACE']",
    .summary = "Show the timeline of a report in a browser",
    .about = "Serve the timeline of a report (or of another profiler's file) on this machine, and open a browser. "
             "Under ssh, print the ssh command that forwards the port instead. Requests without the token in the "
             "printed address are rejected.",
    .examples = view_cmd_examples,
    .options = view_cmd_options,
    .variables = "BROWSER,TACHO_PAGE",
    .files = "tacho,sqlite,json,gz,zst",
    .run = view_cmd_run,
};
