"""Processes beside the live benchmark: their memory and processor time, and how busy the machine was with other work."""

import os
import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

TICKS_PER_S = os.sysconf("SC_CLK_TCK")


def resident_mib(pid: int) -> float:
    """Memory of a process."""
    found = re.search(r"VmRSS:\s+(\d+)", Path(f"/proc/{pid}/status").read_text())
    return int(found[1]) / 1024 if found else 0.0


def socket_mib() -> float:
    """Memory of the kernel for all TCP connections of the machine, on both sides."""
    found = re.search(r"^TCP: .* mem (\d+)", Path("/proc/net/sockstat").read_text(), re.MULTILINE)
    return int(found[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if found else 0.0


def cpu_s(pid: int) -> float:
    """Processor seconds of a process until now, in its own code and in the kernel's."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS_PER_S


@dataclass(frozen=True, slots=True)
class Moment:
    """Processor seconds until a moment: of the whole machine's cores together, busy and all; and of each process."""

    busy_s: float
    all_s: float
    by_pid: dict[int, float]

    @classmethod
    def now(cls, pids: Iterable[int]) -> "Moment":
        """This moment."""
        fields = [int(field) for field in Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]]
        idle = fields[3] + fields[4]
        return cls((sum(fields) - idle) / TICKS_PER_S, sum(fields) / TICKS_PER_S, {pid: cpu_s(pid) for pid in pids})

    def cores_of(self, pid: int, since: "Moment") -> float:
        """How many cores a process kept busy since an earlier moment."""
        return (self.by_pid[pid] - since.by_pid[pid]) / self._wall_s(since)

    def cores_of_others(self, since: "Moment") -> float:
        """How many cores were busy with other work than these processes'."""
        ours = sum(self.by_pid.values()) - sum(since.by_pid.values())
        return max(0.0, self.busy_s - since.busy_s - ours) / self._wall_s(since)

    def _wall_s(self, since: "Moment") -> float:
        return max(0.01, (self.all_s - since.all_s) / (os.cpu_count() or 1))


def children() -> set[int]:
    """The processes that this one started."""
    return {int(pid) for pid in Path(f"/proc/{os.getpid()}/task/{os.getpid()}/children").read_text().split()}
