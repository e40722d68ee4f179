/* Experiments on the operators of modelled causes: see measure.h.
 *
 * Kernels of one operator with the same shapes and types are one experiment. A kernel whose operator was recorded
 * without shapes (--advise records them in a few steps) takes the mean of the kernels of the same name. */
#include "measure.h"

#include <stdlib.h>
#include <string.h>

#include "analyze/advice/advice_kernels.h"
#include "analyze/engine/cell_text.h"
#include "base/array.h"

enum { MEASURED_PERCENT = 90 }; /* a cause counts as measured from this share of its time on */

enum { KEY_CAUSE, KEY_NAME, KEY_SHAPES, KEY_TYPES, KEY_VALUES, KEY_TENSOR, KEY_PARTS };

struct experiment {
    double now_us, then_us; /* then_us 0: not known */
    const char *why;        /* in the output of the program: why not; its line ends with a line break */
    int64_t run_ns;         /* time of all its kernels in the capture */
    int64_t count;
};

struct measure {
    struct adviser *adviser;
    struct advice_kernels *kernels;
    uint32_t *by_edge; /* owned, as all below; by edge: a kernel, from 1; 0: none */
    size_t edges;
    struct keys keys;  /* the experiments, by KEY_PARTS numbers */
    struct experiment *list;
    size_t room;
    struct text lines, output;
    double *now, *then; /* measured µs of one cause, by kernel name */
};

static int measure_no_memory(struct error *err)
{
    return error_short_memory(err, "for the measurements");
}

static void free_measure(struct measure *measure)
{
    free(measure->by_edge);
    keys_free(&measure->keys);
    free(measure->list);
    free(measure->now);
    free(measure->then);
    text_free(&measure->lines);
    text_free(&measure->output);
}

/* ---- experiments ----------------------------------------------------------------------------------------------- */

static int index_edges(struct measure *measure)
{
    const struct advice_kernels *kernels = measure->kernels;

    for (size_t i = 0; i < kernels->count; i++)
        if (kernels->list[i].edge != REPLAY_NO_EDGE && kernels->list[i].edge >= measure->edges)
            measure->edges = kernels->list[i].edge + 1u;
    measure->by_edge = calloc(measure->edges + 1, sizeof *measure->by_edge);
    measure->now = calloc(kernels->names.count + 1u, sizeof *measure->now);
    measure->then = calloc(kernels->names.count + 1u, sizeof *measure->then);
    if (!measure->by_edge || !measure->now || !measure->then)
        return ERR_NO_MEMORY;
    for (size_t i = 0; i < kernels->count; i++)
        if (kernels->list[i].edge != REPLAY_NO_EDGE)
            measure->by_edge[kernels->list[i].edge] = (uint32_t)i + 1;
    return 0;
}

/* The kernel that an edit is about; NULL: none. */
static const struct advice_kernel *measure_kernel_of(const struct measure *measure, const struct replay_edit *edit)
{
    uint32_t kernel = edit->edge < measure->edges ? measure->by_edge[edit->edge] : 0;

    return kernel ? &measure->kernels->list[kernel - 1] : NULL;
}

/* Sets the key of a kernel's experiment. Returns 0 if its shapes were not recorded. */
static int measure_key_of(const struct measure *measure, size_t cause, const struct advice_kernel *kernel,
                          int64_t key[KEY_PARTS])
{
    const struct operators *operators = measure->kernels->operators;

    if (kernel->op == NO_OPERATOR || operators->list[kernel->op].shapes == NO_TEXT)
        return 0;
    const struct operators_event *op = &operators->list[kernel->op];
    key[KEY_CAUSE] = (int64_t)cause;
    key[KEY_NAME] = op->name;
    key[KEY_SHAPES] = op->shapes;
    key[KEY_TYPES] = op->types;
    key[KEY_VALUES] = op->values;
    key[KEY_TENSOR] = measure->kernels->named[kernel->name].cores.use == TENSOR_YES;
    return 1;
}

