//! PTX and launches made of forms and programs.

use crate::field::{Field, Type, layout};
use crate::object::{self, Object};
use crate::table::{Case, Form, Program};
use crate::value::Value;
use oriole_device::argument::Slot;
use oriole_device::tensor_map::TensorMap;
use oriole_device::texture::Objects;
use oriole_device::{Launch, Memory};
use std::fmt::Write;

/// A kernel, its launch, and what has to stand in the output.
#[derive(Clone, Debug)]
pub struct Kernel {
    /// The kernel's name.
    pub name: String,
    /// Its PTX.
    pub text: String,
    /// The version of PTX that it needs.
    pub version: (u32, u32),
    /// What each place of the output may hold.
    pub checks: Vec<Check>,
    /// The launch, but for its parameters.
    shape: Launch,
    /// The bytes of the input.
    input: Vec<u8>,
    /// Whether the input is the first parameter itself, not a buffer that it points to.
    by_value: bool,
    /// What stands behind the target in `.target`.
    mode: Option<String>,
    /// Textures, surfaces, samplers and tensor maps.
    objects: Vec<Object>,
    /// The first bytes of the output before the launch; the others are zero.
    before: Vec<u8>,
    /// Bytes of the output.
    output: usize,
}

/// A launch and what it works on.
pub(crate) struct Prepared {
    /// The launch, but for its parameters.
    pub(crate) launch: Launch,
    /// The bytes of each parameter.
    pub(crate) arguments: Vec<Vec<u8>>,
    pub(crate) memory: Memory,
    /// Textures, surfaces and samplers.
    pub(crate) objects: Objects,
    /// The address of the output.
    pub(crate) out: u64,
}

impl Prepared {
    /// The launch with the parameters where an engine has them, and its memory.
    ///
    /// # Errors
    /// The kernel has other parameters.
    pub(crate) fn with_parameters(&mut self, slots: &[Slot]) -> Result<(&Launch, &mut Memory), String> {
        let fits = |(argument, slot): (&Vec<u8>, &Slot)| argument.len() == slot.size as usize;
        if self.arguments.len() != slots.len() || !self.arguments.iter().zip(slots).all(fits) {
            return Err("the kernel has other parameters".to_owned());
        }
        let params = &mut self.launch.params;
        for (argument, slot) in self.arguments.iter().zip(slots) {
            params.resize(params.len().max((slot.offset + slot.size) as usize), 0);
            params[slot.offset as usize..][..argument.len()].copy_from_slice(argument);
        }
        Ok((&self.launch, &mut self.memory))
    }
}

/// A launch as plain bytes.
#[derive(Clone, Debug)]
pub struct Recorded {
    /// Blocks; threads of a block; blocks of a cluster.
    pub shape: [[u32; 3]; 3],
    /// Bytes of dynamic shared memory.
    pub shared: u32,
    /// Input and output before the launch.
    pub buffers: [Vec<u8>; 2],
    /// The bytes of each parameter.
    pub params: Vec<Vec<u8>>,
    /// For each parameter, the buffer whose address its first eight bytes are to have, and what is added to it.
    pub addresses: Vec<Option<(usize, u64)>>,
    /// The tensor maps among the parameters, which are the last ones: their bytes are ours, and a driver makes its own.
    pub maps: Vec<TensorMap>,
}

impl Recorded {
    /// Where input and output are taken to be until addresses are known.
    const BASES: [u64; 2] = [1 << 40, 1 << 44];
}

/// One result.
#[derive(Clone, Debug)]
pub struct Check {
    /// Its place in the output.
    at: usize,
    /// What it is.
    kind: Type,
    /// What it may be.
    expected: Value,
    /// Which one it is.
    label: String,
}

/// Where the operands of a form come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operands {
    /// Registers that differ between the threads: each thread has a row.
    Registers,
    /// One thread computes these rows, one behind the other. Of a row each operand is a constant of the code, or a kernel parameter;
    /// which ones goes round from row to row.
    Constants {
        /// The first row.
        first: usize,
        /// Each how many-th row.
        step: usize,
    },
}

