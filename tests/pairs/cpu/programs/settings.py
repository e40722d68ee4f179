"""Reads a large configuration with PyYAML."""
import sys

import yaml


def make(path):
    hosts = [{"name": f"host{i}", "address": f"10.0.{i // 256}.{i % 256}", "roles": ["web", "db"], "weight": i % 9}
             for i in range(2500)]
    with open(path, "w", encoding="utf-8") as file:
        yaml.safe_dump({"hosts": hosts}, file)


def main(path):
    with open(path, encoding="utf-8") as file:
        configuration = yaml.safe_load(file)
    print(len(configuration["hosts"]), sum(host["weight"] for host in configuration["hosts"]))


if __name__ == "__main__":
    if sys.argv[2:] == ["make"]:
        make(sys.argv[1])
    else:
        main(sys.argv[1])