static int measure_add_kernel(struct measure *measure, size_t cause, const struct advice_kernel *kernel)
{
    int64_t key[KEY_PARTS];

    if (!measure_key_of(measure, cause, kernel, key))
        return 0;
    size_t known = measure->keys.count;
    uint32_t number = keys_add(&measure->keys, key);
    if (number == NO_KEY || array_reserve(&measure->list, &measure->room, number + 1u, sizeof *measure->list) != 0)
        return ERR_NO_MEMORY;
    if (number == known)
        measure->list[number] = (struct experiment){ 0 };
    measure->list[number].run_ns = saturating_add(measure->list[number].run_ns, kernel->run_ns);
    measure->list[number].count++;
    return 0;
}

static int add_experiments(struct measure *measure)
{
    const struct adviser *adviser = measure->adviser;

    for (size_t c = 0; c < adviser->count; c++) {
        const struct replay_edits *edits = &adviser->causes[c].estimate;
        for (size_t i = 0; i < edits->count && adviser->causes[c].confidence == ADVICE_MODELLED; i++) {
            const struct advice_kernel *kernel = measure_kernel_of(measure, &edits->list[i]);
            if (kernel && measure_add_kernel(measure, c, kernel) != 0)
                return ERR_NO_MEMORY;
        }
    }
    return 0;
}

/* ---- the program ----------------------------------------------------------------------------------------------- */

/* Adds a text of an operator as a field: control characters would end it. */
static void measure_add_field(struct text *out, const struct operators *operators, int64_t text)
{
    struct intern_string string = operators_text(operators, (uint32_t)text);

    for (size_t i = 0; i < string.length; i++)
        text_add_char(out, (unsigned char)string.bytes[i] < ' ' ? ' ' : string.bytes[i]);
    text_add_char(out, '\t');
}

static void measure_write_lines(struct measure *measure)
{
    for (uint32_t i = 0; i < measure->keys.count; i++) {
        const int64_t *key = keys_get(&measure->keys, i);
        text_addf(&measure->lines, "%s\t", measure->adviser->causes[key[KEY_CAUSE]].rule->name);
        for (int part = KEY_NAME; part <= KEY_VALUES; part++)
            measure_add_field(&measure->lines, measure->kernels->operators, key[part]);
        text_addf(&measure->lines, "%d\n", (int)key[KEY_TENSOR]);
    }
}

/* A line for each experiment, after the name of the GPU. */
static int measure_read_lines(struct measure *measure, struct error *err)
{
    const char *line = text_string(&measure->output);

    for (uint32_t i = 0; i < measure->keys.count; i++) {
        struct experiment *experiment = &measure->list[i];
        line += strcspn(line, "\n");
        if (*line)
            line++;
        if (!*line)
            return error_set(err, ERR_BAD_FORMAT, "--measure: the program timed %d of %d operators", (int)i,
                             (int)measure->keys.count);
        char *end;
        experiment->now_us = strtod(line, &end);
        experiment->then_us = end == line ? 0 : strtod(end, NULL);
        if (experiment->now_us <= 0 || experiment->then_us <= 0) {
            experiment->now_us = experiment->then_us = 0;
            experiment->why = line + (*line == '?' ? strspn(line, "? ") : 0);
        }
    }
    return 0;
}

/* ---- results --------------------------------------------------------------------------------------------------- */

/* The experiment of a kernel, or NULL. */
static const struct experiment *experiment_of(const struct measure *measure, size_t cause,
                                              const struct advice_kernel *kernel)
{
    int64_t key[KEY_PARTS];
    uint32_t number = measure_key_of(measure, cause, kernel, key) ? keys_find(&measure->keys, key) : NO_KEY;

    return number == NO_KEY ? NULL : &measure->list[number];
}

/* The share of its time that a kernel would take; 0: not measured. */
static double measure_share_of(const struct measure *measure, size_t cause, const struct advice_kernel *kernel)
{
    const struct experiment *experiment = experiment_of(measure, cause, kernel);

    if (experiment)
        return experiment->then_us > 0 ? experiment->then_us / experiment->now_us : 0;
    return measure->now[kernel->name] > 0 ? measure->then[kernel->name] / measure->now[kernel->name] : 0;
}

