"""Asks a service for the weather of 25 cities and prints the mean."""
import requests

CITIES = [f"city{i:02}" for i in range(25)]


def degrees(session, city):
    return session.get(f"http://127.0.0.1:8765/{city}").json()["degrees"]


def main():
    with requests.Session() as session:
        values = [degrees(session, city) for city in CITIES]
    print(len(values), "cities, mean", sum(values) / len(values))


if __name__ == "__main__":
    main()
