/* Lists of advice. Members are appended to one text, and copied to the answer in the order of their rank. */
#include "advice_list.h"

#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/json_write.h"
#include "base/saturating.h"
#include "event_fields.h"

void advice_list_free(struct advice_list *list)
{
    text_free(&list->text);
    free(list->members);
    *list = (struct advice_list){ 0 };
}

/* Makes the text from `first` on a member. */
static void end_member(struct advice_list *list, size_t first, int64_t rank)
{
    if (array_reserve(&list->members, &list->room, list->count + 1, sizeof *list->members) != 0)
        list->text.failed = 1;
    else
        list->members[list->count++] = (struct advice_member){ rank, first, list->text.length - first };
}

static int advice_list_by_rank(const void *a, const void *b)
{
    const struct advice_member *x = a, *y = b;

    return COMPARE(y->rank, x->rank) ?: COMPARE(x->first, y->first);
}

/* Sorting moves members, never the text, so that advice_list_cut() still finds them by their place in it. */
void advice_list_add_to(struct advice_list *list, struct text *out)
{
    if (list->count)
        qsort(list->members, list->count, sizeof *list->members, advice_list_by_rank);
    for (size_t i = 0; i < list->count; i++) {
        text_add(out, i ? "," : "");
        text_add_bytes(out, list->text.bytes + list->members[i].first, list->members[i].length);
    }
}

void advice_list_cut(struct advice_list *list, size_t length)
{
    size_t kept = 0;

    for (size_t i = 0; i < list->count; i++)
        if (list->members[i].first < length)
            list->members[kept++] = list->members[i];
    list->count = kept;
    text_cut(&list->text, length);
    list->text.failed = 0; /* the text before is whole */
}

/* Sorts by possible gain, the largest first; then items without a known gain, the longest first. */
static int64_t advice_list_rank_of(const struct advice_item *item)
{
    int64_t length = saturating_duration(item->from_ns, item->to_ns);

    return item->impact_ns > 0 ? item->impact_ns : saturating_subtract(length > 0 ? length : 0, INT64_MAX);
}

void advice_words_clear(struct advice_words *words)
{
    text_clear(&words->text);
    text_clear(&words->what);
    text_clear(&words->operator);
    text_clear(&words->next);
}

void advice_words_free(struct advice_words *words)
{
    text_free(&words->text);
    text_free(&words->what);
    text_free(&words->operator);
    text_free(&words->next);
}

static void advice_list_add_text(struct text *out, const char *member, const struct text *text)
{
    out->failed |= text_failed(text);
    json_addf(out, "%s:%.*s", member, (int)text->length, text_string(text));
}

static void advice_list_add_saving(struct text *out, const char *member, int64_t ns)
{
    json_addf(out, ns < 0 ? "%s:null" : "%s:", member);
    if (ns >= 0)
        event_fields_add_int(out, ns);
}

void advice_add(struct advice *advice, const struct advice_item *item)
{
    struct text *out = &advice->items->text;
    size_t first = out->length;

    text_add_char(out, '{');
    json_addf(out, "'rule':%s,'title':%s", item->rule, item->title);
    advice_list_add_text(out, "text", item->text);
    advice_list_add_text(out, "what", item->what);
    advice_list_add_text(out, "operator", item->operator);
    advice_list_add_text(out, "next", item->next);
    json_addf(out, "'where':%s,'confidence':%s", item->where, item->confidence);
    advice_list_add_saving(out, "about", item->about_ns);
    advice_list_add_saving(out, "low", item->low_ns);
    advice_list_add_saving(out, "high", item->high_ns);
    json_addf(out, "'order':%jd,'row':%d,'event':%jd,'from':%jd,'to':%jd,'impact':", item->order, item->row,
              item->event, view_time(advice->view, item->from_ns), view_time(advice->view, item->to_ns));
    event_fields_add_int(out, item->impact_ns);
    text_add_char(out, '}');
    end_member(advice->items, first, advice_list_rank_of(item));
}

void advice_add_rule(struct advice *advice, const struct advice_rule *rule)
{
    struct text *out = &advice->rules->text;
    size_t first = out->length;

    text_add_char(out, '{');
    json_addf(out, "'name':%s,'title':%s,'advice':%s,'count':%zu,'impact':", rule->name, rule->title, rule->words,
              rule->count);
    event_fields_add_int(out, rule->impact_ns);
    text_add_char(out, '}');
    end_member(advice->rules, first, rule->rank);
}
