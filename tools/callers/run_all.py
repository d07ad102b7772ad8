#!/usr/bin/env python3
"""Every caller of versions.toml in an environment of its own, with the versions that are known or with the newest.

    run_all.py --oriole target/release/oriole --into FOLDER [--latest | --installed] [--callers triton,nvcc] [--targets sm_80] [--only REGEX]

FOLDER keeps the environments (by caller and version), so that a second run installs nothing; one with --latest is brought up to date each
time. With --installed those that are there are tried, and nothing is installed. The scripts' own lines name what fails; at the end there is a line for each caller and version. Exit status 1 if any fails.
"""
import argparse, glob, os, pathlib, re, subprocess, sys, tomllib

HERE = pathlib.Path(__file__).resolve().parent
# What a package of the list is without the version that is asked for.
REQUIREMENT = re.compile(r"[=<>~!].*")


def arguments():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--oriole", required=True)
    options.add_argument("--into", required=True, type=pathlib.Path)
    versions = options.add_mutually_exclusive_group()
    versions.add_argument("--latest", action="store_true")
    versions.add_argument("--installed", action="store_true")
    options.add_argument("--callers", default="")
    options.add_argument("--targets", default="")
    options.add_argument("--only", default="")
    return options.parse_args()


def installed(folder, packages, is_latest):
    """The Python of an environment with these packages, made or brought up to date."""
    python, mark = folder / "bin" / "python", folder / "packages.txt"
    wanted = "\n".join(packages)
    if is_latest or not mark.exists() or mark.read_text() != wanted:
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        subprocess.run([python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", *(["--upgrade"] if is_latest else []), *packages],
                       check=True)
        mark.write_text(wanted)
    return python


def version_of(python, package):
    """The version of a package that an environment has."""
    name = re.split(r"[\[=<>~!]", package)[0]
    asked = f"import importlib.metadata; print(importlib.metadata.version({name!r}))"
    return subprocess.run([python, "-c", asked], check=True, capture_output=True, text=True).stdout.strip()


def environments(name, caller, options):
    """Of a caller each environment that is tried: folder and packages."""
    if options.latest:
        # What stands beside the caller keeps its number: a toolkit is one release, whatever else an environment asks for.
        newest = [REQUIREMENT.sub("", package) if "{version}" in package else package for package in caller["packages"]]
        return [(options.into / f"{name}-latest", newest)]
    return [(options.into / f"{name}-{version}", [package.format(version=version) for package in caller["packages"]])
            for version in caller["versions"]]


def filled(word, values):
    """A word of versions.toml with its names filled in; a path with a star is the first that there is."""
    pieces = (piece.format(**values) for piece in word.split(" "))
    return " ".join(next(iter(sorted(glob.glob(piece))), piece) if "*" in piece else piece for piece in pieces)


def tried(caller, python, options):
    """The script's exit status for an environment; its lines are printed as they come."""
    root = next((python.parent.parent / "lib").glob("python*/site-packages"))
    words = [filled(word, {"root": root, "python": python}) for word in caller.get("arguments", [])]
    targets = [target for target in caller["targets"] if not options.targets or target in options.targets.split(",")]
    if options.only:
        words += ["--only", options.only]
    command = [python if caller.get("python") else sys.executable, HERE / caller["script"], "--oriole", options.oriole,
               "--targets", ",".join(targets), *words]
    return subprocess.run(command).returncode if targets else 0


def main():
    options = arguments()
    options.oriole, options.into = os.path.abspath(options.oriole), options.into.resolve()
    callers = tomllib.loads((HERE / "versions.toml").read_text())
    chosen = options.callers.split(",") if options.callers else list(callers)
    verdicts = []
    for name in chosen:
        for folder, packages in environments(name, callers[name], options):
            if options.installed and not (folder / "packages.txt").exists():
                print(f"== {folder.name}: not installed", flush=True)
                continue
            try:
                python = installed(folder, packages, options.latest)
                version = version_of(python, packages[0])
                print(f"== {name} {version}", flush=True)
                verdicts.append((name, version, "right" if tried(callers[name], python, options) == 0 else "fails"))
            except subprocess.CalledProcessError as error:
                verdicts.append((name, folder.name, f"cannot be installed: {error}"))
    for name, version, verdict in verdicts:
        print(f"{name} {version}: {verdict}", flush=True)
    return 1 if any(verdict != "right" for _, _, verdict in verdicts) else 0


if __name__ == "__main__":
    sys.exit(main())
