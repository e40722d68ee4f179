"""Four threads prepare records and send them one after the other over one connection."""
import hashlib
import threading
import time

RECORDS = 120
lock = threading.Lock()
numbers = iter(range(RECORDS))
sent = {}


def send(data):
    """Stands for a device that takes 30 ms for each record, whatever its size."""
    time.sleep(0.03)
    return hashlib.sha256(data).hexdigest()


def prepare(number):
    return b"record %d " % number * 1000


def worker():
    while True:
        with lock:
            number = next(numbers, None)
            if number is None:
                return
            data = prepare(number)
            sent[number] = send(data)


def main():
    threads = [threading.Thread(target=worker) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    total = sum(int(sent[number][:8], 16) for number in sorted(sent))
    print(len(sent), "records sent", total)


if __name__ == "__main__":
    main()
