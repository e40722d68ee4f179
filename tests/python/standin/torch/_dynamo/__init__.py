"""Stands in for Dynamo: it says that it compiles, and runs the function as it is."""
from torch._dynamo import callback, convert_frame, utils
