//! `llvm.nvvm.*`: those that are exact and concern one thread.

use crate::fault::Fault;
use crate::float::{Extremum, numbers};
use crate::format::Format;
use crate::int_bits::{mask, signed};
use crate::machine::{Machine, Site, arg};
use crate::value::{Value, Width, each, known};
use crate::{int, scalar};
use oriole_nvptx::ir::{BinaryOp, Module};
use rustc_apfloat::Round;

/// What has no effect on a thread that runs alone.
const SILENT: &[&str] = &[
    "barrier0",
    "barrier.sync",
    "barrier.cta.sync",
    "barrier.n",
    "bar.sync",
    "bar.warp.sync",
    "membar.cta",
    "membar.gl",
    "membar.sys",
    "fence.sc.cluster",
    "fence.mbarrier_init.release.cluster",
    "nanosleep",
];

/// The result of `llvm.nvvm.NAME`.
pub(crate) fn evaluate(machine: &mut Machine<'_>, name: &str, site: &Site<'_>) -> Result<Option<Value>, Fault> {
    if SILENT
        .iter()
        .any(|silent| name.strip_prefix(silent).is_some_and(|rest| rest.is_empty() || rest.starts_with('.')))
    {
        return Ok(None);
    }
    let module = machine.module;
    if let Some(register) = name.strip_prefix("read.ptx.sreg.") {
        return special_register(machine, register).map(Some);
    }
    let words: Vec<&str> = name.split('.').collect();
    let unsupported = || Fault::unsupported(format!("llvm.nvvm.{name}"));
    let found = match float_function(module, &words, site)? {
        Some(value) => Some(value),
        None => integer_function(module, &words, site)?,
    };
    let found = match found {
        Some(value) => Some(value),
        None => conversion(module, &words, site)?,
    };
    found.map(Some).ok_or_else(unsupported)
}

fn special_register(machine: &Machine<'_>, name: &str) -> Result<Value, Fault> {
    let settings = machine.settings;
    let unsupported = || Fault::unsupported(format!("special register {name}"));
    let linear = |at: [u32; 3], of: [u32; 3]| {
        u64::from(at[0]) + u64::from(of[0]) * (u64::from(at[1]) + u64::from(of[1]) * u64::from(at[2]))
    };
    let lane = linear(settings.thread, settings.threads) % 32;
    let single = match name {
        "warpsize" => Some(32),
        "laneid" => Some(lane),
        "lanemask.eq" => Some(1 << lane),
        "lanemask.lt" => Some((1 << lane) - 1),
        "lanemask.le" => Some((2 << lane) - 1),
        "lanemask.gt" => Some(!((2 << lane) - 1)),
        "lanemask.ge" => Some(!((1 << lane) - 1)),
        _ => None,
    };
    if let Some(value) = single {
        return Ok(Value::Bits(u128::from(value) & mask(32)));
    }
    let (register, axis) = name.split_once('.').ok_or_else(unsupported)?;
    let values = match register {
        "tid" => settings.thread,
        "ntid" => settings.threads,
        "ctaid" => settings.block,
        "nctaid" => settings.blocks,
        _ => return Err(unsupported()),
    };
    let axis = ["x", "y", "z"].iter().position(|&own| own == axis).ok_or_else(unsupported)?;
    Ok(Value::Bits(u128::from(values[axis])))
}

/// How `rn`, `rz`, `rm` and `rp` round.
fn rounding(word: &str) -> Option<Round> {
    match word {
        "rn" => Some(Round::NearestTiesToEven),
        "rz" => Some(Round::TowardZero),
        "rm" => Some(Round::TowardNegative),
        "rp" => Some(Round::TowardPositive),
        _ => None,
    }
}

