"""Writes the stations that stations.cpp reads."""
import json
import sys

stations = [{"name": f"station {s}", "measurements": [
    {"time": f"2024-01-{m % 28 + 1:02}T00:00:00", "value": m * 0.5, "unit": "degrees"} for m in range(200)]} for s in range(500)]
with open(sys.argv[1], "w", encoding="utf-8") as file:
    json.dump(stations, file)
