"""Where Dynamo compiles a function."""
import collections
import time

from torch._dynamo import callback, utils

GraphCompileReason = collections.namedtuple("GraphCompileReason", "reason user_stack")
Frame = collections.namedtuple("Frame", "name filename lineno")


def _compile(code, failed, breaks, with_argument):
    if failed:
        utils.guard_failures[code].append(failed)
    callback.run(callback.starts, "DYNAMO", with_argument)
    time.sleep(0.002)
    for reason, line in breaks:
        utils.graph_break_reasons.append(GraphCompileReason(reason, [Frame("main", "train.py", 1), Frame(code.co_name, code.co_filename, line)]))
    callback.run(callback.ends, "DYNAMO", with_argument)


def compile_function(function, failed=None, breaks=(), with_argument=True):
    _compile(function.__code__, failed, breaks, with_argument)


def other(trigger):
    callback.run(callback.starts, trigger)
    callback.run(callback.ends, trigger)
