#!/usr/bin/env python3
"""How long jobs take with 1, 2 and 4 workers (docs/machines.md): shards of `oriole test`, `fuzz` and `tune` as processes side by
side, `oriole_gpu.compile_many` by Dask, pytest by xdist, and sccache with build servers. Each worker has one thread. What the parts say
together has to be what the first run says.

    tools/time_workers.py --oriole target/release/oriole [--rounds 3] [--sccache ~/.cargo/bin]

Two times are printed: processor seconds of the busiest worker, which is what machines of their own would take, and in brackets
the seconds that passed here. Of the rounds the least counts. What is not installed (Dask, xdist, Oriole's package, sccache, bubblewrap) is named and left out;
build servers of sccache need root.
"""

import argparse
import importlib.util
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

WORKERS = (1, 2, 4)
EXAMPLES = Path(__file__).resolve().parent.parent / "examples/testing"
#: Sources of a batch, and what makes each another one.
SOURCES, LAUNCHES = 160, 24
TESTS = """
import numpy as np, pytest
@pytest.mark.parametrize("at", range(24))
def test_saxpy(oriole_kernel, at):
    x, y = np.arange(1 << 19, dtype="f4"), np.ones(1 << 19, "f4")
    oriole_kernel("saxpy.ptx")[2048, 256](2.0, x, y, len(x))
    assert (y == 2 * x + 1).all()
"""


CONFTEST = """
import os, pathlib, time
def pytest_sessionfinish():
    worker = os.environ.get("PYTEST_XDIST_WORKER")
    if worker:
        pathlib.Path(f"{worker}.seconds").write_text(str(time.process_time()))
"""


def manifest():
    launch = """[[launch]]
name = "saxpy {0}"
entry = "saxpy"
grid = 2048
block = 256
args = ["f32:2", {{ in = {{ fill = "constant", value = {0} }}, type = "f32[524288]" }},
        {{ inout = {{ fill = "zeros" }}, type = "f32[524288]", expect = {{ fill = "constant", value = {1} }} }}, "u32:524288"]
"""
    return '[programs]\nsaxpy = "saxpy.ptx"\n' + "".join(launch.format(at, 2 * at) for at in range(LAUNCHES))


def side_by_side(commands, folder):
    """Processor seconds of the one that took most."""
    quiet = [(os.POSIX_SPAWN_OPEN, 1, os.devnull, os.O_WRONLY, 0)]
    here = os.getcwd()
    os.chdir(folder)
    running = [os.posix_spawnp(command[0], command, os.environ, file_actions=quiet) for command in commands]
    os.chdir(here)
    ended = [os.wait4(one, 0) for one in running]
    if any(status for _, status, _ in ended):
        sys.exit(f"a command failed: {commands}")
    return max(usage.ru_utime + usage.ru_stime for _, _, usage in ended)


def processor_seconds(process):
    """Of a process and of its children that have ended."""
    fields = Path(f"/proc/{process}/stat").read_text().rsplit(")", 1)[1].split()
    return sum(map(int, fields[11:15])) / os.sysconf("SC_CLK_TCK")


def timeless(value):
    """A report without what depends on the time."""
    if isinstance(value, dict):
        return {key: timeless(one) for key, one in value.items() if key != "seconds"}
    return [timeless(one) for one in value] if isinstance(value, list) else value


class Shards:
    """A command of Oriole's, with its report."""

    def __init__(self, name, words, report, behind=()):
        self.name, self.words, self.report, self.behind = name, words, report, behind

    def run(self, workers, folder, oriole):
        def shard(number):
            report = [self.report, f"{number}.json", "--shard", f"{number}/{workers}", "--jobs", "1"]
            return [oriole, *self.words, *report, *self.behind]

        busiest = side_by_side([shard(number) for number in range(1, workers + 1)], folder)
        reports = [f"{number}.json" for number in range(1, workers + 1)]
        subprocess.run([oriole, "merge", *reports, "-q", "--json", "all.json"], cwd=folder, check=True, stdout=subprocess.DEVNULL)
        return busiest, timeless(json.loads((folder / "all.json").read_text()))


