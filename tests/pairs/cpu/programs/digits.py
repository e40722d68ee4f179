"""Recognizes handwritten digits with a forest and a support vector machine."""
from sklearn.datasets import load_digits
from sklearn.ensemble import GradientBoostingClassifier
from sklearn.model_selection import train_test_split
from sklearn.svm import SVC


def main():
    data = load_digits()
    x, test_x, y, test_y = train_test_split(data.data, data.target, random_state=0)
    machine = SVC().fit(x, y)
    forest = GradientBoostingClassifier(n_estimators=25, random_state=0)
    forest.fit(x, y)
    print(f"{machine.score(test_x, test_y):.3f} {forest.score(test_x, test_y):.3f}")


if __name__ == "__main__":
    main()
