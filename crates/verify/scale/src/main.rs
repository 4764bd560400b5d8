//! `scale`: prints the tables of `docs/capacity.md`; with `--write`, puts them there.

use std::path::Path;

use anyhow::{Context, Result, bail};
use scale::{Measured, tables};

fn main() -> Result<()> {
    let tables = tables::all(&Measured::read()?);
    match std::env::args().nth(1).as_deref() {
        None => tables.iter().for_each(|(name, table)| println!("{name}\n\n{table}")),
        Some("--write") => {
            let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../docs/capacity.md");
            let mut text = std::fs::read_to_string(&path)?;
            for (name, table) in &tables {
                let (begin, end) = tables::markers(name);
                let from = text.find(&begin).with_context(|| format!("no {begin}"))? + begin.len();
                let to = from + text[from..].find(&end).with_context(|| format!("no {end}"))?;
                text.replace_range(from..to, table);
            }
            std::fs::write(path, text)?;
        }
        Some(other) => bail!("{other}? Only --write."),
    }
    Ok(())
}
