//! What is left of a deleted cluster: the Event that says what existed and was removed.

use std::time::Duration;

use fleet::cluster::RECEIPT_REASON;
use fleet::names::RECEIPT;
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::api::ListParams;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::Value;

use crate::failure::{Failure, Outcome};
use crate::lookup::{split, visible_teams};
use crate::output::print_value;
use crate::screen::{plain, print, tell};
use crate::session::Session;

/// The Event is written before the cluster goes; it may only be on its way still.
const PATIENCE: Duration = Duration::from_secs(3);

/// Prints the receipt of the cluster that had this uid.
pub(crate) async fn show(session: &Session, namespace: &str, uid: &str) -> Outcome {
    let events: Api<Event> = Api::namespaced(session.client.clone(), namespace);
    let of_it = watcher::Config::default().fields(&format!("involvedObject.uid={uid},reason={RECEIPT_REASON}"));
    let mut seen = std::pin::pin!(watcher(events, of_it).applied_objects());
    match tokio::time::timeout(PATIENCE, seen.try_next()).await {
        Ok(Ok(Some(event))) => match receipt(&event) {
            Some(receipt) => print_value(&receipt, session.format),
            None => print(&format!("{}\n", plain(event.message.as_deref().unwrap_or_default()))),
        },
        Ok(Err(error)) => {
            tell(&format!("Its receipt cannot be read: {error}"));
            Ok(())
        }
        Ok(Ok(None)) | Err(_) => {
            tell("It left no receipt.");
            Ok(())
        }
    }
}

/// Prints the receipt of a cluster that is gone, if it left one: of the one with this uid, or else of the last of this name.
pub(crate) async fn show_left(session: &Session, name: &str, uid: Option<&str>) -> Outcome {
    let events = left_by(session, name, uid).await.unwrap_or_default();
    let of_it = events.iter().find(|event| event.reason.as_deref() == Some(RECEIPT_REASON));
    match of_it.and_then(receipt) {
        Some(receipt) => print_value(&receipt, session.format),
        None => Ok(()),
    }
}

/// What is on record about a cluster that is gone, by its name or `TEAM/NAME`: of the one with this uid, or else of the last one.
pub(crate) async fn left_by(session: &Session, name: &str, uid: Option<&str>) -> Outcome<Vec<Event>> {
    let (team, name) = split(name, session.team.as_deref())?;
    let of_it = format!("involvedObject.kind=TenantCluster,involvedObject.name={name}");
    let params = ListParams::default().fields(&of_it);
    let within = async |team: &str| Api::<Event>::namespaced(session.client.clone(), team).list(&params).await;
    let mut events = match team {
        Some(team) => within(team).await?.items,
        None => match Api::<Event>::all(session.client.clone()).list(&params).await {
            Err(error) if Failure::is_forbidden(&error) => {
                let mut events = Vec::new();
                for team in visible_teams(session).await? {
                    events.extend(within(&team).await?.items);
                }
                events
            }
            listed => listed?.items,
        },
    };
    let Some(uid) = uid.map(str::to_owned).or_else(|| last_gone(&events)) else { return Ok(Vec::new()) };
    events.retain(|event| event.involved_object.uid.as_ref() == Some(&uid));
    Ok(events)
}

/// The uid of the cluster that went last.
fn last_gone(events: &[Event]) -> Option<String> {
    let told = events.iter().filter(|event| event.reason.as_deref() == Some(RECEIPT_REASON));
    told.max_by_key(|event| event.last_timestamp.clone())?.involved_object.uid.clone()
}

fn receipt(event: &Event) -> Option<Value> {
    let annotation = event.metadata.annotations.as_ref().and_then(|annotations| annotations.get(RECEIPT));
    let texts = annotation.into_iter().chain(&event.message);
    texts.filter_map(|text| serde_json::from_str(text).ok()).find(|value: &Value| value.is_object() || value.is_array())
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn of_several_that_are_gone_the_last_is_meant() {
        let event = |uid: &str, reason: &str, second: u8| -> Event {
            serde_json::from_value(json!({
                "metadata": {}, "involvedObject": {"uid": uid}, "reason": reason,
                "lastTimestamp": format!("2026-01-01T00:00:{second:02}Z"),
            }))
            .unwrap()
        };
        let events = [event("1", "Deleted", 1), event("2", "Deleted", 5), event("3", "Ready", 9)];
        assert_eq!(last_gone(&events).as_deref(), Some("2"));
        assert_eq!(last_gone(&events[2..]), None);
    }

    #[test]
    fn the_receipt_stands_in_the_annotation_or_the_message() {
        let event = |annotation: Option<&str>, message: &str| -> Event {
            let annotations = annotation.map(|text| json!({RECEIPT: text}));
            serde_json::from_value(json!({
                "metadata": {"annotations": annotations}, "involvedObject": {}, "message": message,
            }))
            .unwrap()
        };
        for (annotation, message, expected) in [
            (Some(r#"{"machines": 3}"#), "3 machines were removed", Some(json!({"machines": 3}))),
            (None, r#"{"machines": 3}"#, Some(json!({"machines": 3}))),
            (Some("no JSON"), "3 machines were removed", None),
            (None, "3", None),
        ] {
            assert_eq!(receipt(&event(annotation, message)), expected, "{annotation:?} {message}");
        }
    }
}
