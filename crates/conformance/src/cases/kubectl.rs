//! Command lines of the real kubectl. Every case runs with each release of it.

use crate::case::{Area, Steps};

const CONFIG: &str = "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: a\n  labels: {app: x}\ndata:\n  k: before\n";
const DEPLOYMENT: &str = "apiVersion: apps/v1\nkind: Deployment\nmetadata:\n  name: web\nspec:\n  replicas: 2\n  selector: {matchLabels: {app: web}}\n  template:\n    metadata: {labels: {app: web}}\n    spec:\n      containers:\n      - name: main\n        image: nginx:1.27\n        ports: [{containerPort: 80}]\n";
const CRD: &str = "apiVersion: apiextensions.k8s.io/v1\nkind: CustomResourceDefinition\nmetadata:\n  name: widgets.{ns}.example.com\nspec:\n  group: '{ns}.example.com'\n  scope: Namespaced\n  names: {plural: widgets, singular: widget, kind: Widget, shortNames: ['w{ns}']}\n  versions:\n  - name: v1\n    served: true\n    storage: true\n    subresources: {status: {}, scale: {specReplicasPath: .spec.size, statusReplicasPath: .status.size}}\n    additionalPrinterColumns:\n    - {name: Size, type: integer, jsonPath: .spec.size}\n    schema:\n      openAPIV3Schema:\n        type: object\n        description: A widget of the suite.\n        properties:\n          spec:\n            type: object\n            description: What is wanted.\n            required: [size]\n            properties:\n              size: {type: integer, minimum: 1, description: How big it is.}\n              color: {type: string, enum: [red, blue], default: red}\n";
const WIDGET: &str = "apiVersion: '{ns}.example.com/v1'\nkind: Widget\nmetadata: {name: w}\nspec: {size: 3}\n";
const WIDGETS: &str = "widgets.v1.{ns}.example.com";

fn with_config(c: &mut Steps) {
    c.file("a.yaml", CONFIG);
    c.kubectl("create -f a.yaml");
}

fn with_deployment(c: &mut Steps) {
    c.file("web.yaml", DEPLOYMENT);
    c.kubectl("apply -f web.yaml");
}

fn with_widgets(c: &mut Steps) {
    c.kubectl_in("apply -f -", CRD);
    c.kubectl("wait --for=condition=Established crd/widgets.{ns}.example.com --timeout=20s");
    c.get("{ns}.example.com/v1 widgets").until(200).quiet();
    c.get("/openapi/v3/apis/{ns}.example.com/v1").until_contains("How big it is").quiet();
    c.kubectl_in("apply -f -", WIDGET);
}

pub(super) fn cases(area: &mut Area) {
    writing(area);
    reading(area);
    deleting(area);
    waiting(area);
    access(area);
    custom(area);
    mistakes(area);
}

