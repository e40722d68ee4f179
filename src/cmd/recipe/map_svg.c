/* Cells are rectangles whose opacity is the share. Text has the colour that the page prefers; a cell without any share
 * has no rectangle, and a lane is a frame. */
#include "map_svg.h"

#include <inttypes.h>
#include <string.h>

#include "cmd/print/html_escape.h"

enum {
    MARGIN = 12,
    LABELS = 190,   /* width of the names of lanes */
    PLOT = 720,     /* width of the bins */
    LINE = 18,      /* height of a line of text */
    MOST_ROW = 16,  /* height of a lane */
    LEAST_ROW = 2,
    MOST_BAND = 900 /* height of the lanes of one column, if they are not thinner then than LEAST_ROW */
};

static const char *const colours[] = { "#2f7fc1", "#c8641e", "#3d9140", "#a04fb5" };

struct map_layout {
    const struct table *table;
    size_t start, duration, pid, device, rank; /* columns; device: TABLE_NO_COLUMN if there is none */
    size_t bins, lanes;
    double row;                                /* height of a lane */
    int has_names;                             /* lanes are high enough for text */
};

static int is_of_same_lane(const struct map_layout *map, size_t a, size_t b)
{
    const struct table_cell *x = table_row(map->table, a), *y = table_row(map->table, b);

    return x[map->rank].integer == y[map->rank].integer && x[map->pid].integer == y[map->pid].integer &&
           (map->device == TABLE_NO_COLUMN || x[map->device].integer == y[map->device].integer);
}

/* All lanes have the same bins. */
static int find_layout(struct map_layout *map, const struct table *table)
{
    size_t rows = table_row_count(table);

    *map = (struct map_layout){
        .table = table,
        .start = table_find_column(table, "Start"),
        .duration = table_find_column(table, "Duration"),
        .pid = table_find_column(table, "PID"),
        .device = table_find_column(table, "Device ID"),
        .rank = table_find_column(table, "Rank"),
    };
    while (map->bins < rows && is_of_same_lane(map, 0, map->bins))
        map->bins++;
    if (!map->bins)
        return 0;
    map->lanes = rows / map->bins;
    map->row = (double)MOST_BAND / (double)map->lanes;
    map->row = map->row > MOST_ROW ? MOST_ROW : map->row < LEAST_ROW ? LEAST_ROW : map->row;
    map->has_names = map->row >= 10;
    return 1;
}

static void add_lane_name(struct text *out, const struct map_layout *map, size_t lane)
{
    const struct table_cell *row = table_row(map->table, lane * map->bins);

    text_addf(out, "rank %" PRId64 ", pid %" PRId64, row[map->rank].integer, row[map->pid].integer);
    if (map->device != TABLE_NO_COLUMN && row[map->device].kind == CELL_INT)
        text_addf(out, ", GPU %" PRId64, row[map->device].integer);
}

static void add_cell(struct text *out, const struct map_layout *map, size_t lane, size_t bin, size_t column, double y)
{
    const struct table_cell *row = table_row(map->table, lane * map->bins + bin);
    double share = row[column].real, width = (double)PLOT / (double)map->bins;

    if (share <= 0)
        return;
    text_addf(out, "<rect x=\"%.2f\" y=\"%.2f\" width=\"%.2f\" height=\"%.2f\" fill-opacity=\"%.3f\"><title>",
              LABELS + (double)bin * width, y, width, map->row, share > 100 ? 1 : share / 100);
    add_lane_name(out, map, lane);
    text_add(out, ": ");
    text_addf(out, "%.1f %% from %.6f s", share, (double)row[map->start].integer / 1e9);
    text_add(out, "</title></rect>\n");
}

static void add_band(struct text *out, const struct map_layout *map, size_t column, const char *colour, double y)
{
    text_addf(out, "<g fill=\"%s\">\n", colour);
    for (size_t lane = 0; lane < map->lanes; lane++)
        for (size_t bin = 0; bin < map->bins; bin++)
            add_cell(out, map, lane, bin, column, y + (double)lane * map->row);
    text_addf(out, "</g>\n<rect class=\"frame\" x=\"%d\" y=\"%.2f\" width=\"%d\" height=\"%.2f\"/>\n", LABELS, y, PLOT,
              (double)map->lanes * map->row);
    for (size_t lane = 0; lane < map->lanes && map->has_names; lane++) {
        text_addf(out, "<text x=\"%d\" y=\"%.2f\" text-anchor=\"end\">", LABELS - 6,
                  y + ((double)lane + 0.5) * map->row + 4);
        add_lane_name(out, map, lane);
        text_add(out, "</text>\n");
    }
}

static void add_times(struct text *out, const struct map_layout *map, double y)
{
    const struct table_cell *first = table_row(map->table, 0), *last = table_row(map->table, map->bins - 1);
    double from = (double)first[map->start].integer / 1e9;
    double to = ((double)last[map->start].integer + (double)last[map->duration].integer) / 1e9;

    for (int i = 0; i <= 4; i++)
        text_addf(out, "<text x=\"%.1f\" y=\"%.2f\" text-anchor=\"%s\">%.3f s</text>\n", LABELS + PLOT * i / 4.0, y,
                  i == 0   ? "start"
                  : i == 4 ? "end"
                           : "middle",
                  from + (to - from) * i / 4);
}

static void add_head(struct text *out, const char *title, double height)
{
    int width = LABELS + PLOT + MARGIN;

    text_addf(out,
              "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%.0f\" viewBox=\"0 0 %d %.0f\">\n"
              "<style>\n"
              "text { font: 12px sans-serif; fill: #222; }\n"
              ".frame { fill: none; stroke: #888; stroke-width: 1; }\n"
              "@media (prefers-color-scheme: dark) { text { fill: #ddd; } }\n"
              "</style>\n<title>",
              width, height, width, height);
    html_escape(out, title, strlen(title));
    text_addf(out, "</title>\n<text x=\"%d\" y=\"%d\" font-weight=\"bold\">", MARGIN, MARGIN + 4);
    html_escape(out, title, strlen(title));
    text_add(out, "</text>\n");
}

void map_svg(struct text *out, const struct table *table, const char *title)
{
    const struct table_column *columns = table_columns(table);
    struct map_layout map;
    size_t bands = 0;

    for (size_t c = 0; c < table_column_count(table); c++)
        bands += columns[c].unit == UNIT_PERCENT;
    int has_rows = find_layout(&map, table);
    double band = (double)map.lanes * map.row + 2 * LINE, y = 2 * LINE;
    add_head(out, title, has_rows ? 2 * LINE + (double)bands * (band + LINE) : 2 * LINE);
    bands = 0;
    for (size_t c = 0; c < table_column_count(table) && has_rows; c++) {
        if (columns[c].unit != UNIT_PERCENT)
            continue;
        text_addf(out, "<text x=\"%d\" y=\"%.2f\">", LABELS, y);
        html_escape(out, columns[c].name, strlen(columns[c].name));
        text_add(out, ", 0 to 100 % of the time</text>\n");
        add_band(out, &map, c, colours[bands++ % (sizeof colours / sizeof *colours)], y + 6);
        add_times(out, &map, y + band - LINE + 4);
        y += band + LINE;
    }
    text_add(out, "</svg>\n");
}
