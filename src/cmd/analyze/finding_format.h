/* Formats of findings: annotations on lines of source code, for the tools of code review. A format is a struct of
 * callbacks in a file of its own. To add one, add a file and a row. */
#ifndef TACHO_CMD_ANALYZE_FINDING_FORMAT_H
#define TACHO_CMD_ANALYZE_FINDING_FORMAT_H

#include "analyze_file.h"

struct finding_format {
    const char *name;
    const char *help;
    /* Each adds its part of the document; NULL: nothing. number: of the file, from 0. */
    void (*begin)(struct text *out);
    void (*file)(struct text *out, const struct analyze_file *file, size_t number);
    void (*end)(struct text *out);
};

extern const struct finding_format finding_sarif, finding_github;
/* NULL: there is none of this name. */
const struct finding_format *finding_format_find(const char *name);
/* The names of all formats of `tacho analyze`, those of tables first; NULL-terminated. */
const char *const *finding_format_names(void);
/* Adds the text of --help-formats about them. */
void finding_format_help(struct text *out);

/* Adds the path of a finding's file as a tool that stands in the current folder finds it: the longest end of the path
 * that is a file there ("src/train.py" of /home/ann/model/src/train.py), else the path as it was recorded. */
void finding_add_path(struct text *out, const struct finding *finding);

/* Adds the sentences of an annotation: the finding, what it saves, and what to do. */
void finding_add_message(struct text *out, const struct finding *finding, const struct analyze_file *file);

/* Adds what a rule that could not be checked lacks: "no CUDA trace data: record it with tacho profile --trace=cuda". */
void answer_add_reason(struct text *out, const struct rule_answer *answer);

#endif
