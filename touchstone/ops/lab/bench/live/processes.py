"""Processes beside the live benchmark: their memory and processor time, and how busy the machine was with other work."""

import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import psutil

from touchstone.ops.lab.bench.processes import cpu_s


def resident_mib(pid: int) -> float:
    """Memory of a process."""
    return float(psutil.Process(pid).memory_info().rss) / 2**20


def socket_mib() -> float:
    """Memory of the kernel for all TCP connections of the machine, on both sides."""
    found = re.search(r"^TCP: .* mem (\d+)", Path("/proc/net/sockstat").read_text(), re.MULTILINE)
    return int(found[1]) * os.sysconf("SC_PAGE_SIZE") / 2**20 if found else 0.0


def children() -> set[int]:
    """The processes that this one started."""
    return {child.pid for child in psutil.Process().children()}


@dataclass(frozen=True, slots=True)
class Moment:
    """A moment, with the processor seconds until then: of all cores together while busy, and of each process."""

    at_s: float
    busy_s: float
    by_pid: dict[int, float]

    @classmethod
    def now(cls, pids: Iterable[int]) -> "Moment":
        """This moment."""
        times = psutil.cpu_times()
        # Guests are counted under user and nice already.
        busy_s = times.user + times.nice + times.system + times.irq + times.softirq + times.steal
        return cls(time.monotonic(), busy_s, {pid: cpu_s(pid) for pid in pids})

    def cores_of(self, pid: int, since: "Moment") -> float:
        """Number of cores that a process kept busy since an earlier moment."""
        return (self.by_pid[pid] - since.by_pid[pid]) / self._wall_s(since)

    def cores_of_others(self, since: "Moment") -> float:
        """Number of cores that were busy with other processes' work."""
        ours = sum(self.by_pid.values()) - sum(since.by_pid.values())
        return max(0.0, self.busy_s - since.busy_s - ours) / self._wall_s(since)

    def _wall_s(self, since: "Moment") -> float:
        return max(0.01, self.at_s - since.at_s)
