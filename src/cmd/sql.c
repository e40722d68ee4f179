/* tacho sql: questions to a report in SQL, from the command line, a pipe or a prompt. */
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cmd/print/display.h"
#include "cmd/print/print.h"
#include "cmd/prompt/prompt.h"
#include "command.h"
#include "foreign_rep.h"
#include "open_report.h"
#include "output.h"
#include "query/query.h"
#include "set/set.h"
#include "sql_words.h"

/* Rows after which text is written out, for formats that need not know all of them. */
enum { ROWS_AT_ONCE = 20000 };

struct sql_settings {
    const char *format;
    struct foreign_rep_settings input;
};

#define FIELD(name) offsetof(struct sql_settings, name)
/* clang-format off */
static const struct option sql_options[] = {
    { .name = "format", .letter = 'f', .kind = OPTION_TEXT, .offset = FIELD(format), .value = "NAME[:ARGUMENT…]",
      .choices = output_format_names,
      .help = "Output format: column, table, csv, tsv, json, hdoc or htable. Default: column." },
    FOREIGN_REP_OPTIONS(struct sql_settings, input),
    { 0 },
};
/* clang-format on */

/* A conversation with a report. */
struct sql_session {
    const struct command *command;
    struct query *query;
    const struct print_format *format;
    struct print_request request;
    char *format_text;   /* owned; what the request points into */
    struct table *table; /* the result of the running statement */
    char *names;         /* owned; its columns' */
    int streams;         /* the format may be written piece by piece */
    int no_header;       /* was asked for */
    int is_interactive;  /* there is a prompt */
    /* JSON waits until it is known whether there are several answers, which are one document. */
    struct text documents;
    size_t document_count;
};

static int set_format(struct sql_session *session, const char *text, struct error *err)
{
    char *copy = strdup(text);
    struct print_request request = {
        .time = &time_unit_ns,
        .null_is_null = 1,
        .to_terminal = isatty(STDOUT_FILENO),
        .terminal_columns = print_terminal_columns(STDOUT_FILENO),
    };
    const struct print_format *format;

    if (!copy)
        return error_no_memory(err);
    if (print_format_parse(copy, &format, &request, err) != 0) {
        free(copy);
        return err->code;
    }
    free(session->format_text);
    session->format_text = copy;
    session->format = format;
    session->request = request;
    session->no_header = request.no_header;
    session->streams = format == &print_csv || format == &print_tsv;
    return 0;
}

/* ---- answers --------------------------------------------------------------------------------------------------- */

static struct table *sql_new_table(const struct sql_session *session, size_t count)
{
    struct table_column *columns = calloc(count + 1, sizeof *columns);
    const char *name = session->names;

    if (!columns)
        return NULL;
    for (size_t i = 0; i < count; i++, name += strlen(name) + 1)
        columns[i] = (struct table_column){ name, CELL_NONE, UNIT_ID, -1 };
    struct table *table = table_new(columns, count);
    free(columns);
    return table;
}

static int sql_take_columns(void *context, const struct query_column *columns, size_t count, struct error *err)
{
    struct sql_session *session = context;
    struct text joined = { 0 };

    for (size_t i = 0; i < count; i++) {
        text_add(&joined, columns[i].name ? columns[i].name : "");
        text_add_char(&joined, 0);
    }
    table_delete(session->table); /* that of the last statement */
    free(session->names);
    session->names = text_take(&joined);
    session->request.no_header = session->no_header;
    session->table = session->names ? sql_new_table(session, count) : NULL;
    return session->table ? 0 : error_no_memory(err);
}

static int set_cell(struct sql_session *session, struct table_cell *cell, size_t column,
                    const struct query_value *value)
{
    switch (value->kind) {
    case QUERY_INT: cell_set_int(cell, value->integer); return 0;
    case QUERY_REAL: cell_set_real(cell, value->real); return 0;
    case QUERY_TEXT:
        table_set_kind(session->table, column, CELL_TEXT);
        return cell_set_text(session->table, cell, value->bytes, value->length);
    case QUERY_NULL: break;
    }
    return 0;
}

/* Adds the rows to the document: "[", then the answers with commas between them. */
static void hold_document(struct sql_session *session)
{
    text_add(&session->documents, session->document_count++ ? ",\n" : "[");
    session->format->table(&session->documents, session->table, &session->request);
    if (session->documents.length)
        text_cut(&session->documents, session->documents.length - 1); /* the line feed */
}

/* Prints the document: one answer as it is, several as an array. */
static int sql_end_document(struct sql_session *session)
{
    if (!session->document_count)
        return EXIT_OK;
    text_add(&session->documents, session->document_count > 1 ? "]\n" : "\n");
    struct text shown = session->documents;
    if (session->document_count == 1 && shown.length) { /* without the bracket */
        shown.bytes++;
        shown.length--;
    }
    int status = command_write(session->command, &shown);
    text_clear(&session->documents);
    session->document_count = 0;
    return status;
}

