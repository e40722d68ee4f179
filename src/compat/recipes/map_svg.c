/* Cells are rectangles whose opacity is the value. Text has the colour that the page prefers; a cell without a value,
 * or with 0, has no rectangle. */
#include "map_svg.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/human.h"
#include "base/intern.h"
#include "cmd/print/html_escape.h"

enum {
    MARGIN = 12,
    LABELS = 210,    /* width of the names of lanes */
    PLOT = 720,      /* width of the bins */
    LINE = 18,       /* height of a line of text */
    MOST_ROW = 16,   /* height of a lane */
    LEAST_ROW = 2,
    MOST_TIPS = 128, /* lanes of a band whose cells have texts of their own: these are most of the file */
    MOST_BAND = 900  /* height of a band, unless its lanes were thinner than LEAST_ROW then */
};

static const char *const colours[] = { "#2f7fc1", "#c8641e", "#3d9140", "#a04fb5" };

/* A lane in a band. */
struct map_strip {
    size_t band, row, column; /* its first row in the table, and the column of its values */
};

struct map_band {
    const char *name;
    size_t length;
    double most; /* the value of a cell without transparency */
    int is_share;
    size_t lanes;
};

struct map_layout {
    const struct table *table;
    size_t start, duration, rank, pid, gpu, device, metric; /* columns; TABLE_NO_COLUMN: the table has none */
    size_t bins;
    struct intern metrics;
    struct map_band *bands;                                 /* owned */
    struct map_strip *strips;                               /* owned; by band */
    size_t band_count, band_room, strip_count, strip_room;
};

/* ---- bands and strips -------------------------------------------------------------------------------------------*/

static struct map_band *band_at(struct map_layout *map, size_t index)
{
    if (array_reserve_zeroed(&map->bands, &map->band_room, index + 1, sizeof *map->bands) != 0)
        return NULL;
    map->band_count = index + 1 > map->band_count ? index + 1 : map->band_count;
    return &map->bands[index];
}

static double value_at(const struct map_layout *map, size_t row, size_t column)
{
    const struct table_cell *cell = &table_row(map->table, row)[column];

    return cell->kind == CELL_REAL && cell->real > 0 ? cell->real : 0;
}

static int add_strip(struct map_layout *map, size_t index, size_t row, size_t column)
{
    struct map_band *band = band_at(map, index);

    if (!band || array_reserve(&map->strips, &map->strip_room, map->strip_count + 1, sizeof *map->strips) != 0)
        return ERR_NO_MEMORY;
    map->strips[map->strip_count++] = (struct map_strip){ index, row, column };
    band->lanes++;
    for (size_t i = 0; i < map->bins; i++) {
        double value = value_at(map, row + i, column);
        band->most = value > band->most ? value : band->most;
    }
    return 0;
}

static int map_svg_add_metric(struct map_layout *map, size_t row)
{
    const struct table_cell *name = &table_row(map->table, row)[map->metric];
    int64_t index = intern_add(&map->metrics, name->text.bytes, name->text.length);

    if (index < 0 || add_strip(map, (size_t)index, row, table_find_column(map->table, "Value")) != 0)
        return ERR_NO_MEMORY;
    map->bands[index].name = name->text.bytes;
    map->bands[index].length = name->text.length;
    return 0;
}

/* Each column in percent has a band. */
static int add_shares(struct map_layout *map, size_t row)
{
    const struct table_column *columns = table_columns(map->table);
    size_t index = 0;

    for (size_t c = 0; c < table_column_count(map->table); c++) {
        if (columns[c].unit != UNIT_PERCENT)
            continue;
        if (add_strip(map, index, row, c) != 0)
            return ERR_NO_MEMORY;
        struct map_band *band = &map->bands[index++];
        band->name = columns[c].name;
        band->length = strlen(columns[c].name);
        band->most = 100;
        band->is_share = 1;
    }
    return 0;
}

static int compare_strips(const void *a, const void *b)
{
    const struct map_strip *x = a, *y = b;

    return COMPARE(x->band, y->band) ?: COMPARE(x->row, y->row);
}

/* All lanes have as many bins as the first, whose starts rise. */
static int map_svg_find_layout(struct map_layout *map, const struct table *table)
{
    size_t rows = table_row_count(table);

    *map = (struct map_layout){
        .table = table,
        .start = table_find_column(table, "Start"),
        .duration = table_find_column(table, "Duration"),
        .rank = table_find_column(table, "Rank"),
        .pid = table_find_column(table, "PID"),
        .gpu = table_find_column(table, "Device ID"),
        .device = table_find_column(table, "Device"),
        .metric = table_find_column(table, "Metric"),
    };
    while (map->bins < rows && (!map->bins || table_row(table, map->bins)[map->start].integer >
                                                  table_row(table, map->bins - 1)[map->start].integer))
        map->bins++;
    for (size_t row = 0; map->bins && row + map->bins <= rows; row += map->bins)
        if ((map->metric != TABLE_NO_COLUMN ? map_svg_add_metric(map, row) : add_shares(map, row)) != 0)
            return ERR_NO_MEMORY;
    if (map->strip_count)
        qsort(map->strips, map->strip_count, sizeof *map->strips, compare_strips);
    return 0;
}

static double row_height(const struct map_band *band)
{
    double height = (double)MOST_BAND / (double)band->lanes;

    return height > MOST_ROW ? MOST_ROW : height < LEAST_ROW ? LEAST_ROW : height;
}

static double band_height(const struct map_band *band)
{
    return (double)band->lanes * row_height(band) + 3 * LINE;
}

/* ---- the document -----------------------------------------------------------------------------------------------*/

