"""`tacho topo` against texts of nvidia-smi, byte by byte. The texts are from files that people published (each is named), with
nothing changed in the matrices; the hosts are made after them, for the stand-in of NVML and a tree of sysfs."""

import json
import subprocess
import sys

from lib import PATIENCE, TACHO, check, status
from nvml_host import Host, gpus, printed_by_nvidia_smi

LEVELS = {"PIX": 10, "PXB": 20, "PHB": 30, "NODE": 40, "SYS": 50}
LEGEND = """
Legend:

  X    = Self
  SYS  = Connection traversing PCIe as well as the SMP interconnect between NUMA nodes (e.g., QPI/UPI)
  NODE = Connection traversing PCIe as well as the interconnect between PCIe Host Bridges within a NUMA node
  PHB  = Connection traversing PCIe as well as a PCIe Host Bridge (typically the CPU)
  PXB  = Connection traversing multiple PCIe bridges (without traversing the PCIe Host Bridge)
  PIX  = Connection traversing at most a single PCIe bridge
"""
NVLINKS = "  NV#  = Connection traversing a bonded set of # NVLinks\n"
PEERS = """
Legend:

  X    = Self
  OK   = Status Ok
  CNS  = Chipset not supported
  GNS  = GPU not supported
  TNS  = Topology not supported
  NS   = Not supported
"""


def topo(host, *options):
    done = subprocess.run([TACHO, "topo", *options], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=host.environment, timeout=PATIENCE)
    return done.stdout.decode() if done.returncode == 0 else done.stderr.decode()


def matrix(rows):
    """nvidia-smi's bytes: cells end with a tab, and the head is underlined. A row is written with spaces, then CPUs, NUMA nodes and
    the GPU's own node; adapters have none of these."""
    labels = [row.split()[0] for row in rows]
    text = "\t\x1b[4m" + "".join(label + "\t" for label in labels) + "CPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    for row in rows:
        words = row.split()
        cells = [" X " if word == "X" else word for word in words[1:1 + len(labels)]]
        cpus, nodes, own = (words[1 + len(labels):] + ["", "", ""])[:3]
        text += words[0] + "\t" + "".join(cell + "\t" for cell in cells) + f"{cpus}\t{nodes}\t\t{own}\n"
    return text


def names(list_of_names):
    return "\nNIC Legend:\n\n" + "".join(f"  NIC{i}: {name}\n" for i, name in enumerate(list_of_names)) + "\n"


def scripted(rows, driver, links=0, peers="0"):
    """A script for the GPUs of a matrix. NVLink through switches: `links` of them for each GPU."""
    of_gpus = [row.split() for row in rows if row.startswith("GPU")]
    count, total = len(of_gpus), len(rows)
    lines = gpus(count, driver, [row[1 + total] for row in of_gpus], [row[2 + total] for row in of_gpus])
    for i, row in enumerate(of_gpus):
        for k in range(count):
            if i != k:
                lines += [f"DeviceGetTopologyCommonAncestor[{k}] {i} {LEVELS.get(row[1 + k], 50)}", f"DeviceGetP2PStatus[{k}] {i} {peers}"]
    if links:
        lines += [f"DeviceGetNvLinkState - {links}", "DeviceGetNvLinkRemoteDeviceType - 2"]
    return lines


# ---- one GPU: NVIDIA GB10 with two adapters of two ports; a report of github.com users' DGX Spark, driver 580 ----

SPARK = ["GPU0 X NODE NODE NODE NODE 0-19 0 N/A", "NIC0 NODE X PIX NODE NODE", "NIC1 NODE PIX X NODE NODE", "NIC2 NODE NODE NODE X PIX",
         "NIC3 NODE NODE NODE PIX X"]


