"""The page of `tacho summary -o` in Chromium: it asks for nothing but itself, lays out its pictures, fits a wide and a narrow window, and prints."""

import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import threading

import lib

CHROMIUM = next((path for path in map(shutil.which, (os.environ.get("CHROMIUM", "chromium-headless-shell"), "chromium", "chromium-browser", "google-chrome")) if path), None)
if not CHROMIUM:
    print("skipped: Chromium is not installed")
    sys.exit(77)

# What a browser made of the page, in an attribute that --dump-dom prints. The script is added here: the page has none.
LOOK = """<script>
const shapes = [...document.querySelectorAll("svg rect, svg circle")].map((shape) => shape.getBoundingClientRect());
const unseen = [...document.querySelectorAll("td, th, h1, h2, figcaption")].filter((cell) => cell.scrollWidth > cell.clientWidth + 1 && cell.clientWidth);
document.documentElement.dataset.look = JSON.stringify({
  overflow: document.documentElement.scrollWidth - window.innerWidth, shapes: shapes.length,
  flat: shapes.filter((box) => box.width < 0 || box.height < 0 || box.right > window.innerWidth + 1).length, unseen: unseen.length,
  sections: [...document.querySelectorAll("section")].map((section) => section.getBoundingClientRect().height > 0),
  style: getComputedStyle(document.querySelector("section:nth-of-type(2)")).borderTopWidth, values: document.querySelectorAll("data").length });
</script>"""


class Server(http.server.BaseHTTPRequestHandler):
    asked, page = [], b""

    def do_GET(self):
        Server.asked.append(self.path)
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.end_headers()
        self.wfile.write(Server.page)

    def log_message(self, *_):
        pass


def browse(*options):
    """What chromium prints of the page."""
    words = [CHROMIUM, "--headless", "--no-sandbox", "--disable-gpu", "--disable-background-networking", f"--user-data-dir={os.path.abspath('profile')}", *options]
    return subprocess.run([*words, f"http://127.0.0.1:{server.server_port}/page.html"], capture_output=True, timeout=lib.PATIENCE).stdout.decode(errors="replace")


server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
threading.Thread(target=server.serve_forever, daemon=True).start()
text = lib.output("summary", "-o", "-", os.path.join(lib.KINETO, "train.json.gz"))
Server.page = text.replace("</body>", f"{LOOK}</body>").encode()
for width in (1200, 700):
    dom = browse(f"--window-size={width},900", "--dump-dom")
    look = re.search(r'data-look="([^"]*)"', dom)
    lib.check(f"{width}: the page was laid out", True, look is not None)
    if not look:
        continue
    look = json.loads(look.group(1).replace("&quot;", '"'))
    lib.check(f"{width}: nothing is wider than the window", (True, 0, 0), (look["overflow"] <= 0, look["flat"], look["unseen"]))
    lib.check(f"{width}: shapes", len(re.findall("<rect|<circle", text)), look["shapes"])
    lib.check(f"{width}: numbers", len(re.findall("<data ", text)), look["values"])
    lib.check(f"{width}: sections", [True] * len(re.findall("<section", text)), look["sections"])
    lib.check(f"{width}: the style holds", "1px", look["style"])
lib.check("nothing else was asked for", {"/page.html"}, set(Server.asked) - {"/favicon.ico"})

browse("--print-to-pdf=page.pdf", "--no-pdf-header-footer")
with open("page.pdf", "rb") as file:
    printed = file.read()
lib.check("it prints", (b"%PDF", True), (printed[:4], 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 10))
server.shutdown()
raise SystemExit(lib.status())
