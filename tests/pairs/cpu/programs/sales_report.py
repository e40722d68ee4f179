"""Reads sales, adds up per shop and month, and writes the table with its totals for the archive."""
import sys

import numpy as np
import pandas as pd


def make(path, rows):
    rng = np.random.default_rng(4)
    table = pd.DataFrame({
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 365, rows), unit="D"),
        "shop": rng.integers(0, 200, rows),
        "price": rng.random(rows) * 100,
        "pieces": rng.integers(1, 20, rows),
    })
    table.to_csv(path, index=False)


def main(path):
    sales = pd.read_csv(path, parse_dates=["day"])
    sales["total"] = sales.price * sales.pieces
    monthly = sales.groupby(["shop", sales.day.dt.month])["total"].sum()
    sales["share"] = sales.total / sales.groupby("shop")["total"].transform("sum")
    sales.to_csv("archive.csv", index=False)
    print(len(sales), len(monthly), f"{monthly.max():.2f}")


if __name__ == "__main__":
    if sys.argv[2:] == ["make"]:
        make(sys.argv[1], 250_000)
    else:
        main(sys.argv[1])
