"""Seeds for the fuzzer of traces: one event of each kind out of a real one, alone and together, plain and packed; and a
dictionary of the keys. kineto_seeds.py FOLDER writes FOLDER/* and FOLDER.dict."""

import gzip
import json
import os
import sys

HERE = os.path.dirname(os.path.abspath(__file__))


def main(folder):
    trace = json.loads(gzip.open(os.path.join(HERE, "..", "golden", "kineto", "train.json.gz")).read())
    kinds = {}
    for event in trace["traceEvents"]:
        kinds.setdefault((event["ph"], event.get("cat"), event["name"] if event["ph"] in "Mi" else ""), event)
    trace["traceEvents"] = list(kinds.values())
    keys = set()
    for number, event in enumerate(trace["traceEvents"]):
        keys |= set(event) | set(event.get("args", {}))
        with open(f"{folder}/{number}", "w") as out:
            json.dump({"traceEvents": [event, event]}, out)
    whole = json.dumps(trace, indent=1).encode()
    for name, content in {"whole": whole, "whole.gz": gzip.compress(whole), "list": json.dumps(trace["traceEvents"]).encode(), "cut": whole[:-700]}.items():
        with open(f"{folder}/{name}", "wb") as out:
            out.write(content)
    with open(f"{folder}.dict", "w") as out:
        for word in sorted(keys) + ["traceEvents", "NaN", "Infinity", "cpu_op", "kernel", "gpu_memcpy", "user_annotation", "python_function"]:
            out.write(f'"\\"{word}\\""\n')


main(sys.argv[1])
