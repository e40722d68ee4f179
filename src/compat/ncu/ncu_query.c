/* The answers of tacho-gpu about the metrics of chips. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "abi/counters/counter_sections.h"
#include "abi/cupti_profiler.h"
#include "base/nearest.h"
#include "collect/gpu/gpu_ask.h"
#include "collect/gpu/gpu_link.h"
#include "list_columns.h"
#include "ncu_command.h"

struct ncu_query_answer {
    struct list_columns columns;
    struct text missing; /* a line each */
    struct text chips;   /* on one line */
    char chip[32];       /* the last of them */
    struct gpu_config config;
    char refusal[GPU_MESSAGE_BYTES];
};

static const char *const ncu_query_type_names[CUPTI_METRIC_TYPES] = { "Counter", "Ratio", "Throughput" };

static void ncu_query_take_metric(struct ncu_query_answer *answer, const struct gpu_frame *frame, const void *payload)
{
    const char *texts[GPU_METRIC_TEXTS];
    const struct gpu_frame_metric *metric = payload;

    if (gpu_frame_texts(frame, payload, sizeof *metric, texts, GPU_METRIC_TEXTS))
        return;
    const char *type = metric->kind == COUNTER_LAUNCH ? "Launch"
                       : *texts[GPU_METRIC_COUNTER] && metric->type < CUPTI_METRIC_TYPES
                           ? ncu_query_type_names[metric->type]
                           : "";
    list_columns_add(&answer->columns, (const char *const[]){ texts[GPU_METRIC_NAME], type, texts[GPU_METRIC_UNIT] });
}

static void take_chip(struct ncu_query_answer *answer, const struct gpu_frame *frame, const void *payload)
{
    const char *name;

    if (gpu_frame_texts(frame, payload, sizeof(struct gpu_chip), &name, 1))
        return;
    snprintf(answer->chip, sizeof answer->chip, "%s", name);
    text_add(&answer->chips, answer->chips.length ? ", " : "");
    for (; *name; name++)
        text_add_char(&answer->chips, (char)tolower((unsigned char)*name)); /* ncu spells them gh100 */
}

static void ncu_query_take(void *context, const struct gpu_frame *frame, const void *payload)
{
    struct ncu_query_answer *answer = context;
    const struct gpu_refusal *refusal;
    const char *texts[GPU_MISSING_TEXTS], *sentence;

    if (frame->type == GPU_FRAME_METRIC)
        ncu_query_take_metric(answer, frame, payload);
    else if (frame->type == GPU_FRAME_CHIP)
        take_chip(answer, frame, payload);
    else if (frame->type == GPU_FRAME_CONFIG && frame->bytes >= sizeof answer->config)
        memcpy(&answer->config, payload, sizeof answer->config);
    else if (frame->type == GPU_FRAME_MISSING &&
             !gpu_frame_texts(frame, payload, sizeof(struct gpu_missing), texts, GPU_MISSING_TEXTS))
        text_addf(&answer->missing, "%s: %s\n", texts[GPU_MISSING_NAME], texts[GPU_MISSING_WHY]);
    else if (frame->type == GPU_FRAME_REFUSAL && (sentence = gpu_frame_refusal(frame, payload, &refusal)))
        gpu_message(answer->refusal, sentence);
}

static int ncu_query_ask(struct ncu_query_answer *answer, const char *mode, const char *const *options,
                         struct error *err)
{
    const struct gpu_question question = {
        .mode = mode, .options = options, .ended = "CUPTI ended tacho-gpu", .hint = "; TACHO_CUPTI names another file"
    };
    int code = gpu_ask(&question, ncu_query_take, answer, err);

    return *answer->refusal ? error_set(err, ERR_UNSUPPORTED, "%s", answer->refusal) : code;
}

static void free_answer(struct ncu_query_answer *answer)
{
    text_free(&answer->columns.cells);
    text_free(&answer->missing);
    text_free(&answer->chips);
}

int ncu_list_chips(struct text *out, struct error *err)
{
    struct ncu_query_answer answer = { 0 };
    int code = ncu_query_ask(&answer, "chips", (const char *const[]){ NULL }, err);

    if (code)
        goto failed;
    text_addf(out, "%s\n", text_string(&answer.chips));
failed:
    free_answer(&answer);
    return code;
}

/* ---- For each chip --------------------------------------------------------------------------------------------- */

char *ncu_list_option(const char *name, const struct option_list *list)
{
    struct text text = { 0 };

    text_addf(&text, "%s=", name);
    for (size_t i = 0; i < list->count; i++)
        text_addf(&text, "%s%s", i ? "," : "", list->values[i]);
    return text_take(&text);
}

static int is_sampling(const struct ncu_settings *settings)
{
    return settings->query_collection && strcmp(settings->query_collection, "pmsampling") == 0;
}