def one_gpu():
    bare = ["GPU0 X 0-19 0 N/A"]  # vLLM's report of a GB10
    check("one GPU", matrix(bare) + LEGEND + NVLINKS, topo(Host(scripted(bare, "580.95.05")), "-m"))
    # From a report of SGLang's check_env in a virtual machine, where neither CPUs nor a node are known.
    unknown = Host(gpus(1, "580.95.05", [""], [""]))
    check("a slot without a node", "GPU0\t X \t\t\t\tN/A\n", topo(unknown).split("\n")[1] + "\n")
    host = Host(scripted(SPARK, "580.95.05"))
    host.device("pci000f:00/000f:00:00.0/0000:10:00.0", 0)
    # The kernel found them in this order; sorted by name, roceP2p1s0f0 would come first.
    for number, (name, place) in enumerate((("rocep1s0f0", "pci0000:00/0000:00:00.0/0000:01:00.0"), ("rocep1s0f1", "pci0000:00/0000:00:00.0/0000:01:00.1"),
                                            ("roceP2p1s0f0", "pci0002:00/0002:00:00.0/0002:01:00.0"),
                                            ("roceP2p1s0f1", "pci0002:00/0002:00:00.0/0002:01:00.1"))):
        host.adapter(number, name, place, 0)
    check("one GPU, four adapters", matrix(SPARK) + LEGEND + NVLINKS + names(["rocep1s0f0", "rocep1s0f1", "roceP2p1s0f0", "roceP2p1s0f1"]), topo(host, "-m"))


# ---- eight H200 with NVSwitch and eight adapters; driver 570.211.01, "Node record", RHEL 9.7, 2 × EPYC 9534 ----

SWITCHED = """GPU0 X NV18 NV18 NV18 NV18 NV18 NV18 NV18 NODE NODE SYS NODE PIX SYS SYS SYS 0-63,128-191 0 N/A
GPU1 NV18 X NV18 NV18 NV18 NV18 NV18 NV18 NODE PIX SYS NODE NODE SYS SYS SYS 0-63,128-191 0 N/A
GPU2 NV18 NV18 X NV18 NV18 NV18 NV18 NV18 PIX NODE SYS NODE NODE SYS SYS SYS 0-63,128-191 0 N/A
GPU3 NV18 NV18 NV18 X NV18 NV18 NV18 NV18 NODE NODE SYS PIX NODE SYS SYS SYS 0-63,128-191 0 N/A
GPU4 NV18 NV18 NV18 NV18 X NV18 NV18 NV18 SYS SYS NODE SYS SYS NODE PIX NODE 64-127,192-255 1 N/A
GPU5 NV18 NV18 NV18 NV18 NV18 X NV18 NV18 SYS SYS NODE SYS SYS NODE NODE PIX 64-127,192-255 1 N/A
GPU6 NV18 NV18 NV18 NV18 NV18 NV18 X NV18 SYS SYS NODE SYS SYS PIX NODE NODE 64-127,192-255 1 N/A
GPU7 NV18 NV18 NV18 NV18 NV18 NV18 NV18 X SYS SYS PIX SYS SYS NODE NODE NODE 64-127,192-255 1 N/A
NIC0 NODE NODE PIX NODE SYS SYS SYS SYS X NODE SYS NODE NODE SYS SYS SYS
NIC1 NODE PIX NODE NODE SYS SYS SYS SYS NODE X SYS NODE NODE SYS SYS SYS
NIC2 SYS SYS SYS SYS NODE NODE NODE PIX SYS SYS X SYS SYS NODE NODE NODE
NIC3 NODE NODE NODE PIX SYS SYS SYS SYS NODE NODE SYS X NODE SYS SYS SYS
NIC4 PIX NODE NODE NODE SYS SYS SYS SYS NODE NODE SYS NODE X SYS SYS SYS
NIC5 SYS SYS SYS SYS NODE NODE PIX NODE SYS SYS NODE SYS SYS X NODE NODE
NIC6 SYS SYS SYS SYS PIX NODE NODE NODE SYS SYS NODE SYS SYS NODE X NODE
NIC7 SYS SYS SYS SYS NODE PIX NODE NODE SYS SYS NODE SYS SYS NODE NODE X""".split("\n")
PCI_ALONE = {True: "NODE", False: "SYS"}  # each GPU has a host bridge of its own: NODE within a socket


