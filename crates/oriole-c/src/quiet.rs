//! Panics that a call answers: its caller gets a result, and nobody's standard error a text.

use std::any::Any;
use std::cell::Cell;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;
use std::thread;

/// What names of threads begin with that the library starts for a compilation or a launch.
const OWN_THREADS: &str = "oriole-";

thread_local! {
    /// How many calls of [`catch`] this thread is in.
    static DEPTH: Cell<usize> = const { Cell::new(0) };
}

/// One call of [`catch`] by this thread.
struct Inside;

impl Inside {
    fn new() -> Inside {
        DEPTH.with(|depth| depth.set(depth.get() + 1));
        Inside
    }
}

impl Drop for Inside {
    fn drop(&mut self) {
        DEPTH.with(|depth| depth.set(depth.get() - 1));
    }
}

/// What `work` gives, or the panic that ended it. The hook that was there before is called for all panics but those within
/// such a call and those of the library's own threads.
pub(crate) fn catch<T>(work: impl FnOnce() -> T) -> Result<T, Box<dyn Any + Send>> {
    static HOOK: Once = Once::new();
    HOOK.call_once(|| {
        let before = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !is_answered() {
                before(info);
            }
        }));
    });
    let _inside = Inside::new();
    panic::catch_unwind(AssertUnwindSafe(work))
}

/// Whether a panic of this thread becomes a result. Where panics do not unwind, what they say is all there is.
fn is_answered() -> bool {
    let is_inside = DEPTH.try_with(|depth| depth.get() > 0).unwrap_or(false);
    let is_own = || thread::current().name().is_some_and(|name| name.starts_with(OWN_THREADS));
    cfg!(panic = "unwind") && (is_inside || is_own())
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    /// Set in the process whose standard error is looked at.
    const CHILD: &str = "ORIOLE_TEST_OF_QUIET_PANICS";

    #[test]
    fn only_panics_that_are_answered_are_quiet() {
        if std::env::var_os(CHILD).is_some() {
            assert!(catch(|| panic!("answered by the call")).is_err());
            let own = thread::Builder::new().name(format!("{OWN_THREADS}launch"));
            let spawned = catch(|| own.spawn(|| panic!("answered by the thread's call")).map(|thread| thread.join()));
            assert!(matches!(spawned, Ok(Ok(Err(_)))));
            assert!(thread::spawn(|| panic!("of the host")).join().is_err());
            return;
        }
        let test = std::env::current_exe().expect("the test is a file");
        let name = thread::current().name().map(str::to_owned).expect("tests have names");
        let ran =
            Command::new(test).args([&name, "--exact", "--nocapture", "--test-threads=1"]).env(CHILD, "1").output();
        let ran = ran.expect("the test can be started");
        let said = String::from_utf8_lossy(&ran.stderr);
        assert!(ran.status.success() && said.contains("of the host") && !said.contains("answered by"), "{said}");
    }
}
