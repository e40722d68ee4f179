/* The folder of Python modules that Python programs find first, if the options ask for what it does: functions of the
 * row of Python. */
#ifndef TACHO_COLLECT_SOURCES_PYTHON_PYTHON_SITE_H
#define TACHO_COLLECT_SOURCES_PYTHON_PYTHON_SITE_H

struct collect_options;
struct collector;
struct variables;

void python_site_environment(struct variables *variables, const struct collect_options *options,
                             const char *agent_path);
void python_site_check(struct collector *collector, const char *agent_path);

#endif