/* Prints what there is and starts a new table with the same columns. */
static int sql_write_rows(struct sql_session *session, struct error *err)
{
    struct text out = { 0 };
    size_t count = table_column_count(session->table);

    if (session->format == &print_json)
        hold_document(session);
    else
        session->format->table(&out, session->table, &session->request);
    int failed = command_write(session->command, &out) != EXIT_OK;
    text_free(&out);
    table_delete(session->table);
    session->request.no_header = 1;
    session->table = failed ? NULL : sql_new_table(session, count);
    return session->table ? 0 : error_set(err, ERR_IO, "cannot print the rows");
}

static int sql_take_row(void *context, const struct query_value *values, size_t count, struct error *err)
{
    struct sql_session *session = context;
    struct table_cell *row = table_add_row(session->table);

    if (!row)
        return error_no_memory(err);
    for (size_t i = 0; i < count; i++)
        if (set_cell(session, &row[i], i, &values[i]) != 0)
            return error_no_memory(err);
    return session->streams && table_row_count(session->table) == ROWS_AT_ONCE ? sql_write_rows(session, err) : 0;
}

static int sql_take_end(void *context, struct error *err)
{
    struct sql_session *session = context;

    /* A full last piece leaves an empty one. */
    if (session->streams && session->request.no_header && !table_row_count(session->table))
        return 0;
    return sql_write_rows(session, err);
}

static int sql_answer(struct sql_session *session, const char *sql, struct error *err)
{
    const struct query_visitor visitor = { session, sql_take_columns, sql_take_row, sql_take_end };
    int code = query_run(session->query, sql, &visitor, err);

    table_delete(session->table);
    session->table = NULL;
    return code;
}

/* ---- the prompt ------------------------------------------------------------------------------------------------ */

static const char prompt_help[] = ".tables          list the tables that have rows\n.schema [TABLE]  show the columns "
                                  "of TABLE, or of all tables\n.mode FORMAT     set the output format: column, table, "
                                  "csv, tsv, json, hdoc or htable\n.quit            leave (also: Ctrl-D)\n"
                                  "Everything else is SQL and ends with a semicolon. Up and Ctrl-R recall earlier "
                                  "lines, Tab completes\nnames of tables and columns.\n";

/* Lines with names of a stranger's tables in them. */
static void sql_write_lines(const struct sql_session *session, const struct text *lines)
{
    struct text clean = { 0 };

    for (const char *line = text_string(lines); *line;) {
        size_t length = strcspn(line, "\n");
        display_add(&clean, line, length, 0);
        text_add_char(&clean, '\n');
        line += length + (line[length] == '\n');
    }
    command_write(session->command, &clean);
    text_free(&clean);
}

/* A line that starts with a dot. 1: the end was asked for. */
static int obey(struct sql_session *session, const char *line, struct error *err)
{
    static const char blanks[] = " \t";
    size_t length = strcspn(line, blanks);
    const char *rest = line + length + strspn(line + length, blanks);
    struct text out = { 0 }, word = { 0 };
    int code = 0, quit = 0;

    sql_end_document(session);
    text_add_bytes(&word, line, length);
    const char *wanted = text_string(&word);
    if (strcmp(wanted, ".quit") == 0 || strcmp(wanted, ".exit") == 0)
        quit = 1;
    else if (strcmp(wanted, ".tables") == 0)
        query_tables(session->query, &out);
    else if (strcmp(wanted, ".schema") == 0)
        code = query_schema(session->query, *rest ? rest : NULL, &out, err);
    else if (strcmp(wanted, ".mode") == 0 && *rest)
        code = set_format(session, rest, err);
    else if (strcmp(wanted, ".help") == 0)
        text_add(&out, prompt_help);
    else
        code = error_set(err, ERR_BAD_ARGUMENT, "unknown command '%s'; .help lists the commands", wanted);
    sql_write_lines(session, &out);
    text_free(&out);
    text_free(&word);
    return code != 0 ? code : quit;
}

static struct query *interruptible; /* the query that Ctrl-C ends; a signal handler has no other way to find it */

static void interrupt(int signal)
{
    query_interrupt(interruptible);
}

/* At a terminal Ctrl-C ends the statement and not the program. The handler stays until the prompt is left: between two
 * lines the key has nothing to end, and must not end us. */
static void make_interruptible(struct query *query)
{
    const struct sigaction action = { .sa_handler = interrupt, .sa_flags = SA_RESTART };

    interruptible = query;
    sigaction(SIGINT, &action, NULL);
}

/* Takes lines until they make a statement. 1: the end was asked for. */
static int sql_take_line(struct sql_session *session, struct text *statement, const char *line, struct error *err)
{
    int code;

    if (!statement->length && !*line)
        return 0;
    if (!statement->length && line[0] == '.')
        return obey(session, line, err);
    text_addf(statement, "%s\n", line);
    if (!query_is_complete(text_string(statement)))
        return 0;
    code = sql_answer(session, text_string(statement), err);
    text_clear(statement);
    return code;
}

