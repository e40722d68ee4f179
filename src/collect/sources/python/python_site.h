/* The directory of modules that Python programs import first, if the options need it. These are functions of Python's
 * row. */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_PYTHON_SITE_H
#define TACHO_COLLECT_SOURCES_PYTHON_PYTHON_SITE_H

struct collect_options;
struct collector;
struct variables;

void python_site_environment(struct variables *variables, const struct collect_options *options,
                             const char *agent_path);
void python_site_check(struct collector *collector, const char *agent_path);

#endif
