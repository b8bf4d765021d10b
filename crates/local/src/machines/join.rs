//! Joining a tenant as a machine does: with a token, a request and then a certificate of its own.

use std::time::Duration;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use jiff::{SignedDuration, Timestamp};
use k8s_openapi::ByteString;
use k8s_openapi::api::certificates::v1::{CertificateSigningRequest, CertificateSigningRequestSpec};
use k8s_openapi::api::core::v1::{ConfigMap, Node};
use kube::api::{DeleteParams, ObjectMeta, Patch, PatchParams, PostParams, Preconditions};
use kube::config::{AuthInfo, Kubeconfig};
use kube::{Api, Client, Config};
use pki::{Certificate, KeySource, SigningRequest, Subject, SystemKeys};
use runtime::{Failure, Patience, Retry, Ways};
use serde_json::json;

use super::bootstrap_data::{Carried, Join};
use super::node::{self, NodeShape};

/// As long as it takes to register one Node.
const BEGINNING: SignedDuration = SignedDuration::from_mins(10);
/// A request that nobody has signed by then is made again later.
const SIGNED_WITHIN: Duration = Duration::from_secs(20);

/// How a machine reaches its tenant.
pub(super) struct Reach {
    pub(super) ways: Ways,
    pub(super) patience: Patience,
}

impl Reach {
    fn client(&self, config: Config) -> Result<Client, Failure> {
        self.ways.patient_client(config, &self.patience)
    }
}

/// Joins: the Node is there when this is done. Can be repeated at any time.
pub(super) async fn join(way: &Join, shape: &NodeShape, now: Timestamp, reach: &Reach) -> Result<(), Failure> {
    let authorities = discover(way, reach).await?;
    let token = AuthInfo { token: Some(way.token.clone().into()), ..AuthInfo::default() };
    let bootstrap = client(way, &authorities, token, reach)?;
    let key = SystemKeys.new_key().map_err(|error| failed("no key can be made").caused_by(error))?;
    let subject = Subject::named(format!("system:node:{}", shape.name)).organization("system:nodes");
    let request =
        SigningRequest::create(&subject, &key).map_err(|error| failed("no request can be made").caused_by(error))?;
    let certificate = certificate(&bootstrap, request).await?;
    let own = AuthInfo {
        client_certificate_data: Some(STANDARD.encode(&certificate)),
        client_key_data: Some(STANDARD.encode(key.pem().expose()).into()),
        ..AuthInfo::default()
    };
    register(&client(way, &authorities, own, reach)?, shape, now).await
}

/// Makes a machine that carries the control plane a node of it: who has the keys of a cluster needs nobody to let it in.
pub(super) async fn begin(
    way: &Join,
    carried: &Carried,
    shape: &NodeShape,
    now: Timestamp,
    reach: &Reach,
) -> Result<(), Failure> {
    let keys = carried.keys().ok_or_else(|| failed("the machine boots without the keys of its cluster"))?;
    let unusable = |error: pki::PkiError| failed("the keys of the cluster are damaged").caused_by(error);
    let authorities = Certificate::all_from_pem(&keys.ca_certificate).map_err(unusable)?;
    let authority = pki::Authority::from_pem(&keys.ca_certificate, keys.ca_key.expose()).map_err(unusable)?;
    let subject = Subject::named("kubernetes-admin").organization("system:masters");
    let profile = pki::ClientProfile { subject, validity: pki::validity_from(now, BEGINNING) };
    let leaf = authority.issue_client(&profile, &SystemKeys).map_err(unusable)?;
    let own = AuthInfo {
        client_certificate_data: Some(STANDARD.encode(leaf.certificate_pem())),
        client_key_data: Some(STANDARD.encode(leaf.key_pem().expose()).into()),
        ..AuthInfo::default()
    };
    register(&client(way, &authorities, own, reach)?, shape, now).await
}

/// Removes the Node of a machine, if it is that machine's.
pub(super) async fn leave(client: &Client, name: &str, provider_id: &str) -> Result<(), Failure> {
    let nodes: Api<Node> = Api::all(client.clone());
    let Some(node) = nodes.get_opt(name).await? else { return Ok(()) };
    if node.spec.as_ref().and_then(|spec| spec.provider_id.as_deref()) != Some(provider_id) {
        return Ok(());
    }
    let own = Preconditions { uid: node.metadata.uid, resource_version: None };
    match nodes.delete(name, &DeleteParams::default().preconditions(own)).await {
        Ok(_) => Ok(()),
        Err(kube::Error::Api(status)) if status.code == 404 => Ok(()),
        Err(error) => Err(error.into()),
    }
}