/* Prints the chip above the list; tacho-gpu names the chip of a GPU. */
static void ncu_query_add_answer(struct text *out, struct ncu_query_answer *answer, const char *chip, int has_passes)
{
    text_addf(out, "%s\n", *answer->chip ? answer->chip : strchr(chip, '=') + 1);
    list_columns_print(&answer->columns, out);
    text_add(out, text_string(&answer->missing));
    if (has_passes)
        text_addf(out, "%u counters in %llu pass%s\n", answer->config.counters,
                  (unsigned long long)answer->config.passes, answer->config.passes == 1 ? "" : "es");
}

/* `chip` is an option of tacho-gpu: chip=NAME or device=N. */
static int print_chip(struct text *out, const struct ncu_settings *settings, const char *mode, const char *chip,
                      struct error *err)
{
    static const struct option_list basic = { { "basic" }, 1 };
    struct ncu_query_answer answer = { .columns.count = 3 };
    char query[32];
    int is_default = !settings->sets.count && !settings->sections.count && !settings->metrics.count;
    int is_query = strcmp(mode, "metrics") == 0;
    char *sets = ncu_list_option("sets", is_default ? &basic : &settings->sets);
    char *sections = ncu_list_option("sections", &settings->sections);
    char *metrics = ncu_list_option(is_query ? "names" : "metrics", &settings->metrics);
    int code;

    if ((!sets || !sections || !metrics) && (code = error_no_memory(err)) != 0)
        goto failed;
    snprintf(query, sizeof query, "mode=%s", settings->query_mode ? settings->query_mode : "base");
    list_columns_add(&answer.columns, (const char *const[]){ "Metric Name", "Metric Type", "Metric Unit" });
    const char *options[] = { chip,     is_sampling(settings) ? "profiler=sampling" : "profiler=range", query, sets,
                              sections, is_query && !settings->metrics.count ? NULL : metrics,          NULL };
    code = ncu_query_ask(&answer, mode, options, err);
    if (code)
        goto failed;
    ncu_query_add_answer(out, &answer, chip, !is_query);
failed:
    free(sets);
    free(sections);
    free(metrics);
    free_answer(&answer);
    return code;
}

/* Products and chips are called alike: the H100 has a GH100. */
static void suggest_chip(const char *chip, struct error *err)
{
    const char *nearest = counter_chip_capability(chip) ? NULL : nearest_name(chip, counter_chip_names());
    struct error before = *err;

    if (nearest)
        error_set(err, before.code, "%s; did you mean %s?", before.text, nearest);
}

static int for_each_chip(struct text *out, const struct ncu_settings *settings, const char *mode, struct error *err)
{
    size_t count = 0;
    char **chips = settings->chips ? option_split(settings->chips, &count) : NULL;
    int code = 0;

    if (!settings->chips)
        return print_chip(out, settings, mode, "device=0", err);
    if (!chips)
        return error_no_memory(err);
    if (!count)
        code = error_set(err, ERR_BAD_ARGUMENT, "--chips needs the name of a chip (--list-chips)");
    for (size_t i = 0; i < count; i++) {
        char option[64];
        for (char *letter = chips[i]; *letter; letter++)
            *letter = (char)toupper((unsigned char)*letter); /* ncu spells them gh100 */
        snprintf(option, sizeof option, "chip=%s", chips[i]);
        code = print_chip(out, settings, mode, option, err);
        if (code)
            suggest_chip(chips[i], err);
        if (code)
            break;
    }
    free(chips);
    return code;
}

int ncu_query_metrics(struct text *out, const struct ncu_settings *settings, struct error *err)
{
    if (settings->query_mode && strcmp(settings->query_mode, "suffix") == 0 && !settings->metrics.count)
        return error_set(err, ERR_BAD_ARGUMENT,
                         "--query-metrics-mode suffix needs --metrics: the names without suffixes");
    return for_each_chip(out, settings, "metrics", err);
}

/* ---- Of the table ---------------------------------------------------------------------------------------------- */

static void ncu_query_add_section(struct text *out, const struct counter_section *section)
{
    char name[256];

    for (const struct section_metric *row = section->metrics; row->names; row++) {
        struct counter_names names = { row->names, NULL };
        while (row->chips && counter_names_next(&names, name, sizeof name))
            text_addf(out, "%s\n", name);
    }
}

int ncu_list_metrics(struct text *out, const struct ncu_settings *settings, struct error *err)
{
    if (settings->chips)
        return for_each_chip(out, settings, "config", err);
    for (const struct counter_section *section = counter_sections; section->name; section++)
        if (ncu_has_section(settings, section->name, section->sets))
            ncu_query_add_section(out, section);
    for (size_t i = 0; i < settings->metrics.count; i++)
        text_addf(out, "%s\n", settings->metrics.values[i]);
    return 0;
}
