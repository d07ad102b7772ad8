//! Files of the host that are read whole.

use std::fs::File;
use std::io::{Error, ErrorKind, Read, Result};
use std::path::Path;

/// Bytes that are read at most of what has no size, such as pipes and devices: it may have no end.
pub const MOST_OF_A_STREAM: u64 = 1 << 30;

/// All bytes of a file: of a regular one `most`, of another one [`MOST_OF_A_STREAM`] at most, if that is less.
///
/// # Errors
/// It cannot be read; or there are more, and [`ErrorKind::FileTooLarge`] says so.
pub fn read_file(path: &Path, most: u64) -> Result<Vec<u8>> {
    let mut file = File::open(path)?;
    let about = file.metadata()?;
    // Files that the system makes up when they are read say 0.
    if !about.is_file() || about.len() == 0 {
        return read_stream(file, most.min(MOST_OF_A_STREAM));
    }
    if about.len() > most {
        return Err(Error::new(ErrorKind::FileTooLarge, format!("it has {} bytes, more than {most}", about.len())));
    }
    let mut bytes = Vec::new();
    bytes.try_reserve_exact(usize::try_from(about.len()).unwrap_or(usize::MAX))?;
    file.read_to_end(&mut bytes)?;
    Ok(bytes)
}

/// All bytes of what has no size, `most` of them at most.
///
/// # Errors
/// It cannot be read; or there are more, and [`ErrorKind::FileTooLarge`] says so.
pub fn read_stream(from: impl Read, most: u64) -> Result<Vec<u8>> {
    let mut bytes = Vec::new();
    from.take(most.saturating_add(1)).read_to_end(&mut bytes)?;
    if bytes.len() as u64 > most {
        let why = format!("it has no size, and goes on after {most} bytes");
        return Err(Error::new(ErrorKind::FileTooLarge, why));
    }
    Ok(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Write, repeat};

    #[test]
    fn what_has_no_end_is_not_read_to_it() {
        assert_eq!(read_stream(repeat(7).take(10), 10).expect("that many"), [7; 10]);
        let error = read_stream(repeat(7), 10).expect_err("there is no end");
        assert_eq!((error.kind(), error.to_string().contains("after 10 bytes")), (ErrorKind::FileTooLarge, true));
        if let Ok(true) = Path::new("/dev/zero").try_exists() {
            let error = read_file(Path::new("/dev/zero"), 1 << 20).expect_err("there is no end");
            assert_eq!(error.kind(), ErrorKind::FileTooLarge);
            assert_eq!(read_file(Path::new("/dev/null"), 0).expect("it has an end"), []);
        }
    }

    #[test]
    fn files_are_read_by_their_size() {
        let path = std::env::temp_dir().join(format!("oriole-input-{}", std::process::id()));
        File::create(&path).and_then(|mut file| file.write_all(b"seven b")).expect("a file");
        let (whole, part) = (read_file(&path, 7), read_file(&path, 6));
        std::fs::remove_file(&path).expect("it is there");
        assert_eq!(whole.expect("it has 7 bytes"), b"seven b");
        assert_eq!(part.expect_err("it has 7 bytes").to_string(), "it has 7 bytes, more than 6");
    }
}
