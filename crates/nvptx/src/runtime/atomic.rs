//! Atomic operations that PTX has no instruction for.

use super::request::Request;
use super::target::Target;
use super::template::{self, Words, fill, name_of};
use crate::analysis::View;
use crate::ir::{AddressSpace, InstId, Op, Ordering, RmwOp, SyncScope, TypeId, Value};
use crate::select;

/// The loop for an `atomicrmw` or `cmpxchg` that selection does not take.
pub(super) fn request(view: View<'_>, inst: InstId, target: Target) -> Option<Request> {
    match view.body[inst].op {
        Op::AtomicRmw { op, ptr, value, align, ordering, scope, .. } => {
            let ty = view.ty(value);
            let place = Place::of(view, ptr, ty, align)?;
            if !place.of_thread && select::has_atomic(op, &view.module.types, &view.module.layout, ty, target.arch) {
                return None;
            }
            let template = match (place.of_thread, place.bits) {
                (true, _) => template::THREAD,
                (_, 8) => template::ATOMIC_PART,
                (_, 16) if !has_exchange_16(target) => template::ATOMIC_PART,
                (_, 16 | 32 | 64) => template::ATOMIC,
                (_, 128) if op != RmwOp::Xchg && select::has_wide_atomics(128, target.arch) => template::ATOMIC,
                _ => return None,
            };
            let (name, mut words) = place.words(ordering, scope);
            let name = format!("{}.{name}", op.as_str());
            let (declaration, operation) = operation(op)?;
            words.push(("X", float_suffix(view, ty)));
            words.push(("OPERATION", fill(operation, &words)));
            words.push(("DECLARATION", fill(declaration, &words)));
            Some(make(&format!("oriole.rmw.{name}"), name, template, words, vec![ptr, value]))
        }
        Op::CmpXchg { ptr, expected, new, align, orderings, scope, .. } => {
            let ty = view.ty(expected);
            let place = Place::of(view, ptr, ty, align)?;
            let template = match (place.of_thread, place.bits) {
                (true, _) => template::THREAD_EXCHANGE,
                (_, 8) => template::EXCHANGE_PART,
                (_, 16) if !has_exchange_16(target) => template::EXCHANGE_PART,
                _ => return None,
            };
            let (name, words) = place.words(orderings[0].max(orderings[1]), scope);
            Some(make(&format!("oriole.cmpxchg.{name}"), name, template, words, vec![ptr, expected, new]))
        }
        _ => None,
    }
}

/// `atom.cas.b16` is there from sm_70.
const fn has_exchange_16(target: Target) -> bool {
    target.arch >= 70
}

fn make(function: &str, name: String, template: template::Template, mut words: Words, args: Vec<Value>) -> Request {
    words.push(("NAME", name));
    let mut request = Request::new(function.to_owned(), template, words, args);
    request.elementwise = false;
    request
}

/// What is accessed.
struct Place {
    pointer: String,
    space: AddressSpace,
    /// Nobody else sees it.
    of_thread: bool,
    ty: String,
    bits: u32,
    /// In bytes.
    align: u32,
}

impl Place {
    fn of(view: View<'_>, ptr: Value, ty: TypeId, align: u32) -> Option<Place> {
        let module = view.module;
        let space = module.types.address_space(view.ty(ptr))?;
        Some(Place {
            pointer: module.types.text(view.ty(ptr)),
            space,
            of_thread: space == AddressSpace::LOCAL,
            ty: module.types.text(ty),
            bits: u32::try_from(module.layout.bits(&module.types, ty)).ok()?,
            align,
        })
        // What is not aligned would be torn: selection refuses it.
        .filter(|place| place.of_thread || u64::from(place.align) * 8 >= u64::from(place.bits))
    }

    fn words(&self, ordering: Ordering, scope: SyncScope) -> (String, Words) {
        let scope = match scope {
            SyncScope::System => "",
            SyncScope::Device => "device",
            SyncScope::Cluster => "cluster",
            SyncScope::Block => "block",
            SyncScope::Thread => "singlethread",
        };
        let ordering = ordering.max(Ordering::Monotonic);
        let failure = match ordering {
            Ordering::AcqRel => Ordering::Acquire,
            Ordering::Release => Ordering::Monotonic,
            other => other,
        };
        let quoted = if scope.is_empty() { String::new() } else { format!("syncscope(\"{scope}\")") };
        let (ty, order) = (&self.ty, ordering.as_str());
        let size = self.bits / 8;
        let align = self.align.min(size);
        let mut name = format!("{}.p{}.{order}{scope}", name_of(ty), self.space.0);
        if align < size {
            name += &format!(".align{align}");
        }
        let words = vec![
            ("T", ty.clone()),
            ("I", format!("i{}", self.bits)),
            ("P", self.pointer.clone()),
            ("SIZE", size.to_string()),
            ("ALIGN", align.to_string()),
            ("PART", if self.bits < 32 { ((1u64 << self.bits) - 1).to_string() } else { String::new() }),
            ("SCOPE", quoted),
            ("ORDER", order.to_owned()),
            ("FAILURE", failure.as_str().to_owned()),
        ];
        (name, words)
    }
}

