"""Statements of PTX and single changes of them, for compare_grammar.py.

A statement comes from a line of crates/ptx/spec/*.grammar (every choice of every place at least once) or from a form of the
corpus `ptx_forms`. It is a whole kernel on one line, so that a line number in a message names it.
"""
import collections
import dataclasses
import json
import pathlib
import re

SPEC = pathlib.Path(__file__).resolve().parent.parent / "crates/ptx/spec"

# What a changed operand may be made of: a register of each width and kind, a variable of each space.
REGISTERS = {
    "pred": ["%mp"], "8": ["%mb"], "16": ["%mh", "%mhf"], "32": ["%mr", "%mf", "%mu", "%mx"],
    "64": ["%md", "%me", "%ms"], "128": ["%mq"], "vector": ["%mv2", "%mv4"],
}
DECLARATIONS = (
    ".reg .pred %mp;.reg .b8 %mb;.reg .b16 %mh;.reg .f16 %mhf;.reg .b32 %mr;.reg .f32 %mf;.reg .u32 %mu;.reg .f16x2 %mx;"
    ".reg .b64 %md;.reg .f64 %me;.reg .s64 %ms;.reg .v2 .b32 %mv2;.reg .v4 .b32 %mv4;"
    ".local .align 32 .b8 ml[64];.param .align 16 .b8 mm[64];"
)
# What PTX has only since a version, in front of all statements of a module that has it.
SINCE = [("8.3", ".reg .b128 %mq,%q<9>;")]
PREAMBLE = (
    ".global .align 128 .b8 mg[4096];.const .align 32 .b8 mc[256];.shared .align 128 .b8 msh[1024];"
    ".global .texref mt;.global .surfref mw;"
)
CONSTANTS = [
    0, 1, -1, 2, 3, 4, 7, 8, 15, 16, 17, 31, 32, 33, 63, 64, 127, 128, 129, 255, 256, 257, -128, -129, 32767, 32768, 65535,
    65536, -32768, -32769, 2**24 - 1, 2**24, 2**31 - 1, 2**31, 2**32 - 1, 2**32, -2**31, -2**31 - 1, 2**63 - 1, 2**63, 2**64 - 1,
    -2**63, "1.0", "0f3F800000", "0d3FF0000000000000", "0x3C00",
]
OFFSETS = [0, 1, 4, 16, -4, 2**23 - 1, 2**23, -2**23, 2**24, 2**31 - 1, 2**31, -2**31, 2**32]
ADDRESSES = ["[%md]", "[%mr]", "[mg]", "[mc]", "[msh]", "[ml]", "[mm]", "[%md+16]", "[mg+16]", "[64]", "[%mf]", "[%mh]", "mg", "msh"]
OTHERS = ["_", "-%mr", "!%mp", "%tid.x", "%clock", "{%mr}", "{%mr,%mr}", "{%mh,%mh}", "{%mr,%mr,%mr,%mr}", "%mv2.x", "%mr|%mp", "%mp|%mp", "%mr+4", "%mr.h0"]


@dataclasses.dataclass(frozen=True)
class Statement:
    """A kernel on one line: what stands around one instruction, and that instruction."""
    origin: str
    outside: str
    before: str
    guard: str
    opcode: str
    modifiers: tuple
    operands: tuple
    after: str
    version: str
    change: str = "none"

    def instruction(self):
        words = "".join("." + word for word in self.modifiers)
        return f"{self.guard}{self.opcode}{words} {','.join(self.operands)};"

    def line(self, index):
        """The module's line, with names that no other line has."""
        late = "".join(text for version, text in SINCE if VERSIONS.index(version) <= VERSIONS.index(self.version))
        text = self.outside + late + self.before + (self.instruction() if self.opcode else "") + self.after
        return re.sub(r"(?<![\w.%$])(k(?!\w)|g_\w+)", rf"\1_F{index}", text)


def vocabularies():
    """The words of the closed vocabularies by name: `type`, `space` and so on; widths of types in bits."""
    found, widths = collections.defaultdict(list), {}
    for line in (SPEC / "words.grammar").read_text().splitlines():
        words = line.split()
        if words[:1] == ["type"]:
            found["type"] += words[3:]
            widths.update((word, int(words[1])) for word in words[3:])
        elif words and words[0] != "#":
            found[words[0]] += words[1:]
    return found, widths


