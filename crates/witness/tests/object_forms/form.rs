//! A form of the corpus, and a program that runs it on a random image.

use super::operands::{Setting, roles, roles_of_copy};
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
        let opcode = id.split(['+', '#', ' ']).next()?;
        let operands = [" ", ";"].iter().find_map(|end| Some(ptx.split_once(&format!("{opcode}{end}"))?.1))?;
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

    /// Not those that ask for work or reach another block: they need more than a block (`tests/witness/async` has programs).
    pub(super) fn can_run(&self) -> bool {
        !self.has("try_cancel") && !self.opcode.contains("multicast")
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
        let body = self.with_shared_memory(body).trim_end().replace('\n', "\n  ");
        let mode = if self.ptx.contains("texmode_independent") { "mode texmode_independent\n" } else { "" };
        let input = hexadecimal(&self.memory(&setting, &mut random));
        let before = hexadecimal(&random.bytes(output + IMAGE));
        let results = (output + IMAGE) / 4;
        format!(
            "program {number}\nblock {THREADS}\n{mode}{objects}note o what the engines agree on\nptx\n  {body}\n\
             case all\nin b32\n{input}\nbefore b32\n{before}\nout b32\n?o*{results}\n\n"
        )
    }

    /// The body, with the mbarrier `m` initialised, and at last the shared memory `v`, where there is one, in the output.
    fn with_shared_memory(&self, body: &str) -> String {
        const COPY: &str = "{ .reg .b32 %x<6>; .reg .b64 %y<2>; bar.warp.sync -1; mov.u32 %x0,%tid.x; shl.b32 %x0,%x0,4; mov.u32 %x1,v; add.u32 %x1,%x1,%x0; \
             ld.shared.v4.b32 {%x2,%x3,%x4,%x5},[%x1]; ld.param.u64 %y0,[out]; cvt.u64.u32 %y1,%x0; add.u64 %y0,%y0,%y1; st.global.v4.b32 [%y0+512],{%x2,%x3,%x4,%x5}; }\nret;";
        if !body.contains("v[512]") {
            return body.to_owned();
        }
        let barrier = "mov.u64 %q1,m;";
        let initialised = format!("{barrier} {{ .reg .b32 %c; mov.u32 %c,1; mbarrier.init.shared::cta.b64 [m],%c; }}");
        body.replace("ret;", COPY).replace(barrier, &initialised)
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
        let is_of = |starts: &[&str]| starts.iter().any(|start| self.opcode.starts_with(start));
        let roles = match () {
            () if is_of(&["tex", "tld4", "txq", "su"]) => roles(self.operands, has, self.is_surface()),
            () if is_of(&["cp.async.bulk", "cp.reduce"]) => roles_of_copy(self.operands),
            () => Default::default(),
        };
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
