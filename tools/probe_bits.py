#!/usr/bin/env python3
"""Asks nvdisasm what the bits of an instruction word mean; how docs/isa/method.md derives the spec.

    probe_bits.py TARGET text WORD...             text of each word
    probe_bits.py TARGET flip WORD                every one-bit change: what the text becomes
    probe_bits.py TARGET field WORD AT:LEN[+AT:LEN]...  every value of a field (low part first)
    probe_bits.py TARGET cross WORD A:L B:M       every pair of values of two fields
    probe_bits.py TARGET grep REGEX               golden words whose text matches (from ../shared/vectors)
    probe_bits.py TARGET reject [COUNT [SEED]]    mutated golden words that nvdisasm refuses but we do not

TARGET is sm_50 … sm_120a. Words are hexadecimal as in the vectors; for sm_50 and sm_61 the 21 scheduling
bits stand in bits 64-84. nvdisasm is found through ORIOLE_ORACLE (sm_75 and later) and ORIOLE_ORACLE_OLD (its
12.x release, for sm_50 to sm_70), folders with the executable. Refused words print as '-'; remember that nvdisasm
also prints INVALID or ??? where a code has no meaning: the spec refuses those.
"""
import os, pathlib, random, re, signal, subprocess, sys, tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent
VECTORS = ROOT.parent / "shared" / "vectors"


def tool(target):
    old = target in ("sm_50", "sm_61", "sm_70")
    folder = os.environ.get("ORIOLE_ORACLE_OLD" if old else "ORIOLE_ORACLE")
    if not folder:
        sys.exit(f"set ORIOLE_ORACLE{'_OLD' if old else ''} to the folder of nvdisasm")
    return [str(pathlib.Path(folder) / "nvdisasm"), "-b", "SM" + target[3:]]


def image(target, words):
    """The bytes of a raw binary, and the address of each word in it."""
    if target not in ("sm_50", "sm_61"):
        return b"".join(word.to_bytes(16, "little") for word in words), [16 * i for i in range(len(words))]
    # A bundle is a control word and three instructions; each probed word gets a bundle of its own.
    nop = 0x50b0000000070f00
    bundles = (((word >> 64 & 0x1fffff) | 0x7e0 << 21 | 0x7e0 << 42, word & (1 << 64) - 1, nop, nop) for word in words)
    data = b"".join(part.to_bytes(8, "little") for bundle in bundles for part in bundle)
    return data, [32 * i + 8 for i in range(len(words))]


def run(target, words):
    data, addresses = image(target, words)
    with tempfile.NamedTemporaryFile(suffix=".bin") as file:
        file.write(data)
        file.flush()
        done = subprocess.run(tool(target) + [file.name], capture_output=True, text=True, errors="replace")
    return done, addresses


def texts(target, words):
    """Text of each word, None where nvdisasm refuses it. Words must have targets in reach: none is checked."""
    words = list(words)
    if not words:
        return []
    refused = set()
    while True:
        kept = [i for i in range(len(words)) if i not in refused]
        if not kept:
            return [None] * len(words)
        done, addresses = run(target, [words[i] for i in kept])
        at = {address: i for address, i in zip(addresses, kept)}
        errors = re.findall(r"address 0x([0-9a-f]+)", done.stderr)
        bad = {at[int(a, 16)] for a in errors if int(a, 16) in at}
        if not bad and done.returncode == 0:
            break
        if not bad:
            if len(kept) == 1:
                return [None] * len(words)
            middle = len(words) // 2   # it died without an address: halve
            return texts(target, words[:middle]) + texts(target, words[middle:])
        refused |= bad
    out = [None] * len(words)
    for line in done.stdout.splitlines():
        found = re.match(r"\s*/\*([0-9a-f]+)\*/\s+(.*?)\s*;", line)
        if found and int(found[1], 16) in at:
            text = re.sub(r"\s*\(\*.*?\*\)", "", found[2])
            out[at[int(found[1], 16)]] = text.strip("{} ") if target in ("sm_50", "sm_61") else text
    return out


def ranges(text):
    parts = [part.split(":") for part in text.split("+")]
    return [(int(part[0]), int(part[1]) if len(part) > 1 else 1) for part in parts]


