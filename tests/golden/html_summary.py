"""`tacho summary -o FILE`: the page is well formed, accessible and fetches nothing; its figures are those of the reports; its pictures are to scale."""

import html.parser
import math
import os
import re
import shutil
import xml.etree.ElementTree

import lib

VOID = {"meta", "link", "br", "hr", "img", "input"}
UNITS = {"ns": 1, "µs": 1e3, "ms": 1e6, "s": 1e9, "B": 1, "kB": 1e3, "MB": 1e6, "GB": 1e9, "%": 1}
REPORTS = {"GPUs": "cuda_gpu_busy", "Why GPUs were idle": "gpu_idle_sum", "What threads waited for": "thread_wait_sum", "Of the wall time, by function": "wall_sum",
           "Kernels that multiply matrices": "tensor_core_sum",
           "Samples of GPU metrics": "gpu_metrics_sum",
           "Operators by class and type": "roofline", "Operators of PyTorch": "torch_op_sum", "Kernels": "cuda_gpu_kern_sum", "Functions": "cpu_sample_sum",
           "Calls of the operating system": "osrt_sum", "Allocations in use at the peak": "torch_memory_peak", "Copies and fills": "cuda_gpu_mem_time_sum"}


class Element:
    def __init__(self, tag, attributes):
        self.tag, self.attributes, self.children = tag, dict(attributes), []

    def all(self, tag, **attributes):
        """The elements below with this tag and these attributes, in their order."""
        found = []
        for child in self.children:
            if isinstance(child, Element):
                if child.tag == tag and all(child.attributes.get(key.rstrip("_")) == value for key, value in attributes.items()):
                    found.append(child)
                found += child.all(tag, **attributes)
        return found

    def text(self):
        return "".join(child if isinstance(child, str) else child.text() for child in self.children)


class Page(html.parser.HTMLParser):
    """A parser that forgives nothing: each element is closed in its turn."""

    def __init__(self, name, text):
        super().__init__(convert_charrefs=True)
        self.name, self.root = name, Element("", [])
        self.open = [self.root]
        self.feed(text)
        self.close()
        lib.check(f"{name}: elements left open", [""], [element.tag for element in self.open])

    def handle_starttag(self, tag, attributes):
        lib.check(f"{self.name}: attributes of <{tag}>", len(attributes), len(dict(attributes)))
        element = Element(tag, attributes)
        self.open[-1].children.append(element)
        if tag not in VOID:
            self.open.append(element)

    def handle_startendtag(self, tag, attributes):
        self.open[-1].children.append(Element(tag, attributes))

    def handle_endtag(self, tag):
        lib.check(f"{self.name}: what </{tag}> closes", tag, self.open[-1].tag)
        if len(self.open) > 1:
            self.open.pop()

    def handle_data(self, data):
        self.open[-1].children.append(data)


def check_form(name, text, page):
    """Nothing is fetched or run; what is not text has a text."""
    style = page.root.all("style")[0].text()
    lib.check(f"{name}: nothing to fetch or run", [], re.findall(r"https?://|\bsrc=|\bhref=|url\(|@import|<script|\son\w+=|<link|<iframe|<object", text))
    lib.check(f"{name}: dark, print", (True, True), ("prefers-color-scheme: dark" in style, "@media print" in style))
    lib.check(f"{name}: language", "en", page.root.all("html")[0].attributes.get("lang"))
    lib.check(f"{name}: one h1, one main", (1, 1), (len(page.root.all("h1")), len(page.root.all("main"))))
    ids = [element.attributes["id"] for tag in ("section", "h2") for element in page.root.all(tag) if "id" in element.attributes]
    lib.check(f"{name}: ids", len(ids), len(set(ids)))
    for section in page.root.all("section"):
        labelled = section.attributes.get("aria-labelledby")
        lib.check(f"{name}: the name of section {section.attributes['id']}", True, labelled in ids or "aria-label" in section.attributes)
    for header in page.root.all("th"):
        lib.check(f"{name}: scope of {header.text()}", True, header.attributes.get("scope") in ("col", "row"))
    for picture in re.findall(r"<svg.*?</svg>", text, re.S):
        tree = xml.etree.ElementTree.fromstring(picture)
        lib.check(f"{name}: a picture has a title and a role", ("title", "img"), (tree[0].tag, tree.get("role")))
        for shape in tree.iter():
            numbers = [float(shape.get(key, 0)) for key in ("x", "y", "width", "height", "cx", "cy", "r", "x1", "x2", "y1", "y2")]
            lib.check(f"{name}: {shape.tag} within the picture {numbers}", True, all(-1 <= number <= 1001 for number in numbers))


