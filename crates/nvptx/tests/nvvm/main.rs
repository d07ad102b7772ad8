//! The intrinsics `llvm.nvvm.*`, one kernel each: which are taken, and that the PTX of those is right by our checker
//! and, when `ORIOLE_ORACLE` names a folder with ptxas, by ptxas.
//!
//! `llvm19.txt` has the names and types of those of LLVM 19, `refused.txt` which of them are not supported, with the
//! reason. Neither may have too much or too little. `others.txt` has older and newer ones. `llvm23.txt` has those of LLVM 23, each with the
//! instruction that LLVM selects for it.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

use oriole_nvptx::driver::{Error, Options, compile};
use oriole_nvptx::text::parse;

/// The targets that an intrinsic is tried for, in this order: the first that has it counts.
const TARGETS: [&str; 4] = ["sm_80", "sm_90a", "sm_60", "sm_100a"];

/// One line of the list.
struct Intrinsic {
    name: &'static str,
    results: Vec<&'static str>,
    args: Vec<&'static str>,
}

const LLVM_19: &str = include_str!("llvm19.txt");
const OTHERS: &str = include_str!("others.txt");
const LLVM_23: &str = include_str!("llvm23.txt");

fn intrinsics(list: &'static str) -> impl Iterator<Item = Intrinsic> {
    let lines = list.lines().filter(|line| !line.starts_with('#'));
    lines.map(|line| {
        let mut parts = line.split(" : ");
        let name = parts.next().unwrap_or_default();
        let mut list = || types(parts.next().unwrap_or_default());
        Intrinsic { name, results: list(), args: list() }
    })
}

/// `p0 2*i32` as three types.
fn types(text: &'static str) -> Vec<&'static str> {
    let one = |item: &'static str| match item.split_once('*') {
        Some((count, ty)) => vec![ty; count.parse().unwrap_or(0)],
        None => vec![item],
    };
    text.split_whitespace().filter(|item| *item != "-").flat_map(one).collect()
}

fn llvm(ty: &str) -> String {
    match ty.trim_start_matches('#') {
        "true" | "false" => "i1".to_owned(),
        ty if ty.starts_with('=') => ty[1..].split_once(':').map_or("i32".to_owned(), |(bits, _)| format!("i{bits}")),
        "f16" => "half".to_owned(),
        "bf16" => "bfloat".to_owned(),
        "f32" => "float".to_owned(),
        "f64" => "double".to_owned(),
        "p0" => "ptr".to_owned(),
        "meta" => "metadata".to_owned(),
        ty => match (ty.strip_prefix('p'), ty.strip_prefix('v').filter(|rest| rest.len() > 1)) {
            (Some(space), _) => format!("ptr addrspace({space})"),
            (_, Some(vector)) => {
                let lanes = vector.find(|c: char| !c.is_ascii_digit()).unwrap_or(vector.len());
                format!("<{} x {}>", &vector[..lanes], llvm(&vector[lanes..]))
            }
            _ => ty.to_owned(),
        },
    }
}