VOCABULARY, WIDTHS = vocabularies()
VERSIONS = "6.3 6.4 6.5 7.0 7.1 7.2 7.3 7.4 7.5 7.6 7.7 7.8 8.0 8.1 8.2 8.3 8.4 8.5 8.6 8.7 8.8 9.0".split()


def split_operands(text):
    """Operands at the top level of commas."""
    found, depth, start = [], 0, 0
    for at, c in enumerate(text):
        depth += (c in "[{(") - (c in "]})")
        if c == "," and depth == 0:
            found.append(text[start:at].strip())
            start = at + 1
    rest = text[start:].strip()
    return found + [rest] if rest or found else []


# ---- statements of the corpus ----

INSTRUCTION = re.compile(r"(?<=[\n;{])(\s*(?:@!?%\w+\s+)?)([a-z][a-z0-9]*)((?:\.[\w:]+)*)([^;{}\n]*(?:\{[^;{}]*\}[^;{}\n]*)*);")
ALONE = re.compile(r"\.file|\.section|\.extern|\.alias|^\.pragma|\.blocksareclusters|S\[(8000|30000|32700)\]|\bv\[49152\]|__assertfail|32768", re.M)


def of_form(form):
    """The statement of a form, or None where it needs a module of its own."""
    lines = form["ptx"].rstrip("\n").split("\n")
    if ALONE.search(form["ptx"]) or lines[1] != ".target @TARGET@":
        return None
    text = "\n".join(lines[3:])
    body = text.index("{", text.index(".entry"))
    places = [m for m in INSTRUCTION.finditer(text, body) if m[2] not in ("ret", "exit", "call")]
    word = re.match(r"[a-z0-9]*", form["id"])[0]
    wanted = [m for m in places if m[2] == word and form["id"].startswith((m[2] + m[3])[:12])] or [m for m in places if m[2] == word]
    if not wanted:
        return None
    place = wanted[-1]
    before = text[body + 1:place.start()].replace("\n", " ")
    after = text[place.end():].replace("\n", " ")
    outside = text[:body + 1].replace("\n", " ") + DECLARATIONS
    guard = place[1].strip()
    return Statement(form["id"], outside, before, guard and guard + " ", place[2], tuple(place[3].split(".")[1:]),
                     tuple(split_operands(place[4])), after, VERSIONS[-1])


def of_corpus(folder):
    forms = [json.loads(line) for file in sorted(pathlib.Path(folder, "forms").glob("*.jsonl")) for line in file.open()]
    return [statement for form in forms if (statement := of_form(form))]


# ---- statements of the grammar ----

GRAMMAR_KERNEL = (
    ".visible .entry k(.param .u64 a){" + DECLARATIONS +
    ".reg .pred %p<9>;.reg .b16 %h<260>;.reg .b32 %r<260>;.reg .b64 %d<260>;"
)
GRAMMAR_END = "L: ret;}"


def in_kernel(text, version):
    """One instruction, as it is written, among the registers of the grammar's statements."""
    return Statement("", GRAMMAR_KERNEL, text, "", "", (), (), GRAMMAR_END, version, "as written")


def grammar_lines():
    """(file and line, head, operands) of every form, and the sets."""
    sets, forms = {}, []
    for file in sorted(SPEC.glob("*.grammar")):
        for number, line in enumerate(file.read_text().splitlines(), 1):
            words = line.split("@")[0].split()
            if words[:1] == ["set"]:
                sets[words[1]] = [re.sub(r"\(.*", "", word) for word in words[3:]]
            elif line.startswith("  ") and words and words[0] not in ("#", "never", "only", "since"):
                forms.append((f"{file.stem}:{number}", re.sub(r"\([^)]*\)", "", words[0]), words[1:]))
    return forms, sets


def slots_of(head, sets):
    """The opcode, and for each place its choices; None where nothing may stand."""
    opcode = re.match(r"\w+", head)[0]
    slots = []
    for part in re.findall(r"\{\.[^}]*\}|\.[^.{}]+", head[len(opcode):]):
        def expand(word):
            return [inner for member in sets[word] for inner in expand(member)] if word in sets else [word]
        choices = [choice for word in part.strip("{}.").split("|") for choice in expand(word)]
        slots.append(choices + [None] if part[0] == "{" else choices)
    return opcode, slots


