"""Imports customers into a database with SQLAlchemy."""
import os
import sys

from sqlalchemy import create_engine, func, select
from sqlalchemy.orm import DeclarativeBase, Mapped, Session, mapped_column


class Base(DeclarativeBase):
    pass


class Customer(Base):
    __tablename__ = "customer"
    id: Mapped[int] = mapped_column(primary_key=True)
    name: Mapped[str]


def import_all(session, names):
    for name in names:
        session.add(Customer(name=name))
        session.commit()


def main(path, count):
    if os.path.exists(path):
        os.remove(path)
    engine = create_engine(f"sqlite:///{path}")
    Base.metadata.create_all(engine)
    with Session(engine) as session:
        import_all(session, (f"customer {i}" for i in range(count)))
        print(session.scalar(select(func.count(Customer.id))), "customers")


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