/// Rows that stand in one kernel of constants: their code is long.
const CONSTANT_ROWS: usize = 12;

impl Kernel {
    /// A kernel of the text `code` of a form; none if there is no such row.
    #[must_use]
    pub fn of_form(form: &Form, code: &str, operands: Operands, name: &str) -> Option<Kernel> {
        let count = form.rows.values.len();
        let rows: Vec<usize> = match operands {
            Operands::Registers => (0..count).collect(),
            Operands::Constants { first, step } => (first..count).step_by(step).take(CONSTANT_ROWS).collect(),
        };
        let (_, stride) = layout(&form.rows.fields);
        let input = rows.iter().flat_map(|row| cells(&form.rows.fields, &form.rows.values[*row])).collect();
        let text = match operands {
            Operands::Registers => by_thread(form, code, name),
            Operands::Constants { .. } => by_constants(form, code, name, &rows, stride),
        };
        let (places, bytes) = layout(&form.outputs);
        let checks = rows.iter().enumerate().flat_map(|(at, row)| {
            let results = form.outputs.iter().zip(&places).zip(&form.expected[*row]);
            results.map(move |((field, place), expected)| Check {
                at: at * bytes + place,
                kind: field.kind,
                expected: expected.clone(),
                label: format!("row {row}, {} of {}", field.name, shown(form, *row)),
            })
        });
        let threads = if operands == Operands::Registers { count as u32 } else { 1 };
        let by_value = operands != Operands::Registers;
        let shape = Launch { block: [threads, 1, 1], ..Launch::default() };
        let checks = checks.collect();
        (!rows.is_empty()).then(|| Kernel {
            name: name.to_owned(),
            text,
            version: form.needs.version,
            checks,
            shape,
            input,
            by_value,
            mode: None,
            objects: Vec::new(),
            before: Vec::new(),
            output: bytes * rows.len(),
        })
    }

    /// The kernel of a program and the launch of a case.
    #[must_use]
    pub fn of_program(program: &Program, case: &Case) -> Kernel {
        let [grid, block, cluster] = program.shape;
        let (kind, values) = &case.output;
        let check = |(number, expected): (usize, &Value)| Check {
            at: number * kind.bytes(),
            kind: *kind,
            expected: expected.clone(),
            label: format!("{}, element {number}", case.name),
        };
        let bytes = |(element, elements): &(Type, Vec<u128>)| {
            elements.iter().flat_map(|bits| bits.to_le_bytes().into_iter().take(element.bytes())).collect()
        };
        Kernel {
            name: "k".to_owned(),
            text: program.code.clone(),
            version: program.needs.version,
            checks: values.iter().enumerate().map(check).collect(),
            shape: Launch { grid, block, cluster, shared_bytes: program.shared, ..Launch::default() },
            input: bytes(&case.input),
            by_value: false,
            mode: program.mode.clone(),
            objects: program.objects.clone(),
            before: bytes(&case.before),
            output: values.len() * kind.bytes(),
        }
    }

    /// What stands behind the target in `.target`.
    pub(crate) fn mode(&self) -> Option<&str> {
        self.mode.as_deref()
    }

    /// The launch and what it works on.
    ///
    /// # Errors
    /// An object that cannot be made.
    pub(crate) fn launch(&self) -> Result<Prepared, String> {
        let mut memory = Memory::new();
        let input = if self.by_value { 0 } else { memory.allocate_with("in", &self.input) };
        let mut before = self.before.clone();
        before.resize(self.output, 0);
        let out = memory.allocate_with("out", &before);
        let first = if self.by_value { self.input.clone() } else { input.to_le_bytes().to_vec() };
        let mut arguments = vec![first, out.to_le_bytes().to_vec()];
        let objects = object::bind(&self.objects, [input, out], &mut arguments)?;
        Ok(Prepared { launch: self.shape.clone(), arguments, memory, objects, out })
    }

