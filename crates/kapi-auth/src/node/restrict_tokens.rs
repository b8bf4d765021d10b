//! Which ServiceAccount tokens a node may ask for: those its pods need.

use kapi_schema::field::go_quote;
use serde_json::Value;

use super::restriction::{Operation, Restriction};
use crate::{
    Attributes, StatusError,
    objects::{at, list, name, text, texts, uid},
};

impl Restriction<'_> {
    pub(super) fn token(&self) -> Result<(), StatusError> {
        if self.write.operation != Operation::Create || self.write.subresource != "token" {
            return Ok(());
        }
        let request = self.object();
        let bound = |field| text(request, &["spec", "boundObjectRef", field]);
        if bound("apiVersion") != "v1" || bound("kind") != "Pod" || bound("name").is_empty() {
            return self.refuse("node requested token not bound to a pod");
        }
        if bound("uid").is_empty() {
            return self.refuse("node requested token with a pod binding without a uid");
        }
        let pod = self.objects.get("", "pods", self.write.namespace, bound("name"));
        let pod = pod.ok_or_else(|| StatusError::not_found("", "pods", bound("name")))?;
        if bound("uid") != uid(&pod) {
            return self.refuse(format!(
                "the UID in the bound object reference ({}) does not match the UID in record. The object might have been deleted and then recreated",
                bound("uid")
            ));
        }
        if text(&pod, &["spec", "nodeName"]) != self.node {
            return self.refuse("node requested token bound to a pod scheduled on a different node");
        }
        self.token_audience(request, &pod)
    }

    fn token_audience(&self, request: &Value, pod: &Value) -> Result<(), StatusError> {
        let audiences = texts(request, &["spec", "audiences"]);
        let audience = match audiences.as_slice() {
            [] => "",
            [one] => one.as_str(),
            _ => return self.refuse("node may only request 0 or 1 audiences"),
        };
        if list(pod, &["spec", "volumes"]).iter().any(|volume| self.volume_has_audience(volume, pod, audience)) {
            return Ok(());
        }
        let asked = Attributes::resource(self.write.user, "request-serviceaccounts-token-audience", "", audience)
            .named(self.write.namespace, self.write.name);
        self.refuse_unless(self.authorizer.authorize(&asked).is_allowed(), || {
            format!(
                "audience {} not found in pod spec volume, {} is not authorized to request tokens for this audience",
                go_quote(audience),
                self.write.user.name
            )
        })
    }

    fn volume_has_audience(&self, volume: &Value, pod: &Value, audience: &str) -> bool {
        let projected = list(volume, &["projected", "sources"])
            .iter()
            .filter_map(|source| at(source, &["serviceAccountToken"]))
            .any(|token| text(token, &["audience"]) == audience);
        projected || self.driver_of(volume, pod).is_some_and(|driver| self.driver_has_audience(&driver, audience))
    }

    fn driver_of(&self, volume: &Value, pod: &Value) -> Option<String> {
        let claim = if at(volume, &["ephemeral", "volumeClaimTemplate"]).is_some() {
            format!("{}-{}", name(pod), text(volume, &["name"]))
        } else if let Some(claim) = at(volume, &["persistentVolumeClaim"]) {
            text(claim, &["claimName"]).to_owned()
        } else {
            return at(volume, &["csi", "driver"]).and_then(Value::as_str).map(str::to_owned);
        };
        let claim = self.objects.get("", "persistentvolumeclaims", self.write.namespace, &claim)?;
        let volume = self.objects.get("", "persistentvolumes", "", text(&claim, &["spec", "volumeName"]))?;
        at(&volume, &["spec", "csi", "driver"]).and_then(Value::as_str).map(str::to_owned)
    }

    fn driver_has_audience(&self, driver: &str, audience: &str) -> bool {
        let driver = self.objects.get("storage.k8s.io", "csidrivers", "", driver);
        driver.is_some_and(|driver| {
            list(&driver, &["spec", "tokenRequests"]).iter().any(|r| text(r, &["audience"]) == audience)
        })
    }
}
