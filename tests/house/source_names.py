"""The core of the agent and of the collector knows no source: their files name none, in code or in comments."""

import os
import re
import unittest

SOURCE = os.environ["SOURCE"]
FOLDERS = ["agent/core", "collect/core", "collect/process", "collect/capture"]
NAMES = re.compile(r"nvtx|osrt|cuda|cupti|cublas|cudnn|nccl|wire_librar|\bmpi|openmp|openacc|\bucx|oshmem|torch|python|perf_|perf events|\bperf\b|\bsched_|schedstat|kineto|wire_step|step_mark|wire_heap|heap_", re.IGNORECASE)


class SourceNames(unittest.TestCase):
    def test_core_folders_name_no_source(self):
        found, files = [], 0
        for folder in FOLDERS:
            path = os.path.join(SOURCE, "src", folder)
            for name in sorted(os.listdir(path)):
                if not name.endswith((".c", ".h")):
                    continue
                files += 1
                with open(os.path.join(path, name)) as text:
                    found += [f"src/{folder}/{name}:{number}: {line.strip()}" for number, line in enumerate(text, 1) if NAMES.search(line)]
        self.assertGreater(files, 40)
        self.assertEqual(found, [])


if __name__ == "__main__":
    unittest.main()
