//! Which random programs a test makes.

/// The number in an environment variable, or `default`. Random tests take their seed from `ORIOLE_SEED` and how many
/// programs they make from `ORIOLE_COUNT`.
#[must_use]
pub fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}
