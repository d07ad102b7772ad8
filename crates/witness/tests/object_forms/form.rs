//! A form of the corpus, and a program that runs it on a random image.

use super::operands::{Setting, roles};
use super::random::Random;
use super::words;
use serde_json::Value;

const THREADS: usize = 32;
/// Buffers begin and end at multiples of this; the least bytes of a thread.
const UNIT: usize = 256;
const LEAST: usize = 32;

/// Geometries: the size of an image, and options of it.
const GEOMETRIES: [(&str, &str, &str); 9] = [
    ("1d", "1d:8", ""),
    ("2d", "2d:8x4", ""),
    ("3d", "3d:8x4x2", ""),
    ("a1d", "1d:8", ",layers=3"),
    ("a2d", "2d:8x4", ",layers=3"),
    ("cube", "cube:4", ""),
    ("acube", "cube:4", ",layers=2"),
    ("2dms", "2d:8x4", ",samples=2"),
    ("a2dms", "2d:8x4", ",layers=2,samples=2"),
];
/// Bytes that each of these images has room in.
const IMAGE: usize = 16 * 8 * 4 * 6 * 2;

/// A form.
pub(super) struct Form<'f> {
    /// Its name.
    pub(super) id: &'f str,
    /// The targets that the corpus lists.
    pub(super) targets: Vec<&'f str>,
    ptx: &'f str,
    opcode: &'f str,
    operands: &'f str,
    /// Bytes of a thread.
    input: usize,
    output: usize,
}

