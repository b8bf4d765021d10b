//! Figures and the table they are printed in.

use std::io::Write as _;
use std::time::Duration;

/// What was measured of one server.
#[derive(Default)]
pub(crate) struct Figures {
    pub(crate) start: Duration,
    pub(crate) idle: u64,
    pub(crate) creates_per_second: f64,
    pub(crate) create_p50: Duration,
    pub(crate) create_p99: Duration,
    pub(crate) watch_p50: Duration,
    pub(crate) watch_p99: Duration,
    pub(crate) full: u64,
    pub(crate) restart: Duration,
}

/// What was measured of `butler up`, whose controllers the other servers lack.
#[derive(Default)]
pub(crate) struct Whole {
    /// From the start until all its kinds are served and its controllers run.
    pub(crate) complete: Duration,
    pub(crate) idle: u64,
}

/// One line of the table.
struct Row {
    what: String,
    embedded: String,
    real: String,
    ratio: String,
    target: &'static str,
    met: Option<bool>,
}

/// The value below which this share of all values lies.
pub(crate) fn percentile(values: &mut [Duration], share: f64) -> Duration {
    values.sort_unstable();
    let index = (values.len() as f64 * share) as usize;
    values.get(index.min(values.len().saturating_sub(1))).copied().unwrap_or_default()
}

