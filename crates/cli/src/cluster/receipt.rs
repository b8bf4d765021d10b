//! What is left of a deleted cluster: the Event that says what existed and was removed.

use std::time::Duration;

use fleet::cluster::RECEIPT_REASON;
use fleet::names::RECEIPT;
use futures::TryStreamExt;
use k8s_openapi::api::core::v1::Event;
use kube::Api;
use kube::runtime::{WatchStreamExt, watcher};
use serde_json::Value;

use crate::failure::Outcome;
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