class Dask:
    name = "`oriole_gpu.compile_many`, Dask"

    def __init__(self, sources):
        self.sources = sources

    def prepare(self, workers, folder):
        from distributed import Client, LocalCluster

        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
        client = Client(cluster)
        import oriole_gpu

        # So that each worker has loaded the package.
        client.run(oriole_gpu.compile, self.sources[0])
        return client, cluster

    def run(self, _workers, _folder, prepared):
        import oriole_gpu

        used = lambda: prepared[0].run(time.process_time)
        before = used()
        made = oriole_gpu.compile_many(self.sources, executor=prepared[0].get_executor())
        busiest = max(seconds - before[worker] for worker, seconds in used().items())
        return busiest, [one.cubin for one in made]

    def end(self, prepared):
        for one in prepared:
            one.close()


class Xdist:
    name = "pytest, xdist"

    def run(self, workers, folder, _):
        (folder / "test_saxpy.py").write_text(TESTS)
        (folder / "conftest.py").write_text(CONFTEST)
        environment = {**os.environ, "RAYON_NUM_THREADS": "1"}
        words = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-n", str(workers), "test_saxpy.py"]
        done = subprocess.run(words, cwd=folder, env=environment, capture_output=True, text=True)
        busiest = max(float(path.read_text()) for path in folder.glob("*.seconds"))
        return busiest, done.stdout.splitlines()[-1].split(" in ")[0]


class Sccache:
    """A scheduler and build servers; each client's cache is empty at first."""

    name = "sccache, servers"

    def __init__(self, tools, sources):
        self.tools, self.sources = tools, sources

    def prepare(self, workers, folder):
        shutil.copy(self.tools["oriole"], folder / "ptxas")
        auth = '[{}]\ntype = "token"\ntoken = "{}"\n'
        scheduler = 'public_addr = "127.0.0.1:10600"\n' + auth.format("client_auth", "c") + auth.format("server_auth", "s")
        running = [self.start("scheduler", folder / "scheduler", scheduler)]
        for number in range(workers):
            server = f"""cache_dir = "{folder}/tc{number}"
public_addr = "127.0.0.1:{10601 + number}"
scheduler_url = "http://127.0.0.1:10600"
[builder]
type = "overlay"
build_dir = "{folder}/build{number}"
bwrap_path = "{self.tools["bwrap"]}"
"""
            running.append(self.start("server", folder / f"server{number}", server + auth.format("scheduler_auth", "s")))
        client = f'[dist]\nscheduler_url = "http://127.0.0.1:10600"\ntoolchains = []\ncache_dir = "{folder}/tc"\n'
        (folder / "client").write_text(client + auth.format("dist.auth", "c"))
        for at, source in enumerate(self.sources):
            (folder / f"{at}.ptx").write_text(source)
        self.call(folder, "--start-server")
        while json.loads(self.call(folder, "--dist-status"))["SchedulerStatus"][1]["num_servers"] < workers:
            time.sleep(0.2)
        # So that each server has the compiler.
        for at in range(4 * workers):
            (folder / f"warm{at}.ptx").write_text(self.sources[0] + f"// {at}\n")
        self.compile(workers, folder, [f"warm{at}" for at in range(4 * workers)])
        return running

    def start(self, what, path, text):
        path.write_text(text)
        command = [self.tools["sccache-dist"], what, "--config", path]
        environment = {**os.environ, "SCCACHE_NO_DAEMON": "1"}
        return subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def call(self, folder, *words):
        own = {"SCCACHE_CONF": folder / "client", "SCCACHE_DIR": folder / "cache", "SCCACHE_SERVER_PORT": "4398"}
        environment = {**os.environ, **{name: str(value) for name, value in own.items()}}
        return subprocess.run([self.tools["sccache"], *words], env=environment, cwd=folder, capture_output=True, text=True).stdout

    def compile(self, workers, folder, names):
        # A server takes one job more than it has cores, and may not have told yet that one has ended; what is too much is compiled here.
        with ThreadPoolExecutor(workers * os.cpu_count()) as clients:
            one = lambda name: self.call(folder, folder / "ptxas", "-arch=sm_90", f"{name}.ptx", "-o", f"{name}.cubin")
            list(clients.map(one, names))
        return [(folder / f"{name}.cubin").read_bytes() for name in names]

    def run(self, workers, folder, running):
        used = lambda: [processor_seconds(server.pid) for server in running[1:]]
        before = used()
        made = self.compile(workers, folder, [str(at) for at in range(len(self.sources))])
        statistics = json.loads(self.call(folder, "--show-stats", "--stats-format", "json"))["stats"]
        here = statistics["compilations"] - sum(statistics["dist_compiles"].values())
        print(f"sccache with {workers} servers: {here} of {statistics['compilations']} compiled by the client", file=sys.stderr)
        return max(after - first for after, first in zip(used(), before)), made

    def end(self, running):
        subprocess.run([self.tools["sccache"], "--stop-server"], env={**os.environ, "SCCACHE_SERVER_PORT": "4398"}, capture_output=True)
        for one in running:
            one.terminate()
            one.wait()


