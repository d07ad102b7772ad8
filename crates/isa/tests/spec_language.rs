//! The language of `spec/*.isa`: facts have to be stated, and to agree; messages name the place.

// The build script's modules; what only writes tables is not used here.
#[expect(dead_code)]
#[path = "../build/emit.rs"]
mod emit;
#[expect(dead_code)]
#[path = "../build/facts.rs"]
mod facts;
#[expect(dead_code)]
#[path = "../build/forms.rs"]
mod forms;
#[expect(dead_code)]
#[path = "../build/model.rs"]
mod model;
#[path = "../build/parse.rs"]
mod parse;
#[path = "../build/targets.rs"]
mod targets;

/// What the build script says of a file with this text.
fn checked(text: &str) -> Result<(), String> {
    let mut spec = model::Spec::default();
    parse::file(&mut spec, "test.isa", text)?;
    spec.check()
}

const ADD: &str = "\
family test
field cmp \"Comparison.\" LT GT EQ
turned cmp LT:GT EQ
instr ADD \"D = A + B.\"
  lanes same
  exit no
  order free
  commutes plain A B
  fold -
  space -
  estimate 20
  effects -
  pipe alu
  latency alu
  control wait
  sig =D:R A:R B:R
  fields cmp
";

#[test]
fn a_complete_instruction_is_accepted() {
    assert_eq!(checked(ADD), Ok(()));
}

/// Each fact is required, of the instruction or of its file before it.
#[test]
fn facts_have_to_be_stated() {
    for word in facts::WORDS {
        let line = ADD.lines().find(|line| line.trim().starts_with(word)).expect("a line");
        let without = ADD.replace(&format!("{line}\n"), "");
        let message = format!("test.isa:4: ADD: no '{word}' line, and no default of the file");
        assert_eq!(checked(&without), Err(message));
        let value = line.trim().trim_start_matches(word).trim();
        if !value.contains(' ') {
            assert_eq!(checked(&format!("default {word}={value}\n{without}")), Ok(()));
        }
    }
    for word in ["pipe", "latency", "control"] {
        let line = ADD.lines().find(|line| line.trim().starts_with(word)).expect("a line");
        let refused = checked(&ADD.replace(&format!("{line}\n"), ""));
        assert!(
            refused.as_ref().is_err_and(|e| e.starts_with(&format!("test.isa:4: ADD: no '{word}'"))),
            "{refused:?}"
        );
    }
}

#[test]
fn facts_have_to_agree() {
    for (from, to, reason) in [
        ("exit no", "exit leave", "it leaves its block, but has not the effect 'branch' and the order 'fence'"),
        ("order free", "order effect", "order 'Effect' does not go with its effects"),
        ("effects -", "effects side-effect", "order 'Free' does not go with its effects"),
        ("effects -", "effects reads-memory", "space 'None' does not go with its effects"),
        ("space -", "space shared", "space 'Shared' does not go with its effects"),
        ("effects -", "effects strange", "no effect 'strange'"),
        ("exit no", "exit sideways", "exit 'sideways': no, branch, indirect, leave"),
        ("commutes plain A B", "commutes plain A C", "commutes: no source 'C'"),
        ("commutes plain A B", "commutes plain A D", "commutes: no source 'D'"),
        ("commutes plain A B", "commutes plain A", "commutes: fewer than two operands"),
        ("commutes plain A B", "commutes choice A B", CHOICE_WITHOUT_PA),
        ("estimate 20", "estimate 300", "estimate '300': cycles, at most 255"),
    ] {
        assert_eq!(checked(&ADD.replace(from, to)), Err(format!("test.isa:4: ADD: {reason}")));
    }
    assert_eq!(checked(&ADD.replace("commutes plain", "commutes cmp")), Ok(()));
    assert_eq!(
        checked(&ADD.replace("turned cmp LT:GT EQ", "turned cmp LT:GT")),
        Err("turned cmp: 'EQ' is missing".into())
    );
    assert_eq!(checked("default colour=red"), Err("test.isa:1: no fact 'colour'".into()));
}

const CHOICE_WITHOUT_PA: &str = "commutes 'choice': plain, minmax, choice (of PA), table (Lut), or a comparison";
