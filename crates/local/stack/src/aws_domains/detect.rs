//! Finds the binaries whose AWS SDK does not read `AWS_ENDPOINT_URL`.

use std::fs::File;
use std::io::{self, Read as _};
use std::path::{Path, PathBuf};

use memchr::memmem::Finder;

/// Texts in binaries with a Rust SDK: a part of its user agent, and the names of its crates in the
/// positions of panics.
const SDK: [&[u8]; 2] = [b"aws-sdk-rust", b"aws-smithy-"];

/// A text in each binary whose SDK reads the variable.
const VARIABLE: &[u8] = b"AWS_ENDPOINT_URL";

/// A binary is read in chunks of this size.
const CHUNK_BYTES: usize = 1024 * 1024;

/// The first binary that needs AWS's own domain names. A binary that cannot be read is skipped: its
/// start reports that.
pub(super) fn first_with_old_sdk(binaries: &[PathBuf]) -> Option<&PathBuf> {
    binaries.iter().find(|binary| has_old_sdk(binary).unwrap_or(false))
}

fn has_old_sdk(binary: &Path) -> io::Result<bool> {
    let mut file = File::open(binary)?;
    let (sdk, variable) = (SDK.map(Finder::new), Finder::new(VARIABLE));
    let (mut found, mut buffer, mut kept) = (false, vec![0; CHUNK_BYTES], 0);
    loop {
        let read = match buffer.get_mut(kept..) {
            Some(free) => file.read(free)?,
            None => 0,
        };
        let filled = kept + read;
        let text = buffer.get(..filled).unwrap_or_default();
        if variable.find(text).is_some() {
            return Ok(false);
        }
        found = found || sdk.iter().any(|part| part.find(text).is_some());
        if read == 0 {
            return Ok(found);
        }
        // A text may lie across two chunks.
        kept = filled.min(VARIABLE.len() - 1);
        buffer.copy_within(filled - kept..filled, 0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_a_binary_with_an_sdk_that_does_not_read_the_variable_is_found() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = |name: &str, texts: &[&[u8]]| {
            // The texts lie across the borders of chunks.
            let padding = vec![0; CHUNK_BYTES - 5];
            let content: Vec<u8> =
                texts.iter().flat_map(|text| [padding.as_slice(), text]).flatten().copied().collect();
            let path = folder.path().join(name);
            std::fs::write(&path, content).expect("written");
            path
        };
        let (new, none) = (file("new", &[SDK[0], VARIABLE]), file("none", &[b"no client"]));
        let (old, missing) = (file("old", &[b"x", SDK[1]]), folder.path().join("missing"));
        assert_eq!(first_with_old_sdk(&[new.clone(), none.clone(), missing.clone()]), None);
        assert_eq!(first_with_old_sdk(&[new, none, missing, old.clone()]), Some(&old));
    }
}
