/* --command-file: more options from a file, split into words as a shell would. */
#include "profile_command_file.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Splits like a shell: blanks part, quotes and backslashes join, # begins a comment. Works in place; words has room. */
static size_t split_words(char *text, char **words, size_t room)
{
    char *in = text, *out = text;
    size_t count = 0;

    while (*in && count < room) {
        while (isspace((unsigned char)*in))
            in++;
        if (*in == '#') {
            in += strcspn(in, "\n");
            continue;
        }
        if (!*in)
            break;
        words[count++] = out;
        char quote = 0;
        for (; *in && (quote || !isspace((unsigned char)*in)); in++) {
            if (*in == quote)
                quote = 0;
            else if (!quote && (*in == '"' || *in == '\''))
                quote = *in;
            else
                *out++ = *in == '\\' && quote != '\'' && in[1] ? *++in : *in;
        }
        in += *in != 0;
        *out++ = 0;
    }
    return count;
}

enum { LARGEST_FILE = 1 << 20, MOST_WORDS = 1024 };

static char *read_small_file(const char *path, struct error *err)
{
    FILE *file = fopen(path, "re");
    char *text = file ? malloc(LARGEST_FILE + 1) : NULL;
    size_t length = text ? fread(text, 1, LARGEST_FILE + 1, file) : 0;

    if (!file || ferror(file)) {
        error_set_errno(err, "cannot read the command file '%s'", path);
        err->code = ERR_BAD_ARGUMENT;
    } else if (!text) {
        error_no_memory(err);
    } else if (length > LARGEST_FILE || memchr(text, 0, length)) {
        error_set(err, ERR_BAD_ARGUMENT, "cannot use the command file '%s': it is larger than 1 MB or not text", path);
    }
    if (file)
        fclose(file);
    if (err->code) {
        free(text);
        return NULL;
    }
    text[length] = 0;
    return text;
}

int profile_command_file_take(void *context, const char *value, struct error *err)
{
    struct profile_settings *settings = context;
    char *text = profile_own(settings, read_small_file(value, err));
    char **words = profile_own(settings, calloc(MOST_WORDS + 3, sizeof *words));
    const char **operands = profile_own(settings, calloc(MOST_WORDS + 3, sizeof *operands));

    if (!text || !words || !operands)
        return err->code ? err->code : error_no_memory(err);
    size_t count = split_words(text, words + 1, MOST_WORDS + 1);
    if (count > MOST_WORDS)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "cannot use the command file '%s': it has more than %d "
                         "words",
                         value, MOST_WORDS);
    struct option_parse parse = { .options = settings->options, .settings = settings, .operands = operands };
    for (size_t i = 1; i <= count; i++)
        if (strncmp(words[i], "--command-file", 14) == 0)
            return error_set(err, ERR_BAD_ARGUMENT,
                             "cannot use the command file '%s': it contains --command-file, "
                             "which cannot be nested",
                             value);
    int code = options_parse(&parse, (int)count + 1, words, err);
    text_add(&settings->warnings, text_string(&parse.warnings));
    text_free(&parse.warnings);
    if (code != 0)
        return code;
    if (parse.operand_count)
        return error_set(err, ERR_BAD_ARGUMENT, "cannot use the command file '%s': '%s' is not an option", value,
                         parse.operands[0]);
    return 0;
}
