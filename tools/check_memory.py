#!/usr/bin/env python3
"""Run the launches of ../shared/kernels under `oriole run --check` and list what is found.

    check_memory.py --oriole PATH [--ptxas PATH] [--targets sm_80,sm_90] [--only GLOB,...] [--kinds all]
                    [--jobs N] [--timeout S] [--json FILE]

With --ptxas the cubins are ptxas's, else Oriole's.  One line for each launch in which something is found, with
one line for each finding; totals at the end.  Exit status 1 if there is an error among the findings or a launch
did not run.
"""
import argparse, collections, concurrent.futures, json, os, sys, tempfile, time, types

HERE = os.path.dirname(os.path.abspath(__file__))
SHARED = os.environ.get("ORIOLE_SHARED", "/work/shared")
sys.path.insert(0, os.path.join(SHARED, "tools"))
import run_kernels


def check(launch, target, o):
    """(launch name, target, message, findings, seconds)."""
    with tempfile.TemporaryDirectory(prefix="check.") as where:
        cubin, report = os.path.join(where, "k.cubin"), os.path.join(where, "report.json")
        tool = types.SimpleNamespace(oriole=o.oriole, ptxas=o.ptxas, also_ptxas=None, timeout=o.timeout, copt=[])
        status, _, error = run_kernels.compile_by("ptxas" if o.ptxas else "oriole", launch, target, cubin, tool)
        if status:
            return launch["name"], target, f"not compiled: {run_kernels.tail(error)}", [], 0.0
        args, _ = run_kernels.command_args(launch, where)
        options = ["--check", o.kinds, "--check-report", report]
        start = time.time()
        status, _, error = run_kernels.call([o.oriole, "run", cubin, *options, *args], o.timeout)
        seconds = time.time() - start
        findings = json.load(open(report))["findings"] if os.path.exists(report) else []
        errors = any(finding["is_error"] for finding in findings)
        expected = 3 if errors or launch["check"]["mode"] == "fault" else 0
        message = "" if status == expected else f"exit status {status}: {run_kernels.tail(error)}"
        return launch["name"], target, message, findings, seconds


def show(site):
    return f"{site['access']} {site['function']}+{site['pc']:#x} {site['instruction']} by {site['block']}{site['thread']}"


def main():
    p = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    p.add_argument("--oriole", default="oriole")
    p.add_argument("--ptxas")
    p.add_argument("--targets", default="sm_80,sm_90")
    p.add_argument("--only")
    p.add_argument("--kinds", default="all")
    p.add_argument("--jobs", type=int, default=os.cpu_count())
    p.add_argument("--timeout", type=float, default=300)
    p.add_argument("--json")
    o = p.parse_args()
    targets = o.targets.split(",")
    work = [(launch, t) for launch in run_kernels.load(o.only) for t in launch["targets"] if t in targets]
    rows, kinds = [], collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(o.jobs) as pool:
        for row in pool.map(lambda job: check(*job, o), work):
            rows.append(row)
            name, target, message, findings, seconds = row
            kinds.update(finding["kind"] for finding in findings)
            if message or findings:
                print(f"{name} {target} {seconds:.1f} s {message}")
            for finding in findings:
                print(f"    {finding['kind']} x{finding['times']}: {finding['place']}\n        {show(finding['later'])}")
                if finding["earlier"]:
                    print(f"        earlier {show(finding['earlier'])}", flush=True)
    wrong = [row for row in rows if any(finding["is_error"] for finding in row[3])]
    failed = [row for row in rows if row[2]]
    print(f"{len(rows)} launches, {len(wrong)} with errors, {len(failed)} did not run: {dict(kinds)}")
    if o.json:
        json.dump(rows, open(o.json, "w"), indent=1)
    return 1 if wrong or failed else 0


if __name__ == "__main__":
    sys.exit(main())