/// `add.rn.ftz.f`, `fma.rz.d`, `floor.f`, `fmax.nan.f` and the like.
fn float_function(module: &Module, words: &[&str], site: &Site<'_>) -> Result<Option<Value>, Fault> {
    let Some(&ty) = site.types.first() else { return Ok(None) };
    let Some(format) = Format::of(&module.types[module.types.scalar(ty)]) else { return Ok(None) };
    let (name, modifiers) = (words[0], &words[1..]);
    let round = modifiers.first().and_then(|word| rounding(word));
    let known_words = ["f", "d", "f16", "bf16", "f16x2", "bf16x2", "f32", "f64", "ftz", "nan", "rn", "rz", "rm", "rp"];
    if modifiers.iter().any(|word| !known_words.contains(word)) {
        return Ok(None);
    }
    let flush = |value: u128| if modifiers.contains(&"ftz") { format.flush(value) } else { value };
    let lift = |operands: &[&Value], f: &dyn Fn(&[u128]) -> u128| -> Result<Option<Value>, Fault> {
        let lanes = |scalars: &[&Value]| {
            let mut all = Vec::new();
            for scalar in scalars {
                match numbers(format, [scalar]) {
                    Ok([number]) => all.push(flush(number)),
                    Err(unknown) => return Ok(unknown),
                }
            }
            Ok(format.result(flush(f(&all))))
        };
        match *operands {
            [a] => each([a], &mut |all| lanes(&all)),
            [a, b] => each([a, b], &mut |all| lanes(&all)),
            [a, b, c] => each([a, b, c], &mut |all| lanes(&all)),
            _ => return Ok(None),
        }
        .map(Some)
    };
    let all: Vec<&Value> = site.args.iter().collect();
    let arithmetic = |op: BinaryOp| {
        let round = round?;
        Some(move |v: &[u128]| format.arithmetic(op, v[0], v[1], round))
    };
    let integral = |round: Round| move |v: &[u128]| format.round_to_integral(v[0], round);
    match (name, all.len()) {
        ("add" | "mul" | "div", 2) => {
            let op = [("add", BinaryOp::FAdd), ("mul", BinaryOp::FMul), ("div", BinaryOp::FDiv)];
            let op = op.iter().find(|(own, _)| *own == name).and_then(|&(_, op)| arithmetic(op));
            op.map_or(Ok(None), |f| lift(&all, &f))
        }
        ("fma", 3) => round.map_or(Ok(None), |round| lift(&all, &|v| format.fma(v[0], v[1], v[2], round))),
        ("rcp", 1) => round.map_or(Ok(None), |round| {
            lift(&all, &|v| format.arithmetic(BinaryOp::FDiv, format.of_unsigned(1, round), v[0], round))
        }),
        ("sqrt", 1) if round == Some(Round::NearestTiesToEven) => lift(&all, &|v| format.sqrt(v[0])),
        ("fabs", 1) => lift(&all, &|v| v[0] & !format.sign()),
        ("floor", 1) => lift(&all, &integral(Round::TowardNegative)),
        ("ceil", 1) => lift(&all, &integral(Round::TowardPositive)),
        ("trunc", 1) => lift(&all, &integral(Round::TowardZero)),
        ("round", 1) => lift(&all, &integral(Round::NearestTiesToEven)),
        ("saturate", 1) => saturate(format, &all, flush).map(Some),
        ("fmin" | "fmax", 2) => {
            let extremum = Extremum { max: name == "fmax", nan_wins: modifiers.contains(&"nan"), zeros_ordered: true };
            each([all[0], all[1]], &mut |[a, b]| match numbers(format, [a, b]) {
                Ok([a, b]) => extremum.of(format, [&Value::Bits(flush(a)), &Value::Bits(flush(b))]),
                Err(unknown) => Ok(unknown),
            })
            .map(Some)
        }
        _ => Ok(None),
    }
}

/// `saturate`: to the range from 0 to 1; a NaN becomes 0.
fn saturate(format: Format, all: &[&Value], flush: impl Fn(u128) -> u128) -> Result<Value, Fault> {
    let one = format.of_unsigned(1, Round::NearestTiesToEven);
    each([all[0]], &mut |operand| {
        Ok(match numbers(format, operand) {
            Ok([a]) if format.is_nan(a) || a & format.sign() != 0 => Value::Bits(0),
            Ok([a]) => {
                Value::Bits(if format.compare(a, one).is_some_and(std::cmp::Ordering::is_gt) { one } else { flush(a) })
            }
            Err(unknown) => unknown,
        })
    })
}

/// Width and sign that a suffix of an integer function means.
fn integer_suffix(word: &str) -> Option<(u32, bool)> {
    match word {
        "s" => Some((16, true)),
        "us" => Some((16, false)),
        "i" => Some((32, true)),
        "ui" => Some((32, false)),
        "ll" => Some((64, true)),
        "ull" => Some((64, false)),
        _ => None,
    }
}