/// The type in the names of intrinsics.
fn float_suffix(view: View<'_>, ty: TypeId) -> String {
    let types = &view.module.types;
    let element = match types.scalar(ty) {
        TypeId::HALF => "f16",
        TypeId::BFLOAT => "bf16",
        TypeId::FLOAT => "f32",
        _ => "f64",
    };
    match types.as_vector(ty) {
        Some((_, lanes)) => format!("v{lanes}{element}"),
        None => element.to_owned(),
    }
}

/// What `%y` is, from `%x` in memory and the operand `%v`; and what has to be declared for it.
fn operation(op: RmwOp) -> Option<(&'static str, &'static str)> {
    Some(match op {
        RmwOp::Xchg => ("", "  %y = freeze $T %v"),
        RmwOp::Add => ("", "  %y = add $T %x, %v"),
        RmwOp::Sub => ("", "  %y = sub $T %x, %v"),
        RmwOp::And => ("", "  %y = and $T %x, %v"),
        RmwOp::Nand => ("", "  %and = and $T %x, %v\n  %y = xor $T %and, -1"),
        RmwOp::Or => ("", "  %y = or $T %x, %v"),
        RmwOp::Xor => ("", "  %y = xor $T %x, %v"),
        RmwOp::Max => ("", "  %c = icmp sgt $T %x, %v\n  %y = select i1 %c, $T %x, $T %v"),
        RmwOp::Min => ("", "  %c = icmp slt $T %x, %v\n  %y = select i1 %c, $T %x, $T %v"),
        RmwOp::UMax => ("", "  %c = icmp ugt $T %x, %v\n  %y = select i1 %c, $T %x, $T %v"),
        RmwOp::UMin => ("", "  %c = icmp ult $T %x, %v\n  %y = select i1 %c, $T %x, $T %v"),
        RmwOp::FAdd => ("", "  %y = fadd $T %x, %v"),
        RmwOp::FSub => ("", "  %y = fsub $T %x, %v"),
        RmwOp::FMax => ("declare $T @llvm.maxnum.$X($T, $T)\n", "  %y = call $T @llvm.maxnum.$X($T %x, $T %v)"),
        RmwOp::FMin => ("declare $T @llvm.minnum.$X($T, $T)\n", "  %y = call $T @llvm.minnum.$X($T %x, $T %v)"),
        RmwOp::FMaximum => ("declare $T @llvm.maximum.$X($T, $T)\n", "  %y = call $T @llvm.maximum.$X($T %x, $T %v)"),
        RmwOp::FMinimum => ("declare $T @llvm.minimum.$X($T, $T)\n", "  %y = call $T @llvm.minimum.$X($T %x, $T %v)"),
        RmwOp::FMaximumNum => {
            ("declare $T @llvm.maximumnum.$X($T, $T)\n", "  %y = call $T @llvm.maximumnum.$X($T %x, $T %v)")
        }
        RmwOp::FMinimumNum => {
            ("declare $T @llvm.minimumnum.$X($T, $T)\n", "  %y = call $T @llvm.minimumnum.$X($T %x, $T %v)")
        }
        RmwOp::UIncWrap => ("", "  %up = add $T %x, 1\n  %c = icmp uge $T %x, %v\n  %y = select i1 %c, $T 0, $T %up"),
        RmwOp::UDecWrap => (
            "",
            "  %less = sub $T %x, 1\n  %zero = icmp eq $T %x, 0\n  %above = icmp ugt $T %x, %v\n  %c = or i1 %zero, %above\n  %y = select i1 %c, $T %v, $T %less",
        ),
        RmwOp::USubCond => {
            ("", "  %less = sub $T %x, %v\n  %c = icmp uge $T %x, %v\n  %y = select i1 %c, $T %less, $T %x")
        }
        RmwOp::USubSat => {
            ("", "  %less = sub $T %x, %v\n  %c = icmp uge $T %x, %v\n  %y = select i1 %c, $T %less, $T 0")
        }
    })
}
