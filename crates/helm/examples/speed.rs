//! The speed of rendering a chart of 200 templates, against `helm template` on the same chart.

#[path = "../tests/common/mod.rs"]
mod common;

use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use common::{VERSIONS, real_helm, run_helm, run_ours};
use helm::chart::Chart;
use helm::values::Values;

/// The same as that of `butler`, so that what is measured here is what is used there.
#[global_allocator]
static ALLOCATOR: tikv_jemallocator::Jemalloc = tikv_jemallocator::Jemalloc;

/// How often both render; the median counts.
const RUNS: usize = 15;
const TEMPLATES: usize = 200;
/// How many times faster we are to be.
const TARGET: f64 = 20.0;

const HELPERS: &str = r#"{{- define "s.name" -}}{{ printf "%s-%s" .Release.Name .Chart.Name | trunc 63 | trimSuffix "-" }}{{- end -}}
{{- define "s.labels" -}}
app.kubernetes.io/name: {{ include "s.name" . }}
app.kubernetes.io/instance: {{ .Release.Name }}
helm.sh/chart: {{ printf "%s-%s" .Chart.Name .Chart.Version | replace "+" "_" }}
{{- end -}}
"#;

const DEPLOYMENT: &str = r#"{{- $port := .Values.port | int }}
apiVersion: apps/v1
kind: Deployment
metadata:
  name: {{ include "s.name" . }}-NUMBER
  labels: {{- include "s.labels" . | nindent 4 }}
spec:
  replicas: {{ default 1 .Values.replicas }}
  selector:
    matchLabels: {{- include "s.labels" . | nindent 6 }}
  template:
    metadata:
      annotations:
        checksum: {{ toYaml .Values.config | sha256sum }}
      labels: {{- include "s.labels" . | nindent 8 }}
    spec:
      containers:
      - name: main
        image: "{{ .Values.image.repository }}:{{ .Values.image.tag | default .Chart.AppVersion }}"
        env:
        {{- range $key, $value := .Values.env }}
        - name: {{ $key | upper | quote }}
          value: {{ tpl ($value | toString) $ | quote }}
        {{- end }}
        ports:
        {{- range $i := until 3 }}
        - containerPort: {{ add $port $i }}
        {{- end }}
        {{- with .Values.resources }}
        resources: {{- toYaml . | nindent 10 }}
        {{- end }}
      {{- if and .Values.affinity (semverCompare ">=1.20-0" .Capabilities.KubeVersion.Version) }}
      affinity: {{- toYaml .Values.affinity | nindent 8 }}
      {{- end }}
"#;

const VALUES: &str = "port: 8080
replicas: 3
image: {repository: example.com/app, tag: \"\"}
config: {a: 1, b: [x, y, z], c: {d: long text in here, e: true}}
env: {one: \"1\", two: \"{{ .Release.Name }}\", three: plain, four: \"{{ .Values.port }}\"}
resources: {limits: {cpu: 100m, memory: 128Mi}, requests: {cpu: 10m, memory: 64Mi}}
affinity: {podAntiAffinity: {preferred: [{weight: 100, term: {key: kubernetes.io/hostname}}]}}
";

fn main() -> std::io::Result<()> {
    let folder = tempfile::tempdir()?;
    write(folder.path())?;
    let helms: Vec<PathBuf> = VERSIONS.iter().filter_map(|version| real_helm(version)).collect();
    let (mut ours, mut theirs) = (Vec::new(), vec![Vec::new(); helms.len()]);
    // By turns, so that whatever else the machine does is in the way of all alike.
    for _ in 0..RUNS {
        ours.push(timed(|| {
            let chart = Chart::load(folder.path()).map_err(|error| error.to_string())?;
            let rendered = run_ours(&chart, &Values::new()).map_err(|error| error.to_string())?;
            rendered.manifests().map(|manifests| manifests.printed(true)).map_err(|error| error.to_string())
        })?);
        for (helm, times) in helms.iter().zip(&mut theirs) {
            times.push(timed(|| match run_helm(helm, folder.path(), &[]) {
                (printed, complaint) if complaint.is_empty() => Ok(printed),
                (_, complaint) => Err(complaint),
            })?);
        }
    }
    let (mut out, ours) = (std::io::stdout(), median(ours));
    writeln!(out, "{TEMPLATES} templates, loaded, rendered and taken apart in {ours:?}")?;
    if helms.is_empty() {
        writeln!(out, "no helm is there; scripts/tools brings it")?;
    }
    for (helm, times) in helms.iter().zip(theirs) {
        let (name, theirs) = (helm.file_name().unwrap_or_default().display(), median(times));
        let ratio = theirs.as_secs_f64() / ours.as_secs_f64();
        let verdict = if ratio >= TARGET { "met" } else { "MISSED" };
        writeln!(out, "{name}: {theirs:?}, {ratio:.0} times as long; at least {TARGET} is the target: {verdict}")?;
    }
    Ok(())
}

fn write(folder: &Path) -> std::io::Result<()> {
    fs::create_dir_all(folder.join("templates"))?;
    fs::write(folder.join("Chart.yaml"), "apiVersion: v2\nname: s\nversion: 1.0.0\nappVersion: \"2.0\"\n")?;
    fs::write(folder.join("values.yaml"), VALUES)?;
    fs::write(folder.join("templates/_helpers.tpl"), HELPERS)?;
    for number in 0..TEMPLATES {
        let text = DEPLOYMENT.replace("NUMBER", &number.to_string());
        fs::write(folder.join(format!("templates/deployment-{number}.yaml")), text)?;
    }
    Ok(())
}

/// How long a rendering takes, of all documents.
fn timed(run: impl FnOnce() -> Result<String, String>) -> std::io::Result<Duration> {
    let begun = Instant::now();
    let printed = run().map_err(std::io::Error::other)?;
    let passed = begun.elapsed();
    if printed.matches("kind: Deployment").count() != TEMPLATES {
        return Err(std::io::Error::other("not everything was rendered"));
    }
    Ok(passed)
}

fn median(mut times: Vec<Duration>) -> Duration {
    times.sort_unstable();
    times.get(times.len() / 2).copied().unwrap_or_default()
}
