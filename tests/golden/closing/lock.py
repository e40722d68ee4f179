"""Workers that wait for a lock, which is held while a reply is awaited."""
import threading
import time

lock = threading.Lock()
replies = []


def ask(number):
    with lock:
        time.sleep(0.15)
        replies.append(number)


workers = [threading.Thread(target=ask, args=(number,)) for number in range(6)]
for worker in workers:
    worker.start()
for worker in workers:
    worker.join()
print(len(replies))
