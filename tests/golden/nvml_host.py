"""A made host with GPUs for the monitors: a script for the stand-in of NVML (tests/fake/nvml.c) and a tree of sysfs."""

import os
import tempfile


class Host:
    """A made host; `environment` is that of a command on it."""

    def __init__(self, script):
        self.folder = tempfile.mkdtemp(prefix="tacho-host-")
        self.script = os.path.join(self.folder, "nvml.txt")
        self.write(script)
        self.sysfs = os.path.join(self.folder, "sys")
        os.makedirs(self.sysfs)
        self.environment = {**os.environ, "TACHO_NVML": os.path.join(os.environ["FAKE"], "lib", "libnvidia-ml.so.1"), "FAKE_NVML": self.script,
                            "TACHO_GPU_HELPER": os.path.join(os.environ["HELPERS"], "tacho-gpu"), "TACHO_SYSFS": self.sysfs}

    def write(self, lines):
        with open(self.script, "w") as file:
            file.write("\n".join(lines) + "\n")

    def device(self, place, numa_node):
        """A device of PCI at its place below devices/; its address is the last part."""
        os.makedirs(os.path.join(self.sysfs, "devices", place), exist_ok=True)
        with open(os.path.join(self.sysfs, "devices", place, "numa_node"), "w") as file:
            file.write(f"{numa_node}\n")
        devices = os.path.join(self.sysfs, "bus", "pci", "devices")
        os.makedirs(devices, exist_ok=True)
        os.symlink(f"../../../devices/{place}", os.path.join(devices, os.path.basename(place)))

    def adapter(self, number, name, place, numa_node):
        """An RDMA device, the kernel's `number`th."""
        self.device(place, numa_node)
        for kind in ("infiniband", "infiniband_verbs"):
            os.makedirs(os.path.join(self.sysfs, "class", kind), exist_ok=True)
        os.symlink(f"../../devices/{place}/infiniband/{name}", os.path.join(self.sysfs, "class", "infiniband", name))
        verbs = os.path.join(self.sysfs, "class", "infiniband_verbs", f"uverbs{number}")
        os.makedirs(verbs)
        with open(os.path.join(verbs, "ibdev"), "w") as file:
            file.write(f"{name}\n")


def printed_by_nvidia_smi(name):
    """A text that nvidia-smi printed on a host with one H200 and driver 580.159.04: smi/ has them, named after the options."""
    with open(os.path.join(os.path.dirname(os.path.abspath(__file__)), "smi", name), newline="") as file:
        return file.read()


def sets(text):
    """Ranges as the script has them: 0-55,112-167 is 0:55;112:167."""
    return ";".join(":".join((part.split("-") * 2)[:2]) for part in text.split(",")) if text else "none"


def gpus(count, driver, cpus, nodes, name="NVIDIA_H200"):
    """The lines of a script for so many GPUs at the buses 10, 11, …; cpus and nodes: one text for each."""
    lines = [f"DeviceGetCount_v2 - {count}", f"DeviceGetName - {name}", f"SystemGetDriverVersion - {driver}"]
    for i in range(count):
        lines += [f"DeviceGetUUID {i} GPU-{i:04}", f"DeviceGetPciInfo_v3 {i} 00000000:{16 + i:02X}:00.0",
                  f"DeviceGetCpuAffinity {i} {sets(cpus[i])}", f"DeviceGetMemoryAffinity {i} {sets(nodes[i])}"]
    return lines
