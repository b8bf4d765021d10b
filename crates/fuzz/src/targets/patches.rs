//! The three patches, on built-in kinds and a custom one. An input is `{"kind", "verb", "live", "change"}`.

use kapi_merge::{json_patch, merge_patch, strategic_merge};
use serde_json::{Value, json};

use super::Target;
use super::apply::kind;
use crate::laws::same;
use crate::mutate::Form;
use crate::recordings;

pub(super) const TARGET: Target = Target {
    name: "patches",
    run,
    form: Form::Json,
    words: &[
        "$patch",
        "delete",
        "replace",
        "merge",
        "$retainKeys",
        "$setElementOrder/containers",
        "$setElementOrder/ports",
        "$deleteFromPrimitiveList/finalizers",
        "name",
        "containers",
        "containerPort",
        "ports",
        "env",
        "op",
        "path",
        "from",
        "value",
        "add",
        "remove",
        "copy",
        "move",
        "test",
        "/spec/containers/0",
        "/metadata/labels",
        "/spec/ports/-",
        "/-1",
        "",
        "/spec",
        "Deployment",
        "Service",
        "json",
        "strategic",
    ],
    seeds: || {
        Ok(recordings::writes(&["json", "merge", "strategic"])?
            .iter()
            .map(|write| write.to_string().into_bytes())
            .collect())
    },
};

fn run(input: &[u8]) -> Result<(), String> {
    let Ok(write) = serde_json::from_slice::<Value>(input) else { return Ok(()) };
    let (live, change) = (&write["live"], &write["change"]);
    if !live.is_object() {
        return Ok(());
    }
    match write["verb"].as_str() {
        Some("json") => {
            same("an empty JSON patch changes nothing", &json_patch(live, b"[]").ok().as_ref(), &Some(live))?;
            // What is refused has its own tests; here it must only be refused.
            let _refused = json_patch(live, change.to_string().as_bytes());
        }
        Some("merge") => {
            // The first time may leave nulls within lists, as it does in Kubernetes.
            let twice = merge_patch(&merge_patch(live, change), change);
            same("a merge patch thrice is a merge patch twice", &merge_patch(&twice, change), &twice)?;
        }
        _ => {
            let Some(kind) = kind(&write) else { return Ok(()) };
            same(
                "an empty strategic patch changes nothing",
                &strategic_merge(live, &json!({}), kind.schema.root()).ok().as_ref(),
                &Some(live),
            )?;
            let _refused = strategic_merge(live, change, kind.schema.root());
        }
    }
    Ok(())
}