fn writing(area: &mut Area) {
    area.case("create from a file and twice", |c| {
        with_config(c);
        c.kubectl("create -f a.yaml");
        c.kubectl("get cm a -o yaml");
    });
    area.case("create generators", |c| {
        c.kubectl("create configmap b --from-literal=x=1 --from-literal=y=2");
        c.kubectl("create secret generic s --from-literal=p=q");
        c.kubectl("create serviceaccount robot");
        c.kubectl("create deployment web --image=nginx --replicas=2");
        c.kubectl("create service clusterip svc --tcp=80:8080");
        c.kubectl("create role r --verb=get,list --resource=pods,deployments.apps");
        c.kubectl("create rolebinding rb --role=r --user=zoe");
        c.kubectl("create job j --image=busybox -- date");
        c.kubectl("create quota q --hard=pods=3");
        c.kubectl("get deploy,svc,role,rolebinding,job,quota,secret -o name");
    });
    area.case("client-side apply", |c| {
        c.kubectl_in("apply -f -", CONFIG);
        c.kubectl_in("apply -f -", CONFIG);
        c.kubectl_in("apply -f -", &CONFIG.replace("before", "after"));
        c.kubectl_in("apply -f -", &CONFIG.replace("  k: before\n", "  l: other\n"));
        c.kubectl("get cm a -o yaml --show-managed-fields");
        c.kubectl("apply view-last-applied cm/a");
    });
    area.case("server-side apply", |c| {
        c.kubectl_in("apply --server-side -f -", CONFIG);
        c.kubectl_in("apply --server-side --field-manager=other -f -", &CONFIG.replace("before", "after"));
        c.kubectl_in(
            "apply --server-side --field-manager=other --force-conflicts -f -",
            &CONFIG.replace("before", "after"),
        );
        c.kubectl_in("apply --server-side -f -", CONFIG);
        c.kubectl("get cm a -o yaml --show-managed-fields");
    });
    area.case("from client-side to server-side apply", |c| {
        c.kubectl_in("apply -f -", CONFIG);
        c.kubectl_in("apply --server-side -f -", &CONFIG.replace("before", "after"));
        c.kubectl("get cm a -o yaml --show-managed-fields");
    });
    area.case("diff", |c| {
        c.kubectl_in("diff -f -", CONFIG);
        c.kubectl_in("apply -f -", CONFIG);
        c.kubectl_in("diff -f -", CONFIG);
        c.kubectl_in("diff -f -", &CONFIG.replace("before", "after"));
        c.kubectl_in("diff --server-side -f -", &CONFIG.replace("before", "after"));
    });
    area.case("edit", |c| {
        with_config(c);
        c.kubectl("edit cm a");
        c.kubectl("get cm a -o jsonpath={.data.k}");
        c.kubectl("edit cm a");
    });
    area.case("patch", |c| {
        with_deployment(c);
        c.kubectl("patch deploy web -p '{\"spec\":{\"replicas\":3}}'");
        c.kubectl("patch deploy web --type=merge -p '{\"spec\":{\"replicas\":3}}'");
        c.kubectl("patch deploy web --type=json -p '[{\"op\":\"replace\",\"path\":\"/spec/replicas\",\"value\":4}]'");
        c.kubectl("patch deploy web --subresource=status --type=merge -p '{\"status\":{\"replicas\":4}}'");
        c.kubectl("patch deploy web -p '{\"spec\":{\"replicas\":-1}}'");
        c.kubectl("get deploy web -o jsonpath='{.spec.replicas} {.status.replicas} {.metadata.generation}'");
    });
    area.case("replace", |c| {
        with_config(c);
        c.kubectl_in("replace -f -", &CONFIG.replace("before", "after"));
        c.kubectl_in("replace --force -f -", CONFIG);
        c.kubectl_in("replace -f -", &CONFIG.replace("name: a", "name: none"));
    });
    area.case("label and annotate", |c| {
        with_config(c);
        c.kubectl("label cm a tier=one");
        c.kubectl("label cm a tier=two");
        c.kubectl("label cm a tier=two --overwrite");
        c.kubectl("label cm a tier-");
        c.kubectl("annotate cm a note='some text'");
        c.kubectl("label cm a 'bad key=x'");
        c.kubectl("get cm a --show-labels");
    });
    area.case("scale", |c| {
        with_deployment(c);
        c.kubectl("scale deploy web --replicas=5");
        c.kubectl("scale deploy web --replicas=6 --current-replicas=2");
        c.kubectl("scale deploy none --replicas=6");
        c.kubectl("get deploy web");
    });
    area.case("set", |c| {
        with_deployment(c);
        c.kubectl("set image deploy/web main=nginx:1.28");
        c.kubectl("set env deploy/web A=1");
        c.kubectl("set resources deploy/web --limits=cpu=1");
        c.kubectl("get deploy web -o jsonpath={.spec.template.spec.containers[0]}");
    });
    area.case("dry runs", |c| {
        c.kubectl_in("apply --dry-run=server -f - -o yaml", CONFIG);
        c.kubectl_in("create --dry-run=client -f - -o name", CONFIG);
        c.kubectl("get cm a");
        c.kubectl_in("apply --server-side --dry-run=server -f -", CONFIG);
    });
    area.case("run, expose and autoscale", |c| {
        c.kubectl("run p --image=nginx --port=80");
        c.kubectl("expose pod p --port=80 --name=p");
        with_deployment(c);
        c.kubectl("autoscale deploy web --min=1 --max=3 --cpu-percent=50");
        c.kubectl("get pod,hpa");
    });
    area.case("several documents", |c| {
        c.kubectl_in("apply -f -", &format!("{CONFIG}---\n{DEPLOYMENT}"));
        c.kubectl_in("delete -f -", &format!("{CONFIG}---\n{DEPLOYMENT}"));
    });
    area.case("rollout", |c| {
        with_deployment(c);
        c.kubectl("rollout pause deploy/web");
        c.kubectl("rollout resume deploy/web");
        c.kubectl("rollout history deploy/web");
        c.kubectl("rollout status deploy/web --timeout=1s");
        c.kubectl("patch deploy web --subresource=status --type=merge -p '{\"status\":{\"observedGeneration\":9,\"replicas\":2,\"updatedReplicas\":2,\"availableReplicas\":2,\"readyReplicas\":2}}'");
        c.kubectl("rollout status deploy/web --timeout=5s");
    });
}

