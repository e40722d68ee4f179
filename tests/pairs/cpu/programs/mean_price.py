"""Prints the mean price of a small table."""
import pandas as pd
import networkx  # noqa: F401
import numba  # noqa: F401
import scipy.stats  # noqa: F401
import sklearn.ensemble  # noqa: F401
import sklearn.linear_model  # noqa: F401
import sklearn.model_selection  # noqa: F401
import sklearn.svm  # noqa: F401
import sympy  # noqa: F401


def main():
    table = pd.DataFrame({"price": [3.5, 4.25, 8.0], "pieces": [10, 20, 5]})
    print((table.price * table.pieces).sum() / table.pieces.sum())


if __name__ == "__main__":
    main()