/* Sums up the measurements of a cause's kernels, by their names. */
static void measure_sum_up(struct measure *measure, size_t cause)
{
    const struct replay_edits *edits = &measure->adviser->causes[cause].estimate;

    for (uint32_t i = 0; i < measure->kernels->names.count; i++)
        measure->now[i] = measure->then[i] = 0;
    for (size_t i = 0; i < edits->count; i++) {
        const struct advice_kernel *kernel = measure_kernel_of(measure, &edits->list[i]);
        const struct experiment *experiment = kernel ? experiment_of(measure, cause, kernel) : NULL;
        if (!experiment)
            continue;
        measure->now[kernel->name] += experiment->then_us > 0 ? experiment->now_us : 0;
        measure->then[kernel->name] += experiment->then_us;
    }
}

/* Puts the measurements into the edits. Bounds only grow: a measured gain can be reached. Returns the measured part. */
static double apply(const struct measure *measure, size_t cause, struct replay_edits *edits, int is_bound)
{
    double all = 0, measured = 0;

    for (size_t i = 0; i < edits->count; i++) {
        struct replay_edit *edit = &edits->list[i];
        const struct advice_kernel *kernel = measure_kernel_of(measure, edit);
        double share = kernel ? measure_share_of(measure, cause, kernel) : 0;
        all += kernel ? (double)kernel->run_ns : 0;
        if (share <= 0 || edit->cut_ns == REPLAY_DROPPED)
            continue;
        int64_t cut_ns = saturating_from_double((double)kernel->run_ns * (1 - share));
        measured += (double)kernel->run_ns;
        edit->cut_ns = is_bound && edit->cut_ns > cut_ns ? edit->cut_ns : cut_ns;
    }
    return all > 0 ? measured / all : 0;
}

static void apply_to(struct measure *measure, size_t number)
{
    struct advice_cause *cause = &measure->adviser->causes[number];
    const char *gpu = text_string(&measure->output);

    measure_sum_up(measure, number);
    double part = apply(measure, number, &cause->estimate, 0);
    apply(measure, number, &cause->bound, 1);
    if (part <= 0)
        return;
    text_clear(&cause->rate);
    text_addf(&cause->rate, "the alternative timed on %.*s", (int)strcspn(gpu, "\n"), gpu);
    if (100 * part < MEASURED_PERCENT)
        text_addf(&cause->rate, " for %.0f %% of the time", 100 * part);
    else
        cause->confidence = ADVICE_MEASURED;
}

enum { RULE, OPERATOR_CELL, SHAPES, TYPES, COUNT, RUN, NOW, THEN, PART, NOTE, CELLS };

static int measure_add_row(struct table *table, const struct measure *measure, uint32_t number)
{
    const struct operators *operators = measure->kernels->operators;
    const struct experiment *experiment = &measure->list[number];
    const int64_t *key = keys_get(&measure->keys, number);
    struct table_cell *row = table_add_row(table);

    if (!row || cell_set_string(table, &row[RULE], measure->adviser->causes[key[KEY_CAUSE]].rule->name) != 0 ||
        operators_cell(table, &row[OPERATOR_CELL], operators, (uint32_t)key[KEY_NAME]) != 0 ||
        operators_cell(table, &row[SHAPES], operators, (uint32_t)key[KEY_SHAPES]) != 0 ||
        operators_cell(table, &row[TYPES], operators, (uint32_t)key[KEY_TYPES]) != 0)
        return ERR_NO_MEMORY;
    cell_set_int(&row[COUNT], experiment->count);
    cell_set_int(&row[RUN], experiment->run_ns / experiment->count);
    if (!experiment->why) {
        cell_set_int(&row[NOW], saturating_from_double(1000 * experiment->now_us));
        cell_set_int(&row[THEN], saturating_from_double(1000 * experiment->then_us));
        cell_set_real(&row[PART], 100 * experiment->then_us / experiment->now_us);
        return 0;
    }
    return cell_set_text(table, &row[NOTE], experiment->why, strcspn(experiment->why, "\n"));
}

