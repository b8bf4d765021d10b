//! Measures the embedded API against a real kube-apiserver with etcd, one after the other in one run, and what hosted
//! control planes on it cost.

mod addons;
mod alone;
mod clusters;
mod connection;
mod load;
mod logical;
mod observe;
mod process;
mod report;
mod server;
mod tenants;
mod watchers;

use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use report::{Figures, Whole, percentile, say};
use server::{Programs, Server};

/// The same as that of `butler`, so that what is measured here is what is used there.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// Until memory is read, so that what a start or a load leaves behind is given back.
const SETTLE: Duration = Duration::from_secs(5);

const USAGE: &str =
    "bench [--quick] [--embedded-only] [--api-only] [--tenants-only] [--tenants N] [--clusters-only] [--clusters N]
      [--addons-only] [--addons N]
  --quick           10,000 objects, 200 control planes, 100 clusters, 100 addons and shorter loads
  --embedded-only   no real kube-apiserver to compare with
  --api-only        the API and nothing else
  --tenants-only    hosted control planes and nothing else
  --tenants N       that many of them
  --clusters-only   tenant clusters and nothing else
  --clusters N      that many of them
  --addons-only     addons on tenant clusters and nothing else
  --addons N        that many of them, five on each cluster
BUTLER names the butler program; without it, the one beside this program is measured.";

/// What can be measured for itself.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Part {
    Api,
    Tenants,
    Clusters,
    Addons,
}

#[derive(Default)]
struct Arguments {
    quick: bool,
    embedded_only: bool,
    only: Option<Part>,
    tenants: Option<usize>,
    clusters: Option<usize>,
    addons: Option<usize>,
}

impl Arguments {
    fn parse(mut given: impl Iterator<Item = String>) -> Result<Self> {
        let mut parsed = Self::default();
        while let Some(argument) = given.next() {
            match argument.as_str() {
                "--quick" => parsed.quick = true,
                "--embedded-only" => parsed.embedded_only = true,
                "--api-only" => parsed.only = Some(Part::Api),
                "--tenants-only" => parsed.only = Some(Part::Tenants),
                "--clusters-only" => parsed.only = Some(Part::Clusters),
                "--addons-only" => parsed.only = Some(Part::Addons),
                "--tenants" | "--clusters" | "--addons" => {
                    let number = given.next().and_then(|number| number.parse().ok()).filter(|number| *number > 0);
                    let number = number.with_context(|| format!("{argument} needs a number\n{USAGE}"))?;
                    let wish = match argument.as_str() {
                        "--tenants" => &mut parsed.tenants,
                        "--clusters" => &mut parsed.clusters,
                        _ => &mut parsed.addons,
                    };
                    *wish = Some(number);
                }
                _ => bail!("{argument} is not known\n{USAGE}"),
            }
        }
        Ok(parsed)
    }
}

struct Size {
    objects: usize,
    starts: usize,
    load: Duration,
    watched: usize,
    tenants: usize,
    clusters: usize,
    addons: usize,
}

#[tokio::main]
async fn main() -> Result<()> {
    let given: Vec<String> = std::env::args().skip(1).collect();
    if let [command, folder, port] = given.as_slice()
        && command == "serve"
    {
        return alone::serve(std::path::Path::new(folder), port.parse()?).await;
    }
    let arguments = Arguments::parse(given.into_iter())?;
    let butler = match std::env::var_os("BUTLER") {
        Some(path) => std::path::absolute(path)?,
        None => std::env::current_exe()?.with_file_name("butler"),
    };
    if !butler.is_file() {
        bail!("{} is not there; `cargo build --release -p butler` makes it", butler.display());
    }
    let mut size = if arguments.quick {
        Size {
            objects: 10_000,
            starts: 3,
            load: Duration::from_secs(5),
            watched: 200,
            tenants: 200,
            clusters: 100,
            addons: 100,
        }
    } else {
        Size {
            objects: 100_000,
            starts: 5,
            load: Duration::from_secs(15),
            watched: 1_600,
            tenants: 1_000,
            clusters: 1_000,
            addons: 1_000,
        }
    };
    size.tenants = arguments.tenants.unwrap_or(size.tenants);
    size.clusters = arguments.clusters.unwrap_or(size.clusters);
    size.addons = arguments.addons.unwrap_or(size.addons);
    let cores = std::thread::available_parallelism()?;
    say("Both servers write with fsync and are asked over HTTPS with client certificates by the same client.");
    say(&format!(
        "The client shares the machine's {cores} cores with the server it measures; the servers run in turn."
    ));
    say("");
    let wanted = |part: Part| arguments.only.is_none_or(|only| only == part);
    if wanted(Part::Api) {
        // First, while this process is small.
        report::logical(&logical::measure().await.context("one more logical API")?);
        say("");
    }
    if wanted(Part::Tenants) {
        measure_tenants(butler.clone(), &size).await?;
        say("");
    }
    if wanted(Part::Clusters) {
        measure_clusters(butler.clone(), &size).await?;
        say("");
    }
    if wanted(Part::Addons) {
        measure_addons(butler.clone(), &size).await?;
        say("");
    }
    if !wanted(Part::Api) {
        return Ok(());
    }
    let whole = measure_whole(&Programs::Embedded(butler), &size).await.context("all of Butler")?;
    let embedded = measure("embedded", &Programs::alone()?, &size).await.context("the embedded API")?;
    if arguments.embedded_only {
        report::comparison(&embedded, &whole, &Figures::default(), size.objects);
        return Ok(());
    }
    let real = measure("real", &Programs::real()?, &size).await.context("the real kube-apiserver")?;
    say("");
    report::comparison(&embedded, &whole, &real, size.objects);
    Ok(())
}