/* Returns the exit status of the last statement; at a terminal, where people see what failed and go on, always 0. */
static int take_lines(struct sql_session *session, struct prompt *prompt)
{
    int at_terminal = prompt_is_terminal(prompt), code = 0, failed = 0, cancelled;
    struct text statement = { 0 };
    struct error err = { 0 };
    const char *line;

    while (code != 1 && !(failed && !at_terminal) &&
           (line = prompt_read(prompt, statement.length ? "   ...> " : "tacho> ", &cancelled))) {
        if (cancelled)
            text_clear(&statement);
        code = sql_take_line(session, &statement, line, &err);
        if (code < 0)
            failed = command_fail(session->command, &err);
        if (at_terminal)
            sql_end_document(session);
    }
    if (statement.length && !failed && sql_answer(session, text_string(&statement), &err) != 0)
        failed = command_fail(session->command, &err);
    text_free(&statement);
    return at_terminal ? EXIT_OK : failed;
}

static int converse(struct sql_session *session)
{
    struct line_words words = { 0 };
    struct prompt *prompt = prompt_open("sql", &words);
    struct error err = { 0 };

    if (!prompt) {
        error_no_memory(&err);
        return command_fail(session->command, &err);
    }
    session->is_interactive = prompt_is_terminal(prompt);
    if (session->is_interactive) {
        make_interruptible(session->query);
        sql_words_find(&words, session->query);
        fputs("Enter SQL statements, each with a semicolon at the end; .help lists the commands.\n", stdout);
    }
    int status = take_lines(session, prompt);
    if (session->is_interactive)
        signal(SIGINT, SIG_DFL);
    prompt_close(prompt);
    sql_words_free(&words);
    return status;
}

/* The caller frees session and report, after an error too. */
static int open_session(struct sql_session *session, const struct sql_settings *settings, struct input input,
                        struct text *found, struct report **report, struct error *err)
{
    int code;

    if ((code = set_format(session, settings->format, err)) != 0)
        return code;
    if ((code = open_input(input, &settings->input, found, report, err)) != 0)
        return code;
    return query_open(*report, &session->query, err);
}

/* The last operand is a query unless it is a file, or a pattern of files. */
static int is_query(const char *operand)
{
    return access(operand, F_OK) != 0 && (strpbrk(operand, " \t\n") || !set_is_meant(operand));
}

static int sql_run(const struct command *self, int argc, char **argv)
{
    struct sql_settings settings = { .format = "column" };
    struct sql_session session = { .command = self };
    struct report *report = NULL;
    struct text found = { 0 };
    struct error err = { 0 };
    const char *operands[argc];
    size_t count;
    int status;

    if (!command_options(self, argc, argv, &settings, operands, &count, &status))
        return status;
    const char *query = count > 1 && is_query(operands[count - 1]) ? operands[--count] : NULL;
    if (count == 0) {
        error_set(&err, ERR_BAD_ARGUMENT,
                  "no report or query given: tacho sql report1.tacho 'SELECT count(*) FROM NVTX_EVENTS'");
        return command_fail(self, &err);
    }
    if (open_session(&session, &settings, (struct input){ operands, count }, &found, &report, &err) != 0)
        status = command_fail(self, &err);
    else if (!query)
        status = converse(&session);
    else if ((*query == '.' ? obey(&session, query, &err) : sql_answer(&session, query, &err)) < 0)
        status = command_fail(self, &err);
    if (sql_end_document(&session) != EXIT_OK)
        status = EXIT_FAILED;
    query_close(session.query);
    if (report)
        close_report(report, text_string(&found));
    free(session.names);
    free(session.format_text);
    text_free(&session.documents);
    text_free(&found);
    return status;
}

static const struct entry sql_examples[] = {
    { "tacho sql report1.tacho \"SELECT count(*) FROM OSRT_API\"", "Count the OS calls that were recorded." },
    { "tacho sql -f csv report1.tacho < query.sql", "Run the statements of a file and print CSV." },
    { "tacho sql report1.tacho", "Open a prompt; .tables lists the tables." },
    { 0 },
};

const struct command command_sql = {
    .name = "sql",
    .arguments = "FILE … [\"SELECT …\"]",
    .summary = "Query a report with SQL",
    .about =
        "Run a SQL query on the tables of a report, without exporting it; the names are those of the SQLite export. "
        "FILE is a .tacho report, a trace of torch.profiler or an SQLite export of nsys. Without a query, sql reads "
        "queries from a prompt: .help explains it.",
    .examples = sql_examples,
    .options = sql_options,
    .variables = "XDG_STATE_HOME",
    .files = "tacho,sqlite",
    .run = sql_run,
};
