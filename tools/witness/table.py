"""Writes tables in the format of docs/witness.md."""

import itertools
import pathlib
import textwrap

WIDTHS = {"pred": 1, "f16x2": 32, "bf16x2": 32, "f32x2": 64}
# What the manual leaves open, by the letter that stands in the table.
OPEN = "?"
NAN = "nan"


def width(kind):
    """Bits of a type by its name."""
    return WIDTHS.get(kind) or int("".join(c for c in kind if c.isdigit()))


def open_(letter):
    """A result that the manual leaves open; the note with this letter says why."""
    return OPEN + letter


class Between:
    """A float between two others of its format."""

    def __init__(self, low, high):
        self.low, self.high = low, high


class Either:
    """One of several results."""

    def __init__(self, *values):
        self.values = values


class Differs:
    """What the manual says, and what ptxas makes of it (so that programs see that)."""

    def __init__(self, manual, made):
        self.manual, self.made = manual, made


def token(value, kind):
    digits = (width(kind) + 3) // 4
    if isinstance(value, str):
        return value
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, int):
        return f"{value & ((1 << width(kind)) - 1):0{digits}x}"
    if isinstance(value, Between):
        return f"{token(value.low, kind)}..{token(value.high, kind)}"
    if isinstance(value, Either):
        return "|".join(token(one, kind) for one in value.values)
    manual, made = token(value.manual, kind), token(value.made, kind)
    return manual if manual == made else f"{manual}~{made}"


def repeated(words):
    """Equal neighbours once, with their number."""
    groups = ((word, len(list(group))) for word, group in itertools.groupby(words))
    return [text for word, count in groups for text in ([f"{word}*{count}"] if count > 1 else [word])]


class Table:
    """A file below the folder of tables. Its parts are added in the order in which they stand there."""

    def __init__(self, name, script):
        self.name = name
        self.lines = [f"# Made by tools/witness/{script} from the PTX manual; docs/witness.md says how it is read."]
        self.fields, self.values = [], []
        # The forms of the rows so far: their texts by all else, so that those with the same results stand together.
        self.forms = {}

    def section(self, text):
        """The section of the manual."""
        self.flush()
        self.lines += ["", f"section {text}"]

    def rows(self, fields, values):
        """Operands, `"a:u32 b:u32"`, and a tuple of their bits for each row."""
        self.flush()
        self.fields = [field.split(":") for field in fields.split()]
        self.values = [tuple(row) if isinstance(row, (tuple, list)) else (row,) for row in values]
        self.lines += ["", f"rows {fields}"]
        for row in self.values:
            self.lines.append(" ".join(token(value, kind) for value, (_, kind) in zip(row, self.fields, strict=True)))

    def form(self, code, outputs, function, needs=None, without=(), notes=()):
        """PTX (or several with the same results), its results `"d:u32"`, and the function of a row's operands that computes them."""
        kinds = [field.split(":")[1] for field in outputs.split()]
        words = []
        for row in self.values:
            results = function(*row)
            results = results if isinstance(results, tuple) else (results,)
            words.append(",".join(token(value, kind) for value, kind in zip(results, kinds, strict=True)))
        head = tuple(self.head(needs, without, notes)) + (f"out {outputs}",)
        codes = [code] if isinstance(code, str) else code
        self.forms.setdefault((head, tuple(words)), []).extend(codes)

    def flush(self):
        """Writes the forms of the rows so far."""
        for (head, words), codes in self.forms.items():
            self.lines.append("")
            for text in codes:
                first, *rest = text.split("\n")
                self.lines += [f"form {first}"] + [f"  {line}" for line in rest]
            self.lines += head
            self.words(words)
        self.forms = {}

    def program(self, name, code, cases, shape=(), needs=None, without=(), notes=(), runs=False):
        """A kernel `k(.param .u64 in, .param .u64 out)` and launches: name, input type and elements, output type and elements.

        `shape` has lines such as `block 32`, and the objects. Behind the results a launch may have type and elements of the output before it.
        With `runs` equal neighbours are written once with their number.
        """
        self.flush()
        self.lines += ["", f"program {name}"] + self.head(needs, without, notes)
        self.lines += list(shape) + ["ptx"] + [f"  {line}" for line in code.strip("\n").split("\n")]
        for case, in_kind, given, out_kind, results, *before in cases:
            self.lines += [f"case {case}", f"in {in_kind}"]
            shown = repeated if runs else list
            self.words(shown([token(value, in_kind) for value in given]))
            for kind, values in before:
                self.lines.append(f"before {kind}")
                self.words(shown([token(value, kind) for value in values]))
            self.lines.append(f"out {out_kind}")
            self.words(shown([token(value, out_kind) for value in results]))

    def head(self, needs, without, notes):
        lines = [f"needs {needs}"] if needs else []
        return lines + [f"note {letter} {text}" for letter, text in notes] + [f"without {engine} {reason}" for engine, reason in without]

    def words(self, words):
        self.lines += textwrap.wrap(" ".join(words), 120, break_long_words=False, break_on_hyphens=False)

    def write(self, folder):
        self.flush()
        path = pathlib.Path(folder) / f"{self.name}.txt"
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("\n".join(self.lines) + "\n")
