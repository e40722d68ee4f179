"""Adds up the hours of a workbook."""
import sys

import openpyxl


def make(path):
    book = openpyxl.Workbook()
    sheet = book.active
    for i in range(12000):
        sheet.append([f"person {i % 40}", i, i % 9, f"task {i % 17}", i * 0.25])
    book.save(path)


def main(path):
    book = openpyxl.load_workbook(path)
    hours = {}
    for person, _, worked, *_ in book.active.iter_rows(values_only=True):
        hours[person] = hours.get(person, 0) + worked
    print(len(hours), max(hours.values()))


if __name__ == "__main__":
    if sys.argv[2:] == ["make"]:
        make(sys.argv[1])
    else:
        main(sys.argv[1])
