"""Writes a stream for git fast-import: 400 commits that change lines of 60 files."""
import random
import sys

FILES, COMMITS, LINES = 60, 400, 1500
rng = random.Random(2)
texts = [[f"file {f} line {n} {rng.randrange(10**9)}" for n in range(LINES)] for f in range(FILES)]
out = sys.stdout
for commit in range(COMMITS):
    message = f"Change {commit}\n"
    out.write(f"commit refs/heads/main\ncommitter A <a@example.org> {1700000000 + commit * 60} +0000\n")
    out.write(f"data {len(message)}\n{message}\n")
    for f in rng.sample(range(FILES), 6) if commit else range(FILES):
        for _ in range(20):
            texts[f][rng.randrange(LINES)] = f"changed in {commit}: {rng.randrange(10**9)}"
        data = "\n".join(texts[f]) + "\n"
        out.write(f"M 100644 inline src/file{f:02}.c\ndata {len(data)}\n{data}\n")
