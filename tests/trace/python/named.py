"""Threads with names, that wait until the file argv[1] exists. Prints {native id: name} of all but the main thread."""
import concurrent.futures
import json
import os
import sys
import threading
import time

end = threading.Event()
ready = threading.Barrier(8)


def park():
    ready.wait()
    end.wait()


class AttributesFirst(threading.Thread):
    def __init__(self, name):
        self.queue, self.size = [], 0
        super().__init__(name=name)

    def run(self):
        park()


threads = [threading.Thread(target=park, name=name) for name in ("loader-0", "naïve 線")] + [threading.Thread(target=park), AttributesFirst("attributes first")]
threads.append(threading.Thread(target=park, name="as a dictionary"))
vars(threads[-1])["more"] = True
for thread in threads:
    thread.start()
pool = concurrent.futures.ThreadPoolExecutor(2, thread_name_prefix="pool")
for _ in range(2):
    pool.submit(park)
ready.wait()
print(json.dumps({thread.native_id: thread.name for thread in threading.enumerate() if thread is not threading.main_thread()}), flush=True)
while not os.access(sys.argv[1], os.F_OK):
    time.sleep(0.01)
end.set()
pool.shutdown()