/// A declaration, and a kernel that calls the intrinsic with its parameters and stores the results.
fn kernel(intrinsic: &Intrinsic, number: usize) -> [String; 2] {
    let Intrinsic { name, results, args } = intrinsic;
    let constant = |ty: &&str| match ty.split_at(1) {
        ("#", _) => Some("24".to_owned()),
        ("=", number) => Some(number.rsplit(':').next().unwrap_or(number).to_owned()),
        _ => matches!(*ty, "true" | "false").then(|| (*ty).to_owned()),
    };
    let args: Vec<(String, Option<String>)> = args.iter().map(|ty| (llvm(ty), constant(ty))).collect();
    let results: Vec<String> = results.iter().map(|ty| llvm(ty)).collect();
    let ret = match results.as_slice() {
        [] => "void".to_owned(),
        [one] => one.clone(),
        many => format!("{{ {} }}", many.join(", ")),
    };
    let own: Vec<String> = args.iter().map(|(ty, _)| ty.clone()).collect();
    let declaration = format!("declare {ret} @llvm.nvvm.{name}({})\n", own.join(", "));
    let mut params = vec!["ptr addrspace(1) %out".to_owned()];
    let mut values = Vec::new();
    let mut casts = String::new();
    for (at, (ty, constant)) in args.iter().enumerate() {
        match (constant, ty.as_str()) {
            (Some(value), _) => values.push(format!("{ty} {value}")),
            (_, "metadata") => values.push("metadata ptr addrspace(1) @texture".to_owned()),
            // ptxas allows no `cvta.const` beside pointers to constant memory among the parameters.
            (_, "ptr addrspace(4)") => {
                params.push(format!("i64 %n{at}"));
                let _ = writeln!(casts, "  %a{at} = inttoptr i64 %n{at} to {ty}");
                values.push(format!("{ty} %a{at}"));
            }
            _ if name.starts_with("texsurf") => values.push(format!("{ty} @texture")),
            _ => {
                params.push(format!("{ty} %a{at}"));
                values.push(format!("{ty} %a{at}"));
            }
        }
    }
    let mut text = format!("define ptx_kernel void @k{number}({}) {{\n{casts}", params.join(", "));
    let assigned = if results.is_empty() { "" } else { "%r = " };
    let _ = writeln!(text, "  {assigned}call {ret} @llvm.nvvm.{name}({})", values.join(", "));
    for (at, ty) in results.iter().enumerate() {
        let _ = writeln!(text, "  %p{at} = getelementptr i8, ptr addrspace(1) %out, i64 {}", 16 * at);
        let value = if results.len() == 1 { "%r".to_owned() } else { format!("%v{at}") };
        if results.len() > 1 {
            let _ = writeln!(text, "  {value} = extractvalue {ret} %r, {at}");
        }
        let _ = writeln!(text, "  store {ty} {value}, ptr addrspace(1) %p{at}");
    }
    text += "  ret void\n}\n";
    [declaration, text]
}

