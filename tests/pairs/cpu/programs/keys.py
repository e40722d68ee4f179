"""A client of memcached that sets and gets values with pipelining; it writes one request of 500 commands at a time."""
import socket
import time

for _ in range(300):
    try:
        server = socket.create_connection(("127.0.0.1", 8767))
        break
    except OSError:
        time.sleep(0.1)
reader = server.makefile("rb")
for turn in range(6):
    for first in range(0, 100_000, 500):
        keys = range(first, first + 500)
        sets = [b"set key%d 0 0 20 noreply\r\n%020d\r\n" % (k, k * turn) for k in keys]
        server.sendall(b"".join(sets + [b"get key%d\r\n" % k for k in keys]))
        for _ in keys:
            while reader.readline() != b"END\r\n":
                pass
