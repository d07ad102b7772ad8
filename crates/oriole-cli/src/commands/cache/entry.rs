//! The bytes of a result in the cache: whoever reads them knows whether they are all there and as they were written.
//!
//! A head of fixed size (what it is, the key, the lengths of the two parts), what is said of the cubin as JSON, the cubin,
//! and the hash of all this.

use super::FORMAT;
use crate::product::Product;
use blake3::{Hash, OUT_LEN};

const MAGIC: &[u8; 8] = b"oriole$\n";
const HEAD: usize = MAGIC.len() + 4 + OUT_LEN + 8 + 8;

/// `None` where there is no JSON of it.
pub(super) fn encode(key: &Hash, product: &Product) -> Option<Vec<u8>> {
    let said = serde_json::to_vec(&product.said).ok()?;
    let mut out = Vec::with_capacity(HEAD + said.len() + product.cubin.len() + OUT_LEN);
    out.extend_from_slice(MAGIC);
    out.extend_from_slice(&FORMAT.to_le_bytes());
    out.extend_from_slice(key.as_bytes());
    out.extend_from_slice(&(said.len() as u64).to_le_bytes());
    out.extend_from_slice(&(product.cubin.len() as u64).to_le_bytes());
    out.extend_from_slice(&said);
    out.extend_from_slice(&product.cubin);
    let check = blake3::hash(&out);
    out.extend_from_slice(check.as_bytes());
    Some(out)
}

/// `None` where the bytes are not what [`encode`] made for this key.
pub(super) fn decode(key: &Hash, bytes: &[u8]) -> Option<Product> {
    let (content, check) = bytes.split_last_chunk::<OUT_LEN>()?;
    let rest = content.strip_prefix(MAGIC)?.strip_prefix(&FORMAT.to_le_bytes())?.strip_prefix(key.as_bytes())?;
    let (said_length, rest) = rest.split_first_chunk::<8>()?;
    let (cubin_length, rest) = rest.split_first_chunk::<8>()?;
    let said_length = usize::try_from(u64::from_le_bytes(*said_length)).ok()?;
    let (said, cubin) = rest.split_at_checked(said_length)?;
    let is_whole = cubin.len() as u64 == u64::from_le_bytes(*cubin_length) && blake3::hash(content) == *check;
    is_whole.then(|| Some(Product { said: serde_json::from_slice(said).ok()?, cubin: cubin.to_vec() })).flatten()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::product::Said;

    #[test]
    fn every_shortened_and_every_changed_entry_is_refused() {
        let key = blake3::hash(b"key");
        let product = Product { said: Said::default(), cubin: b"\x7fELF and so on".to_vec() };
        let bytes = encode(&key, &product).expect("it is JSON");
        assert_eq!(decode(&key, &bytes).expect("as written").cubin, product.cubin);
        assert!(decode(&blake3::hash(b"another"), &bytes).is_none());
        for length in 0..bytes.len() {
            assert!(decode(&key, &bytes[..length]).is_none(), "{length} bytes");
        }
        for at in 0..bytes.len() {
            let mut changed = bytes.clone();
            changed[at] ^= 0x10;
            assert!(decode(&key, &changed).is_none(), "byte {at}");
        }
        let longer = [bytes.as_slice(), b"x"].concat();
        assert!(decode(&key, &longer).is_none());
    }
}