def check_number(name, element):
    """The text of a number is its value, rounded."""
    value, text = float(element.attributes["value"]), element.text().strip().replace(",", "")
    digits, _, unit = text.partition(" ")
    if unit not in UNITS and unit:
        return  # "2 h 05 min"
    shown = float(digits) * UNITS.get(unit, 1)
    decimals = len(digits.partition(".")[2])
    lib.check(f"{name}: {text} of {value}", True, abs(shown - value) <= 0.5001 * 10 ** -decimals * UNITS.get(unit, 1) + 1e-9)


def without_unit(row):
    return {re.sub(r" \((ns|%|B|MB)\)$", "", key): value for key, value in row.items()}


def check_table(name, table, file, options):
    caption = table.all("caption")[0].text()
    headings = [header.text() for header in table.all("thead")[0].all("th")]
    report = "python_sample_sum" if caption == "Python functions" else REPORTS[caption]
    rows = [without_unit(row) for row in lib.table(report, file, *(options if report == "roofline" else ()))]
    if caption == "Kernels that multiply matrices":
        rows = [row for row in rows if row["Product"] == "yes"]
    shown = table.all("tbody")[0].all("tr")
    lib.check(f"{name}: rows of {caption}", min(len(rows), 10), len(shown))
    for row, line in zip(rows, shown):
        for heading, cell in zip(headings, line.all("td")):
            expected = row[heading if heading in row else "Time"]  # a share of the time is headed so
            if cell.all("data"):
                lib.check(f"{name}: {caption}, {heading}", expected, float(cell.all("data")[0].attributes["value"]))
            else:
                whole = cell.all("span")[0].attributes["title"] if cell.all("span") else cell.text()
                lib.check(f"{name}: {caption}, {heading}", str(expected or ""), whole)
    return report


def check_parts(name, figure, expected):
    """A bar and its legend: the parts add up to the whole, and are as wide as they are long."""
    legend = {row.all("th")[0].text(): float(row.all("data")[0].attributes["value"]) for row in figure.all("table", class_="legend")[0].all("tr")}
    whole = sum(legend.values())
    lib.check(f"{name}: the parts of {legend} are {expected}", True, abs(whole - expected) <= len(legend))
    for rectangle in figure.all("svg", class_="bar")[0].all("rect"):
        part = re.sub(r" [\d.]+ %$", "", rectangle.text())
        lib.check(f"{name}: width of {part}", True, abs(float(rectangle.attributes["width"]) - 1000 * legend.get(part, 0) / whole) < 0.1)
    return legend


def check_steps(name, section, rows):
    bars = section.all("g")
    lib.check(f"{name}: bars", len(rows), len(bars))
    highest = max(row["Time (ns)"] for row in rows)
    for row, bar in zip(rows, bars):
        idle, busy = (float(rectangle.attributes["height"]) for rectangle in bar.all("rect"))
        lib.check(f"{name}: height of {row['Name']}", True, abs(idle - 200 * row["Time (ns)"] / highest) < 0.1)
        lib.check(f"{name}: GPU busy of {row['Name']}", True, abs(busy - 200 * (row["Time (ns)"] - row["GPU Idle (ns)"]) / highest) < 0.1)


def check_roofline(name, section, rows, peaks):
    """Points and roofs stand where the numbers at the axes say."""
    picture = section.all("svg")[0]
    across, up = {}, {}
    for text in picture.all("text"):
        if re.fullmatch(r"[\d.e+-]+", text.text()):
            across[float(text.text())] = float(text.attributes["x"])
        scaled = re.fullmatch(r"([\d.]+) ([kMGTP]?)FLOP/s", text.text())
        if scaled:
            up[float(scaled.group(1)) * 1000 ** " kMGTP".index(scaled.group(2) or " ")] = float(text.attributes["y"]) - 4

    def on(axis, value):
        (low, first), (high, last) = sorted(axis.items())[0], sorted(axis.items())[-1]
        return first + (last - first) * math.log(value / low) / math.log(high / low)

    points = [row for row in rows if row["FLOP/Byte"] and row["TFLOP/s"]]
    circles = picture.all("circle")
    lib.check(f"{name}: points", len(points), len(circles))
    for row, circle in zip(points, circles):
        lib.check(f"{name}: {row['Class']} at its FLOPs per byte", True, abs(float(circle.attributes["cx"]) - on(across, row["FLOPs"] / row["Bytes (B)"])) < 3)
        lib.check(f"{name}: {row['Class']} at its rate", True, abs(float(circle.attributes["cy"]) - on(up, row["TFLOP/s"] * 1e12)) < 3)
    levels = [float(line.attributes["y1"]) for line in picture.all("line", class_="roof") if line.attributes["y1"] == line.attributes["y2"]]
    for peak in peaks:
        lib.check(f"{name}: a roof of {peak} TFLOP/s", True, any(abs(level - on(up, peak * 1e12)) < 1 for level in levels))


