/* Reads the call sites. Bindings of other languages call MPI from a library of their own: that is no line of the
 * program. */
#include "mpi_sites.h"

#include <string.h>

#include "analyze/engine/row_cursor.h"
#include "base/path.h"
#include "base/text.h"

static int is_binding(const char *module)
{
    static const char *const libraries[] = { "libmpi", "libpmpi", "libfmpich", "libmpich" };
    const char *name = path_base_name(module);

    for (size_t i = 0; i < COUNT_OF(libraries); i++)
        if (strncmp(name, libraries[i], strlen(libraries[i])) == 0)
            return 1;
    return strstr(module, "/mpi4py/") != NULL;
}

enum { ID, DEPTH, SYMBOL, MODULE, FILE_NAME, LINE };

static int64_t add_site(struct mpi_sites *sites, struct report *report, const struct row_cursor *rows)
{
    const char *module = report_string(report, row_int_or(rows, MODULE, 0), NULL);
    const char *file = row_is_null(rows, FILE_NAME) ? NULL : report_string(report, row_int(rows, FILE_NAME), NULL);
    struct text text = { 0 };

    text_addf(&text, "%s (%s", report_string(report, row_int_or(rows, SYMBOL, 0), NULL),
              path_base_name(file && *file ? file : module));
    if (file && *file && !row_is_null(rows, LINE))
        text_addf(&text, ":%lld", (long long)row_int(rows, LINE));
    text_add(&text, ")");
    int64_t site = text_failed(&text) ? -1 : intern_add(&sites->texts, text_string(&text), text.length);
    text_free(&text);
    return site;
}

static int mpi_sites_add_row(struct mpi_sites *sites, struct report *report, const struct row_cursor *rows)
{
    struct mpi_chain_site entry = { (uint64_t)row_int(rows, ID) + 1, MPI_NO_SITE };

    if (row_int_or(rows, DEPTH, 0) != 0 || is_binding(report_string(report, row_int_or(rows, MODULE, 0), NULL)))
        return 0;
    if ((entry.site = add_site(sites, report, rows)) < 0)
        return ERR_NO_MEMORY;
    return mpi_site_map_find(&sites->chains, entry.chain) || mpi_site_map_add(&sites->chains, &entry) ? 0
                                                                                                      : ERR_NO_MEMORY;
}

int mpi_sites_read(struct mpi_sites *sites, struct report *report, struct error *err)
{
    static const char *const names[] = { "id", "stackDepth", "symbol", "module", "sourceFile", "sourceLine", NULL };
    struct row_cursor rows;
    int code = row_cursor_open(&rows, report, "TACHO_MPI_CALLCHAINS", names, err);

    if (code != 0)
        return code;
    while (row_cursor_next(&rows))
        if ((code = mpi_sites_add_row(sites, report, &rows)) != 0)
            break;
    row_cursor_close(&rows);
    return code;
}

void mpi_sites_free(struct mpi_sites *sites)
{
    intern_free(&sites->texts);
    mpi_site_map_free(&sites->chains);
    *sites = (struct mpi_sites){ 0 };
}