static int measure_make_table(const struct measure *measure, struct table **out)
{
    static const struct table_column columns[CELLS] = {
        [RULE] = { "Rule", CELL_TEXT, UNIT_NONE, 0 },      [OPERATOR_CELL] = { "Operator", CELL_TEXT, UNIT_NONE, 0 },
        [SHAPES] = { "Shapes", CELL_TEXT, UNIT_NONE, 0 },  [TYPES] = { "Types", CELL_TEXT, UNIT_NONE, 0 },
        [COUNT] = { "Kernels", CELL_INT, UNIT_NONE, 0 },   [RUN] = { "Recorded", CELL_INT, UNIT_NS, 0 },
        [NOW] = { "Now", CELL_INT, UNIT_NS, 0 },           [THEN] = { "Then", CELL_INT, UNIT_NS, 0 },
        [PART] = { "Of Now", CELL_REAL, UNIT_PERCENT, 1 }, [NOTE] = { "Note", CELL_TEXT, UNIT_NONE, 0 },
    };
    struct table *table = table_new(columns, CELLS);

    for (uint32_t i = 0; table && i < measure->keys.count; i++)
        if (measure_add_row(table, measure, i) != 0) {
            table_delete(table);
            table = NULL;
        }
    *out = table;
    return table ? 0 : ERR_NO_MEMORY;
}

/* Runs the experiments, and makes their table before causes change their places. */
static int experiment(struct measure *measure, const struct measure_settings *settings, struct table **out,
                      struct error *err)
{
    struct adviser *adviser = measure->adviser;
    int code;

    measure_write_lines(measure);
    if (text_failed(&measure->lines))
        return measure_no_memory(err);
    if ((code = measure_run(settings, &measure->lines, &measure->output, err)) != 0 ||
        (code = measure_read_lines(measure, err)) != 0)
        return code;
    if (measure_make_table(measure, out) != 0)
        return measure_no_memory(err);
    for (size_t i = 0; i < adviser->count; i++)
        if (adviser->causes[i].confidence == ADVICE_MODELLED)
            apply_to(measure, i);
    adviser->judged = 0;
    return adviser_judge(adviser, err);
}

/* Whether a modelled cause is about kernels: the others, such as records of autograd, have no alternative to time. */
static int has_kernels(const struct measure *measure)
{
    for (size_t c = 0; c < measure->adviser->count; c++) {
        const struct advice_cause *cause = &measure->adviser->causes[c];
        for (size_t i = 0; i < cause->bound.count && cause->confidence == ADVICE_MODELLED; i++)
            if (measure_kernel_of(measure, &cause->bound.list[i]))
                return 1;
    }
    return 0;
}

int measure_causes(struct adviser *adviser, const struct measure_settings *settings, struct table **out,
                   struct error *err)
{
    struct measure measure = { .adviser = adviser, .keys.width = KEY_PARTS };
    int code, modelled = 0;

    *out = NULL;
    for (size_t i = 0; i < adviser->count; i++)
        modelled |= adviser->causes[i].confidence == ADVICE_MODELLED;
    if (!modelled)
        return 0;
    if ((code = adviser_kernels(adviser, &measure.kernels, err)) != 0)
        goto done;
    if (index_edges(&measure) != 0) {
        code = measure_no_memory(err);
        goto done;
    }
    if (!has_kernels(&measure))
        goto done;
    if (add_experiments(&measure) != 0) {
        code = measure_no_memory(err);
        goto done;
    }
    if (!measure.keys.count)
        code = error_set(err, ERR_NO_DATA,
                         "--measure: the report has no shapes of operators; record them with 'tacho profile --advise'");
    else
        code = experiment(&measure, settings, out, err);
done:
    free_measure(&measure);
    return code;
}
