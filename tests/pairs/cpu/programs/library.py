"""Prints how many books each publisher has, from a database of Django's ORM."""
import sys

import django
from django.conf import settings
from django.db import connection, models

settings.configure(
    DATABASES={"default": {"ENGINE": "django.db.backends.sqlite3", "NAME": sys.argv[1]}},
    INSTALLED_APPS=[], DEFAULT_AUTO_FIELD="django.db.models.AutoField")
django.setup()


class Author(models.Model):
    name = models.CharField(max_length=80)
    publisher = models.CharField(max_length=80)

    class Meta:
        app_label = "library"


class Book(models.Model):
    title = models.CharField(max_length=80)
    author = models.ForeignKey(Author, on_delete=models.CASCADE)

    class Meta:
        app_label = "library"


def make():
    with connection.schema_editor() as editor:
        editor.create_model(Author)
        editor.create_model(Book)
    Author.objects.bulk_create(Author(name=f"author {i}", publisher=f"publisher {i % 7}") for i in range(500))
    Book.objects.bulk_create(Book(title=f"book {i}", author_id=i % 500 + 1) for i in range(6000))


def books_by_publisher():
    counts = {}
    for book in Book.objects.all():
        publisher = book.author.publisher
        counts[publisher] = counts.get(publisher, 0) + 1
    return counts


if __name__ == "__main__":
    if sys.argv[2:] == ["make"]:
        make()
    else:
        print(sorted(books_by_publisher().items()))