/// Prints a line for people.
pub(crate) fn say(line: &str) {
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// The comparison of both servers.
pub(crate) fn comparison(embedded: &Figures, whole: &Whole, real: &Figures, objects: usize) {
    let rows = [
        durations("start to ready", embedded.start, real.start, "<= 1/30", Some(30.0)),
        durations("  all of Butler: its kinds, too", whole.complete, real.start, "", None),
        memories("idle memory", embedded.idle, real.idle, "<= 1/8", Some(8.0)),
        memories("  all of Butler", whole.idle, real.idle, "", None),
        creates(embedded, real),
        durations("  p50 of a create", embedded.create_p50, real.create_p50, "", None),
        durations("  p99 of a create", embedded.create_p99, real.create_p99, "", None),
        durations("watch delivery p50, 100 watchers", embedded.watch_p50, real.watch_p50, "", None),
        durations("watch delivery p99, 100 watchers", embedded.watch_p99, real.watch_p99, "<= 1/2", Some(2.0)),
        memories(&format!("memory with {objects} objects"), embedded.full, real.full, "<= 1/3", Some(3.0)),
        Row {
            met: Some(embedded.restart < Duration::from_secs(2)),
            target: "< 2 s",
            ..durations(&format!("restart with {objects} objects"), embedded.restart, real.restart, "", None)
        },
    ];
    print(&rows);
}

/// The costs of one more API.
pub(crate) fn logical(cost: &crate::logical::Cost) {
    let soon = Duration::from_millis(20);
    print(&[
        alone("one more logical API: memory", kilobytes(cost.memory), "< 200 KB", Some(cost.memory < 200_000)),
        alone("one more logical API: time", text(cost.time), "< 20 ms", Some(cost.time < soon)),
        alone("  the slowest of a hundred", text(cost.slowest), "< 20 ms", Some(cost.slowest < soon)),
    ]);
}

/// What control planes cost.
pub(crate) fn tenants(cost: &crate::tenants::Cost, count: usize) {
    let minute = Duration::from_secs(60);
    let core = cost.idle_cpu * 100.0;
    print(&[
        alone("one control plane: create to Ready", text(cost.first), "< 1 s", Some(cost.first.as_secs() < 1)),
        alone(&format!("{count} control planes Ready"), text(cost.ready), "< 60 s", Some(cost.ready < minute)),
        alone("  memory of one, all in all", kilobytes(cost.memory), "", None),
        alone("  memory of one for its controller", kilobytes(cost.asleep), "< 300 KB", Some(cost.asleep < 300_000)),
        alone("  writes per tenant until Ready", format!("{:.1}", cost.writes), "", None),
        alone("at rest: until nothing is written", text(cost.settling), "", None),
        alone("at rest: writes in 30 s", cost.idle_writes.to_string(), "0", Some(cost.idle_writes == 0)),
        alone("at rest: of one core", format!("{core:.2} %"), "< 1 %", Some(core < 1.0)),
        alone("all deleted", text(cost.deletion), "", None),
        alone("  objects left", cost.objects_left.to_string(), "0", Some(cost.objects_left == 0)),
        alone("  sockets and files left", cost.files_left.to_string(), "0", Some(cost.files_left == 0)),
    ]);
}

/// What tenant clusters cost.
pub(crate) fn clusters(cost: &crate::clusters::Cost, count: usize) {
    let core = cost.idle_cpu * 100.0;
    let within = |duration: Duration, seconds: f64| Some(duration.as_secs_f64() < seconds);
    // The wish is for a thousand.
    let share = count as f64 / 1000.0;
    // Of few, starting butlerctl takes the time.
    let listed = (count >= 1000).then_some(cost.listing.as_secs_f64() < 0.1 * share.min(2.0));
    print(&[
        alone("one cluster: create to Ready", text(cost.first), "< 1.5 s", within(cost.first, 1.5)),
        alone(
            &format!("{count} clusters of 3 workers Ready"),
            text(cost.ready),
            "< 300 s for 1,000",
            within(cost.ready, 300.0 * share),
        ),
        alone("  memory of one, all in all", kilobytes(cost.memory), "< 1000 KB", Some(cost.memory < 1_000_000)),
        alone("  writes per cluster until Ready", format!("{:.1}", cost.writes), "", None),
        alone("at rest: until nothing is written", text(cost.settling), "", None),
        alone("at rest: writes in 30 s", cost.idle_writes.to_string(), "0", Some(cost.idle_writes == 0)),
        alone("at rest: of one core", format!("{core:.2} %"), "< 2 %", Some(core < 2.0)),
        alone("butlerctl cluster list of them", text(cost.listing), "< 200 ms for 2,000", listed),
        alone(
            &format!("{count} addons installed"),
            text(cost.installs),
            "< 120 s for 1,000",
            within(cost.installs, 120.0 * share),
        ),
        alone("all deleted", text(cost.deletion), "", None),
        alone("  objects left", cost.objects_left.to_string(), "0", Some(cost.objects_left == 0)),
    ]);
}

/// What addons cost.
pub(crate) fn addons(cost: &crate::addons::Cost) {
    let (wall, cpu, idle) = (cost.wall.as_secs_f64(), cost.cpu.as_secs_f64(), cost.idle_cpu * 100.0);
    // The wish is for a thousand.
    let within = wall < 120.0 * cost.installs as f64 / 1000.0;
    print(&[
        alone(
            &format!("{} addons installed on {} clusters", cost.installs, cost.clusters),
            text(cost.wall),
            "< 120 s for 1,000",
            Some(within),
        ),
        alone("  installs per second", format!("{:.1}", cost.installs as f64 / wall), "", None),
        alone("  cores used on the way", format!("{:.2}", cpu / wall), "", None),
        alone("  CPU of one", format!("{:.0} ms", cpu * 1000.0 / cost.installs as f64), "", None),
        alone("  writes of one", format!("{:.1}", cost.writes), "", None),
        alone("  memory of one, all in all", kilobytes(cost.memory), "", None),
        alone("at rest: writes in 30 s", cost.idle_writes.to_string(), "0", Some(cost.idle_writes == 0)),
        alone("at rest: of one core", format!("{idle:.2} %"), "< 2 %", Some(idle < 2.0)),
    ]);
}

/// A figure that only the embedded side has.
fn alone(what: &str, embedded: String, target: &'static str, met: Option<bool>) -> Row {
    Row { what: what.to_owned(), embedded, real: "-".into(), ratio: "-".into(), target, met }
}

fn kilobytes(bytes: u64) -> String {
    format!("{} KB", bytes / 1000)
}

fn creates(embedded: &Figures, real: &Figures) -> Row {
    let ratio = embedded.creates_per_second / real.creates_per_second;
    Row {
        what: "creates per second, 32 clients".into(),
        embedded: format!("{:.0}", embedded.creates_per_second),
        real: format!("{:.0}", real.creates_per_second),
        ratio: format!("{ratio:.1}x"),
        target: ">= 4x",
        met: Some(ratio >= 4.0),
    }
}

fn durations(what: &str, embedded: Duration, real: Duration, target: &'static str, least: Option<f64>) -> Row {
    let ratio = real.as_secs_f64() / embedded.as_secs_f64();
    Row {
        what: what.to_owned(),
        embedded: text(embedded),
        real: text(real),
        ratio: format!("1/{ratio:.1}"),
        target,
        met: least.map(|least| ratio >= least),
    }
}

fn memories(what: &str, embedded: u64, real: u64, target: &'static str, least: Option<f64>) -> Row {
    let ratio = real as f64 / embedded as f64;
    let text = |bytes: u64| format!("{:.1} MB", bytes as f64 / 1e6);
    Row {
        what: what.to_owned(),
        embedded: text(embedded),
        real: text(real),
        ratio: format!("1/{ratio:.1}"),
        target,
        met: least.map(|least| ratio >= least),
    }
}

fn text(duration: Duration) -> String {
    if duration >= Duration::from_secs(1) {
        format!("{:.2} s", duration.as_secs_f64())
    } else {
        format!("{:.1} ms", duration.as_secs_f64() * 1000.0)
    }
}

fn print(rows: &[Row]) {
    say(&format!("{:<36} {:>12} {:>12} {:>9}  {:<9}", "", "embedded", "real", "ratio", "target"));
    for row in rows {
        let met = match row.met {
            Some(true) => "met",
            Some(false) => "MISSED",
            None => "",
        };
        say(&format!(
            "{:<36} {:>12} {:>12} {:>9}  {:<9} {met}",
            row.what, row.embedded, row.real, row.ratio, row.target
        ));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles() {
        let mut values: Vec<Duration> = (1..=100).rev().map(Duration::from_millis).collect();
        assert_eq!(percentile(&mut values, 0.5), Duration::from_millis(51));
        assert_eq!(percentile(&mut values, 0.99), Duration::from_millis(100));
        assert_eq!(percentile(&mut values, 1.0), Duration::from_millis(100));
        assert_eq!(percentile(&mut [], 0.5), Duration::ZERO);
    }

    #[test]
    fn ratios_are_judged_by_their_targets() {
        let ms = Duration::from_millis;
        assert_eq!(durations("", ms(100), ms(3000), "", Some(30.0)).met, Some(true));
        assert_eq!(durations("", ms(101), ms(3000), "", Some(30.0)).met, Some(false));
        assert_eq!(memories("", 10, 79, "", Some(8.0)).met, Some(false));
        assert_eq!(text(ms(1500)), "1.50 s");
        assert_eq!(text(Duration::from_micros(1500)), "1.5 ms");
    }
}
