/* The list of formats of findings, and the texts that they share. */
#include "finding_format.h"

#include <string.h>
#include <unistd.h>

#include "cmd/print/reference.h"

static const struct finding_format *const formats[] = { &finding_sarif, &finding_github };
enum { FORMATS = COUNT_OF(formats) };

const struct finding_format *finding_format_find(const char *name)
{
    for (size_t i = 0; i < FORMATS; i++)
        if (strcmp(formats[i]->name, name) == 0)
            return formats[i];
    return NULL;
}

const char *const *finding_format_names(void)
{
    enum { MOST = 16 };
    static const char *names[MOST + FORMATS + 1];
    size_t count = 0;

    for (const char *const *at = output_format_names(); *at && count < MOST; at++)
        names[count++] = *at;
    for (size_t i = 0; i < FORMATS; i++)
        names[count++] = formats[i]->name;
    return names;
}

void finding_format_help(struct text *out)
{
    for (size_t i = 0; i < FORMATS; i++)
        print_reference(out, formats[i]->name, "", NULL, formats[i]->help);
}

void finding_add_path(struct text *out, const struct finding *finding)
{
    const char *path = text_string(&finding->path), *at = path + strspn(path, "/");

    while (at && *at) {
        if (access(at, F_OK) == 0) {
            text_add(out, at);
            return;
        }
        at = strchr(at, '/');
        at = at ? at + strspn(at, "/") : NULL;
    }
    text_add(out, path);
}

void finding_add_message(struct text *out, const struct finding *finding, const struct analyze_file *file)
{
    text_add(out, text_string(&finding->what));
    if (finding->cause || finding->impact_ns > 0) {
        text_add(out, ". Saves ");
        finding_add_saving(out, finding, &file->adviser);
    }
    text_addf(out, ". %s", finding->advice);
}

void answer_add_reason(struct text *out, const struct rule_answer *answer)
{
    const char *option = analysis_need_option(answer->missing);

    text_addf(out, "no %s", answer->missing->data);
    if (option)
        text_addf(out, ": record it with tacho profile %s", option);
}
