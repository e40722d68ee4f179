"""What PyTorch's own torch.profiler._pattern_matcher finds in programs of this folder, and whether Tacho finds it too:

    python3 patterns.py waits LossItem      run the faulty program under torch.profiler, and print what each pattern matches as JSON

run.py asks for the programs of PATTERNS, each of which has what a pattern looks for, and compares the findings on their captures."""

import importlib
import json
import os
import re
import sys

STEPS = 4  # the matcher needs stacks and shapes, which make millions of events of a long run

# A pattern of the matcher: the module and pair that has it, and the rules of ours that may name it.
PATTERNS = {
    "ExtraCUDACopyPattern": ("copies", "MadeOnCpu", ("copies",)),
    "ForLoopIndexingPattern": ("kernels", "LoopOverSlices", ("slice_loops",)),
    "FP32MatMulPattern": ("kernels", "Tf32Off", ("tensor_cores",)),
    "OptimizerSingleTensorPattern": ("kernels", "AdamByTensor", ("unfused_optimizer",)),
    "SynchronizedDataLoaderPattern": ("loaders", "NoWorkers", ("data_loader",)),
    "GradNotSetToNonePattern": ("kernels", "GradientsToZero", ("unfused_optimizer",)),
    "Conv2dBiasFollowedByBatchNorm2dPattern": ("kernels", "BiasBeforeNorm", ("bias_before_norm",)),
    "MatMulDimInFP16Pattern": ("kernels", "OddSizes", ("tensor_cores",)),
}


def matches(prof):
    """{pattern: ["file.py:line", …]}. A pattern that skips itself because PyTorch was also built for GPUs without TF32 is asked all the same."""
    try:
        from torch.profiler import _pattern_matcher
    except ImportError:
        sys.exit(f"PyTorch {sys.modules['torch'].__version__} has no pattern matcher; 2.11 has one")
    found = {}
    for name in PATTERNS:
        pattern = getattr(_pattern_matcher, name)(prof)
        events = [event for event in pattern.eventTreeTraversal() if pattern.match(event)]
        if events:
            found[name] = sorted({place(_pattern_matcher.source_code_location(event)) for event in events})
    return found


def place(location):
    """The file without its folder, and the line."""
    match = re.search(r"([^/\\]+):(\d+)$", location)
    return match[0] if match else location


def main(module, name):
    import pair
    from torch.profiler import ProfilerActivity, profile
    kind = pair.pairs_of(importlib.import_module(module))[name]
    pair.timed(kind(False), pair.LEAD, 2)  # allocates and compiles
    with profile(activities=[ProfilerActivity.CPU, ProfilerActivity.CUDA], record_shapes=True, with_stack=True, profile_memory=True) as prof:
        kind(False).train(pair.Steps(STEPS, 1))
    print(json.dumps(matches(prof)))


def same(pattern, known, causes):
    """The rank and the finding of ours about what a pattern matched: by one of its rules, on a line of the fault. (None, None): there is none."""
    import compare
    rules = PATTERNS[pattern][2]
    return next(((rank, cause) for rank, cause in enumerate(causes, 1) if cause["rule"] in rules and compare.is_on_line(cause, known)), (None, None))


if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
    main(*sys.argv[1:])
