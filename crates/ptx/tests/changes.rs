//! The checker's verdict on single statements is that of ptxas.

use super::statements::{module, rows};

#[test]
fn as_ptxas() {
    let (mut wrong, mut count) = (Vec::new(), 0);
    for row in rows() {
        let accepted = oriole_ptx::load(&module(row)).is_ok();
        count += 1;
        if accepted != row.accepted {
            wrong.push(format!("{row:?}"));
        }
    }
    assert!(count > 300, "{count} statements");
    assert!(wrong.is_empty(), "{} of {count} differ:\n{}", wrong.len(), wrong.join("\n"));
}