const TEXTURE: &str = "@texture = internal addrspace(1) global i64 0
!nvvm.annotations = !{!0}
!0 = !{ptr addrspace(1) @texture, !\"texture\", i32 1}
";

fn ptx(text: &str, arch: &str) -> Result<String, Error> {
    let module = parse(text, "k.ll").unwrap_or_else(|error| panic!("{}", error.render(text)));
    let options = Options { arch: arch.to_owned(), ..Options::default() };
    Ok(oriole_ptx::print(&compile(module, &[], &options)?.module))
}

/// Which targets take which intrinsics, and the messages for those that none takes.
struct Outcome {
    taken: BTreeMap<&'static str, Vec<[String; 2]>>,
    refused: Vec<(&'static str, String)>,
}

fn outcome(list: &'static str) -> Outcome {
    let mut outcome = Outcome { taken: BTreeMap::new(), refused: Vec::new() };
    for (number, intrinsic) in intrinsics(list).enumerate() {
        let parts = kernel(&intrinsic, number);
        let text = format!("{}{}{TEXTURE}", parts[0], parts[1]);
        let mut message = String::new();
        let target = TARGETS.into_iter().find(|target| match ptx(&text, target) {
            Ok(ptx) => {
                // What is printed is what our own reader and checker take.
                assert!(oriole_ptx::load(&ptx).is_ok(), "{}: {ptx}", intrinsic.name);
                true
            }
            Err(error) => {
                if message.is_empty() {
                    message = error.to_string();
                }
                false
            }
        });
        match target {
            Some(target) => outcome.taken.entry(target).or_default().push(parts),
            None => outcome.refused.push((intrinsic.name, message)),
        }
    }
    outcome
}

#[test]
fn all_but_the_refused_are_taken() {
    let Outcome { taken, refused } = outcome(LLVM_19);
    let listed: Vec<&str> = include_str!("refused.txt")
        .lines()
        .filter(|line| !line.starts_with('#'))
        .filter_map(|line| line.split_whitespace().next())
        .collect();
    let not_listed: Vec<_> = refused.iter().filter(|(name, _)| !listed.contains(name)).collect();
    assert!(not_listed.is_empty(), "refused, but not in refused.txt: {not_listed:#?}");
    let too_much: Vec<_> = listed.iter().filter(|name| !refused.iter().any(|(known, _)| known == *name)).collect();
    assert!(too_much.is_empty(), "in refused.txt, but taken: {too_much:#?}");
    for (name, message) in &refused {
        assert!(message.contains("not supported") && !message.contains("internal"), "{name}: {message}");
    }
    for (target, list) in &taken {
        println!("{target}: {}", list.len());
    }
    println!("refused: {}", refused.len());
}

#[test]
fn others_are_taken() {
    let Outcome { refused, .. } = outcome(OTHERS);
    assert!(refused.is_empty(), "{refused:#?}");
}

#[test]
fn instructions_are_those_of_llvm_23() {
    let lines = LLVM_23.lines().filter(|line| !line.starts_with('#'));
    let mut wrong = Vec::new();
    for (number, (line, intrinsic)) in lines.zip(intrinsics(LLVM_23)).enumerate() {
        let mut fields = line.split(" : ").skip(3);
        let (target, instruction) = (fields.next().unwrap_or_default(), fields.next().unwrap_or_default());
        let [declaration, kernel] = kernel(&intrinsic, number);
        match ptx(&format!("{declaration}{kernel}"), target) {
            Ok(ptx) => {
                let selects = |line: &str| {
                    line.split_whitespace().next().is_some_and(|word| word.trim_end_matches(';') == instruction)
                };
                if !ptx.lines().any(|line| selects(line) || selects(line.trim_start_matches(['{', ' ', '\t']))) {
                    wrong.push(format!("{line}: another instruction\n{ptx}"));
                }
            }
            Err(error) => wrong.push(format!("{line}: {error}")),
        }
    }
    assert!(wrong.is_empty(), "{} are wrong: {}", wrong.len(), wrong[..wrong.len().min(5)].join("\n"));
}

#[test]
fn ptxas_takes_them() {
    let Some(ptxas) = oriole_prerequisites::tool("ptxas") else { return };
    // This ptxas knows no target before sm_75.
    let all = [LLVM_19, OTHERS].map(|list| outcome(list).taken).into_iter().flatten();
    for (target, list) in all.filter(|(target, _)| *target != "sm_60") {
        let mut declarations: Vec<String> = list.iter().map(|parts| parts[0].clone()).collect();
        declarations.sort_unstable();
        declarations.dedup();
        // Textures with samplers of their own need a module mode of their own.
        let (own, others): (Vec<_>, Vec<_>) = list.into_iter().partition(|parts| {
            let (_, name) = parts[0].split_once("llvm.nvvm.").unwrap_or_default();
            (name.starts_with("tex.") || name.starts_with("tld4.")) && !name.contains("unified")
        });
        for (half, list) in [own, others].into_iter().enumerate().filter(|(_, list)| !list.is_empty()) {
            let kernels: String = list.iter().map(|parts| parts[1].as_str()).collect();
            let text = format!("{}{kernels}{TEXTURE}", declarations.concat());
            let ptx = ptx(&text, target).unwrap_or_else(|error| panic!("{target}: {error}"));
            let file = std::env::temp_dir().join(format!("oriole-nvvm-{}-{target}-{half}.ptx", std::process::id()));
            std::fs::write(&file, &ptx).unwrap();
            let output =
                Command::new(&ptxas).args(["-arch", target, "-O0", "-o", "/dev/null"]).arg(&file).output().unwrap();
            let said = String::from_utf8_lossy(&output.stderr).into_owned() + &String::from_utf8_lossy(&output.stdout);
            assert!(output.status.success(), "{target} {}: {said}", file.display());
            std::fs::remove_file(&file).unwrap();
        }
    }
}
