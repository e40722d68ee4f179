"""The lists that Dynamo keeps: the guards that failed, by function, and the breaks of graphs."""
import collections

guard_failures = collections.defaultdict(list)
graph_break_reasons = []