    /// The launch for an engine that is not of this project; none where it has textures, surfaces or samplers.
    ///
    /// # Errors
    /// A tensor map that cannot be encoded.
    pub fn recorded(&self) -> Result<Option<Recorded>, String> {
        if self.objects.iter().any(|object| !matches!(object, Object::Map { .. })) {
            return Ok(None);
        }
        let [input, out] = Recorded::BASES;
        let first = if self.by_value { self.input.clone() } else { input.to_le_bytes().to_vec() };
        let mut params = vec![first, out.to_le_bytes().to_vec()];
        object::bind(&self.objects, Recorded::BASES, &mut params)?;
        let address = |(number, param): (usize, &Vec<u8>)| {
            let value = u64::from_le_bytes(*param.first_chunk()?);
            let buffer = Recorded::BASES.iter().rposition(|base| value >= *base)?;
            (number > 0 || !self.by_value).then(|| (buffer, value - Recorded::BASES[buffer]))
        };
        let addresses = params.iter().enumerate().map(address).collect();
        let mut before = self.before.clone();
        before.resize(self.output, 0);
        let Launch { grid, block, cluster, shared_bytes, .. } = self.shape;
        Ok(Some(Recorded {
            shape: [grid, block, cluster],
            shared: shared_bytes,
            buffers: [if self.by_value { Vec::new() } else { self.input.clone() }, before],
            params,
            addresses,
            maps: self.objects.iter().filter_map(Object::map).collect(),
        }))
    }

    /// Bytes of the output.
    pub(crate) fn output(&self) -> u64 {
        self.output as u64
    }

    /// The results that are not as they should be, a line each.
    #[must_use]
    pub fn faults(&self, output: &[u8]) -> Vec<String> {
        let fault = |check: &Check| {
            let got =
                (0..check.kind.bytes()).fold(0, |bits, byte| bits | u128::from(output[check.at + byte]) << (8 * byte));
            let right = check.expected.allows(check.kind, got);
            (!right).then(|| format!("{}: got {got:#x}, expected {}", check.label, check.expected))
        };
        self.checks.iter().filter_map(fault).collect()
    }
}

/// The operands of a row, by name.
fn shown(form: &Form, row: usize) -> String {
    let values = form.rows.fields.iter().zip(&form.rows.values[row]);
    values.map(|(field, bits)| format!("{}={bits:#x}", field.name)).collect::<Vec<_>>().join(" ")
}

/// A row as memory has it. Above a value that is narrower than its cell stands its complement, which must not matter.
fn cells(fields: &[Field], values: &[u128]) -> Vec<u8> {
    let (places, stride) = layout(fields);
    let mut bytes = vec![0; stride];
    for ((field, at), value) in fields.iter().zip(places).zip(values) {
        let cell = &mut bytes[at..at + field.kind.cell()];
        let own = value.to_le_bytes();
        for (number, byte) in cell.iter_mut().enumerate() {
            *byte = if number < field.kind.bytes() { own[number] } else { !own[number % field.kind.bytes()] };
        }
    }
    bytes
}

/// Declarations of the registers of a form.
fn registers(form: &Form) -> String {
    let declare = |field: &Field| format!(".reg .{} {};", field.kind.register(), field.name);
    let mut outputs: Vec<&Field> = form.outputs.iter().collect();
    outputs.retain(|output| !form.rows.fields.iter().any(|input| input.name == output.name));
    form.rows.fields.iter().chain(outputs).map(declare).collect::<Vec<_>>().join(" ")
}

fn by_thread(form: &Form, code: &str, name: &str) -> String {
    let (places, stride) = layout(&form.rows.fields);
    let (_, out_stride) = layout(&form.outputs);
    let mut text = format!(".visible .entry {name}(.param .u64 in, .param .u64 out)\n{{\n");
    text += ".reg .b64 %in, %out; .reg .b32 %row, %w; .reg .b16 %high;\n";
    text += "ld.param.u64 %in, [in]; ld.param.u64 %out, [out]; mov.u32 %row, %tid.x;\n";
    // Writing to a string does not fail.
    let _ = writeln!(text, "mad.wide.u32 %in, %row, {stride}, %in; mad.wide.u32 %out, %row, {out_stride}, %out;");
    let _ = writeln!(text, "{{ {}", registers(form));
    for (field, at) in form.rows.fields.iter().zip(places) {
        text += &load(field, "global", &format!("%in+{at}"), true);
    }
    text += &format!("{{\n{code}\n}}\n{}}}\nret;\n}}\n", stores(form, 0));
    text
}