def switched_host(**settings):
    host = Host(scripted(SWITCHED, "570.211.01", **settings))
    beside = {4: 0, 1: 1, 0: 2, 3: 3, 6: 4, 7: 5, 5: 6, 2: 7}  # adapter: the GPU behind the same switch
    for gpu in range(8):
        host.device(f"pci{gpu:04x}:00/{gpu:04x}:00:01.0/{gpu:04x}:01:00.0/{gpu:04x}:02:00.0/0000:{16 + gpu:02x}:00.0", gpu // 4)
    for nic in range(8):
        gpu = beside[nic]
        host.adapter(nic, f"mlx5_{nic}", f"pci{gpu:04x}:00/{gpu:04x}:00:01.0/{gpu:04x}:01:00.0/{gpu:04x}:02:01.0/{gpu:04x}:04:00.0", gpu // 4)
    return host


def with_switches():
    host = switched_host(links=18)
    adapters = names(f"mlx5_{i}" for i in range(8))
    check("eight GPUs with NVSwitch", matrix(SWITCHED) + LEGEND + NVLINKS + adapters, topo(host))
    without = [" ".join("SYS" if word == "NV18" else word for word in row.split()) for row in SWITCHED]
    check("-mp has no NVLink", matrix(without) + LEGEND + adapters, topo(host, "-mp"))
    check("before the fabric is set up", matrix(without) + LEGEND + NVLINKS + adapters, topo(switched_host(links=18, peers="0:0:5:0:0"), "-m"))
    # nvidia-smi topo -c on a DGX A100 answers "The GPUs that have an affinity with CPU 48 are:\n0, 1".
    check("-c", "The GPUs that have an affinity with CPU 130 are:\n0, 1, 2, 3\n\n", topo(host, "-c", "130"))
    check("-C -M", "NUMA IDs of closest CPU: 1\nNUMA IDs of closest memory: 1\n", topo(host, "-C", "-M", "-i", "7"))
    check("-p", "Device 0 is connected to device 7 by way of an SMP interconnect link between NUMA nodes.\n", topo(host, "-p", "-i", "0,7"))
    whole = json.loads(topo(host, "--json"))
    check("json: nodes", [f"GPU{i}" for i in range(8)] + [f"NIC{i}" for i in range(8)], [node["label"] for node in whole["nodes"]])
    check("json: pairs", 16 * 15, len(whole["links"]))
    check("json: a pair", {"from": "GPU0", "to": "GPU1", "connection": "NV18", "pci": "SYS", "nvlinks": 18,
                           "p2p": {"read": "OK", "write": "OK", "nvlink": "OK", "atomics": "OK", "pci": "OK"}}, whole["links"][0])


# ---- DGX H100 with twelve adapters behind switches of switches; the source ends after NIC5 ----

DGX = """GPU0 X NV18 NV18 NV18 NV18 NV18 NV18 NV18 PXB NODE NODE NODE NODE NODE SYS SYS SYS SYS SYS SYS 0-55,112-167 0 N/A
GPU1 NV18 X NV18 NV18 NV18 NV18 NV18 NV18 NODE NODE NODE PXB NODE NODE SYS SYS SYS SYS SYS SYS 0-55,112-167 0 N/A
GPU2 NV18 NV18 X NV18 NV18 NV18 NV18 NV18 NODE NODE NODE NODE PXB NODE SYS SYS SYS SYS SYS SYS 0-55,112-167 0 N/A
GPU3 NV18 NV18 NV18 X NV18 NV18 NV18 NV18 NODE NODE NODE NODE NODE PXB SYS SYS SYS SYS SYS SYS 0-55,112-167 0 N/A
GPU4 NV18 NV18 NV18 NV18 X NV18 NV18 NV18 SYS SYS SYS SYS SYS SYS PXB NODE NODE NODE NODE NODE 56-111,168-223 1 N/A
GPU5 NV18 NV18 NV18 NV18 NV18 X NV18 NV18 SYS SYS SYS SYS SYS SYS NODE NODE NODE PXB NODE NODE 56-111,168-223 1 N/A
GPU6 NV18 NV18 NV18 NV18 NV18 NV18 X NV18 SYS SYS SYS SYS SYS SYS NODE NODE NODE NODE PXB NODE 56-111,168-223 1 N/A
GPU7 NV18 NV18 NV18 NV18 NV18 NV18 NV18 X SYS SYS SYS SYS SYS SYS NODE NODE NODE NODE NODE PXB 56-111,168-223 1 N/A
NIC0 PXB NODE NODE NODE SYS SYS SYS SYS X NODE NODE NODE NODE NODE SYS SYS SYS SYS SYS SYS
NIC1 NODE NODE NODE NODE SYS SYS SYS SYS NODE X PIX NODE NODE NODE SYS SYS SYS SYS SYS SYS
NIC2 NODE NODE NODE NODE SYS SYS SYS SYS NODE PIX X NODE NODE NODE SYS SYS SYS SYS SYS SYS
NIC3 NODE PXB NODE NODE SYS SYS SYS SYS NODE NODE NODE X NODE NODE SYS SYS SYS SYS SYS SYS
NIC4 NODE NODE PXB NODE SYS SYS SYS SYS NODE NODE NODE NODE X NODE SYS SYS SYS SYS SYS SYS
NIC5 NODE NODE NODE PXB SYS SYS SYS SYS NODE NODE NODE NODE NODE X SYS SYS SYS SYS SYS SYS""".split("\n")


def with_switches_of_switches():
    rest = [f"NIC{i} " + "SYS " * 20 for i in range(6, 12)]  # not in the source: only for the head and the script
    host = Host(scripted(DGX + rest, "580.95.05", links=18))
    behind = {0: 0, 3: 1, 4: 2, 5: 3, 6: 4, 9: 5, 10: 6, 11: 7}
    for gpu in range(8):
        host.device(f"pci{gpu:04x}:00/{gpu:04x}:00:01.0/{gpu:04x}:01:00.0/{gpu:04x}:02:00.0/{gpu:04x}:03:00.0/{gpu:04x}:04:00.0/0000:{16 + gpu:02x}:00.0", gpu // 4)
    for nic in range(12):
        gpu = behind.get(nic)
        place = f"pci{gpu:04x}:00/{gpu:04x}:00:01.0/{gpu:04x}:01:00.0/{gpu:04x}:02:01.0/{gpu:04x}:06:00.0" if gpu is not None else \
            f"pci{nic // 6 + 256:04x}:00/{nic // 6 + 256:04x}:00:01.0/{nic // 6 + 256:04x}:01:00.{nic % 2}"
        host.adapter(nic, f"mlx5_{nic}", place, nic // 6)
    expected = matrix(DGX + rest).split("\n")[:15]
    check("DGX H100", expected, topo(host, "-m").split("\n")[:15])
    check("adapters are in the kernel's order", names(f"mlx5_{i}" for i in range(12)), topo(host, "-m").partition(NVLINKS)[2])


# ---- GPUs on PCI alone ----

def on_pci():
    # Four RTX 5060 Ti, driver 595.91.07: "P2P evidence", raw output of -m and of -p2p rw.
    phb = ["GPU0 X PHB PHB PHB 0-7 0 N/A", "GPU1 PHB X PHB PHB 0-7 0 N/A", "GPU2 PHB PHB X PHB 0-7 0 N/A", "GPU3 PHB PHB PHB X 0-7 0 N/A"]
    peers = " \t\x1b[4mGPU0\tGPU1\tGPU2\tGPU3\t\x1b[0m\n GPU0\tX\tOK\tOK\tOK\t\n GPU1\tOK\tX\tOK\tOK\t\n GPU2\tOK\tOK\tX\tOK\t\n GPU3\tOK\tOK\tOK\tX\t\n"
    host = Host(scripted(phb, "595.91.07"))
    check("PHB", matrix(phb) + LEGEND + NVLINKS, topo(host, "-m"))
    check("-p2p rw", peers + PEERS + "  U    = Unknown\n", topo(host, "-p2p", "rw"))
    check("-n", "Device 1 is connected by way of a PCIe host bridge to device(s): 0, 2, 3\n\n", topo(host, "-n", "3", "-i", "GPU-0001"))
    # Two Quadro RTX 6000 at two sockets, driver 580.142, in a job with every second CPU; four RTX A4000, driver 580.95.05.
    sockets = ["GPU0 X SYS 0,2,4,6,8,10 0 N/A", "GPU1 SYS X 1,3,5,7,9,11 1 N/A"]
    check("SYS", matrix(sockets) + LEGEND + NVLINKS, topo(Host(scripted(sockets, "580.142")), "--matrix"))
    node = ["GPU0 X NODE NODE NODE 0-31 0 N/A", "GPU1 NODE X NODE NODE 0-31 0 N/A", "GPU2 NODE NODE X NODE 0-31 0 N/A", "GPU3 NODE NODE NODE X 0-31 0 N/A"]
    check("NODE", matrix(node) + LEGEND + NVLINKS, topo(Host(scripted(node, "580.95.05")), "-m"))
    # Two RTX 5090: the legend of -p2p in driver 610 has one line more.
    two = ["GPU0 X PHB 0-63 0 N/A", "GPU1 PHB X 0-63 0 N/A"]
    refused = " \t\x1b[4mGPU0\tGPU1\t\x1b[0m\n GPU0\tX\tGNS\t\n GPU1\tGNS\tX\t\n" + PEERS
    check("GNS", refused + "  DR   = Disabled by regkey\n  U    = Unknown\n", topo(Host(scripted(two, "610.43.02", peers="2")), "-p2p", "rw"))
    check("a way that is not OK counts", refused + "  U    = Unknown\n", topo(Host(scripted(two, "580.95.05", peers="0:2:0:0:0")), "-p2p", "rw"))
    # Two RTX 3090 with a bridge: four links that name the other GPU.
    bridged = ["GPU0 X NV4 0-23 0 N/A", "GPU1 NV4 X 0-23 0 N/A"]
    lines = scripted(bridged, "535.54.03") + ["DeviceGetNvLinkState - 4", "DeviceGetNvLinkRemoteDeviceType - 0"]
    lines += [f"DeviceGetNvLinkRemotePciInfo_v2[{link}] {gpu} 00000000:{17 - gpu:02X}:00.0" for link in range(4) for gpu in (0, 1)]
    check("NVLink bridge", matrix(bridged) + LEGEND + NVLINKS, topo(Host(lines), "-m"))
    # GB200: the memory of a GPU is a node of its own.
    own = gpus(1, "580.95.05", ["0-71"], ["0"]) + ["DeviceGetNumaNodeId 0 2"]
    check("GPU NUMA ID", matrix(["GPU0 X 0-71 0 2"]) + LEGEND + NVLINKS, topo(Host(own), "-m"))
    check("-gnid", "2\n", topo(Host(own), "-gnid", "-i", "0"))


# ---- one H200 of a virtual machine with one NUMA node, which sysfs does not name; driver 580.159.04. The texts are nvidia-smi's own ----

NOT_NEAR = ("by way of an single on-board PCIe switch", "by way of a single PCIe switch", "by way of potentially multiple PCIe switches",
            "by the same PCIe host bridge", "by way of an on-CPU interconnect between PCIe host bridges", "by way of an SMP interconnect link between NUMA nodes")


def one_h200():
    host = Host(gpus(1, "580.159.04", ["0-15"], ["0"]))
    host.device("pci0000:00/0000:10:00.0", -1)
    for name, options in (("topo-m", ("-m",)), ("topo-mp", ("-mp",)), ("topo-c", ("-c", "0")), ("topo-n", ("-i", "0", "-n", "2")),
                          *((f"p2p-{way}", ("-p2p", way)) for way in "rwnap")):
        check(name, printed_by_nvidia_smi(f"{name}.txt"), topo(host, *options))
    for path, words in enumerate(NOT_NEAR):
        check(f"-n {path}", f"Device 0 is not connected to other devices {words}.\n\n", topo(host, "-n", str(path), "-i", "0"))
    for option in ("-C", "--get-numa-id-of-nearby-cpu"):
        check(option, "NUMA IDs of closest CPU: 0\n", topo(host, option, "-i", "0"))
    for option in ("-gnid", "--gpu-numa-id"):
        check(option, "N/A\n", topo(host, option, "-i", "0"))
    # A script for a Grace host has this text of a second GPU: the nodes of the GPU's memory are among them.
    grace = Host(gpus(1, "580.95.05", ["72-143"], ["1,18-33"]))
    check("-C on Grace", "NUMA IDs of closest CPU: 1,18-33\n", topo(grace, "-C", "-i", "0"))


def refusals():
    host = Host(scripted(["GPU0 X 0-19 0 N/A"], "580.95.05"))
    for options, sentence in ((("-i", "0"), "-i needs -n, -p, -C, -M or -gnid: the matrices have all GPUs"), (("-p",), "-n, -p, -C, -M and -gnid need -i, the GPU"),
                              (("-p", "-i", "0"), "-i needs two GPUs here"), (("-C", "-i", "7"), "there is no GPU '7' here, only 0; nvidia-smi -L lists them"),
                              (("-p2p", "x"), "-p2p needs letters of r, w, n, a and p, not 'x'"), (("-c", "many"), "-c needs a number below 1024, not 'many'"),
                              *[((option,), f"{option} is not supported") for option in ("-nvme", "-nic", "-cpu")],
                              (("-n", "6", "-i", "0"), "-n needs a number below 6, not '6'")):
        check(" ".join(options), f"tacho topo: {sentence}\n", topo(host, *options))
    check("no GPU", "tacho topo: there is no GPU on this machine\n", topo(Host(["DeviceGetCount_v2 - 0"])))
    check("no driver", "tacho topo: cannot initialise NVML: the NVIDIA driver is not loaded\n", topo(Host(["Init_v2 - !9"])))


one_gpu()
with_switches()
with_switches_of_switches()
on_pci()
one_h200()
refusals()
sys.exit(status())