fn integer_function(module: &Module, words: &[&str], site: &Site<'_>) -> Result<Option<Value>, Fault> {
    let Some(&ty) = site.types.first() else { return Ok(None) };
    if module.types.int_bits(ty).is_none() {
        return Ok(None);
    }
    let width = Width::of(module, ty)?.bits;
    let args = |index: usize| arg(site, index);
    Ok(match words {
        ["mulhi", suffix] => {
            let Some((own, sign)) = integer_suffix(suffix).filter(|(own, _)| *own == width) else { return Ok(None) };
            Some(known([args(0)?, args(1)?], |[a, b]| Value::Bits(int::multiply_high(sign, own, a, b))))
        }
        ["mul24", suffix] => {
            let sign = *suffix == "i";
            let cut = |value: u128| if sign { signed(value, 24) as u128 } else { value & mask(24) };
            Some(known([args(0)?, args(1)?], |[a, b]| Value::Bits(cut(a).wrapping_mul(cut(b)) & mask(32))))
        }
        ["sad", suffix] => {
            let Some((own, sign)) = integer_suffix(suffix).filter(|(own, _)| *own == width) else { return Ok(None) };
            let key = |value: u128| if sign { signed(value, own) } else { value as i128 };
            Some(known([args(0)?, args(1)?, args(2)?], |[a, b, c]| {
                Value::Bits(key(a).abs_diff(key(b)).wrapping_add(c) & mask(own))
            }))
        }
        ["prmt"] => {
            Some(known([args(0)?, args(1)?, args(2)?], |[a, b, selector]| Value::Bits(permute(a, b, selector))))
        }
        ["brev32" | "brev64"] => Some(known([args(0)?], |[a]| Value::Bits(a.reverse_bits() >> (128 - width)))),
        ["lohi", "i2d"] => Some(known([args(0)?, args(1)?], |[low, high]| Value::Bits(high << 32 | low))),
        _ => None,
    })
}

/// `prmt.b32` in its default mode.
fn permute(a: u128, b: u128, selector: u128) -> u128 {
    let bytes = (b << 32 | a).to_le_bytes();
    (0..4).rev().fold(0, |all, at| {
        let choice = (selector >> (4 * at) & 15) as usize;
        let byte = bytes[choice & 7];
        let byte = if choice & 8 != 0 { (byte as i8 >> 7) as u8 } else { byte };
        all << 8 | u128::from(byte)
    })
}

/// `d2i.rn`, `ui2f.rz`, `d2f.rn.ftz`, `d2i.lo`, `bitcast.f2i` and the like.
fn conversion(module: &Module, words: &[&str], site: &Site<'_>) -> Result<Option<Value>, Fault> {
    let Some((&ty, &last)) = site.types.first().zip(words.last()) else { return Ok(None) };
    let value = arg(site, 0)?;
    match words {
        ["d2i", "lo"] => return Ok(Some(known([value], |[a]| Value::Bits(a & mask(32))))),
        ["d2i", "hi"] => return Ok(Some(known([value], |[a]| Value::Bits(a >> 32)))),
        ["bitcast", _] => return crate::layout::bitcast(module, ty, site.ret, value).map(Some),
        _ => {}
    }
    let Some((from, to)) = words[0].split_once('2') else { return Ok(None) };
    let ftz = last == "ftz";
    let Some(round) = words.get(1).and_then(|word| rounding(word)).filter(|_| words.len() == 2 + usize::from(ftz))
    else {
        return Ok(None);
    };
    let (source, target) = (Format::of(&module.types[ty]), Format::of(&module.types[site.ret]));
    let flush = |format: Format, value: u128| if ftz { format.flush(value) } else { value };
    Ok(match (integer_suffix(from), integer_suffix(to), source, target) {
        (None, Some((width, sign)), Some(source), None) => Some(match numbers(source, [value]) {
            // What a NaN becomes differs between the instructions of PTX.
            Ok([a]) if source.is_nan(a) => Value::OPEN,
            Ok([a]) => Value::Bits(source.to_int(flush(source, a), width, sign, round).0),
            Err(unknown) => unknown,
        }),
        (Some((width, sign)), None, None, Some(target)) => Some(known([value], |[a]| {
            target.result(if sign { target.of_signed(signed(a, width), round) } else { target.of_unsigned(a, round) })
        })),
        (None, None, Some(source), Some(_)) if scalar::format(module, site.ret).is_ok() => {
            let to = scalar::format(module, site.ret)?;
            Some(match numbers(source, [value]) {
                Ok([a]) => to.result(flush(to, to.convert(source, a, round))),
                Err(unknown) => unknown,
            })
        }
        _ => None,
    })
}
