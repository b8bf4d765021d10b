//! Developer commands: `cargo xtask <command>`.

mod kinds;

fn main() -> anyhow::Result<()> {
    let mut args = std::env::args().skip(1);
    match args.next().as_deref() {
        Some("kinds") => kinds::run(args),
        _ => anyhow::bail!("usage: cargo xtask kinds --server URL --token TOKEN [--ca FILE]"),
    }
}
