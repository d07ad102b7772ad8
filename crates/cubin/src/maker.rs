//! The release of the toolkit whose ptxas or nvlink made a cubin.

use crate::Cubin;
use crate::notes::TKINFO;
use oriole_isa::latency::Release;

/// What stands before the release in the version that the tools write: `Cuda compilation tools, release 13.0, V13.0.88`.
const BEFORE: &str = "release ";

impl Cubin {
    /// The release that the note about the tool (`.note.nv.tkinfo`) names.
    pub fn maker(&self) -> Option<Release> {
        let text = String::from_utf8_lossy(self.note(TKINFO)?);
        let (_, from) = text.split_once(BEFORE)?;
        let number = |text: &str| text.chars().take_while(char::is_ascii_digit).collect::<String>().parse().ok();
        let (major, rest) = from.split_once('.')?;
        Some(Release(number(major)?, number(rest)?))
    }
}
