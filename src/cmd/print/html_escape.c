/* Escapes text for HTML: see html_escape.h. */
#include "html_escape.h"

#include "display.h"

void html_escape(struct text *out, const char *bytes, size_t length)
{
    struct text clean = { 0 };

    display_add(&clean, bytes, length, 0);
    for (size_t i = 0; i < clean.length; i++) {
        char c = clean.bytes[i];
        const char *entity = c == '&'    ? "&amp;"
                             : c == '<'  ? "&lt;"
                             : c == '>'  ? "&gt;"
                             : c == '"'  ? "&quot;"
                             : c == '\'' ? "&#39;"
                                         : NULL;
        if (entity)
            text_add(out, entity);
        else
            text_add_char(out, c);
    }
    text_free(&clean);
}
