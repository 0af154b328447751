"""`pfgnn data convert` of many SMILES: time, rate and the memory of all its processes.

    python -m benchmarks.convert --molecules 200000

repeats the molecules of molhiv (PFGNN_DATA) until there are enough, converts them to OGB's features on all cores, and
writes results/bench/convert.json. The times of 10 million molecules are extrapolated. CPU seconds do not depend on what
else the machine does.
"""

import argparse
import gzip
import itertools
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import torch
from rich.console import Console

from benchmarks.measure import Record
from pfgnn.data.load import places
from pfgnn.data.shards import open_packed
from pfgnn.experiments.provenance import provenance
from pfgnn.files import write_json
from pfgnn.workers import available_cores

RESULT = Path("results/bench/convert.json")
MANY = 10_000_000
SECONDS_BETWEEN_LOOKS = 0.2  # at the memory of the processes


def write_table(path: Path, source: Path, molecules: int) -> None:
    """Write a CSV file of molecules. Those of the source are repeated.

    Args:
        path: File to write.
        source: Gzipped CSV file of molhiv.
        molecules: Number of molecules.
    """
    with gzip.open(source, "rt") as file:
        header, *rows = file.read().splitlines()
    with path.open("w") as file:
        file.write(f"{header}\n")
        file.writelines(f"{row}\n" for row in itertools.islice(itertools.cycle(rows), molecules))


def family(process: int) -> Iterator[int]:
    """The numbers of a process and all that it has started."""
    yield process
    for children in Path(f"/proc/{process}/task").glob("*/children"):
        for child in children.read_text().split():
            yield from family(int(child))


def memory(process: int) -> tuple[int, int]:
    """Bytes of a process and all that it has started, and the number of them. Shared memory counts once.

    A process that ends meanwhile counts as 0.
    """
    total = count = 0
    try:
        for number in family(process):
            fields = Path(f"/proc/{number}/smaps_rollup").read_text().splitlines()
            total += next(1024 * int(line.split()[1]) for line in fields if line.startswith("Pss:"))
            count += 1
    except (OSError, StopIteration):
        pass
    return total, count


def cpu_seconds() -> float:
    """CPU seconds of all processes that this one has started and waited for, with those that they have started."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def convert(table: Path, out: Path, processes: int) -> Record:
    """Convert a table with the command line.

    Args:
        table: The molecules.
        out: Where the dataset goes.
        processes: Number of processes.
    """
    options = ["--target", "HIV_active", "--on-error", "skip", "--processes", str(processes)]
    command = [sys.executable, "-m", "pfgnn", "data", "convert", str(table), str(out), *options]
    begin, before = time.perf_counter(), cpu_seconds()
    done = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    looks = []
    while done.poll() is None:
        looks.append(memory(done.pid))
        time.sleep(SECONDS_BETWEEN_LOOKS)
    seconds = time.perf_counter() - begin
    if done.returncode:
        raise RuntimeError(f"the conversion ended with status {done.returncode}")
    middle = len(looks) // 2
    return {
        "seconds": seconds,
        "CPU seconds of all processes": cpu_seconds() - before,
        "most processes": max(count for _, count in looks),
        "peak MiB of all processes": max(total for total, _ in looks) / 2**20,
        "peak MiB of all processes, first half": max((total for total, _ in looks[:middle]), default=0) / 2**20,
    }


def run(source: Path, molecules: int, processes: int, out: Path, console: Console) -> Record:
    """Measure, print, and write the record.

    Args:
        source: Gzipped CSV file of molhiv.
        molecules: Number of molecules.
        processes: Number of processes.
        out: Record to write.
        console: Console to print to.
    """
    with tempfile.TemporaryDirectory() as name:
        table, data = Path(name) / "own.csv", Path(name) / "own.pfgnn"
        write_table(table, source, molecules)
        found = convert(table, data, processes)
        files = [path for path in data.iterdir() if path.suffix == ".pfgnn"] if data.is_dir() else [data]
        size = {"bytes of text": table.stat().st_size, "bytes of shards": sum(path.stat().st_size for path in files)}
        graphs = len(open_packed(data))
    rate = molecules / found["seconds"]
    record = {
        **provenance(torch.device("cpu")),
        "molecules": molecules,
        "processes": processes,
        "cores": available_cores(),
        "graphs": graphs,
        "shards": len(files),
        **size,
        **found,
        "molecules a second": rate,
        "extrapolated to 10 million": {
            "minutes": MANY / rate / 60,
            "CPU hours": found["CPU seconds of all processes"] * MANY / molecules / 3600,
        },
    }
    write_json(out, record)
    console.print(record)
    return record


def main() -> None:
    """Measure as the arguments say."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--molecules", type=int, default=200_000)
    parser.add_argument("--processes", type=int, default=available_cores())
    parser.add_argument("--out", type=Path, default=RESULT, help=f"record to write; default: {RESULT}")
    arguments = parser.parse_args()
    source = places()[0] / "molhiv" / "molhiv_smiles.csv.gz"
    run(source, arguments.molecules, arguments.processes, arguments.out, Console())


if __name__ == "__main__":
    main()
