//! Reads a file of LLVM assembly and prints it again, for a version of LLVM or the newest.
//!
//!     cargo run -p oriole-nvptx --features examples --example print_ll -- FILE [VERSION]

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("FILE?")?;
    let version = std::env::args().nth(2).map_or(Ok(u32::MAX), |version| version.parse())?;
    let text = std::fs::read_to_string(&path)?;
    let module = oriole_nvptx::text::parse(&text, &path).map_err(|error| error.render(&text))?;
    print!("{}", oriole_nvptx::text::print_for(&module, version));
    Ok(())
}
