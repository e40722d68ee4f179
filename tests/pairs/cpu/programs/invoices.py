"""Renders invoices with Jinja2."""
from jinja2 import Environment

INVOICE = Environment(autoescape=True).from_string("""<h1>Invoice {{ number }}</h1><table>
{% for item in items %}<tr class="{{ loop.cycle('odd', 'even') }}"><td>{{ item.name }}</td>
<td>{{ "%.2f"|format(item.price) }}</td><td>{{ item.pieces }}</td>
<td>{{ "%.2f"|format(item.price * item.pieces) }}</td></tr>
{% endfor %}</table>""")


def items(number):
    return [{"name": f"article <{i}>", "price": i * 1.5 + number, "pieces": i % 9 + 1} for i in range(300)]


def total(rows):
    return sum(row["price"] * row["pieces"] for row in rows)


def main():
    size, money = 0, 0.0
    for number in range(350):
        rows = items(number)
        money += total(rows)
        size += len(INVOICE.render(number=number, items=rows))
    print(size, f"{money:.2f}")


if __name__ == "__main__":
    main()
