//! Runs the kernel `k(in, out)` of cubins: lines of standard input are `CUBIN INPUT THREADS OUT_BYTES [TEXTURE]`;
//! a line of the output is the line and the output bytes in hexadecimal, or `error` and why. The texture gets the
//! handle 1 and is bound to the variable `g_t`, its sampler to `g_s`.

use oriole_cubin::Cubin;
use oriole_device::argument::Bound;
use oriole_device::texture::ObjectSpec;
use oriole_device::{Launch, Memory};
use oriole_sim::{Options, Simulator};
use std::io::BufRead;

fn run(line: &str) -> Result<String, String> {
    let cells: Vec<&str> = line.split(' ').collect();
    let text = |e: std::io::Error| e.to_string();
    let cubin = Cubin::parse(&std::fs::read(cells[0]).map_err(text)?).map_err(|e| e.to_string())?;
    let input = std::fs::read(cells[1]).map_err(text)?;
    let (threads, size): (u32, u64) = (cells[2].parse().unwrap_or(32), cells[3].parse().unwrap_or(0));
    let options = Options { threads: 1, max_instructions: 100_000, ..Options::default() };
    let mut simulator = Simulator::new(&cubin, options).map_err(|e| e.to_string())?;
    let mut memory = Memory::new();
    let from = memory.allocate("in", input.len() as u64);
    memory.write(from, &input);
    let to = memory.allocate("out", size);
    if let Some(spec) = cells.get(4) {
        let spec = ObjectSpec::parse(spec)?;
        let mut bound = Bound::default();
        let handle = bound.place_object("texture", &spec, &mut memory).map_err(|e| e.to_string())?;
        bound.objects.add_sampler(spec.sampler);
        bound.objects.bind("g_t", handle as u32);
        bound.objects.bind("g_s", 1);
        simulator.set_objects(bound.objects);
    }
    let params = [from.to_le_bytes(), to.to_le_bytes()].concat();
    let launch = Launch { block: [threads, 1, 1], params, ..Launch::default() };
    simulator.launch("k", &launch, &mut memory).map_err(|e| e.to_string())?;
    Ok(memory.read(to, size).unwrap_or_default().iter().map(|byte| format!("{byte:02x}")).collect())
}

fn main() {
    for line in std::io::stdin().lock().lines().map_while(Result::ok) {
        match run(&line) {
            Ok(output) => println!("{line}\t{output}"),
            Err(error) => println!("{line}\terror\t{}", error.replace('\n', " ")),
        }
    }
}
