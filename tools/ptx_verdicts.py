#!/usr/bin/env python3
"""Ask ptxas about the small modules of crates/ptx/tests/data/verdicts.tsv, and write its verdicts into the file.

    ptx_verdicts.py --ptxas PATH [FILE]

A line is `CONTEXT<tab>VERDICT<tab>TEXT`: statements of a kernel, or `file-level text @@ statements`. A line
`#context NAME VERSION TARGET<tab>file-level text<tab>declarations` says what they stand in. VERDICT is `ok` or `no` as ptxas has
it; a `*` behind it says that Oriole's differs on purpose (docs/ptx-grammar.md). `crates/ptx/tests/verdicts.rs` compares.
"""
import argparse
import pathlib
import subprocess
import tempfile

DEFAULT = pathlib.Path(__file__).resolve().parent.parent / "crates/ptx/tests/data/verdicts.tsv"
REGISTERS = (".reg .pred %p<9>; .reg .b16 %h<9>; .reg .b32 %r<40>; .reg .b64 %rd<20>; "
             ".reg .f32 %f<40>; .reg .f64 %d<9>;")


def module(context, text):
    """The module that a line stands for; the same as in verdicts.rs."""
    version, target, before, declarations = context
    own, _, statements = text.rpartition("@@")
    return (f".version {version}\n.target {target}\n.address_size 64\n{before}\n{own}\n"
            f".visible .entry k(.param .u64 p)\n{{\n{REGISTERS}\n{declarations}\n"
            f"ld.param.u64 %rd0, [p];\n{statements}\nret;\n}}\n")


def accepts(ptxas, target, text, folder):
    path = pathlib.Path(folder) / "module.ptx"
    path.write_text(text)
    done = subprocess.run([ptxas, "-arch", target, path, "-o", pathlib.Path(folder) / "out"], capture_output=True)
    return done.returncode == 0


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("file", nargs="?", type=pathlib.Path, default=DEFAULT)
    arguments = parser.parse_args()
    contexts, lines = {}, []
    with tempfile.TemporaryDirectory() as folder:
        for line in arguments.file.read_text().splitlines():
            fields = line.split("\t")
            if fields[0].startswith("#context "):
                _, name, version, target = fields[0].split(" ")
                contexts[name] = (version, target, fields[1], fields[2])
            elif not line.startswith("#"):
                context, verdict, text = fields
                star = "*" if verdict.endswith("*") else ""
                found = accepts(arguments.ptxas, contexts[context][1], module(contexts[context], text), folder)
                line = "\t".join([context, ("ok" if found else "no") + star, text])
            lines.append(line)
    arguments.file.write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