/// The authorities that the tenant publishes, if they are those the machine was told to trust.
async fn discover(way: &Join, reach: &Reach) -> Result<Vec<Certificate>, Failure> {
    let mut config = Config::new(url(way)?);
    // Nothing is believed yet; what is read here is checked against what the machine was told.
    config.accept_invalid_certs = true;
    config.root_cert = Some(Vec::new());
    let anybody = reach.client(config)?;
    let maps: Api<ConfigMap> = Api::namespaced(anybody, "kube-public");
    let info = maps.get("cluster-info").await?;
    let text =
        info.data.as_ref().and_then(|data| data.get("kubeconfig")).ok_or_else(|| failed("cluster-info is empty"))?;
    let kubeconfig: Kubeconfig =
        kernel::yaml::from_str(text).map_err(|error| failed("cluster-info is unreadable").caused_by(error))?;
    let data = kubeconfig.clusters.iter().find_map(|named| named.cluster.as_ref()?.certificate_authority_data.clone());
    let pem = data.and_then(|data| STANDARD.decode(data).ok().and_then(|bytes| String::from_utf8(bytes).ok()));
    let pem = pem.ok_or_else(|| failed("cluster-info names no authority"))?;
    let authorities =
        Certificate::all_from_pem(&pem).map_err(|error| failed("the authority is unreadable").caused_by(error))?;
    let trusted: Vec<Certificate> =
        authorities.into_iter().filter(|authority| way.pins.contains(&authority.public_key().pin())).collect();
    match trusted.is_empty() {
        true => Err(failed("the cluster is not the one the machine was told to join")),
        false => Ok(trusted),
    }
}

/// Asks for a certificate and waits for it.
async fn certificate(client: &Client, request: String) -> Result<Vec<u8>, Failure> {
    let requests: Api<CertificateSigningRequest> = Api::all(client.clone());
    let asked = CertificateSigningRequest {
        metadata: ObjectMeta { generate_name: Some("csr-".into()), ..ObjectMeta::default() },
        spec: CertificateSigningRequestSpec {
            request: ByteString(request.into_bytes()),
            signer_name: "kubernetes.io/kube-apiserver-client-kubelet".into(),
            usages: Some(vec!["digital signature".into(), "client auth".into()]),
            ..CertificateSigningRequestSpec::default()
        },
        status: None,
    };
    let made = requests.create(&PostParams::default(), &asked).await?;
    let name = made.metadata.name.unwrap_or_default();
    let signed = async {
        let mut pause = Duration::from_millis(10);
        loop {
            let found = requests.get(&name).await?;
            if let Some(certificate) = found.status.and_then(|status| status.certificate) {
                return Ok::<_, Failure>(certificate.0);
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(Duration::from_secs(1));
        }
    };
    tokio::time::timeout(SIGNED_WITHIN, signed).await.map_err(|_| failed("nobody signed the node's request"))?
}

/// Registers the Node, or says again that it is well if it is there.
async fn register(client: &Client, shape: &NodeShape, now: Timestamp) -> Result<(), Failure> {
    let nodes: Api<Node> = Api::all(client.clone());
    let node: Node = serde_json::from_value(node::registered(shape, now)).map_err(kube::Error::SerdeError)?;
    match nodes.create(&PostParams::default(), &node).await {
        Ok(_) => return Ok(()),
        Err(kube::Error::Api(status)) if status.code == 409 => {}
        Err(error) => return Err(error.into()),
    }
    let change = json!({"status": node::status(shape, now)});
    nodes.patch_status(&shape.name, &PatchParams::default(), &Patch::Strategic(change)).await?;
    Ok(())
}

fn client(way: &Join, authorities: &[Certificate], auth: AuthInfo, reach: &Reach) -> Result<Client, Failure> {
    let mut config = Config::new(url(way)?);
    config.root_cert = Some(authorities.iter().map(|authority| authority.der().to_vec()).collect());
    config.auth_info = auth;
    reach.client(config)
}

fn url(way: &Join) -> Result<http::Uri, Failure> {
    format!("https://{}", way.endpoint).parse().map_err(|_| failed("the endpoint to join is no address"))
}

fn failed(message: &str) -> Failure {
    Failure::new(Retry::Backoff, "JoinFailed", message)
}