static void map_svg_add_number(struct text *out, const char *before, const struct table_cell *row, size_t column)
{
    if (column != TABLE_NO_COLUMN && row[column].kind == CELL_INT)
        text_addf(out, "%s%" PRId64, before, row[column].integer);
}

static void add_lane_name(struct text *out, const struct map_layout *map, size_t at)
{
    const struct table_cell *row = table_row(map->table, at);

    map_svg_add_number(out, "rank ", row, map->rank);
    map_svg_add_number(out, ", pid ", row, map->pid);
    map_svg_add_number(out, ", GPU ", row, map->gpu);
    if (map->device == TABLE_NO_COLUMN || row[map->device].kind != CELL_TEXT)
        return;
    text_add(out, ", ");
    html_escape(out, row[map->device].text.bytes, row[map->device].text.length);
}

/* As precise as the bins are. */
static void map_svg_add_moment(struct text *out, const struct map_layout *map, int64_t time_ns)
{
    human_moment(out, time_ns, table_row(map->table, 0)[map->duration].integer / 10);
}

static void map_svg_add_cell(struct text *out, const struct map_layout *map, const struct map_strip *strip, size_t bin,
                             double y)
{
    const struct map_band *band = &map->bands[strip->band];
    double value = value_at(map, strip->row + bin, strip->column), width = (double)PLOT / (double)map->bins;

    if (value <= 0)
        return;
    text_addf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill-opacity=\"%.3f\"",
              LABELS + (double)bin * width, y, width, row_height(band), value < band->most ? value / band->most : 1.0);
    if (band->lanes > MOST_TIPS) {
        text_add(out, "/>\n");
        return;
    }
    text_add(out, "><title>");
    add_lane_name(out, map, strip->row);
    text_addf(out, band->is_share ? ": %.1f %% from " : ": %.6g from ", value);
    map_svg_add_moment(out, map, table_row(map->table, strip->row + bin)[map->start].integer);
    text_add(out, "</title></rect>\n");
}

static void add_strip_name(struct text *out, const struct map_layout *map, const struct map_strip *strip, double y)
{
    text_addf(out, "<text x=\"%d\" y=\"%.2f\" text-anchor=\"end\">", LABELS - 6, y);
    add_lane_name(out, map, strip->row);
    text_add(out, "</text>\n");
}

static void map_svg_add_times(struct text *out, const struct map_layout *map, double y)
{
    const struct table_cell *first = table_row(map->table, 0), *last = table_row(map->table, map->bins - 1);
    int64_t from = first[map->start].integer, to = last[map->start].integer + last[map->duration].integer;

    for (int i = 0; i <= 4; i++) {
        text_addf(out, "<text x=\"%.1f\" y=\"%.2f\" text-anchor=\"%s\">", LABELS + PLOT * i / 4.0, y,
                  i == 0   ? "start"
                  : i == 4 ? "end"
                           : "middle");
        map_svg_add_moment(out, map, from + (int64_t)((double)(to - from) * i / 4));
        text_add(out, "</text>\n");
    }
}

/* strip: the first of the band. */
static void add_band(struct text *out, const struct map_layout *map, const struct map_strip *strip, double y)
{
    const struct map_band *band = &map->bands[strip->band];
    double top = y + 6, row = row_height(band);

    text_addf(out, "<text x=\"%d\" y=\"%.2f\">", LABELS, y);
    html_escape(out, band->name, band->length);
    if (band->is_share)
        text_add(out, ", 0 to 100 % of the time</text>\n");
    else
        text_addf(out, ", 0 to %.6g</text>\n", band->most);
    text_addf(out, "<g fill=\"%s\">\n", colours[strip->band % (COUNT_OF(colours))]);
    for (size_t i = 0; i < band->lanes; i++)
        for (size_t bin = 0; bin < map->bins; bin++)
            map_svg_add_cell(out, map, &strip[i], bin, top + (double)i * row);
    text_addf(out, "</g>\n<rect class=\"frame\" x=\"%d\" y=\"%.2f\" width=\"%d\" height=\"%.2f\"/>\n", LABELS, top,
              PLOT, (double)band->lanes * row);
    for (size_t i = 0; i < band->lanes && row >= 10; i++)
        add_strip_name(out, map, &strip[i], top + ((double)i + 0.5) * row + 4);
    map_svg_add_times(out, map, top + (double)band->lanes * row + LINE - 4);
}

static void map_svg_add_head(struct text *out, const char *title, double height)
{
    int width = LABELS + PLOT + MARGIN;

    text_addf(out,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\">\n"
              "<style>\n"
              "text { font: 12px sans-serif; fill: #222; }\n"
              ".head { font-weight: bold; }\n"
              ".frame { fill: none; stroke: #888; stroke-width: 1; }\n"
              "@media (prefers-color-scheme: dark) { text { fill: #ddd; } }\n"
              "</style>\n<title>",
              width, height, width, height);
    html_escape(out, title, strlen(title));
    text_addf(out, "</title>\n<text class=\"head\" x=\"%d\" y=\"%d\">", MARGIN, MARGIN + 4);
    html_escape(out, title, strlen(title));
    text_add(out, "</text>\n");
}

void map_svg(struct text *out, const struct table *table, const char *title)
{
    struct map_layout map;
    double y = 2 * LINE, height = y;
    size_t strip = 0;

    if (map_svg_find_layout(&map, table) != 0)
        map.band_count = 0;
    for (size_t band = 0; band < map.band_count; band++)
        height += band_height(&map.bands[band]);
    map_svg_add_head(out, title, height);
    for (size_t band = 0; band < map.band_count; band++) {
        add_band(out, &map, &map.strips[strip], y);
        strip += map.bands[band].lanes;
        y += band_height(&map.bands[band]);
    }
    text_add(out, "</svg>\n");
    intern_free(&map.metrics);
    free(map.bands);
    free(map.strips);
}