impl<'f> Form<'f> {
    /// A row of the corpus; none without its instruction.
    pub(super) fn of(row: &'f Value) -> Option<Form<'f>> {
        let (id, ptx) = (row["id"].as_str()?, row["ptx"].as_str()?);
        let opcode = id.split(['+', '#']).next()?;
        let (_, operands) = ptx.split_once(&format!("{opcode} "))?;
        let bytes = |key: &str| row[key].as_u64().map(|bytes| bytes as usize);
        Some(Form {
            id,
            targets: row["targets"].as_array()?.iter().filter_map(Value::as_str).collect(),
            ptx,
            opcode,
            operands: operands.split(';').next()?,
            input: bytes("in_bytes")?,
            output: bytes("out_bytes")?,
        })
    }

    /// Those that ask for work do not initialise their mbarrier; `tests/witness/async/cancelled.txt` has whole programs.
    pub(super) fn can_run(&self) -> bool {
        !self.has("try_cancel")
    }

    fn has(&self, word: &str) -> bool {
        self.opcode.split('.').any(|part| part == word)
    }

    fn is_surface(&self) -> bool {
        self.opcode.starts_with("su")
    }

    /// Coordinates are singles.
    fn is_single(&self) -> bool {
        self.opcode.ends_with(".f32")
    }

    /// The form as a program of a table, named by a number.
    pub(super) fn program(&self, number: usize) -> String {
        let mut random = Random::of(self.id);
        let output = (self.output.max(LEAST) * THREADS).next_multiple_of(UNIT);
        let geometry = GEOMETRIES.iter().find(|(word, ..)| self.has(word)).unwrap_or(&GEOMETRIES[1]);
        let normalized = geometry.0.contains("cube") || self.is_single() && random.within(0, 2) == 1;
        let objects = match self.is_surface() {
            true => self.surface(geometry, output, &mut random),
            false => self.texture(geometry, normalized, output, &mut random),
        };
        let setting = Setting {
            normalized,
            singles: self.is_single(),
            // Bytes, of which 16 suit every access; or texels.
            unit: if self.has("b") { 16 } else { 1 },
            traps: self.has("trap"),
        };
        let (_, body) = self.ptx.split_once(".address_size 64\n").expect("a header");
        let body = body.trim_end().replace('\n', "\n  ");
        let mode = if self.ptx.contains("texmode_independent") { "mode texmode_independent\n" } else { "" };
        let input = hexadecimal(&self.memory(&setting, &mut random));
        let before = hexadecimal(&[vec![0; output], random.bytes(IMAGE)].concat());
        let results = (output + IMAGE) / 4;
        format!(
            "program {number}\nblock {THREADS}\n{mode}{objects}note o what the engines agree on\nptx\n  {body}\n\
             case all\nin b32\n{input}\nbefore b32\n{before}\nout b32\n?o*{results}\n\n"
        )
    }

    /// A surface of words, or what a formatted access asks for.
    fn surface(&self, (_, size, more): &(&str, &str, &str), at: usize, random: &mut Random) -> String {
        let texel = match (self.has("p"), self.opcode.starts_with("sust"), self.has("b64")) {
            (false, ..) => "u32x4",
            (true, true, _) => random.one_of(&["u8x4", "s16x2", "f16x4", "un8x4", "f32x1"]),
            (true, false, true) => random.one_of(&["u32x2", "s32x2"]),
            (true, false, false) => random.one_of(&["u32x1", "s32x1"]),
        };
        let options = more.replacen(',', ":", 1);
        format!("surface g_t out+{at} {size}:{texel}{options}\n")
    }

    /// A texture of numbers of the kind that is read, and a sampler.
    fn texture(
        &self,
        (name, size, more): &(&str, &str, &str),
        normalized: bool,
        at: usize,
        random: &mut Random,
    ) -> String {
        let texel = match () {
            () if self.id.contains("depth") => "f32x1",
            () if self.has("u32") => random.one_of(&["u8x1", "u16x4", "u32x2"]),
            () if self.has("s32") && !self.has("f32") && !self.has("f16x2") => {
                random.one_of(&["s8x4", "s16x1", "s32x2"])
            }
            () => random.one_of(&["f32x4", "f16x2", "un8x4", "sn16x1", "f16x4"]),
        };
        let filter = random.one_of(&["nearest", "linear", "linear,mip"]);
        let address = random.one_of(&["clamp", "border", "wrap", "mirror"]);
        let comparison = random.one_of(&["le", "ge"]);
        let normal = if normalized { ",normalized" } else { "" };
        // CUDA has levels with normalised coordinates alone; texels have numbers in any case.
        let has_levels = !name.contains("ms") && (normalized || !self.is_single() && !self.has("grad"));
        let levels = if has_levels { ",levels=3" } else { "" };
        let texture =
            format!("texture g_t out+{at} {size}:{texel}:{filter},{address},{comparison}{normal}{more}{levels}\n");
        match self.ptx.contains(".samplerref") {
            true => texture + &format!("sampler g_s {}{normal}\n", random.one_of(&["nearest", "linear"])),
            false => texture,
        }
    }

    /// The input: what each thread loads.
    fn memory(&self, setting: &Setting, random: &mut Random) -> Vec<u8> {
        let mut memory = random.bytes((self.input.max(LEAST) * THREADS).next_multiple_of(UNIT));
        let has = |word: &str| if word == "single" { self.is_single() } else { self.has(word) };
        let is_on_image = ["tex", "tld4", "txq", "su"].iter().any(|start| self.opcode.starts_with(start));
        let roles = if is_on_image { roles(self.operands, has, self.is_surface()) } else { Default::default() };
        for load in self.ptx.lines().filter_map(|line| line.strip_prefix("ld.global.b")) {
            let (bits, rest) = load.split_once(' ').expect("a width");
            let (register, place) = rest.split_once(",[%pi").expect("a register and a place");
            let offset = place.trim_matches(['+', ']', ';']).parse().unwrap_or(0);
            let width = bits.parse::<usize>().expect("a width") / 8;
            // All else may be anything.
            let Some(role) = roles.get(register) else { continue };
            for start in (offset..).step_by(self.input).take(THREADS) {
                memory[start..start + width].copy_from_slice(&role.number(setting, random).to_le_bytes()[..width]);
            }
        }
        memory
    }
}

/// Bytes as the words of a table.
fn hexadecimal(bytes: &[u8]) -> String {
    words(bytes).iter().map(|word| format!("{word:08x}")).collect::<Vec<_>>().join(" ")
}
