"""Solves some integrals and a system of equations with SymPy."""
import sympy as sp


def area():
    x = sp.symbols("x")
    return sp.integrate(sp.exp(-x) * sp.sin(x) ** 3 * x ** 2, (x, 0, sp.pi))


def crossings():
    x, y = sp.symbols("x y")
    return sp.solve([x ** 2 + y ** 2 - 5, x * y - 2], [x, y])


def main():
    print(len(crossings()), sp.N(area(), 12))


if __name__ == "__main__":
    main()
