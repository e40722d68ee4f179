"""Calls of MPI from Python by mpi4py, with their ledger (mpi_ledger.h says what that is). For an even number of ranks."""
import array
import os

lines = []


def note(table, name, bytes=None, received=None, peer=None, tag=None, root=None, members="-"):
    lines.append("\t".join([table, name, *("-" if value is None else str(value) for value in (bytes, received, peer, tag, root)), members]))


from mpi4py import MPI  # noqa: E402: this calls MPI_Init_thread

comm = MPI.COMM_WORLD
rank, size = comm.rank, comm.size
world = ",".join(map(str, range(size)))
lines.append(f"rank\t{rank}\t{size}\t{world}")
partner = rank ^ 1
buffer, other = array.array("i", [rank] * 64), array.array("i", [0] * 64)


def ints(memory, count):
    return [memory, count, MPI.INT]


for turn in range(2):
    if rank % 2 == turn:
        comm.Send(ints(buffer, 5), partner, 1)
        note("p2p", "MPI_Send", 20, peer=partner, tag=1, members=world)
        comm.Ssend(ints(buffer, 6), partner, 2)
        note("p2p", "MPI_Ssend", 24, peer=partner, tag=2, members=world)
    else:
        comm.Recv(ints(other, 64), partner, 1)
        note("p2p", "MPI_Recv", 20, peer=partner, tag=1, members=world)
        comm.Recv(ints(other, 64), MPI.ANY_SOURCE, MPI.ANY_TAG)
        note("p2p", "MPI_Recv", 24, peer=partner, tag=2, members=world)
requests = [comm.Irecv(ints(other, 64), partner, 3), comm.Isend(ints(buffer, 7), partner, 3)]
note("p2p", "MPI_Irecv", 28, peer=partner, tag=3, members=world)
note("p2p", "MPI_Isend", 28, peer=partner, tag=3, members=world)
MPI.Request.Waitall(requests)
note("wait", "MPI_Waitall")
comm.Sendrecv(ints(buffer, 8), partner, 4, ints(other, 64), partner, 4)
note("p2p", "MPI_Sendrecv", 32, peer=partner, tag=4, members=world)
comm.Barrier()
note("collective", "MPI_Barrier", members=world)
comm.Bcast(ints(other, 9), 1)
note("collective", "MPI_Bcast", *((36, 0) if rank == 1 else (0, 36)), root=1, members=world)
comm.Allreduce(ints(buffer, 3), ints(other, 3), MPI.SUM)
note("collective", "MPI_Allreduce", 12, 12, members=world)
comm.Allreduce(MPI.IN_PLACE, ints(other, 4), MPI.SUM)
note("collective", "MPI_Allreduce", 16, 16, members=world)
half = comm.Split(rank % 2, rank)
note("other", "MPI_Comm_split")
half.Barrier()
note("collective", "MPI_Barrier", members=",".join(map(str, range(rank % 2, size, 2))))
half.Free()
note("other", "MPI_Comm_free")
MPI.Finalize()
note("other", "MPI_Finalize")
if "MPI_LEDGER" in os.environ:
    with open(f"{os.environ['MPI_LEDGER']}.{os.getpid()}", "w") as file:
        file.write("\n".join(lines) + "\n")