def seconds(job, workers, oriole):
    """Of the busiest worker in one run, and of the run, without the start of workers that stay; and what it gave."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        shutil.copytree(EXAMPLES, folder, dirs_exist_ok=True)
        (folder / "many.toml").write_text(manifest())
        prepared = job.prepare(workers, folder) if hasattr(job, "prepare") else oriole
        start = time.monotonic()
        try:
            busiest, result = job.run(workers, folder, prepared)
            passed = time.monotonic() - start
        finally:
            if hasattr(job, "end"):
                job.end(prepared)
        return (busiest, passed), result


def jobs(options):
    saxpy = (EXAMPLES / "saxpy.ptx").read_text()
    # Kernels of twenty copies each, all with names of their own.
    body = saxpy[saxpy.index(".visible") :]
    head = saxpy[: saxpy.index(".visible")]
    sources = [head + "".join(body.replace("saxpy", f"k{at}_{copy}") for copy in range(20)) for at in range(SOURCES)]
    arguments = ["f32:2", "zero:f32[16384]", "zero:f32[16384]", "u32:16384"]
    launch = ["--", "--entry", "saxpy", "--grid", "64", "--block", "256", *arguments]
    yield Shards(f"`oriole test`, {LAUNCHES} launches", ["test", "many.toml", "-q"], "--json")
    yield Shards("`oriole fuzz`, 160 programs", ["fuzz", "--count", "160", "--seed", "5", "--arch", "sm_90"], "--json")
    tune = ["tune", "saxpy.ptx", "--arch", "sm_90", "--trials", "60", "--searches", "8", "-q"]
    yield Shards("`oriole tune`, 8 searches of 60", tune, "--report", launch)
    has = importlib.util.find_spec
    for module, job in (("distributed", lambda: Dask(sources)), ("xdist", Xdist)):
        if has(module) and has("oriole_gpu"):
            yield job()
        else:
            print(f"left out: {module} or Oriole's package is not installed", file=sys.stderr)
    path = os.pathsep.join([str(options.sccache or ""), os.environ["PATH"]])
    tools = {name: shutil.which(name, path=path) for name in ("sccache", "sccache-dist", "bwrap")}
    if all(tools.values()) and os.geteuid() == 0:
        yield Sccache({**tools, "oriole": options.oriole}, sources)
    else:
        print(f"left out: sccache needs root, and one of {', '.join(tools)} is missing", file=sys.stderr)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--oriole", required=True, type=lambda path: str(Path(path).resolve()))
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--sccache", type=Path, help="folder of sccache and sccache-dist")
    parser.add_argument("--only", default="", help="jobs with this in their name")
    options = parser.parse_args()
    print("| seconds, with workers | " + " | ".join(map(str, WORKERS)) + " |\n|---|" + "---|" * len(WORKERS))
    for job in jobs(options):
        if options.only not in job.name:
            continue
        least, first = dict.fromkeys(WORKERS, (float("inf"),) * 2), None
        for _ in range(options.rounds):
            for workers in WORKERS:
                took, result = seconds(job, workers, options.oriole)
                least[workers] = tuple(map(min, least[workers], took))
                first = first or result
                if result != first:
                    sys.exit(f"{job.name}: {workers} workers give something else")
        print(f"| {job.name} | " + " | ".join("{:.1f} ({:.1f})".format(*least[workers]) for workers in WORKERS) + " |", flush=True)


if __name__ == "__main__":
    main()
