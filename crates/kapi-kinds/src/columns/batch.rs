//! Jobs and what starts them.

use serde_json::Value;

use super::cell::{Row, is_true, seconds};
use super::{AGE, CONTAINERS, Def, IMAGES, NAME, Printer, boolean, integer, string};

const SELECTOR: Def = string("Selector", "Which pods it counts as its own.").wide();

pub(super) const PRINTERS: &[Printer] = &[
    Printer {
        group: "batch",
        kind: "Job",
        columns: &[
            NAME,
            string("Status", "Whether it runs, and how it ended."),
            string("Completions", "How many pods have succeeded, of how many needed."),
            string("Duration", "How long it has run, or took."),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
            SELECTOR,
        ],
        row: job,
    },
    Printer {
        group: "batch",
        kind: "CronJob",
        columns: &[
            NAME,
            string("Schedule", "When it starts jobs, in cron's notation."),
            string("Timezone", "The time zone of the schedule."),
            boolean("Suspend", "Whether no new jobs are started."),
            integer("Active", "How many of its jobs run."),
            string("Last Schedule", "How long ago it started the last one."),
            AGE,
            CONTAINERS.wide(),
            IMAGES.wide(),
            SELECTOR,
        ],
        row: cron_job,
    },
];

fn job(it: Row<'_>) -> Vec<Value> {
    let [containers, images] = it.containers("spec.template");
    vec![
        it.name(),
        job_status(it).into(),
        completions(it).into(),
        job_duration(it).into(),
        it.age(),
        containers,
        images,
        it.selector("spec.selector"),
    ]
}

fn job_status(it: Row<'_>) -> &'static str {
    let holds = |ty| is_true(it.list("status.conditions"), ty);
    match () {
        () if holds("Complete") => "Complete",
        () if holds("Failed") => "Failed",
        () if it.being_deleted() => "Terminating",
        () if holds("Suspended") => "Suspended",
        () if holds("FailureTarget") => "FailureTarget",
        () if holds("SuccessCriteriaMet") => "SuccessCriteriaMet",
        () => "Running",
    }
}

fn completions(it: Row<'_>) -> String {
    let succeeded = it.number("status.succeeded");
    match (it.at("spec.completions"), it.number("spec.parallelism")) {
        (Some(wanted), _) => format!("{succeeded}/{wanted}"),
        (None, parallelism) if parallelism > 1 => format!("{succeeded}/1 of {parallelism}"),
        (None, _) => format!("{succeeded}/1"),
    }
}

fn job_duration(it: Row<'_>) -> String {
    match (seconds(it.text("status.startTime")), seconds(it.text("status.completionTime"))) {
        (None, _) => String::new(),
        (Some(_), None) => it.since("status.startTime"),
        (Some(start), Some(end)) => kernel::duration::human(end.saturating_sub(start)),
    }
}

fn cron_job(it: Row<'_>) -> Vec<Value> {
    let [containers, images] = it.containers("spec.jobTemplate.spec.template");
    let suspend = match it.at("spec.suspend") {
        None => "<unset>",
        Some(suspend) if suspend == &Value::Bool(true) => "True",
        Some(_) => "False",
    };
    let last = match it.at("status.lastScheduleTime") {
        None => "<none>".to_owned(),
        Some(_) => it.since("status.lastScheduleTime"),
    };
    vec![
        it.name(),
        it.text("spec.schedule").into(),
        it.text_or("spec.timeZone", "<none>"),
        suspend.into(),
        it.count("status.active").into(),
        last.into(),
        it.age(),
        containers,
        images,
        it.selector("spec.jobTemplate.spec.selector"),
    ]
}
