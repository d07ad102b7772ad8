"""What every caller's test shares: whether a cubin is Oriole's, and whether its launches are right on the strict simulator.

The launches and what they compute are those of ../shared/kernels, where a clone has them beside it.
"""
import argparse, json, os, pathlib, subprocess, sys, types

SHARED = pathlib.Path(__file__).resolve().parent.parent.parent.parent / "shared"
KERNELS = SHARED / "kernels"
# The owner of Oriole's notes, which has twelve bytes: a cubin with it was compiled here.
NOTE = b"oriole".ljust(12, b"\0")
sys.path.insert(0, str(SHARED / "tools"))
sys.dont_write_bytecode = True


def parser(documentation):
    """The options that every caller's test has."""
    options = argparse.ArgumentParser(description=documentation.split("\n")[0])
    options.add_argument("--oriole", required=True)
    options.add_argument("--targets", default="sm_80,sm_90")
    options.add_argument("--only", default="")
    return options


def link_ptxas(oriole, folder):
    """A link named `ptxas` to Oriole."""
    link = os.path.join(folder, "ptxas")
    os.symlink(os.path.abspath(oriole), link)
    return link


def shared_limits(oriole):
    """Bytes of shared memory that a block may have, by target."""
    said = subprocess.run([oriole, "targets", "--json"], stdout=subprocess.PIPE, check=True).stdout
    return {row["target"]: row["shared_per_block"] for row in json.loads(said)}


class Tally:
    """Cubins of one caller for one target, and the launches that were run on them."""

    def __init__(self, oriole, caller, target, folder, files=("launch.json",)):
        import run_kernels
        self.judge, self.caller, self.target, self.folder = run_kernels, caller, target, folder
        self.launches = run_kernels.load(files=files)
        self.settings = types.SimpleNamespace(oriole=oriole, engine=None, strict=True, timeout=300)
        self.cubins = self.own = self.run = self.right = self.refused = self.left = 0

    def refuse(self, name, why):
        """The caller made no cubin."""
        self.refused += 1
        print(f"{self.caller}, {name} {self.target}: {why.strip()[:300]}", flush=True)

    def add(self, name, cubin, like=None, fitted=lambda launch: launch):
        """A cubin's bytes: counted, and its launches run. `name` is that of the file in launch.json; `like` the target whose launches are
        taken, this one's if not given; `fitted` makes of a launch what the caller would launch, None where the simulator cannot."""
        self.cubins, self.own = self.cubins + 1, self.own + (NOTE in cubin)
        path = os.path.join(self.folder, f"{name}.{self.target}.cubin")
        pathlib.Path(path).write_bytes(cubin)
        for launch in (l for l in self.launches if l["file"] == name and (like or self.target) in l["targets"]):
            launch = fitted(launch)
            if launch is None:
                self.left += 1
                continue
            where = os.path.join(self.folder, f"{launch['name']}.{self.target}")
            _, is_right, message, _ = self.judge.run_and_check(launch, self.target, path, where, self.settings)
            self.run, self.right = self.run + 1, self.right + is_right
            if not is_right:
                print(f"{self.caller}, {launch['name']} {self.target}: {message}", flush=True)

    def close(self):
        """Prints the line of sums; how much is missing or wrong."""
        left = f", {self.left} not simulated" if self.left else ""
        print(f"{self.target}: {self.cubins} cubins by {self.caller}, {self.own} of them Oriole's; "
              f"{self.run} launches, {self.right} right{left}", flush=True)
        return self.refused + self.cubins - self.own + self.run - self.right
