//! Asking processes whether they are well.

use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use k8s_openapi::api::core::v1::{Container, HTTPGetAction, Probe};
use k8s_openapi::apimachinery::pkg::util::intstr::IntOrString;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::{CryptoProvider, aws_lc_rs, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::{ClientConfig, DigitallySignedStruct, SignatureScheme};
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::process::Command;
use tokio::time::Instant;
use tokio_rustls::TlsConnector;

/// How often something is asked that is waited for.
const OFTEN: Duration = Duration::from_millis(100);

/// A probe with its defaults filled in.
pub(crate) struct Asking<'a> {
    pub(crate) probe: &'a Probe,
    pub(crate) container: &'a Container,
    pub(crate) address: IpAddr,
    /// A process of the container, whose place commands are run at.
    pub(crate) process: Option<u32>,
}

/// Answers in a row.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Tally {
    good: i32,
    bad: i32,
    has_been_well: bool,
}

impl Tally {
    /// Counts an answer in. Gives back what is settled by now: well, or not.
    pub(crate) fn count(&mut self, probe: &Probe, well: bool) -> Option<bool> {
        match well {
            true => (self.good, self.bad) = (self.good + 1, 0),
            false => (self.good, self.bad) = (0, self.bad + 1),
        }
        self.has_been_well |= well;
        match well {
            true => (self.good >= probe.success_threshold.unwrap_or(1)).then_some(true),
            false => (self.bad >= probe.failure_threshold.unwrap_or(3)).then_some(false),
        }
    }
}

impl Asking<'_> {
    /// Waits before the first question.
    pub(crate) async fn delay(&self) {
        tokio::time::sleep(seconds(self.probe.initial_delay_seconds, 0)).await;
    }

    /// Asks when the next question is due. Something that has not been well yet is waited for: it is asked often meanwhile,
    /// ever less so, and the first good answer is the one. Bad ones count no more often than its period says.
    pub(crate) async fn ask_next(&self, tally: &Tally) -> bool {
        let period = seconds(self.probe.period_seconds, 10);
        let due = Instant::now() + period;
        // Doubled about every half minute: soon as seldom as asked for.
        let ill_for = tally.bad.unsigned_abs().saturating_mul(seconds_of(period));
        let often = OFTEN * 2_u32.saturating_pow(ill_for / 30);
        loop {
            let pause = if tally.has_been_well { period } else { often };
            tokio::time::sleep_until(due.min(Instant::now() + pause)).await;
            let well = self.ask().await;
            if well || Instant::now() >= due {
                return well;
            }
        }
    }

    /// Asks once.
    pub(crate) async fn ask(&self) -> bool {
        let limit = seconds(self.probe.timeout_seconds, 1);
        tokio::time::timeout(limit, self.answer()).await.unwrap_or(false)
    }

    async fn answer(&self) -> bool {
        if let Some(get) = &self.probe.http_get {
            return self.http(get).await.is_some_and(|status| (200..400).contains(&status));
        }
        if let Some(socket) = &self.probe.tcp_socket {
            return self.connect(socket.host.as_deref(), &socket.port).await.is_some();
        }
        if let Some(grpc) = &self.probe.grpc {
            return self.connect(None, &IntOrString::Int(grpc.port)).await.is_some();
        }
        if let (Some(exec), Some(process)) = (&self.probe.exec, self.process) {
            return run(exec.command.as_deref().unwrap_or_default(), process).await;
        }
        true
    }

    async fn connect(&self, host: Option<&str>, port: &IntOrString) -> Option<TcpStream> {
        let address = host.filter(|host| !host.is_empty()).map_or(Some(self.address), |host| host.parse().ok())?;
        let port = number(self.container, port)?;
        TcpStream::connect(SocketAddr::new(address, port)).await.ok()
    }

    async fn http(&self, get: &HTTPGetAction) -> Option<u16> {
        let stream = self.connect(get.host.as_deref(), &get.port).await?;
        let host = stream.peer_addr().ok()?;
        let path = get.path.as_deref().filter(|path| !path.is_empty()).unwrap_or("/");
        let mut request = format!("GET {path} HTTP/1.1\r\nHost: {host}\r\nUser-Agent: kube-probe/butler\r\n");
        for header in get.http_headers.iter().flatten() {
            request.push_str(&format!("{}: {}\r\n", header.name, header.value));
        }
        request.push_str("Connection: close\r\n\r\n");
        if get.scheme.as_deref() != Some("HTTPS") {
            return exchange(stream, &request).await;
        }
        let name = ServerName::from(host.ip());
        exchange(TlsConnector::from(tls()?).connect(name, stream).await.ok()?, &request).await
    }
}

/// Sends a request and reads the status of the answer.
async fn exchange(mut stream: impl AsyncRead + AsyncWrite + Unpin, request: &str) -> Option<u16> {
    stream.write_all(request.as_bytes()).await.ok()?;
    // `HTTP/1.1 200`.
    let mut line = [0; 12];
    stream.read_exact(&mut line).await.ok()?;
    std::str::from_utf8(&line).ok()?.strip_prefix("HTTP/1.")?.get(2..)?.parse().ok()
}

/// Runs a command where a process is.
async fn run(command: &[String], process: u32) -> bool {
    let done = Command::new("nsenter")
        .args(["--target", &process.to_string(), "--all", "--root", "--wd", "--"])
        .args(command)
        .stdin(std::process::Stdio::null())
        .stdout(std::process::Stdio::null())
        .stderr(std::process::Stdio::null())
        .kill_on_drop(true)
        .status();
    done.await.is_ok_and(|status| status.success())
}

