"""Callbacks as torch 2.7 has them: with an argument that names what begins."""
import collections

CallbackArgs = collections.namedtuple("CallbackArgs", "callback_trigger compile_id")
Trigger = collections.namedtuple("Trigger", "name")
starts, ends = [], []


def on_compile_start(callback):
    starts.append(callback)
    return callback


def on_compile_end(callback):
    ends.append(callback)
    return callback


def run(callbacks, trigger, with_argument=True):
    for callback in callbacks:
        callback(*[CallbackArgs(Trigger(trigger), "0/0")] if with_argument else [])
