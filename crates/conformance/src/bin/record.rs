//! Records golden transcripts from a real kube-apiserver, of all cases or of those that contain an argument.

use std::collections::BTreeSet;
use std::io::Write as _;
use std::process::ExitCode;

use conformance::real::{Programs, RealServer};
use conformance::suite::{run_all, select};
use conformance::{cases, transcript};

#[tokio::main]
async fn main() -> anyhow::Result<ExitCode> {
    let filters: Vec<String> = std::env::args().skip(1).collect();
    let all = cases::all();
    let chosen = select(all.clone(), &filters);
    let server = RealServer::start(&Programs::find().map_err(anyhow::Error::msg)?).await?;
    let mut outcomes: std::collections::HashMap<_, _> =
        run_all(server.target.clone(), &chosen).await?.into_iter().collect();
    let mut out = std::io::stdout();
    let (mut recorded, mut failed) = (0, 0);
    for area in chosen.iter().map(|case| case.area).collect::<BTreeSet<_>>() {
        let mut golden = transcript::load(area)?;
        golden.retain(|name, _| all.iter().any(|case| case.area == area && case.name == name));
        for case in chosen.iter().filter(|case| case.area == area) {
            match outcomes.remove(&case.id()) {
                Some(Ok(lines)) => {
                    recorded += 1;
                    golden.insert(case.name.to_owned(), lines);
                }
                Some(Err(error)) => {
                    failed += 1;
                    writeln!(out, "{}: {error:#}", case.id())?;
                }
                None => {}
            }
        }
        transcript::save(area, &golden)?;
    }
    writeln!(out, "{recorded} cases recorded, {failed} failed")?;
    Ok(if failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}
