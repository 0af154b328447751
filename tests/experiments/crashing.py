"""A run that is killed again and again, each time in a process of its own, and resumed until it ends.

Half of the kills come at a random time, half at a random moment of a random write: before it, in its middle, or
between the write and the renaming.
"""

import json
import os
import random
import signal
import sys
import time
from collections.abc import Callable
from pathlib import Path

import torch

from pfgnn.experiments.config import Config
from pfgnn.experiments.config_file import read_config
from pfgnn.experiments.run import run
from pfgnn.experiments.run_directory import RECORD

PATIENCE = 60.0  # seconds that a process may take


def in_child(work: Callable[[], object], kill_after: float | None = None) -> int:
    """Do the work in a fork, killed after some seconds; the signal that ended it, 0 for none."""
    child = os.fork()
    if child == 0:
        try:
            work()
        except BaseException:
            sys.excepthook(*sys.exc_info())
            os._exit(1)
        os._exit(0)
    deadline = time.monotonic() + (PATIENCE if kill_after is None else kill_after)
    while True:
        done, status = os.waitpid(child, os.WNOHANG)
        if done:
            break
        if time.monotonic() > deadline:
            os.kill(child, signal.SIGKILL)
            status = os.waitpid(child, 0)[1]
            break
        time.sleep(0.001)
    if os.WIFEXITED(status) and os.WEXITSTATUS(status):
        raise RuntimeError(f"the run failed with exit status {os.WEXITSTATUS(status)}")
    return os.WTERMSIG(status) if os.WIFSIGNALED(status) else 0


def die_at_write(moment: int, share: float) -> None:
    """Let this process kill itself at the ``moment``-th write or renaming, after that share of a write's bytes."""
    left = [moment]
    write_bytes, replace, link = Path.write_bytes, Path.replace, os.link

    def count_down() -> bool:
        left[0] -= 1
        return left[0] == 0

    def die() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    def dying_write(path: Path, content: bytes) -> int:
        if count_down():
            write_bytes(path, content[: int(share * len(content))])
            die()
        return write_bytes(path, content)

    def dying_replace(path: Path, target: Path) -> Path:
        if count_down():
            die()
        return replace(path, target)

    def dying_link(source: Path, target: Path) -> None:
        link(source, target)
        if count_down():
            die()

    Path.write_bytes, Path.replace, os.link = dying_write, dying_replace, dying_link  # type: ignore


def crash(config: Config, directory: Path, chance: random.Random, seconds: float) -> list[str]:
    """Start, kill and resume until the run ends; how each kill came about."""
    kills = []
    while not (directory / RECORD).exists():
        moment, share, after = chance.randint(1, 12), chance.random(), chance.uniform(0, seconds)
        by_write = chance.random() < 0.5

        def work(moment: int = moment if by_write else 0, share: float = share) -> None:
            die_at_write(moment, share)
            run(config, directory, device="cpu", resume="last")

        ended = in_child(work, None if by_write else after)
        if ended == signal.SIGKILL:
            kills.append(f"write {moment}, {share:.2f} of it" if by_write else f"{after:.3f} s")
    return kills


def main() -> None:
    """Run the config of argv[1] in argv[2]/unbroken and, killed argv[4] times or more in all, in argv[2]/broken-0, ...

    argv[3] seeds the kills.
    """
    torch.set_num_threads(1)
    config, folder, chance = read_config(sys.argv[1]), Path(sys.argv[2]), random.Random(int(sys.argv[3]))
    begun = time.monotonic()
    in_child(lambda: run(config, folder / "unbroken", device="cpu"))
    seconds = time.monotonic() - begun
    kills: list[list[str]] = []
    while sum(map(len, kills)) < int(sys.argv[4]):
        kills.append(crash(config, folder / f"broken-{len(kills)}", chance, seconds / 3))
    print(json.dumps(kills))


if __name__ == "__main__":
    main()
