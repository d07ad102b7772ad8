//! Which random programs a test makes.

use oriole_prerequisites::sample;

/// The number in an environment variable, or `default`. Random tests take their seed from `ORIOLE_SEED`.
#[must_use]
pub fn from_environment(name: &str, default: u64) -> u64 {
    std::env::var(name).ok().and_then(|value| value.parse().ok()).unwrap_or(default)
}

/// How many programs a random test makes: what `ORIOLE_COUNT` says, else half of `all`, or all with `ORIOLE_THOROUGH=1`.
#[must_use]
pub fn how_many(all: u64) -> u64 {
    from_environment("ORIOLE_COUNT", sample(all))
}