fn reading(area: &mut Area) {
    area.case("get in many forms", |c| {
        with_config(c);
        c.kubectl("get cm");
        c.kubectl("get cm a -o wide");
        c.kubectl("get cm a -o json");
        c.kubectl("get cm -o name");
        c.kubectl("get cm -o jsonpath='{range .items[*]}{.metadata.name}={.data.k}{\"\\n\"}{end}'");
        c.kubectl("get cm -o custom-columns=NAME:.metadata.name,K:.data.k");
        c.kubectl("get cm -o go-template='{{range .items}}{{.metadata.name}}{{end}}'");
        c.kubectl("get cm -l app=x");
        c.kubectl("get cm -l app=y");
        c.kubectl("get cm --field-selector=metadata.name=a");
        c.kubectl("get cm,secret");
        c.kubectl("get --raw /api/v1/namespaces/{ns}/configmaps/none");
    });
    area.case("chunks", |c| {
        for name in ["a", "b", "d", "e", "f"] {
            c.kubectl(&format!("create cm {name}"));
        }
        c.kubectl("get cm --chunk-size=2");
        c.kubectl("get cm --chunk-size=2 -o name");
    });
    area.case("watch", |c| {
        with_config(c);
        c.kubectl_start("w", "get cm -w --output-watch-events");
        c.kubectl_lines("w", 2);
        c.kubectl("label cm a watched=yes");
        c.kubectl_lines("w", 1);
        c.kubectl("delete cm a");
        c.kubectl_lines("w", 1);
    });
    area.case("subresources", |c| {
        with_deployment(c);
        c.kubectl("get deploy web --subresource=status -o jsonpath={.kind}");
        c.kubectl("get deploy web --subresource=scale -o yaml");
        c.kubectl("get deploy web --subresource=scale");
        c.kubectl("get deploy web --subresource=nonsense");
    });
    area.case("describe", |c| {
        with_config(c);
        with_deployment(c);
        c.kubectl("describe cm a");
        c.kubectl("describe deploy web");
        c.kubectl("create secret generic s --from-literal=p=q");
        c.kubectl("describe secret s");
        c.kubectl("describe ns {ns}");
        c.kubectl("describe cm none");
        c.kubectl("run p --image=nginx");
        c.kubectl("describe pod p");
    });
    area.case("explain", |c| {
        c.kubectl("explain cm.data");
        c.kubectl("explain deployment.spec.strategy.rollingUpdate.maxSurge");
        c.kubectl("explain deploy.spec.nonsense");
        c.kubectl("explain nonsense");
        c.kubectl("explain pods.spec.containers.ports --recursive");
    });
    area.case("API resources and versions", |c| {
        c.kubectl("api-resources --api-group=apps");
        c.kubectl("api-resources --api-group=rbac.authorization.k8s.io --namespaced=true -o wide");
        c.kubectl("api-resources --api-group=batch --verbs=list,get -o name");
        c.kubectl("api-resources --api-group=nonsense");
    });
    area.case("workload tables", |c| {
        with_deployment(c);
        c.kubectl("get deploy web -o wide");
        c.kubectl("run p --image=nginx");
        c.kubectl("get pod p -o wide");
        c.kubectl("create service nodeport svc --tcp=80:80");
        c.kubectl("create job j --image=busybox");
        c.kubectl("get job j -o wide");
        c.kubectl("get all -o name");
    });
    area.case("events", |c| {
        with_config(c);
        c.kubectl("events");
        c.kubectl("get events");
    });
}

