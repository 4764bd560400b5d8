//! Finds the heads of requests in the bytes of a connection.

use std::collections::BTreeMap;

/// The longest part of a line that is kept. It holds the longest name that hyper accepts.
const LINE_BYTES_MAX: usize = 64 * 1024;

/// The most spellings that are remembered for a connection.
const NAMES_MAX: usize = 256;

/// What the next byte belongs to.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// Nothing yet: a request may begin.
    #[default]
    Start,
    Head,
    /// The rest of a body.
    Body(u64),
    /// The line with the size of a chunk.
    ChunkSize,
    /// The rest of a chunk, with the line end after it.
    Chunk(u64),
    /// The lines after the last chunk.
    Trailer,
    /// What is no HTTP/1.1, until the connection ends.
    Other,
}

/// The parser of one connection.
#[derive(Debug, Default)]
pub(super) struct Heads {
    part: Part,
    line: Vec<u8>,
    body: Body,
}

/// How the head describes the body.
#[derive(Debug, Default, Clone, Copy, PartialEq, Eq)]
enum Body {
    #[default]
    None,
    Sized(u64),
    Chunked,
    Upgraded,
}

impl Heads {
    /// Whether a head has begun and not ended.
    pub(super) fn is_inside_head(&self) -> bool {
        self.part == Part::Head
    }

    /// Reads the next bytes, and returns the names of headers in them.
    pub(super) fn read(&mut self, mut bytes: &[u8]) -> Vec<String> {
        let mut names = Vec::new();
        while !bytes.is_empty() && self.part != Part::Other {
            if let Part::Body(rest) | Part::Chunk(rest) = &mut self.part {
                let taken = usize::try_from(*rest).unwrap_or(usize::MAX).min(bytes.len());
                *rest -= taken as u64;
                bytes = &bytes[taken..];
                self.part = match self.part {
                    Part::Body(0) => Part::Start,
                    Part::Chunk(0) => Part::ChunkSize,
                    part => part,
                };
                continue;
            }
            if self.part == Part::Start {
                self.part = Part::Head;
            }
            let end = bytes.iter().position(|byte| *byte == b'\n');
            let taken = end.unwrap_or(bytes.len());
            let room = LINE_BYTES_MAX.saturating_sub(self.line.len());
            self.line.extend_from_slice(&bytes[..taken.min(room)]);
            bytes = &bytes[(taken + 1).min(bytes.len())..];
            if end.is_some() {
                let line = std::mem::take(&mut self.line);
                names.extend(self.end_line(String::from_utf8_lossy(&line).trim_end()));
            }
        }
        names
    }

    /// Reads a whole line, and returns the name of the header in it.
    fn end_line(&mut self, line: &str) -> Option<String> {
        match (self.part, line) {
            (Part::Head, "") => {
                self.part = match std::mem::take(&mut self.body) {
                    Body::None | Body::Sized(0) => Part::Start,
                    Body::Sized(size) => Part::Body(size),
                    Body::Chunked => Part::ChunkSize,
                    Body::Upgraded => Part::Other,
                };
            }
            // HTTP/2 begins so.
            (Part::Head, line) if line.starts_with("PRI ") => self.part = Part::Other,
            (Part::Head, line) => {
                let (name, value) = line.split_once(':')?;
                self.note_body(name, value.trim());
                return Some(name.to_owned());
            }
            (Part::ChunkSize, line) => {
                let size = line.split(';').next().unwrap_or_default();
                self.part = match u64::from_str_radix(size.trim(), 16) {
                    Ok(0) => Part::Trailer,
                    // With the line end after it.
                    Ok(size) => Part::Chunk(size.saturating_add(2)),
                    Err(_) => Part::Other,
                };
            }
            (Part::Trailer, "") => self.part = Part::Start,
            _ => {}
        }
        None
    }

    fn note_body(&mut self, name: &str, value: &str) {
        let named = |other: &str| name.eq_ignore_ascii_case(other);
        if named("upgrade") {
            self.body = Body::Upgraded;
        } else if named("transfer-encoding") && value.to_ascii_lowercase().ends_with("chunked") {
            self.body = Body::Chunked;
        } else if named("content-length") && self.body == Body::None {
            self.body = value.parse().map_or(Body::None, Body::Sized);
        }
    }
}

/// Remembers the spelling of a name, if it is not in lower case and there is room.
pub(super) fn remember(spellings: &mut BTreeMap<String, String>, name: String) {
    let lower = name.to_ascii_lowercase();
    if lower == name {
        spellings.remove(&lower);
    } else if spellings.len() < NAMES_MAX || spellings.contains_key(&lower) {
        spellings.insert(lower, name);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const REQUESTS: &str = "POST / HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n\
        9;b=c\r\nFake: 1\r\n\r\n0\r\n\r\nPUT / HTTP/1.1\r\nAuth_Id: 1\r\nContent-Length: 4\r\n\r\nA:\r\n\
        GET / HTTP/1.1\r\nupgrade: websocket\r\n\r\nOther: 1\r\n\r\n";

    #[test]
    fn names_are_those_of_heads_however_bytes_are_split() {
        let expected = ["Host", "Transfer-Encoding", "Auth_Id", "Content-Length", "upgrade"];
        for size in 1..REQUESTS.len() {
            let mut heads = Heads::default();
            let names: Vec<String> = REQUESTS.as_bytes().chunks(size).flat_map(|bytes| heads.read(bytes)).collect();
            assert_eq!(names, expected, "in parts of {size} bytes");
        }
    }

    #[test]
    fn endless_line_keeps_a_bounded_part() {
        let mut heads = Heads::default();
        for _ in 0..100 {
            heads.read(&[b'x'; 4096]);
        }
        assert_eq!((heads.line.len(), heads.is_inside_head()), (LINE_BYTES_MAX, true));
    }
}
