"""What the timeline's server takes for its answers, and what packing them is worth: python3 bench/serve.py TACHO REPORT [REQUESTS [SEED]]

Tiles of all rows in sight at random places and levels, as somebody who moves around asks for them, each once plain and once packed
with gzip; then clicks on random events and searches. Times are those of a client on this machine, over one connection: a bare `about` of the same minute stands beside them."""

import http.client
import json
import os
import random
import re
import statistics
import subprocess
import sys
import time

IN_SIGHT = 30  # rows


class Client:
    def __init__(self, port, token):
        self.connection, self.token = http.client.HTTPConnection("127.0.0.1", port), token

    def ask(self, request, packed=False):
        """The body, and how long it took in ms."""
        begin = time.perf_counter()
        self.connection.request("GET", f"/api/{request}", headers={"X-Tacho-Token": self.token, "Accept-Encoding": "gzip" if packed else "identity"})
        answer = self.connection.getresponse()
        body = answer.read()
        if answer.status != 200:
            sys.exit(f"{request}: {body.decode()}")
        return body, (time.perf_counter() - begin) * 1000


def line(what, answers):
    sizes, times = [len(body) for body, _ in answers], sorted(taken for _, taken in answers)
    print(f"{what:24} {statistics.median(times):9.2f} {times[int(len(times) * 0.95)]:9.2f} {times[-1]:9.2f} {statistics.mean(sizes) / 1000:11.1f} {max(sizes) / 1000:11.1f}")


def tile_requests(client, count, chance):
    about, rows = json.loads(client.ask("about")[0]), json.loads(client.ask("rows")[0])["rows"]
    drawn = [row["id"] for row in rows if row["kind"] != "group"]
    highest = max(0, (about["to"] - about["from"]) // 1024).bit_length()
    for _ in range(count):
        first, level = chance.randrange(max(1, len(drawn) - IN_SIGHT)), chance.randint(0, highest)
        index = chance.randint(int(about["from"]), int(about["to"])) >> level + 10
        yield f"tile?rows={','.join(map(str, drawn[first:first + IN_SIGHT]))}&level={level}&index={index}"


def event_requests(client, count, chance):
    """Clicks: any event, each row as likely as another."""
    rows = [row for row in json.loads(client.ask("rows")[0])["rows"] if row["events"] and row["kind"] != "counter"]
    for _ in range(count):
        row = chance.choice(rows)
        yield f"event?row={row['id']}&event={chance.randrange(row['events'])}"


def clicks_and_searches(client, count, chance):
    """The first of each finds out what later ones need."""
    events = list(event_requests(client, count, chance))
    words = ["".join(chance.choice("aeionrtk") for _ in range(3)) for _ in range(50)]
    line("event, the first", [client.ask(events[0])])
    line("event", [client.ask(request) for request in events])
    line("find, the first", [client.ask("find?text=kernel")])
    line("find", [client.ask(f"find?text={word}") for word in words])
    line("find, regex", [client.ask(f"find?mode=regex&text={word[0]}.*{word[1]}.*{word[2]}") for word in words])
    line("next", [client.ask(f"next?text={word}&at={chance.randrange(10 ** 9)}") for word in words])


def main():
    tacho, report = sys.argv[1:3]
    count, seed = int(sys.argv[3]) if len(sys.argv) > 3 else 500, int(sys.argv[4]) if len(sys.argv) > 4 else 1
    begin = time.perf_counter()
    server = subprocess.Popen([tacho, "view", "--no-browser", report], stdout=subprocess.PIPE, text=True,
                              env={**os.environ, "SSH_CONNECTION": "as if from afar"})  # else pictures are not packed
    said = ""
    while "Ctrl-C" not in said:
        said += server.stdout.readline()
    print(f"ready after {time.perf_counter() - begin:.2f} s\n")
    port, token = re.search(r":(\d+)/\?token=(\w+)", said).groups()
    client = Client(int(port), token)
    requests = list(tile_requests(client, count, random.Random(seed)))
    print(f"{'answer':24} {'ms median':>9} {'95th':>9} {'worst':>9} {'kB mean':>11} {'kB largest':>11}")
    for packed, word in ((False, "plain"), (True, "gzip")):
        line(f"about, {word}", [client.ask("about", packed) for _ in range(50)])
        line(f"rows, {word}", [client.ask("rows", packed) for _ in range(5)])
        line(f"tile, {word}", [client.ask(request, packed) for request in requests])
        line(f"overview, {word}", [client.ask("overview?width=1400", packed) for _ in range(20)])
    clicks_and_searches(client, count, random.Random(seed))
    server.terminate()
    server.wait()


main()