/// A port by number or by the name a container gives it.
fn number(container: &Container, port: &IntOrString) -> Option<u16> {
    let number = match port {
        IntOrString::Int(number) => *number,
        IntOrString::String(text) => match text.parse() {
            Ok(number) => number,
            Err(_) => {
                let ports = container.ports.iter().flatten();
                ports.into_iter().find(|port| port.name.as_deref() == Some(text))?.container_port
            }
        },
    };
    u16::try_from(number).ok()
}

fn seconds_of(duration: Duration) -> u32 {
    u32::try_from(duration.as_secs()).unwrap_or(u32::MAX)
}

fn seconds(value: Option<i32>, default: u64) -> Duration {
    Duration::from_secs(value.map_or(default, |value| u64::from(value.max(0).unsigned_abs())))
}

/// TLS that believes any certificate, as a kubelet's probes do.
fn tls() -> Option<Arc<ClientConfig>> {
    let provider = Arc::new(aws_lc_rs::default_provider());
    let believing = Arc::new(Believing { provider: Arc::clone(&provider) });
    let config = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().ok()?;
    Some(Arc::new(config.dangerous().with_custom_certificate_verifier(believing).with_no_client_auth()))
}

#[derive(Debug)]
struct Believing {
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Believing {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls12_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        verify_tls13_signature(message, certificate, signature, &self.provider.signature_verification_algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::{AtomicUsize, Ordering};

    use serde_json::json;
    use tokio::net::TcpListener;

    use super::*;

    #[test]
    fn thresholds_count_answers_in_a_row() {
        let probe: Probe = serde_json::from_value(json!({"successThreshold": 2, "failureThreshold": 3})).unwrap();
        let mut tally = Tally::default();
        let answers = [true, false, true, true, false, false, false, false, true];
        let settled: Vec<_> = answers.iter().map(|well| tally.count(&probe, *well)).collect();
        assert_eq!(settled, [None, None, None, Some(true), None, None, Some(false), Some(false), None]);
    }

    #[test]
    fn ports_have_numbers_or_names() {
        let container: Container =
            serde_json::from_value(json!({"name": "c", "ports": [{"name": "https", "containerPort": 6443}]})).unwrap();
        for (port, expected) in [
            (IntOrString::Int(80), Some(80)),
            (IntOrString::String("https".into()), Some(6443)),
            (IntOrString::String("81".into()), Some(81)),
            (IntOrString::String("none".into()), None),
            (IntOrString::Int(-1), None),
        ] {
            assert_eq!(number(&container, &port), expected);
        }
    }

    #[tokio::test]
    async fn answers_are_judged_by_their_status() {
        let container = Container::default();
        for (status, well) in [("200 OK", true), ("302 Found", true), ("404 Not Found", false), ("500 Oops", false)] {
            let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
            let at = listener.local_addr().unwrap();
            let server = tokio::spawn(async move {
                let (mut stream, _) = listener.accept().await.unwrap();
                let mut request = vec![0; 1024];
                let read = stream.read(&mut request).await.unwrap();
                stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await.unwrap();
                String::from_utf8_lossy(&request[..read]).into_owned()
            });
            let probe: Probe = serde_json::from_value(
                json!({"httpGet": {"path": "/readyz", "port": at.port(), "httpHeaders": [{"name": "A", "value": "b"}]}}),
            )
            .unwrap();
            let asking = Asking { probe: &probe, container: &container, address: at.ip(), process: None };
            assert_eq!(asking.ask().await, well, "{status}");
            let request = server.await.unwrap();
            assert!(request.starts_with("GET /readyz HTTP/1.1\r\n") && request.contains("\r\nA: b\r\n"), "{request}");
        }
        let closed: Probe = serde_json::from_value(json!({"tcpSocket": {"port": 1}})).unwrap();
        let address = "127.0.0.1".parse().unwrap();
        assert!(!Asking { probe: &closed, container: &container, address, process: None }.ask().await);
    }

    #[tokio::test]
    async fn what_is_waited_for_is_asked_often_until_it_was_well_once() {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let at = listener.local_addr().unwrap();
        let asked = Arc::new(AtomicUsize::new(0));
        let count = Arc::clone(&asked);
        // The fourth answer is a good one.
        let server = tokio::spawn(async move {
            loop {
                let (mut stream, _) = listener.accept().await.unwrap();
                let status = if count.fetch_add(1, Ordering::Relaxed) == 3 { "200 OK" } else { "500 No" };
                let mut request = vec![0; 1024];
                let _ = stream.read(&mut request).await.unwrap();
                stream.write_all(format!("HTTP/1.1 {status}\r\n\r\n").as_bytes()).await.unwrap();
            }
        });
        let probe = |period: i32| -> Probe {
            serde_json::from_value(json!({"periodSeconds": period, "httpGet": {"port": at.port()}})).unwrap()
        };
        let (container, mut tally) = (Container::default(), Tally::default());
        let (long, short) = (probe(30), probe(1));
        let asking = |probe| Asking { probe, container: &container, address: at.ip(), process: None };
        assert!(asking(&long).ask_next(&tally).await);
        assert_eq!(asked.load(Ordering::Relaxed), 4);
        tally.count(&long, true);
        // From then on, once a period.
        assert!(!asking(&short).ask_next(&tally).await);
        assert_eq!(asked.load(Ordering::Relaxed), 5);
        // What has not been well for long is asked no more often than it wishes.
        let ill = Tally { bad: 300, ..Tally::default() };
        assert!(!asking(&short).ask_next(&ill).await);
        assert_eq!(asked.load(Ordering::Relaxed), 6);
        server.abort();
    }
}
