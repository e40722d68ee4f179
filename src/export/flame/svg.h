/* The constant texts of every flame graph. */
#ifndef TACHO_EXPORT_FLAME_SVG_H
#define TACHO_EXPORT_FLAME_SVG_H

extern const char svg_style[], svg_script[];

#endif
