"""A small web application that shows the entries of a guest book."""
from flask import Flask, render_template_string

app = Flask(__name__)
PAGE = """<!doctype html><title>{{ title }}</title>
{% macro card(entry) %}<div class="card {% if entry.new %}new{% endif %}"><h2>{{ entry.name|title }}</h2>
<p>{{ entry.text|truncate(60) }}</p></div>{% endmacro %}
""" + "\n".join(
    f"{{% for entry in entries if entry.id % 40 == {i} %}}{{% if loop.first %}}<section id=s{i}>{{% endif %}}"
    f"{{{{ card(entry) }}}}{{% if loop.last %}}</section>{{% endif %}}{{% endfor %}}" for i in range(40))


def entries():
    return [{"id": i, "name": f"guest {i}", "text": "It was a pleasure. " * 5, "new": i > 5} for i in range(8)]


@app.route("/")
def index():
    return render_template_string(PAGE, title="Guests", entries=entries())


if __name__ == "__main__":
    app.run(port=8768)
