"""Prices of orders, row by row: apply() calls Python once a row."""
import pandas

orders = pandas.DataFrame({"price": range(60000), "count": [number % 7 for number in range(60000)]})


def total(row):
    return row["price"] * row["count"] if row["count"] > 2 else 0


def add_totals(frame):
    frame["total"] = frame.apply(total, axis=1)
    return frame["total"].sum()


print(add_totals(orders))
