//! Links functions of a library in bitcode: `link_library LIBRARY.bc [NAME…]`, all of the library's without names.
//!
//! Each name is linked by itself to a module that declares it; the result is verified. Says what came along and how
//! long opening the library, linking, answering `__nvvm_reflect` and dropping what is unused took together.

use std::time::Instant;

use oriole_nvptx::bitcode::LazyModule;
use oriole_nvptx::ir::{Module, Type, verify};
use oriole_nvptx::link::{Reflect, link_library, resolve_reflect, strip_unused};

fn main() {
    let mut args = std::env::args().skip(1);
    let path = args.next().expect("the library comes first");
    let bytes = std::fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"));
    let library = LazyModule::open(&bytes, &path).unwrap_or_else(|error| panic!("{error}"));
    let mut names: Vec<String> = args.collect();
    if names.is_empty() {
        let defined = library.module().symbols.iter().filter(|(id, _)| library.is_defined(*id));
        names = defined.map(|(_, symbol)| symbol.name.to_string()).collect();
    }
    let (mut total, mut failed) = (0.0, 0);
    for name in &names {
        let Some(user) = user(library.module(), name) else {
            println!("{name}: no function of the library");
            continue;
        };
        let start = Instant::now();
        match linked(user, &bytes, &path) {
            Ok((module, calls)) => {
                let took = start.elapsed().as_secs_f64() * 1e3;
                total += took;
                let insts: usize = module.definitions().map(|(_, _, _, body)| body.insts_in_order().count()).sum();
                let symbols = module.symbols.values().filter(|symbol| symbol.is_definition()).count();
                println!("{name}: {symbols} definitions, {insts} instructions, {calls} reflect calls, {took:.3} ms");
                if let Err(error) = verify(&module) {
                    println!("{name}: {error}");
                    failed += 1;
                }
            }
            Err(error) => {
                println!("{name}: {error}");
                failed += 1;
            }
        }
    }
    println!("{} functions, {failed} failed, {:.3} ms each", names.len(), total / names.len().max(1) as f64);
    std::process::exit(i32::from(failed > 0));
}

fn linked(mut user: Module, bytes: &[u8], path: &str) -> Result<(Module, usize), oriole_nvptx::link::Error> {
    let mut library = LazyModule::open(bytes, path)?;
    link_library(&mut user, &mut library)?;
    let calls = resolve_reflect(&mut user, &Reflect::new(80));
    strip_unused(&mut user);
    Ok((user, calls))
}

/// A module with a kernel that calls `name`.
fn user(library: &Module, name: &str) -> Option<Module> {
    let function = library.symbols[library.symbol(name)?].function()?;
    let types = &library.types;
    let Type::Function { ret, params, .. } = &types[function.signature] else { return None };
    let (ret, params) = (types.text(*ret), params.iter().map(|&param| types.text(param)).collect::<Vec<_>>());
    let args: Vec<String> = params.iter().map(|param| format!("{param} undef")).collect();
    let result = if ret == "void" { String::new() } else { "%r = ".into() };
    let text = format!(
        "target datalayout = \"e-i64:64-i128:128-v16:16-v32:32-n16:32:64\"\n\
         declare {ret} @{name}({})\n\
         define ptx_kernel void @kernel() {{ {result}call {ret} @{name}({}) ret void }}",
        params.join(", "),
        args.join(", ")
    );
    oriole_nvptx::text::parse(&text, "user").ok()
}