def check_advice(name, section, file):
    """Savings per step and findings of the whole run are two lists."""
    found = lib.table("advice_sum", file)
    groups = [group for group in ([row for row in found if row["Confidence"]][:8], [row for row in found if not row["Confidence"]][:8]) if group]
    lib.check(f"{name}: findings by group", [len(group) for group in groups], [len(group.all("li")) for group in section.all("ol")])
    headings = [element.text() for element in section.all("p", class_="group")]
    lib.check(f"{name}: headings", [True, "Of the whole run"][-len(groups):] if groups and not groups[-1][0]["Confidence"] else [True] * len(groups),
              [True if heading.startswith("Savings") else heading for heading in headings])
    rows = [row for group in groups for row in group]
    for row, item in zip(rows, section.all("li")):
        text = item.text()
        lib.check(f"{name}: {row['Finding']}", (True, True, True), (row["Finding"] in text, (row["Where"] or "") in text, row["Advice"] in text))
        values = [float(element.attributes["value"]) for element in item.all("data")]
        if row["Confidence"] and row["Saves per Step (ns)"]:
            lib.check(f"{name}: saving of {row['Finding']}", [row["Saves per Step (ns)"], row["From (ns)"], row["To (ns)"]], values[:1] + values[-2:])
    return rows


def tiles(page):
    return {tile.all("dt")[0].text(): float(tile.all("data")[0].attributes["value"]) for tile in page.root.all("div", class_="tile")}


def check_page(file, *options):
    name = os.path.basename(file)
    text = lib.output("summary", "-o", "-", *options, file)
    page = Page(name, text)
    check_form(name, text, page)
    for number in page.root.all("data"):
        check_number(name, number)
    tables = [check_table(name, table, file, options) for table in page.root.all("table") if table.all("caption")]
    sections = {section.attributes["id"]: section for section in page.root.all("section")}
    if "advice" in sections:
        check_advice(name, sections["advice"], file)
    return page, sections, tables


def mean(rows, column):
    return sum(row[column] for row in rows) / len(rows)


# A trace of PyTorch with shapes, steps and memory has all sections.
TRAIN = os.path.join(lib.KINETO, "train.json.gz")
train, sections, tables = check_page(TRAIN)
lib.check("all sections", ["overview", "advice", "breakdown", "steps", "tensor-cores", "roofline", "top", "memory", "system"], list(sections))
steps = lib.table("step_sum", TRAIN)
parts = check_parts("train", sections["breakdown"], mean(steps, "Time (ns)"))
lib.check("GPU idle of the mean step", True, abs(sum(ns for part, ns in parts.items() if part.startswith("Idle: ")) - mean(steps, "GPU Idle (ns)")) <= len(parts))
lib.check("kernels of the mean step", True, abs(parts["Kernels"] - mean(steps, "Kernel (ns)")) <= 1)
columns = [column for column in lib.table("step_breakdown", TRAIN)[0] if column.endswith("(ns)") and column not in ("Time (ns)", "Communication (ns)", "Start (ns)")]
lib.check("all parts of the report", len(columns), 19)
check_steps("train", sections["steps"], steps)
kernels = lib.table("tensor_core_sum", TRAIN)
uses = check_parts("train", sections["tensor-cores"], sum(row["Total Time (ns)"] for row in kernels))
lib.check("time on tensor cores", sum(row["Total Time (ns)"] for row in kernels if row["Tensor Cores"] == "yes"), uses["On tensor cores"])
check_roofline("train", sections["roofline"], lib.table("roofline", TRAIN), (494.7,))
flops = lib.table("step_flops", TRAIN)
mfu = 100 * sum(row["Model FLOPs"] for row in flops) / sum(row["Time (ns)"] / 1e9 * row["Peak TFLOP/s"] * 1e12 for row in flops)
lib.check(f"MFU of {mfu}", True, abs(tiles(train)["MFU"] / mfu - 1) < 1e-3)
answer = lib.summary(TRAIN)
lib.check("the figures of the text", re.search(r"GPU busy (\d+) %; MFU ([\d.]+) %.*tensor cores (\d+) %", answer).groups(),
          (f"{tiles(train)['GPU busy']:.0f}", f"{tiles(train)['MFU']:.1f}", f"{tiles(train)['Tensor cores']:.0f}"))
memory = [row for row in lib.table("torch_memory_peak", TRAIN) if row["Device"] == "CUDA 0"]
lib.check("peak memory", sum(row["Bytes (B)"] for row in memory), tiles(train)["Peak memory"])