# How many elements a gradient or an offset has, by the geometry of the texture.
GRADIENTS = {4: {"3d", "cube", "acube"}, 2: {"2d", "a2d", "2dms", "a2dms"}}


class Operands:
    """Registers and constants for the notation of operands (docs/ptx-grammar.md)."""

    def __init__(self, modifiers):
        self.modifiers, self.used = modifiers, 0
        self.types = [word for word in modifiers if word in WIDTHS]

    def register(self, ty):
        self.used += 1
        if ty == "pred":
            return f"%p{self.used % 9}"
        letter = {8: "h", 16: "h", 32: "r", 64: "d", 128: "q"}.get(max(8, WIDTHS.get(ty, 32)), "d")
        return f"%{letter}{self.used % (9 if letter == 'q' else 260)}"

    def type_of(self, name):
        name, double = (name[:-2], True) if name.endswith("*2") else (name, False)
        if re.fullmatch(r"T\d?", name):
            at = int(name[1:] or 1) - 1
            name = self.types[at] if at < len(self.types) else "b32"
        return {"u16": "u32", "u32": "u64", "s16": "s32", "s32": "s64"}.get(name, name) if double else name

    def count(self, text):
        if text == "i":
            return self.dimensions() - 2
        if text == "g":
            return next((n for n, words in GRADIENTS.items() if words & set(self.modifiers)), 1)
        number = int(re.sub(r"\D", "", text))
        if text[0] == "x":
            repeat = [int(w[1:]) for w in self.modifiers if re.fullmatch(r"x\d+", w)]
            return number * (repeat or [1])[0]
        shape = [re.fullmatch(r"m\d+n(\d+)k\d+", w) for w in self.modifiers]
        return next((int(m[1]) // number for m in shape if m), 1) if text[0] == "n" else number

    def dimensions(self):
        return next((int(w[0]) for w in self.modifiers if re.fullmatch(r"\dd", w)), 1)

    def vector(self, ty, count):
        return "{" + ",".join(self.register(ty) for _ in range(count)) + "}"

    def one(self, text):
        spec = text.lstrip("=").rstrip("?").split("/")[0]
        kind, flags = (re.match(r"(\{[^}]*\}|<[^>]*>|\[[^]]*\]|[A-Za-z0-9*]+)(.*)", spec)).groups()
        pair = re.search(r"\+(\w+)", flags)
        if kind[0] == "[":
            return self.address(kind[1:-1])
        if kind == "label":
            return "L"
        if kind == "sink":
            return "_"
        if kind == "texel":
            return self.vector("s32", self.count("g"))
        if kind[0] == "<":
            length = [int(w[1]) for w in self.modifiers if w in ("v2", "v4", "v8")]
            return self.vector(self.type_of(kind[1:-1]), length[0]) if length else self.register(self.type_of(kind[1:-1]))
        if kind[0] == "{":
            ty, _, count = kind[1:-1].partition(":")
            value = self.vector(self.type_of(ty), self.count(count or "1"))
        elif kind == "pack":
            half = {"b16": "b8", "b32": "b16", "b64": "b32", "b128": "b64"}.get((self.types or ["b32"])[0], "b16")
            value = self.vector(half, 2)
        elif "#" in flags:
            value = (re.search(r"\((-?\d+)", flags) or [0, "0"])[1]
        else:
            value = self.register(self.type_of(kind))
        return f"{value}|{self.register(pair[1])}" if pair else value

    def address(self, inside):
        name = inside.split(",")[0]
        if name in ("tex", "surf", "samp", "texsamp"):
            base = {"tex": "mt", "surf": "mw", "samp": "mt", "texsamp": "mt"}[name]
            need = {"1d": 1, "2d": 2, "a1d": 2, "3d": 4, "a2d": 4, "cube": 4, "acube": 4, "2dms": 4, "a2dms": 4}
            count = next((need[w] for w in self.modifiers if w in need), 1)
            return f"[{base},{self.vector('b32', count)}]" if "," in inside else f"[{base}]"
        if name == "map":
            count = self.dimensions()
            if any(w in ("tile::gather4", "tile::scatter4") for w in self.modifiers):
                count = 5
            return f"[%d1,{self.vector('b32', count)}]"
        return "[%r1]" if name == "tmem" else "[%d2]"


def of_grammar(rng, per_line=6):
    """Statements of every form of the grammar; each choice of each place stands in at least one."""
    forms, sets = grammar_lines()
    found = []
    for origin, head, specs in forms:
        opcode, slots = slots_of(head, sets)
        if specs == ["..."] or opcode in ("brx", "call"):
            continue
        orders = [rng.sample(choices, len(choices)) for choices in slots]
        for at in range(max([per_line] + [len(choices) for choices in slots]) if slots else 1):
            modifiers = tuple(word for order in orders if (word := order[at % len(order)]) is not None)
            operands = Operands(modifiers)
            here = [spec for spec in specs if "/" not in spec or present(spec, modifiers, sets)]
            kept = here if rng.random() < 0.5 else [spec for spec in here if not spec.split("/")[0].endswith("?")]
            text = tuple(operands.one(spec) for spec in kept)
            found.append(Statement(origin, GRAMMAR_KERNEL, "", "", opcode, modifiers, text, GRAMMAR_END, VERSIONS[-1]))
    return list({s.instruction(): s for s in found}.values())


def present(spec, modifiers, sets):
    return any(word in modifiers for name in spec.split("/")[1].split("|") for word in sets.get(name, [name]))


# ---- changes ----

def words_by_opcode(statements):
    """By opcode the modifiers that its statements have; under "" all."""
    found = collections.defaultdict(set)
    for statement in statements:
        found[statement.opcode].update(statement.modifiers)
        found[""].update(statement.modifiers)
    return {opcode: sorted(words) for opcode, words in found.items()}


KINDS = (["type"] * 3 + ["type and registers"] * 3 + ["space"] * 2 + ["vector"] * 2 + ["add modifier"] * 2 + ["drop modifier"] * 2 +
         ["other modifier"] * 3 + ["order"] * 2 + ["register"] * 3 + ["constant"] * 4 + ["address"] * 2 + ["offset", "operand", "operand"] +
         ["drop operand", "double operand", "guard", "version"])


def change(rng, statement, words, kinds=KINDS):
    """The statement with one change, or None where this kind of change finds nothing."""
    kind = rng.choice(kinds)
    modifiers, operands = list(statement.modifiers), list(statement.operands)
    make = CHANGES[kind]
    extra = make(rng, statement, modifiers, operands, words)
    if extra is None:
        return None
    new = dataclasses.replace(statement, modifiers=tuple(modifiers), operands=tuple(operands), change=kind, **extra)
    return None if (new.instruction(), new.version) == (statement.instruction(), statement.version) else new


def at_random(rng, items, wanted):
    """The place of an item that is wanted."""
    places = [at for at, item in enumerate(items) if wanted(item)]
    return rng.choice(places) if places else None


def other_type(rng, statement, modifiers, operands, words, registers=False):
    at = at_random(rng, modifiers, WIDTHS.__contains__)
    if at is None:
        return None
    old, new = modifiers[at], rng.choice(VOCABULARY["type"][:-3])
    modifiers[at] = new
    if registers:
        widths = widths_of(statement)
        for place, operand in enumerate(operands):
            operands[place] = re.sub(r"%\w+", lambda m: resized(m[0], widths, WIDTHS[old], WIDTHS[new]), operand) \
                if operand[0] != "[" else operand
    return {}


def widths_of(statement):
    """Registers of the statement by name or stem, with their widths."""
    found = {}
    for ty, names in re.findall(r"\.reg\s+\.(\w+)\s+([^;]*);", statement.outside + statement.before):
        for name in names.split(","):
            found[re.sub(r"<\d+>", "", name.strip())] = WIDTHS.get(ty, 0)
    return found


def resized(name, widths, old, new):
    """A register of another width in place of one that fitted."""
    width = widths.get(name) or widths.get(name.rstrip("0123456789"))
    if width != max(old, 16) or not 16 <= max(new, 16) <= 128:
        return name
    return {16: "%mh", 32: "%mr", 64: "%md", 128: "%mq"}[max(new, 16)] if new > 1 else "%mp"


def other_space(rng, statement, modifiers, operands, words):
    at = at_random(rng, modifiers, VOCABULARY["space"].__contains__)
    if at is None:
        modifiers.insert(rng.randint(0, len(modifiers)), rng.choice(VOCABULARY["space"]))
    elif rng.random() < 0.2:
        del modifiers[at]
    else:
        modifiers[at] = rng.choice(VOCABULARY["space"])
    return {}


def other_vector(rng, statement, modifiers, operands, words):
    """Another number of elements, with the operands that belong to it."""
    at = at_random(rng, modifiers, ("v2", "v4", "v8").__contains__)
    new = rng.choice(["v2", "v4", "v8"])
    if at is None:
        place = at_random(rng, modifiers, WIDTHS.__contains__)
        modifiers.insert(len(modifiers) if place is None else place, new)
    else:
        modifiers[at] = new
    for place, operand in enumerate(operands):
        first = operand.strip("{}").split(",")[0]
        if operand[0] in "{%" and rng.random() < 0.9:
            operands[place] = "{" + ",".join([first] * int(new[1])) + "}"
            break
    return {}


def add_modifier(rng, statement, modifiers, operands, words):
    own = words[statement.opcode] or words[""]
    modifiers.insert(rng.randint(0, len(modifiers)), rng.choice(own if rng.random() < 0.8 else words[""]))
    return {}


def drop_modifier(rng, statement, modifiers, operands, words):
    if not modifiers:
        return None
    del modifiers[rng.randrange(len(modifiers))]
    return {}


def other_modifier(rng, statement, modifiers, operands, words):
    if not modifiers:
        return None
    modifiers[rng.randrange(len(modifiers))] = rng.choice(words[statement.opcode])
    return {}


def other_order(rng, statement, modifiers, operands, words):
    if len(modifiers) < 2:
        return None
    modifiers.insert(rng.randrange(len(modifiers)), modifiers.pop(rng.randrange(len(modifiers))))
    return {}


def replace_operand(wanted, pool):
    """A change that puts something of a pool in the place of a wanted operand, or of one element of a vector."""
    def make(rng, statement, modifiers, operands, words):
        at = at_random(rng, operands, wanted)
        if at is None:
            return None
        new = str(rng.choice(pool))
        items = split_operands(operands[at][1:-1]) if operands[at][0] == "{" else []
        if len(items) > 1 and rng.random() < 0.5:
            items[rng.randrange(len(items))] = new
            new = "{" + ",".join(items) + "}"
        operands[at] = new
        return {}
    return make


def other_offset(rng, statement, modifiers, operands, words):
    at = at_random(rng, operands, lambda operand: re.fullmatch(r"\[[%\w]+\]", operand))
    if at is None:
        return None
    operands[at] = f"{operands[at][:-1]}+{rng.choice(OFFSETS)}]"
    return {}


def drop_operand(rng, statement, modifiers, operands, words):
    if not operands:
        return None
    del operands[rng.randrange(len(operands))]
    return {}


def double_operand(rng, statement, modifiers, operands, words):
    if not operands:
        return None
    operands.insert(rng.randint(0, len(operands)), rng.choice(operands))
    return {}


def is_value(operand):
    return operand[:1] not in ("[", "")


CHANGES = {
    "type": other_type,
    "type and registers": lambda *arguments: other_type(*arguments, registers=True),
    "space": other_space,
    "vector": other_vector,
    "add modifier": add_modifier,
    "drop modifier": drop_modifier,
    "other modifier": other_modifier,
    "order": other_order,
    "register": replace_operand(is_value, sum(REGISTERS.values(), [])),
    "constant": replace_operand(is_value, CONSTANTS),
    "address": replace_operand(lambda operand: operand[:1] == "[", ADDRESSES),
    "offset": other_offset,
    "operand": replace_operand(bool, OTHERS + ADDRESSES[:6]),
    "drop operand": drop_operand,
    "double operand": double_operand,
    "guard": lambda rng, *_: {"guard": rng.choice(["@%mp ", "@!%mp ", "@%mr "])},
    "version": lambda rng, *_: {"version": rng.choice(VERSIONS)},
}
