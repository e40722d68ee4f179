"""Collectives of PyTorch on gloo: the instances are those that the program made, by group, though PyTorch does not record groups."""
import collections
import os
import sys

sys.path.insert(0, os.path.join(os.environ["SOURCE"], "tests", "trace", "mpi"))
import rankslib  # noqa: E402
import lib  # noqa: E402

RANKS, STEPS = 3, 20


class Gloo(rankslib.Case):
    def test_groups(self):
        self.need_torch()
        folder = self.torchrun("none")
        rows = self.table(folder, "collective_trace")
        found = collections.Counter((row["Communicator"], row["Operation"], row["Ranks"]) for row in rows)
        self.assertEqual(found, {("gloo group 1", "gloo:all_reduce", RANKS): STEPS, ("gloo group 1", "gloo:barrier", RANKS): STEPS, ("gloo group 2", "gloo:all_reduce", 2): STEPS})
        for row in rows:
            self.assertEqual(row["Number"] % 2, row["Operation"] == "gloo:barrier", row) if row["Ranks"] == RANKS else None
        # All leave together, and nobody before the last one has come.
        events = collections.defaultdict(list)
        for rank, start, end in self.rows(folder, "SELECT rank, start, end FROM TACHO_TORCH_OP o JOIN StringIds s ON s.id = nameId WHERE s.value = 'gloo:barrier' ORDER BY start"):
            events[rank].append((start, end))
        total = 0
        for calls in zip(*events.values()):
            self.assertLess(max(start for start, _ in calls), min(end for _, end in calls) + 10_000)
            total += sum(end - start for start, end in calls)
        barriers = [row for row in self.table(folder, "collective_sum") if row["Operation"] == "gloo:barrier"]
        self.assertEqual([row["Total Time (ns)"] for row in barriers], [total])
        self.assertEqual({row["State"] for row in self.table(folder, "hang_sum")}, {"complete"})


if __name__ == "__main__":
    lib.main()
