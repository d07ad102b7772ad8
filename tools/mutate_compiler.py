#!/usr/bin/env python3
"""Break the compiler in small ways, one at a time, and see whether the tests notice.

    tools/mutate_compiler.py [--only TEXT]... [--bare] [--own | --builds] [--target DIR] [--report FILE]

Each entry of tools/mutations/*.toml names a file, a text that occurs in it once and what to put in its place. For
each, the tests of its crate run first, then the others, until one fails. What nobody notices is a survivor, what the
Rust compiler refuses says nothing: exit status 1. The work happens in a worktree of HEAD of its own; --bare puts it where no ../shared is, as in a clone
that somebody else makes.
"""
import argparse
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time
import tomllib

ROOT = pathlib.Path(__file__).resolve().parent.parent
# What runs after the crate's own tests: the quickest that run whole programs first.
LATER = [
    ["-p", "oriole-filetests"],
    ["-p", "oriole-cli", "--test", "all", "programs::"],
    ["-p", "oriole-cli", "--test", "all", "--", "fuzz::", "kernels::", "check::", "modules::"],
    ["--workspace"],
]


def entries(only):
    for file in sorted((ROOT / "tools/mutations").glob("*.toml")):
        for entry in tomllib.loads(file.read_text())["mutation"]:
            if not only or any(text in entry["what"] or text in entry["file"] for text in only):
                yield entry


def apply(tree, entry):
    """Break the file; gives its old text."""
    path = tree / entry["file"]
    old = path.read_text()
    if old.count(entry["from"]) != 1:
        sys.exit(f"{entry['file']}: the text of '{entry['what']}' occurs {old.count(entry['from'])} times")
    path.write_text(old.replace(entry["from"], entry["to"]))
    return old


class DoesNotBuild(Exception):
    """A mistake of the entry."""


def cargo(tree, target, *command):
    # All that tests can try: a sample may miss what the whole finds.
    environment = {**os.environ, "CARGO_TARGET_DIR": str(target), "ORIOLE_THOROUGH": "1"}
    done = subprocess.run(["cargo", *command], cwd=tree, env=environment, capture_output=True, text=True)
    if done.returncode != 0:
        raise DoesNotBuild(next((line for line in done.stderr.splitlines() if line.startswith("error")), "no reason given"))
    return environment


def cargo_test(tree, target, what, limit):
    """True where the tests pass."""
    environment = cargo(tree, target, "test", "-q", "--no-run", *what)
    # A group of its own: a test that does not end would go on without cargo.
    run = subprocess.Popen(["cargo", "test", "-q", *what], cwd=tree, env=environment, start_new_session=True,
                           stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        return run.wait(limit) == 0
    except subprocess.TimeoutExpired:
        os.killpg(run.pid, signal.SIGKILL)
        run.wait()
        return False


def crate_of(entry):
    folder = entry["file"].split("/")[1]
    return folder if folder == "oriole" else f"oriole-{folder}"


def caught_by(tree, target, entry, limit, later):
    for what in [["-p", crate_of(entry)], *later]:
        if not cargo_test(tree, target, what, limit):
            return " ".join(what)
    return None


def verdict(tree, target, entry, options):
    """Whether all is well with the entry, and what there is to say."""
    try:
        if options.builds:
            cargo(tree, target, "check", "-q", "-p", crate_of(entry))
            return True, "builds"
        by = caught_by(tree, target, entry, options.limit, [] if options.own else LATER)
        return by is not None, f"caught by {by}" if by else "SURVIVES"
    except DoesNotBuild as reason:
        return False, f"DOES NOT BUILD ({reason})"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", action="append", help="entries whose text or file holds this; may be given again")
    parser.add_argument("--bare", action="store_true", help="without ../shared")
    parser.add_argument("--own", action="store_true", help="only the tests of the crate that is broken")
    parser.add_argument("--builds", action="store_true", help="only see whether the compiler still builds")
    parser.add_argument("--target", type=pathlib.Path, help="cargo's target folder, to be kept between runs")
    parser.add_argument("--report", type=pathlib.Path, help="append a line for each entry")
    parser.add_argument("--limit", type=int, default=900, help="seconds before a test run counts as failed")
    options = parser.parse_args()
    chosen = list(entries(options.only))
    with tempfile.TemporaryDirectory() as folder:
        tree = (pathlib.Path(folder) / "oriole") if options.bare else ROOT.parent / f"mutants-{os.getpid()}"
        subprocess.run(["git", "worktree", "add", "-q", "--detach", str(tree), "HEAD"], cwd=ROOT, check=True)
        target = options.target or pathlib.Path(folder) / "target"
        good = 0
        try:
            for number, entry in enumerate(chosen, 1):
                start = time.monotonic()
                path, old = tree / entry["file"], apply(tree, entry)
                well, found = verdict(tree, target, entry, options)
                path.write_text(old)
                good += well
                line = f"{number}/{len(chosen)} {found}: {entry['what']} ({time.monotonic() - start:.0f} s)"
                print(line, flush=True)
                if options.report:
                    with options.report.open("a") as out:
                        out.write(line + "\n")
        finally:
            subprocess.run(["git", "worktree", "remove", "--force", str(tree)], cwd=ROOT, check=False)
    print(f"{good} of {len(chosen)} {'build' if options.builds else 'caught'}")
    sys.exit(good < len(chosen))


if __name__ == "__main__":
    main()