fn by_constants(form: &Form, code: &str, name: &str, rows: &[usize], stride: usize) -> String {
    let (places, _) = layout(&form.rows.fields);
    let (_, out_stride) = layout(&form.outputs);
    let bytes = rows.len() * stride;
    let mut text = format!(".visible .entry {name}(.param .align 16 .b8 in[{bytes}], .param .u64 out)\n{{\n");
    text += ".reg .b64 %out; .reg .b32 %w; .reg .b16 %high;\nld.param.u64 %out, [out];\n";
    for (number, row) in rows.iter().enumerate() {
        let _ = writeln!(text, "{{ {}", registers(form));
        let operands = form.rows.fields.iter().zip(&places).zip(&form.rows.values[*row]);
        for (operand, ((field, at), value)) in operands.enumerate() {
            text += &match is_constant(*row, operand, form.rows.fields.len()) {
                true => constant(field, *value),
                false => load(field, "param", &format!("in+{}", number * stride + at), false),
            };
        }
        text += &format!("{{\n{code}\n}}\n{}}}\n", stores(form, number * out_stride));
    }
    text + "ret;\n}\n"
}

/// Whether the operand is a constant of the code in this row: all are, or one is, or all but one, in turn.
fn is_constant(row: usize, operand: usize, count: usize) -> bool {
    match row % (2 * count + 1) {
        0 => true,
        alone if alone <= count => operand == alone - 1,
        other => operand != other - count - 1,
    }
}

/// Brings an operand into its register, as a word with whatever is above it or alone.
fn load(field: &Field, space: &str, place: &str, as_word: bool) -> String {
    let name = &field.name;
    match field.kind {
        Type::Predicate => format!("ld.{space}.b32 %w, [{place}]; and.b32 %w, %w, 1; setp.ne.b32 {name}, %w, 0;\n"),
        Type::Bits { width: 16, .. } if as_word => {
            format!("ld.{space}.b32 %w, [{place}]; mov.b32 {{{name}, %high}}, %w;\n")
        }
        kind => format!("ld.{space}.{} {name}, [{place}];\n", kind.access()),
    }
}

fn constant(field: &Field, value: u128) -> String {
    let name = &field.name;
    match field.kind {
        Type::Predicate => format!("mov.b32 %w, {value}; setp.ne.b32 {name}, %w, 0;\n"),
        Type::Bits { width: 128, .. } => {
            let halves = [value as u64, (value >> 64) as u64];
            let words = format!("mov.b64 %lo, {:#x}; mov.b64 %hi, {:#x};", halves[0], halves[1]);
            format!("{{ .reg .b64 %lo, %hi; {words} mov.b128 {name}, {{%lo, %hi}}; }}\n")
        }
        Type::Bits { width: 8, signed, .. } => {
            let value = if signed { i64::from(value as u8 as i8) } else { value as i64 };
            format!("mov.b16 {name}, {value};\n")
        }
        Type::Bits { width, .. } => format!("mov.b{width} {name}, {value:#x};\n"),
    }
}

fn stores(form: &Form, offset: usize) -> String {
    let (places, _) = layout(&form.outputs);
    let store = |(field, at): (&Field, usize)| {
        let (name, place) = (&field.name, format!("[%out+{}]", offset + at));
        match field.kind {
            Type::Predicate => format!("selp.b32 %w, 1, 0, {name}; st.global.b32 {place}, %w;\n"),
            kind => format!("st.global.b{} {place}, {name};\n", 8 * kind.bytes()),
        }
    };
    form.outputs.iter().zip(places).map(store).collect()
}