# Peaks by hand.
double, sections, _ = check_page(TRAIN, "--peak", "tf32=989.4,memory=2000")
lib.check("half the MFU of twice the peak", True, abs(2 * tiles(double)["MFU"] / tiles(train)["MFU"] - 1) < 1e-3)
lib.check("the same in words", True, "MFU 0.9 % of 989 TFLOP/s" in lib.summary("--peak", "tf32=989.4", TRAIN))
rows = lib.table("roofline", TRAIN, "--peak", "tf32=989.4,memory=2000")
norm = next(row for row in rows if row["Class"] == "norm")
lib.check("the ceiling of a norm is that of 2 TB/s", True, abs(norm["Ceiling TFLOP/s"] / (2 * norm["FLOPs"] / norm["Bytes (B)"]) - 1) < 1e-3)
check_roofline("peaks by hand", sections["roofline"], rows, (989.4,))
lib.check("stats --peak", lib.table("roofline:peak=tf32=989.4+memory=2000", TRAIN), rows)
lib.check("a report's own peak is stronger", lib.table("roofline", TRAIN, "--peak", "tf32=100"), lib.table("roofline:peak=tf32=100", TRAIN, "--peak", "tf32=200"))
lib.check("a bad peak", True, "invalid peak 'fp33=1'" in lib.refusal("summary", "--peak", "fp33=1", TRAIN))
lib.check("a report without peaks", True, "--peak: no report" in lib.refusal("stats", "-r", "osrt_sum", "--peak", "tf32=1", TRAIN))
shutil.copy(TRAIN, "t.json.gz")
more = lib.output("stats", "-f", "human", "-r", "torch_flops_sum", "--peak", "tf32=1,memory=2", "t.json.gz")
lib.check("the command for more rows", ["tacho stats -r 'torch_flops_sum:peak=tf32=1\\,memory=2' --rows=all t.json.gz"], re.findall("more rows: (.*)", more))

# Other files: each has the sections that it has data for.
for name in ("mix", "resnet18", "wait_stream"):
    lib.unpack(os.path.join(lib.HERE, "nsys", f"{name}.sqlite.gz"), f"{name}.sqlite")
    _, sections, tables = check_page(f"{name}.sqlite")
    lib.check(f"{name}: kernels and why GPUs were idle", True, {"cuda_gpu_kern_sum", "cuda_gpu_busy", "gpu_idle_sum"} <= set(tables))
    lib.check(f"{name}: GPU metrics where they were sampled", name == "mix", "gpu-metrics" in sections and "gpu_metrics_sum" in tables)
    check_parts(name, sections["tensor-cores"], sum(row["Total Time (ns)"] for row in lib.table("tensor_core_sum", f"{name}.sqlite")))
for name in ("infer", "stacks", "listed", "flops"):
    check_page(os.path.join(lib.KINETO, f"{name}.json.gz"))

# Without a GPU: OS calls alone, of a program whose names are hostile.
hostile = "</title><script>alert(1)</script>&<img src=x onerror=alert(2)>\"'\u202e"
made = lib.Made("cpu.sqlite")
for thread in (1 << 24 | 1, 1 << 24 | 2):
    made.add("OSRT_API", start=0, end=2 * 10**9, eventClass=27, globalTid=thread, nameId=made.text(hostile), returnValue=0, callchainId=1)
made.add("OSRT_CALLCHAINS", id=1, symbol=made.text(hostile), module=made.text("/bin/p"), stackDepth=0, unresolved=0)
made.write()
cpu, sections, tables = Page("cpu", lib.output("summary", "-o", "-", "cpu.sqlite")), None, None
lib.check("no element of a name", ([], []), (cpu.root.all("script"), cpu.root.all("img")))
lib.check("a CPU's sections", True, {"overview", "top", "system"} <= {section.attributes["id"] for section in cpu.root.all("section")})
lib.check("the hostile name is there", True, "<script>alert(1)</script>&<img" in cpu.root.all("main")[0].text())

# Files.
if os.path.exists("a page.html"):
    os.unlink("a page.html")
lib.output("summary", "-o", "a page.html", TRAIN)
with open("a page.html") as file:
    lib.check("a file is what stdout has", lib.output("summary", "-o", "-", TRAIN), file.read())
lib.check("no file is overwritten", True, "exists already" in lib.refusal("summary", "-o", "a page.html", TRAIN))
lib.output("summary", "-f", "true", "-o", "a page.html", TRAIN)
lib.check("one report", True, "one capture" in lib.refusal("summary", "--each", "-o", "b.html", TRAIN, TRAIN))
raise SystemExit(lib.status())