fn deleting(area: &mut Area) {
    area.case("by name, file, label and all", |c| {
        with_config(c);
        c.kubectl("delete -f a.yaml");
        c.kubectl("delete -f a.yaml");
        c.kubectl("delete -f a.yaml --ignore-not-found");
        with_config(c);
        c.kubectl("delete cm -l app=x");
        c.kubectl("create cm b");
        c.kubectl("delete cm b none");
        c.kubectl("create cm b");
        c.kubectl("delete secret --all");
        c.kubectl("delete cm a --now");
    });
    area.case("cascades", |c| {
        // Whether a collector then runs is not the matter here.
        for policy in ["background", "foreground", "orphan"] {
            c.kubectl_in("apply -f -", DEPLOYMENT.replace("name: web", &format!("name: {policy}")).as_str());
            c.kubectl(&format!("delete deploy {policy} --cascade={policy} --wait=false"));
        }
        c.kubectl("delete deploy x --cascade=nonsense");
    });
    area.case("waits for finalizers", |c| {
        with_config(c);
        c.kubectl("patch cm a --type=merge -p '{\"metadata\":{\"finalizers\":[\"example.com/x\"]}}'");
        c.kubectl("delete cm a --timeout=1s");
        c.kubectl("patch cm a --type=merge -p '{\"metadata\":{\"finalizers\":null}}'");
        c.kubectl("get cm a");
    });
    area.case("pods with and without force", |c| {
        c.kubectl("run p --image=nginx");
        c.kubectl("delete pod p");
        c.kubectl("run q --image=nginx");
        c.kubectl("delete pod q --force");
        c.kubectl("delete pod q --dry-run=server");
    });
}

fn waiting(area: &mut Area) {
    area.case("wait", |c| {
        with_config(c);
        with_deployment(c);
        c.kubectl("wait --for=jsonpath='{.data.k}'=before cm/a --timeout=5s");
        c.kubectl("wait --for=jsonpath='{.data.k}'=never cm/a --timeout=1s");
        c.kubectl("wait --for=condition=Available deploy/web --timeout=1s");
        c.kubectl("patch deploy web --subresource=status --type=merge -p '{\"status\":{\"conditions\":[{\"type\":\"Available\",\"status\":\"True\"}]}}'");
        c.kubectl("wait --for=condition=Available deploy/web --timeout=5s");
        c.kubectl("wait --for=delete cm/none --timeout=5s");
        c.kubectl("wait --for=condition=X cm/none --timeout=1s");
    });
}

fn access(area: &mut Area) {
    area.case("auth can-i", |c| {
        c.kubectl("auth can-i get pods");
        c.kubectl("auth can-i get pods --as zoe");
        c.kubectl("create role r --verb=get,list --resource=pods");
        c.kubectl("create rolebinding rb --role=r --user={ns}-zoe");
        c.get("v1 pods").as_user("{ns}-zoe").until(200).quiet();
        c.kubectl("auth can-i get pods --as {ns}-zoe");
        c.kubectl("auth can-i delete pods --as {ns}-zoe");
        c.kubectl("auth can-i get nonsense --as {ns}-zoe");
        c.kubectl("auth can-i get /healthz --as zoe");
        c.kubectl("auth can-i get pods --subresource=log --as {ns}-zoe");
        c.kubectl("auth whoami --as zoe");
    });
    area.case("forbidden", |c| {
        c.kubectl("get pods --as zoe");
        c.kubectl("delete pod x --as zoe");
        c.kubectl("create cm x --as zoe");
        c.kubectl("get nodes --as zoe");
    });
    area.case("auth reconcile", |c| {
        let rbac = "apiVersion: rbac.authorization.k8s.io/v1\nkind: Role\nmetadata: {name: r, namespace: '{ns}'}\nrules:\n- {apiGroups: [''], resources: [pods], verbs: [get]}\n";
        c.kubectl_in("auth reconcile -f -", rbac);
        c.kubectl_in("auth reconcile -f -", &rbac.replace("[get]", "[list]"));
        c.kubectl("get role r -o jsonpath={.rules}");
    });
    area.case("create token", |c| {
        c.kubectl("create token default");
        c.kubectl("create token default --duration=10m --audience=x");
        c.kubectl("create token default --duration=1s");
        c.kubectl("create token none");
    });
    area.case("certificates", |c| {
        c.kubectl_in("apply -f -", &format!("apiVersion: certificates.k8s.io/v1\nkind: CertificateSigningRequest\nmetadata: {{name: '{{ns}}-c'}}\nspec:\n  signerName: example.com/s\n  usages: [client auth]\n  request: {}\n", super::csr::CLIENT));
        c.kubectl("get csr {ns}-c");
        c.kubectl("certificate approve {ns}-c");
        c.kubectl("get csr {ns}-c");
        c.kubectl("certificate deny {ns}-c");
        c.kubectl("certificate approve {ns}-none");
    });
    area.case("version and cluster", |c| {
        c.kubectl("version");
        c.kubectl("cluster-info");
        c.kubectl("get --raw /readyz");
    });
}

