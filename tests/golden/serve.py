"""`tacho view` as its clients see it: who is answered and who is not, the page's files, notes, and clients that behave badly."""

import concurrent.futures
import gzip
import http.client
import json
import os
import re
import resource
import select
import signal
import socket
import sqlite3
import subprocess
import sys
import tempfile

from lib import HERE, PATIENCE, TACHO, Made, check, output, refusal, status, unpack

SECOND = 1_000_000_000
THREADS = 5000
NOTES = {"notes": [{"id": "1", "time": 5, "to": 9, "row": 2, "text": "\u05d0<b>", "colour": 3}]}


class Server:
    """A server on some free port, ended by a signal."""

    def __init__(self, file, *options, environment=None, descriptors=None):
        variables = {name: value for name, value in os.environ.items() if not name.startswith("SSH_") and "DISPLAY" not in name}
        limit = (lambda: resource.setrlimit(resource.RLIMIT_NOFILE, (descriptors, descriptors))) if descriptors else None
        self.process = subprocess.Popen([TACHO, "view", *options, file], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                        env={**variables, **(environment or {})}, preexec_fn=limit)
        self.said = ""
        for line in self.process.stdout:
            self.said += line
            if "Ctrl-C" in line:
                break
        found = re.search(r"http://(\S+):(\d+)/\?token=([0-9a-f]{32})\n", self.said)
        if not found:
            sys.exit(f"no address: {self.said} {self.process.communicate()}")
        self.host, self.port, self.token = found[1], int(found[2]), found[3]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        check("it ends in good order", 0, self.end(signal.SIGTERM)[0])

    def end(self, number):
        """Exit status, and what was said on stderr."""
        self.process.send_signal(number)
        return self.process.wait(300), self.process.communicate()[1]

    def ask(self, path, body=None, method=None, token=True, **headers):
        """Status, headers and body; a header of None is not sent."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=PATIENCE)
        connection.putrequest(method or ("POST" if body is not None else "GET"), path, skip_host=True, skip_accept_encoding=True)
        given = {"Host": f"localhost:{self.port}", "X-Tacho-Token": self.token if token is True else token}
        given.update({name.replace("_", "-"): value for name, value in headers.items()})
        for name, value in given.items():
            for one in value if isinstance(value, list) else [value]:
                if one:
                    connection.putheader(name, one)
        data = body.encode() if isinstance(body, str) else body
        if data is not None:
            connection.putheader("Content-Length", str(len(data)))
        connection.endheaders(data)
        answer = connection.getresponse()
        content = answer.read()
        connection.close()
        return answer.status, dict(answer.getheaders()), content

    def status(self, path, **how):
        return self.ask(path, **how)[0]

    def json(self, request, **how):
        code, _, content = self.ask(f"/api/{request}", **how)
        check(f"status of {request}", 200, code)
        return json.loads(content)

    def raw(self, data):
        """What comes back for these bytes before the server closes, or 64 KB of it."""
        with socket.create_connection(("127.0.0.1", self.port), timeout=PATIENCE) as client:
            try:
                client.sendall(data)
                client.shutdown(socket.SHUT_WR)
                got = b""
                while len(got) < 65536:
                    piece = client.recv(65536)
                    if not piece:
                        break
                    got += piece
            except OSError:  # it may close before all is sent
                return b""
        return got


def who_is_answered(server):
    check("with the token", 200, server.status("/api/about"))
    for what, token in (("without it", None), ("a wrong one", "0" * 32), ("a part of it", server.token[:31]), ("more", server.token + "0"),
                        ("upper case", server.token.upper() + "x"), ("two of them", [server.token, server.token])):
        check(what, 403, server.status("/api/about", token=token))
    check("the token in the address is for the page, not for the api", 403, server.status(f"/api/about?token={server.token}", token=None))
    for host in ("localhost", "localhost:1", "LOCALHOST:65535", "127.0.0.1", "127.0.0.1:8888", "[::1]", "[::1]:80"):
        check(f"Host {host}", 200, server.status("/api/about", Host=host))
    for host in ("evil.example", "localhost.evil.example", "evil.example:7878", "127.0.0.1.evil.example", "localhost:x", "[::1", "::1", "10.0.0.1", "[::2]",
                 "localhost@evil.example", None, ["localhost", "evil.example"]):
        check(f"Host {host}", 403, server.status("/api/about", Host=host))
        check(f"a file for Host {host}", 403, server.status("/", Host=host))
    for origin, expected in (("http://localhost:1", 200), ("https://localhost", 200), ("http://127.0.0.1:9", 200), ("http://[::1]:9", 200), ("http://evil.example", 403),
                             ("null", 403), ("http://evil.example:7878", 403), ("file://", 403), ("http://localhost.evil.example", 403), ("localhost", 403)):
        check(f"Origin {origin}", expected, server.status("/api/about", Origin=origin))
    check("the same for notes", 403, server.status("/api/notes", body=json.dumps(NOTES), Origin="http://evil.example"))
    for method in ("PUT", "DELETE", "OPTIONS", "HEAD"):
        check(f"{method} of the api", 405, server.status("/api/about", method=method))
    check("POST of a file", 405, server.status("/", body="x"))


def every_header(headers):
    policy = headers.get("Content-Security-Policy", "")
    check("nothing is allowed unless it is named", True, policy.startswith("default-src 'none'; script-src 'self' 'wasm-unsafe-eval';"))
    check("nothing inline, nothing of strangers", [], [word for word in ("unsafe-inline", "'unsafe-eval'", "http:", "https:", "*") if word in policy])
    for name, value in (("X-Content-Type-Options", "nosniff"), ("Referrer-Policy", "no-referrer"), ("Cross-Origin-Resource-Policy", "same-origin")):
        check(name, value, headers.get(name))
    check("no other page may read it", None, headers.get("Access-Control-Allow-Origin"))


def files(server, page):
    for name, kind in (("index.html", "text/html; charset=utf-8"), ("page.js", "text/javascript; charset=utf-8"), ("page.css", "text/css; charset=utf-8"), ("tacho.wasm", "application/wasm")):
        code, headers, content = server.ask(f"/{name}", token=None)
        check(f"/{name}", (200, kind, page[name]), (code, headers["Content-Type"], content))
        every_header(headers)
        check(f"/{name} is there already", (304, b""), server.ask(f"/{name}", If_None_Match=headers["ETag"])[::2])
        code, headers, content = server.ask(f"/{name}", Accept_Encoding="gzip, deflate, br")
        plain = gzip.decompress(content) if headers.get("Content-Encoding") == "gzip" else content
        check(f"/{name} packed", (200, page[name]), (code, plain))
        code, headers, content = server.ask(f"/{name}", method="HEAD")
        check(f"HEAD of /{name}", (200, str(len(page[name])), b""), (code, headers["Content-Length"], content))
    check("a large one is packed", "gzip", server.ask("/page.js", Accept_Encoding="gzip")[1].get("Content-Encoding"))
    check("not for one who refuses", None, server.ask("/page.js", Accept_Encoding="gzip;q=0")[1].get("Content-Encoding"))
    check("the address as it is printed", page["index.html"], server.ask(f"/?token={server.token}", token=None)[2])
    for path in ("/../../../../etc/passwd", "/..%2f..%2fetc%2fpasswd", "/%2e%2e/secret.js", "/./index.html", "/page/../index.html", "/secret.js/", "/index.html/",
                 "/folder.js", "/other.txt", "/index.html%00.js", "/api", "/INDEX.HTML"):
        check(path, 404, server.status(path, token=None))


def notes(server, path):
    check("none at first", {"notes": []}, server.json("notes"))
    check("they are kept", NOTES, server.json("notes", body=json.dumps(NOTES)))
    check("for the next one who asks", NOTES, server.json("notes"))
    with open(path) as file:
        check("beside the report", NOTES, json.load(file))
    for bad in ("", "[]", "{}", '{"notes"}', '{"notes": "x"}', '{"notes" []}', '{"notes": [', '{"notes": []} x', '{"other": []}', b'{"notes": ["\xff"]}', '{"notes": ["a"b"]}', '{"notes": ' + "[" * 40 + "]" * 40 + "}"):
        check(f"{bad!r} is refused", 400, server.status("/api/notes", body=bad))
    check("so is what is too much", 400, server.status("/api/notes", body='{"notes": ["' + "x" * (1 << 20) + '"]}'))
    check("and the old ones stay", NOTES, server.json("notes"))
    check("nothing else is left there", [os.path.basename(path)], [name for name in os.listdir(os.path.dirname(path)) if "notes" in name])
    with open(path, "w") as file:
        file.write("a list of my own")
    check("a file that is not ours is not shown", 500, server.status("/api/notes"))
    check("nor replaced", 500, server.status("/api/notes", body=json.dumps(NOTES)))
    with open(path) as file:
        check("it is as it was", "a list of my own", file.read())
    os.unlink(path)
    os.rename(os.path.dirname(path), "elsewhere")
    code, _, content = server.ask("/api/notes", body=json.dumps(NOTES))
    check("where they cannot be written, a sentence says so", (500, True), (code, "cannot save notes" in json.loads(content)["error"]))
    os.rename("elsewhere", os.path.dirname(path))


def bodies_before_the_token(server):
    """Only a connection on which the token was shown may send more than a little."""
    post = b"POST /api/sql HTTP/1.1\r\nHost: localhost\r\n"
    chunks = lambda count: b"Transfer-Encoding: chunked\r\n\r\n" + (b"400\r\n" + b" " * 0x400 + b"\r\n") * count + b"9\r\nSELECT 42\r\n0\r\n\r\n"
    for token in (b"", b"X-Tacho-Token: " + b"0" * len(server.token) + b"\r\n"):
        check("a large body is refused before it comes", b"HTTP/1.1 413", server.raw(post + token + b"Content-Length: 100000\r\n\r\n")[:12])
        check("a small one when it is there", b"HTTP/1.1 403", server.raw(post + token + b"Content-Length: 8\r\n\r\nSELECT 1")[:12])
        check("chunks while they are few", [True, False], [b" 403 " in server.raw(post + token + chunks(count))[:20] for count in (2, 200)])
    known = f"x-tacho-token:{server.token}\r\n".encode()
    statement = b"SELECT 42" + b" " * 100_000
    head = post + known + b"Content-Length: %d\r\n\r\n" % len(statement)
    for what, pieces in (("chunks", [post + known + chunks(200)]), ("a body", [head + statement]),
                         ("a body whose headers come byte by byte", [*(bytes([byte]) for byte in head), statement])):
        with socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as client:
            client.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            for piece in pieces:
                client.sendall(piece)
            check(f"with the token {what}", b"HTTP/1.1 200", client.recv(12))


def bad_clients(server):
    good = f"Host: localhost\r\nX-Tacho-Token: {server.token}\r\n\r\n".encode()
    for what, data in (("noise", bytes(range(256)) * 16), ("no version", b"GET /\r\n\r\n"), ("an empty line", b"\r\n\r\n"), ("a long line", b"GET /" + b"x" * 200_000 + b" HTTP/1.1\r\n" + good),
                       ("a long header", b"GET / HTTP/1.1\r\nX: " + b"x" * 200_000 + b"\r\n" + good), ("many headers", b"GET / HTTP/1.1\r\n" + b"X: y\r\n" * 50_000 + good),
                       ("another server's address", b"GET http://evil.example/api/about HTTP/1.1\r\n" + good), ("no path", b"GET * HTTP/1.1\r\n" + good), ("two slashes", b"GET //etc/passwd HTTP/1.1\r\n" + good),
                       ("a tunnel", b"CONNECT evil.example:443 HTTP/1.1\r\n" + good), ("half a body", b"POST /api/sql HTTP/1.1\r\nContent-Length: 50\r\n" + good + b"SELECT"),
                       ("a negative length", b"POST /api/sql HTTP/1.1\r\nContent-Length: -1\r\n" + good), ("a body too large", b"POST /api/sql HTTP/1.1\r\nContent-Length: 9000000\r\n" + good + b"x" * 9_000_000),
                       ("a length too large", b"POST /api/sql HTTP/1.1\r\nContent-Length: 99999999999\r\n" + good)):
        check(f"{what}: no success", False, b" 200 " in server.raw(data)[:20])
        check(f"after {what} others are answered", 200, server.status("/api/about"))
    check("more than any body may have is refused before it comes", b"HTTP/1.1 413", server.raw(b"POST /api/sql HTTP/1.1\r\nContent-Length: 3000000\r\n" + good)[:12])
    bodies_before_the_token(server)
    check("many at once", {200}, set(concurrent.futures.ThreadPoolExecutor(16).map(lambda _: server.status("/api/rows"), range(64))))
    slow = [socket.create_connection(("127.0.0.1", server.port)) for _ in range(200)]
    for client in slow:
        client.sendall(b"GET /api/about HTTP/1.1\r\nHost: local")
    check("beside two hundred that never finish asking", 200, server.status("/api/about"))
    for client in slow:
        client.close()
    for _ in range(20):
        with socket.create_connection(("127.0.0.1", server.port)) as client:
            client.sendall(b"GET /api/rows HTTP/1.1\r\n" + good)
            client.recv(1)
            client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")  # a reset in the middle of the answer
    check("after twenty that went away", 200, server.status("/api/about"))


def requests(server):
    check("what there is not", 404, server.status("/api/nothing"))
    check("what makes no sense", 400, server.status("/api/tile?rows=x&level=3&index=0"))
    check("with a sentence", True, json.loads(server.ask("/api/nothing")[2])["error"] != "")
    code, headers, content = server.ask("/api/about")
    every_header(headers)
    check("answers are not kept", "no-store", headers["Cache-Control"])
    check("SQL is the body", [[42]], server.json("sql", body="SELECT 6 * 7 AS answer")["rows"])
    rows = server.ask("/api/rows", Accept_Encoding="gzip")
    check("pictures do not", None, server.ask("/api/overview?width=4000", Accept_Encoding="gzip")[1].get("Content-Encoding"))
    check("rows come packed, and are the same", ("gzip", server.ask("/api/rows")[2]), (rows[1].get("Content-Encoding"), gzip.decompress(rows[2])))


def make_page(folder):
    page = {"index.html": b"<!doctype html><title>T</title>", "page.js": b"let a = 1;\n" * 1000, "page.css": b"b {}", "tacho.wasm": b"\0asm"}
    os.mkdir(folder)
    for name, content in {**page, "other.txt": b"x"}.items():
        with open(os.path.join(folder, name), "wb") as file:
            file.write(content)
    with open("secret.js", "w") as file:
        file.write("secret")
    return page


def cpu_ticks(pid):
    with open(f"/proc/{pid}/stat") as file:
        return int(file.read().rpartition(")")[2].split()[11])


def ask_without_end(server):
    """A connection on which a statement was sent that never has a result."""
    body = b"WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n) SELECT sum(i) FROM n"
    client = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
    client.sendall(f"POST /api/sql HTTP/1.1\r\nHost: localhost\r\nX-Tacho-Token: {server.token}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    return client


def wait_until_busy(server, before):
    while cpu_ticks(server.process.pid) < before + 20:
        pass


def is_answered(client):
    return select.select([client], [], [], 0)[0] != []


def long_requests(file):
    """While one request takes for ever, all others are answered; those whose client has gone are called off."""
    with Server(file) as server:
        rows = server.json("rows")["rows"]
        row = next(row for row in rows if row["events"] > 2 and row["kind"] == "slices")
        event = f"event?row={row['id']}&event=1"
        others = (f"tile?rows={row['id']}&level=20&index=0", event, "find?text=a", "next?text=a", "table?report=nvtx_sum", "flame?source=events&row=%d" % row["id"],
                  "advice", "overview?width=100", "about", f"at?row={row['id']}&time=0&lane=0", "rows", "notes")
        quiet = [server.ask(f"/api/{request}")[::2] for request in others]
        before = cpu_ticks(server.process.pid)
        with ask_without_end(server) as endless:
            wait_until_busy(server, before)
            tile = server.ask(f"/api/{others[0]}")[::2]
            check("a tile comes before the statement that was sent before it", (quiet[0], False), (tile, is_answered(endless)))
        before = cpu_ticks(server.process.pid)
        waiting = [ask_without_end(server) for _ in range(30)]  # one after the other they would take five minutes
        with concurrent.futures.ThreadPoolExecutor(len(others)) as asking:
            check("everything else is answered side by side, as if it were alone", quiet, list(asking.map(lambda request: server.ask(f"/api/{request}")[::2], others)))
        for client in waiting:
            client.close()
        check("statements that nobody waits for are called off", [[42]], server.json("sql", body="SELECT 6 * 7")["rows"])
        with ask_without_end(server) as half, socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE) as other:
            half.sendall(b"GET /api/about HTTP/1.1\r\n")  # the next request while the answer is due is no end
            other.sendall(b"GET /api/about HTTP/1.1\r\n")
            check("clients that send on do no harm", 200, server.status("/api/about"))


def end_amid_an_answer(file):
    server = Server(file)
    before = cpu_ticks(server.process.pid)
    with ask_without_end(server) as client, ask_without_end(server):
        wait_until_busy(server, before)
        check("SIGTERM ends it amid an answer", 0, server.end(signal.SIGTERM)[0])
        check("which nobody gets", b"", client.recv(1))


def statements_that_search(file):
    """One call of a function cannot be interrupted: none takes long, whatever it is given, and all give what SQLite gives."""
    theirs = sqlite3.connect(":memory:")
    texts = ["'abcabc'", "'c'", "''", "'été'", "'é'", "'t'", "x'c3a9'", "x'a9'", "x'c3'", "x'c3c3a9'", "x''", "12345", "34", "NULL", "'  a b  '", "' '", "'אבא'"]
    calls = [f"{name}({a}, {b})" for name in ("instr", "trim", "ltrim", "rtrim") for a in texts for b in texts]
    # Whether a number in which nothing is to be replaced stays one differs between releases of SQLite: the text counts.
    calls += [f"CAST(replace({a}, {b}, {c}) AS TEXT)" for a in texts for b in texts for c in ("''", "'xy'", "'é'", "NULL", "7")]
    with Server(file) as server:
        for first in range(0, len(calls), 500):
            part = calls[first : first + 500]
            ours = server.json("sql", body="SELECT " + ", ".join(f"typeof({call}), hex({call})" for call in part))["rows"][0]
            expected = list(theirs.execute("SELECT " + ", ".join(f"typeof({call}), hex({call})" for call in part)).fetchone())
            check("calls that differ from SQLite's", [], [(call, expected[2 * i : 2 * i + 2], ours[2 * i : 2 * i + 2]) for i, call in enumerate(part)
                                                         if expected[2 * i : 2 * i + 2] != ours[2 * i : 2 * i + 2]])
        many = "printf('%.*c', 4000000, 'a')"
        half = "printf('%.*c', 2000000, 'a') || 'b'"
        check("a long search", [[0]], server.json("sql", body=f"SELECT instr({many}, {half})")["rows"])
        check("a long replacement", [[4000000]], server.json("sql", body=f"SELECT length(replace({many}, {half}, ''))")["rows"])
        same_lead = "".join(chr(0x4e00 + i) for i in range(256))  # 256 characters, the most that are allowed; the one that fits is the last
        texts_of_4_mb = 1 if os.environ.get("SANITIZE") else 16  # a sanitizer looks at each byte
        trims = " + ".join(f"length(trim(replace(printf('%.*c', 1300000, 'a'), 'a', '{same_lead[-1]}'), '{same_lead}'))" for _ in range(texts_of_4_mb))
        check("texts of 4 MB trimmed within the limit of a statement", [[0]], server.json("sql", body=f"SELECT {trims}")["rows"])
        check("too many characters to trim", 400, server.status("/api/sql", body=f"SELECT trim({many}, {half})"))
        check("too long a pattern", 400, server.status("/api/sql", body=f"SELECT {many} LIKE '%{'a' * 1000}b'"))
        check("a function that compares all with all", 400, server.status("/api/sql", body="SELECT json_patch('{}', '{}')"))


def slow_readers(file):
    """Answers that nobody takes do not pile up: beyond a quarter of a gigabyte the next one is refused, until they are gone."""
    body = ("WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 1000) SELECT printf('%.*c', 60000, 'a') FROM n").encode()
    ask = lambda server: (f"POST /api/sql HTTP/1.1\r\nHost: localhost\r\nX-Tacho-Token: {server.token}\r\nContent-Length: {len(body)}\r\n\r\n".encode() + body)
    with Server(file) as server:
        clients, codes = [], []
        for _ in range(40):
            client = socket.create_connection(("127.0.0.1", server.port), timeout=PATIENCE)
            client.sendall(ask(server))
            clients.append(client)
            codes.append(client.recv(12).decode())
            if codes[-1] == "HTTP/1.1 400":  # with a sanitizer the statement may take longer than it is allowed to
                codes.pop()
            if len(codes) == 8:
                break
        check("four answers of 60 MB wait, the others are refused", ["HTTP/1.1 200"] * 4 + ["HTTP/1.1 503"] * 4, codes)
        check("small ones are still answered", 200, server.status("/api/about"))
        for client in clients:
            client.close()
        for _ in range(60):  # the server notices one by one that they have gone
            code = server.status("/api/sql", body=body)
            if code == 200:
                break
        check("when they have gone there is room again", 200, code)


def made_reports():
    """Five thousand threads; nothing at all; and one whose writer was killed."""
    made = Made("threads.sqlite")
    for thread in range(THREADS):
        made.add("OSRT_API", start=thread, end=thread + 10, eventClass=27, globalTid=1 << 48 | 7 << 24 | 1000 + thread, nameId=made.text("poll"), returnValue=0, callchainId=0)
    made.write()
    Made("empty.sqlite").write()
    output("import", "-q", "threads.sqlite")
    with open("threads.tacho", "rb") as whole, open("growing.tacho", "wb") as part:
        part.write(whole.read()[:-100])


def many_threads():
    with Server("threads.tacho") as server:
        got = server.json("rows")["rows"]
        check("a row for each of 5,000 threads", THREADS, sum(row["type"] == "osrt" for row in got))
    with Server("growing.tacho") as server:
        check("an unfinished report opens", True, len(server.json("rows")["rows"]) > 0)
    with Server("empty.sqlite") as server:
        check("an empty report opens", (0, []), (server.json("about")["events"], server.json("rows")["rows"]))
    with Server("threads.tacho", descriptors=48) as server:
        clients = []
        while len(clients) < 100:  # more than it may have; those that it cannot take wait in line
            clients.append(socket.create_connection(("127.0.0.1", server.port)))
        for client in clients:
            client.close()
        check("when there were no descriptors left", 200, server.status("/api/about"))


def command_line(file):
    with Server(file, environment={"SSH_CONNECTION": "10.0.0.1 5 10.0.0.2 22", "DISPLAY": ":1", "BROWSER": "false"}) as server:
        check("under ssh the way to it", True, f"ssh -L {server.port}:localhost:{server.port} " in server.said)
        check("and pictures are packed", "gzip", server.ask("/api/overview?width=4000", Accept_Encoding="gzip")[1].get("Content-Encoding"))
        check("a port that is in use", True, f"port {server.port}: it is in use" in refusal("view", "--port", str(server.port), file))
    os.mkfifo("opened")
    with open("browser", "w") as script:
        script.write('#!/bin/sh\necho "$1" >opened\n')
    os.chmod("browser", 0o755)
    with Server(file, environment={"DISPLAY": ":1", "BROWSER": os.path.abspath("browser")}) as server, open("opened") as opened:
        check("with a display the browser is started", f"http://localhost:{server.port}/?token={server.token}\n", opened.read())
    with Server(file, "--allow-host", "hub.example") as server:
        check("--allow-host", [200, 200, 403], [server.status("/api/about", Host=host, Origin=f"https://{host}") for host in ("hub.example", "HUB.example:8443", "hub.example.evil")])
    server = Server(file, "--host", "127.0.0.1")
    check("--host", ("127.0.0.1", 200, 200, 403), (server.host, *(server.status("/api/about", Host=host) for host in ("127.0.0.1", "10.1.2.3", "evil.example"))))
    check("comes with a warning", True, "not encrypted" in server.end(signal.SIGINT)[1])
    for number in (signal.SIGINT, signal.SIGTERM):
        check(f"{number.name} ends it", 0, Server(file).end(number)[0])
    server = Server(file, environment={"TACHO_PAGE": "/nonexistent"})
    check("without the page the api answers", 200, server.status("/api/about"))
    check("and what is missing is said", (404, True, True), (server.status("/"), b"built without" in server.ask("/")[2], "built without" in server.end(signal.SIGTERM)[1]))
    with Server(file, "--port=0") as server, Server(file, "--port=0") as other:
        check("--port=0 is any that is free", (True, 200, 200), (7878 not in (server.port, other.port) and server.port != other.port, server.status("/api/about"), other.status("/api/about")))
    check("no port", [True] * 3, ["65535" in refusal("view", f"--port={port}", file) for port in ("65536", "-1", "http")])
    check("no address", True, "0.0.0.0" in refusal("view", "--host=localhost", file))
    check("no file", True, "no file given" in refusal("view"))
    check("none of that name", True, "nonesuch" in refusal("view", "nonesuch.tacho"))


def main():
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        os.mkdir("reports")
        file = os.path.join("reports", "mix.sqlite")
        unpack(os.path.join(HERE, "nsys", "mix.sqlite.gz"), file)
        page = make_page("page")
        with Server(file, environment={"TACHO_PAGE": os.path.abspath("page")}) as server:
            who_is_answered(server)
            files(server, page)
            notes(server, file + ".notes.json")
            requests(server)
            bad_clients(server)
            check("all the time it was one server", None, server.process.poll())
        long_requests(file)
        end_amid_an_answer(file)
        if os.environ.get("SANITIZE") != "thread":  # the work of one thread, which takes minutes there
            statements_that_search(file)
        slow_readers(file)
        made_reports()
        many_threads()
        command_line(file)
        os.chdir("/")
    return status()


sys.exit(main())
