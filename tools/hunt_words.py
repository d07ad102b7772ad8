#!/usr/bin/env python3
"""Looks for instruction words that nvdisasm reads and Oriole does not know.

    hunt_words.py opcodes TARGET [WORDS [SEED]]       random words for each of the 4,096 opcodes (24 for each)
    hunt_words.py forms TARGET CONSTANTS PTXAS        the forms of ../shared/ptx_forms with uniform operands, by ptxas

`opcodes` lists the opcodes of which nvdisasm reads a word and `oriole disasm` says "unknown opcode", with a word and its text;
reserved bits are no finding, for nvdisasm ignores bits that we refuse. Then it lists words that both read as different text.
`forms` rewrites each form so that its inputs are kernel parameters (CONSTANTS 0), constants and parameters by turns (1), or constants
(2), compiles them, and lists the words in ptxas's cubins that Oriole does not read, with the form that they come from: ptxas then
uses the uniform datapath and immediates in places where a form with loads has registers.

Sixty-four-bit words (sm_50, sm_61) are not tried. nvdisasm and the binary of Oriole are found as tools/probe_bits.py finds them.
"""
import collections, json, os, pathlib, random, re, subprocess, sys, tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent))
import probe_bits

FORMS = probe_bits.ROOT.parent / "shared" / "ptx_forms" / "forms"
CONTROL = 0x000fc000 << 96
BATCH = 4096
CONSTANTS = {"8": "0x83", "16": "0x9234", "32": "0x3fc12345", "64": "0x3fc12345789abcd1"}


def oriole():
    return os.environ.get("ORIOLE", probe_bits.ROOT / "target" / "release" / "oriole")


def random_words(each, dice):
    """Sparse words with a true guard; most have the bit that the uniform datapath sets."""
    for opcode in range(4096):
        for _ in range(each):
            share = dice.choice((0.08, 0.15, 0.3))
            word = CONTROL | opcode | 7 << 12 | sum(1 << bit for bit in range(16, 105) if dice.random() < share)
            yield word | (1 << 91 if dice.random() < 0.7 else 0)


def read_by_nvdisasm(target, words):
    """The words that have a text without reserved codes, and it."""
    words, found = list(words), {}
    for at in range(0, len(words), BATCH):
        part = words[at:at + BATCH]
        for word, text in zip(part, probe_bits.texts(target, part)):
            if text and "???" not in text and "INVALID" not in text:
                found[word] = text
    return found


def opcodes(target, each=24, seed=1):
    found = read_by_nvdisasm(target, random_words(each, random.Random(seed)))
    lines = "".join(f"{word:032x}\n" for word in found)
    done = subprocess.run([oriole(), "disasm", "--arch", target, "--hex", "-"], input=lines, capture_output=True, text=True)
    unknown, different = collections.defaultdict(list), []
    for (word, text), ours in zip(found.items(), done.stdout.splitlines()):
        if "unknown opcode" in ours:
            name = re.sub(r"^@!?U?P\w+ ", "", text).split()[0].split(".")[0]
            unknown[name, word & 0xfff].append((word, text))
        elif not ours.startswith("???") and ours != text:
            different.append((word, text, ours))
    print(f"{target}: nvdisasm reads {len(found)} words; {len(unknown)} opcodes are unknown, {len(different)} texts differ")
    for (name, opcode), words in sorted(unknown.items()):
        print(f"  {name} {opcode:#x} {len(words)} words, {words[0][0]:032x} {words[0][1]}")
    for word, text, ours in different:
        print(f"  {word:032x} {text!r} ours {ours!r}")


def with_uniform_inputs(ptx, number, constants):
    """The form with its loads from `in` replaced; `None` where it has none. Its names get the number."""
    if not re.search(r"ld\.global\.\w+ %z?i\d+,\[%pi", ptx):
        return None
    ptx = ptx.replace(".param .u64 in,", ".param .align 16 .b8 in[512],").replace("ld.param.u64 %pi,[in];", "")
    ptx = re.sub(r"mad\.wide\.u32 %p[io],%tx,\d+,%p[io];", "", ptx)
    count = number

    def source(load):
        nonlocal count
        count += 1
        kind, to, offset = load[1], load[2], load[3] or ""
        if not kind.startswith("v") and kind[1:] in CONSTANTS and (constants == 2 or constants == 1 and count % 2):
            value = CONSTANTS[kind[1:]]
            value = value.replace("0x", "0f" if kind == "f32" else "0d" if kind == "f64" else "0x")
            return f"mov.{'b16' if kind[1:] == '8' else kind} {to},{value};"
        return f"ld.param.{kind} {to},[in{offset}];"

    ptx = re.sub(r"ld\.global\.([\w.]+) (%\w+|\{[^}]*\}),\[%pi(\+\d+)?\];", source, ptx)
    if "[%pi" in ptx:
        return None
    ptx = re.sub(r"(?<![\w.%$])(k(?!\w)|g_\w+)", rf"\1_{number}", ptx)
    return re.sub(r"^\.version.*\n\.target.*\n\.address_size 64\n", "", ptx)


def compiled(ptxas, target, bodies, folder):
    """Texts of the words of the cubin of these forms, halved until ptxas takes them."""
    source, cubin = folder / "forms.ptx", folder / "forms.cubin"
    source.write_text(f".version 9.0\n.target {target}\n.address_size 64\n" + "\n".join(bodies))
    if subprocess.run([ptxas, "-arch", target, source, "-o", cubin], capture_output=True).returncode == 0:
        yield subprocess.run([oriole(), "disasm", cubin], capture_output=True, text=True).stdout
    elif len(bodies) > 1:
        middle = len(bodies) // 2
        yield from compiled(ptxas, target, bodies[:middle], folder)
        yield from compiled(ptxas, target, bodies[middle:], folder)


def forms(target, constants, ptxas):
    every = [json.loads(line) for file in sorted(FORMS.glob("*.jsonl")) for line in file.open()]
    family = target.replace("103", "100")
    every = [form for form in every if {family, family.rstrip("a")} & set(form["targets"])]
    bodies = [with_uniform_inputs(form["ptx"], number, constants) for number, form in enumerate(every)]
    bodies = [body for body in bodies if body]
    unknown, section = {}, ""
    with tempfile.TemporaryDirectory() as folder:
        for at in range(0, len(bodies), 100):
            for text in compiled(ptxas, target, bodies[at:at + 100], pathlib.Path(folder)):
                for line in text.splitlines():
                    section = line.split(".text.")[1] if ".section" in line and ".text." in line else section
                    if "???" in line:
                        unknown.setdefault(line.split("???")[1].strip(), section)
    print(f"{target}: {len(bodies)} forms, {len(unknown)} words that are not read")
    for word, section in sorted(unknown.items()):
        number = re.search(r"_(\d+)$", section)
        print(f"  {word} {every[int(number[1])]['id'] if number else section}")


def main():
    match sys.argv[1:]:
        case ["opcodes", target, *rest]:
            opcodes(target, *map(int, rest))
        case ["forms", target, constants, ptxas]:
            forms(target, int(constants), ptxas)
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
