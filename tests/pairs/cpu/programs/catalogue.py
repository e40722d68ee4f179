"""Looks up the articles of orders in a catalogue of XML."""
import sys

from lxml import etree


def make(path, count):
    root = etree.Element("catalogue")
    for i in range(count):
        article = etree.SubElement(root, "article", id=f"a{i}")
        etree.SubElement(article, "name").text = f"article {i}"
        etree.SubElement(article, "price").text = str(i % 500)
    etree.ElementTree(root).write(path)


def price(catalogue, article):
    return int(catalogue.xpath(f"//article[@id='{article}']/price")[0].text)


def main(path):
    catalogue = etree.parse(path)
    orders = [f"a{i * 7919 % 20000}" for i in range(140)]
    print(sum(price(catalogue, article) for article in orders))


if __name__ == "__main__":
    if sys.argv[2:] == ["make"]:
        make(sys.argv[1], 20000)
    else:
        main(sys.argv[1])