fn custom(area: &mut Area) {
    area.case("custom resources", |c| {
        with_widgets(c);
        c.kubectl(&format!("get {WIDGETS}"));
        c.kubectl(&format!("get {WIDGETS} w -o yaml"));
        c.kubectl(&format!("patch {WIDGETS} w --type=merge -p '{{\"spec\":{{\"size\":5}}}}'"));
        c.kubectl(&format!("patch {WIDGETS} w -p '{{\"spec\":{{\"size\":5}}}}'"));
        c.kubectl(&format!("patch {WIDGETS} w --type=merge -p '{{\"spec\":{{\"size\":0}}}}'"));
        c.kubectl(&format!("scale {WIDGETS} w --replicas=7"));
        c.kubectl_in("apply -f -", &WIDGET.replace("size: 3", "size: 3, color: green"));
        c.kubectl_in("apply -f -", &WIDGET.replace("size: 3", "sizes: 3"));
        c.kubectl_in("apply --server-side -f -", &WIDGET.replace("size: 3", "size: 4"));
        c.kubectl(&format!("describe {WIDGETS} w"));
        c.kubectl(&format!("delete {WIDGETS} w"));
    });
    area.case("custom resources explained and listed", |c| {
        with_widgets(c);
        c.kubectl("explain widgets.spec --api-version={ns}.example.com/v1");
        c.kubectl("explain widgets --api-version={ns}.example.com/v1 --recursive");
        c.kubectl("api-resources --api-group={ns}.example.com");
        c.kubectl("get crd widgets.{ns}.example.com -o name");
    });
    area.case("an unknown kind", |c| {
        c.kubectl_in("apply -f -", "apiVersion: none.example.com/v1\nkind: Thing\nmetadata: {name: x}\n");
        c.kubectl("get gizmos");
        c.kubectl("get gizmos.none.example.com");
    });
}

fn mistakes(area: &mut Area) {
    area.case("validation", |c| {
        c.kubectl_in("apply -f -", &CONFIG.replace("\ndata:", "\ndota:"));
        c.kubectl_in("apply --validate=warn -f -", &CONFIG.replace("\ndata:", "\ndota:"));
        c.kubectl_in("apply -f -", &DEPLOYMENT.replace("replicas: 2", "replicas: two"));
        c.kubectl_in("apply -f -", &DEPLOYMENT.replace("replicas: 2", "replicas: -2"));
        c.kubectl_in("apply -f -", &DEPLOYMENT.replace("name: main", "name: Main"));
        c.kubectl_in("apply -f -", "a: b: c");
        c.kubectl_in("apply -f -", "kind: ConfigMap\n");
        c.kubectl_in("create -f -", &CONFIG.replace("name: a", "name: A_B"));
    });
    area.case("immutable fields", |c| {
        with_deployment(c);
        c.kubectl_in("apply -f -", &DEPLOYMENT.replace("{app: web}", "{app: other}"));
    });
    area.case("other namespaces", |c| {
        c.kubectl("get cm -n {ns}-none");
        c.kubectl("create cm x -n {ns}-none");
        c.kubectl_in("apply -f - -n other", CONFIG.replace("name: a\n", "name: a\n  namespace: {ns}\n").as_str());
    });
}