async fn measure_tenants(butler: std::path::PathBuf, size: &Size) -> Result<()> {
    let cost = tenants::measure(&Programs::Embedded(butler), size.tenants).await.context("hosted control planes")?;
    report::tenants(&cost, size.tenants);
    Ok(())
}

async fn measure_clusters(butler: std::path::PathBuf, size: &Size) -> Result<()> {
    let butlerctl = butler.with_file_name("butlerctl");
    let cost = clusters::measure(&Programs::Embedded(butler), &butlerctl, size.clusters).await.context("clusters")?;
    report::clusters(&cost, size.clusters);
    Ok(())
}

async fn measure_whole(butler: &Programs, size: &Size) -> Result<Whole> {
    let (_folder, server, complete) = started(butler, size, |server| server.complete).await?;
    let whole = Whole { complete, idle: server.resident()? };
    say(&format!("butler up: started in {:?}, {} MB", whole.complete, whole.idle / 1_000_000));
    server.stop()?;
    Ok(whole)
}

/// A server that has been idle for a while, its folder, and the median of what several starts took.
async fn started(
    programs: &Programs,
    size: &Size,
    took: fn(&Server) -> Duration,
) -> Result<(tempfile::TempDir, Server, Duration)> {
    let mut starts = Vec::new();
    loop {
        let folder = tempfile::tempdir()?;
        let server = programs.start(folder.path()).await?;
        starts.push(took(&server));
        if starts.len() == size.starts {
            tokio::time::sleep(SETTLE).await;
            return Ok((folder, server, percentile(&mut starts, 0.5)));
        }
        server.stop()?;
    }
}

async fn measure_addons(butler: std::path::PathBuf, size: &Size) -> Result<()> {
    let cost = addons::measure(&Programs::Embedded(butler), size.addons).await.context("addons")?;
    report::addons(&cost);
    Ok(())
}

async fn measure(name: &str, programs: &Programs, size: &Size) -> Result<Figures> {
    let progress = |what: String| say(&format!("{name}: {what}"));
    let (folder, server, start) = started(programs, size, |server| server.start).await?;
    let mut figures = Figures { start, idle: server.resident()?, ..Figures::default() };
    progress(format!("started in {:?}, {} MB", figures.start, figures.idle / 1_000_000));

    load::namespaces(&server.dialler).await?;
    let mut times = watchers::measure(&server.dialler, size.watched).await.context("watching")?;
    figures.watch_p50 = percentile(&mut times, 0.5);
    figures.watch_p99 = percentile(&mut times, 0.99);
    progress(format!("watched {} events, p99 {:?}", times.len(), figures.watch_p99));

    let (took, mut times) = load::create(&server.dialler, 0, size.objects, size.load).await.context("creating")?;
    figures.creates_per_second = times.len() as f64 / took.as_secs_f64();
    figures.create_p50 = percentile(&mut times, 0.5);
    figures.create_p99 = percentile(&mut times, 0.99);
    progress(format!("{:.0} creates per second", figures.creates_per_second));

    let unlimited = Duration::from_secs(3600);
    load::create(&server.dialler, times.len(), size.objects, unlimited).await.context("filling")?;
    tokio::time::sleep(SETTLE).await;
    figures.full = server.resident()?;
    progress(format!("{} objects in {} MB", size.objects, figures.full / 1_000_000));

    server.stop()?;
    let server = programs.start(folder.path()).await.context("restarting")?;
    figures.restart = server.complete;
    let found = load::count(&server.dialler).await?;
    if found != size.objects {
        bail!("{found} objects are there after the restart, not {}", size.objects);
    }
    progress(format!("restarted in {:?}", figures.restart));
    server.stop()?;
    Ok(figures)
}