def put(word, where, value):
    for at, length in where:
        mask = (1 << length) - 1
        word = word & ~(mask << at) | (value & mask) << at
        value >>= length
    return word


def width(where):
    return sum(length for _, length in where)


def flip(target, word):
    bits = 85 if target in ("sm_50", "sm_61") else 128
    base, *changed = texts(target, [word] + [word ^ 1 << bit for bit in range(bits)])
    print(f"     {base}")
    for bit, text in enumerate(changed):
        print(f"{bit:3}{'*' if word >> bit & 1 else ' '} {'-' if text is None else 'same' if text == base else text}")


def field(target, word, where):
    where = ranges(where)
    values = range(1 << width(where))
    for value, text in zip(values, texts(target, [put(word, where, value) for value in values])):
        print(f"{value:3}  {text or '-'}")


def cross(target, word, first, second):
    first, second = ranges(first), ranges(second)
    pairs = [(a, b) for a in range(1 << width(first)) for b in range(1 << width(second))]
    for (a, b), text in zip(pairs, texts(target, [put(put(word, first, a), second, b) for a, b in pairs])):
        print(f"{a:3} {b:3}  {text or '-'}")


def golden(target):
    for line in (VECTORS / f"{target}.tsv").read_text().splitlines():
        word, address, text = line.split("\t")
        yield int(word, 16), address, text


def grep(target, pattern):
    for word, address, text in golden(target):
        if re.search(pattern, text):
            print(f"{word:032x}\t{address}\t{text}")


def mutated(target, count, seed):
    """Golden words with one to four bits changed, scheduling bits left alone."""
    dice = random.Random(seed)
    words = [word for word, _, _ in golden(target)]
    bits = 64 if target in ("sm_50", "sm_61") else 105
    for _ in range(count):
        word = dice.choice(words)
        for _ in range(dice.choice((1, 1, 2, 4))):
            word ^= 1 << dice.randrange(bits)
        yield word


def oriole(target, words):
    """Our text of each word, None where we refuse it."""
    binary = ROOT / "target" / "release" / "oriole"
    lines = "".join(f"{word:032x} 0\n" for word in words)
    done = subprocess.run([os.environ.get("ORIOLE", binary), "disasm", "--arch", target, "--hex", "-"],
                          input=lines, capture_output=True, text=True, check=True)
    return [None if line.startswith("???") else line for line in done.stdout.splitlines()]


def reject(target, count=100_000, seed=1):
    words = list(mutated(target, count, seed))
    ours, theirs = oriole(target, words), texts(target, words)
    invalid = [t is None or "INVALID" in t or "???" in t for t in theirs]
    refused = sum(t is None for t in theirs)
    missed = [(w, o) for w, o, t in zip(words, ours, theirs) if t is None and o is not None]
    nonsense = [(w, o, t) for w, o, t in zip(words, ours, theirs) if t is not None and o is not None and o != t]
    we_refuse = sum(o is None and not i for o, i in zip(ours, invalid))
    print(f"{target}: {count} mutated words, nvdisasm refuses {refused}, of these we refuse "
          f"{refused - len(missed)} ({100 * (refused - len(missed)) / max(refused, 1):.2f}%)")
    print(f"both read: {sum(o is not None and t is not None for o, t in zip(ours, theirs))}, "
          f"other text: {len(nonsense)}; only nvdisasm reads (ignored bits): {we_refuse}")
    for word, text in missed[:40]:
        print(f"  missed  {word:032x}  {text}")
    for word, ours, theirs in nonsense[:40]:
        print(f"  differs {word:032x}  {ours}  |  {theirs}")


def main():
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)   # the output may go to head
    if len(sys.argv) < 3:
        sys.exit(__doc__)
    target, what, *rest = sys.argv[1:]
    number = lambda text: int(text.removeprefix("0x"), 16)
    match what:
        case "text":
            for text in texts(target, map(number, rest)):
                print(text or "-")
        case "flip":
            flip(target, number(rest[0]))
        case "field":
            field(target, number(rest[0]), rest[1])
        case "cross":
            cross(target, number(rest[0]), rest[1], rest[2])
        case "grep":
            grep(target, rest[0])
        case "reject":
            reject(target, *map(int, rest))
        case _:
            sys.exit(__doc__)


if __name__ == "__main__":
    main()
