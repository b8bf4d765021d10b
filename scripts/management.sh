# Shared by the scripts here: a real Kubernetes on this machine, as the cluster that Butler's objects are kept in.
# Needs lib.sh, and $work, a folder to work in.

management_version=v1.34.4
management_etcd="$BUTLER_CACHE/etcd/v3.6.16/etcd"
management_processes=()

# management_missing: what cannot be had of it, in words; nothing when all is there.
management_missing() {
  local file
  for file in "$management_etcd" "$BUTLER_CACHE"/kubernetes/$management_version/{kubeadm,kube-{apiserver,controller-manager,scheduler}}; do
    [ -x "$file" ] || { echo "there is no $file; make kubernetes builds it"; return; }
  done
}

free_port() { python3 -c 'import socket; s = socket.socket(); s.bind(("127.0.0.1", 0)); print(s.getsockname()[1])'; }

# background NAME PROGRAM ARGUMENT...: runs until stop_management; what it says is in $work/management/NAME.log.
background() {
  local name=$1
  shift
  "$@" > "$work/management/$name.log" 2>&1 &
  management_processes+=($!)
}

# start_management: sets KUBECONFIG to an administrator's.
start_management() {
  local bin=$BUTLER_CACHE/kubernetes/$management_version home=$work/management client peer port
  mkdir -p "$home"
  client=$(free_port) peer=$(free_port) port=$(free_port)
  cat > "$home/kubeadm.yaml" <<CONFIGURATION
apiVersion: kubeadm.k8s.io/v1beta4
kind: InitConfiguration
localAPIEndpoint: {advertiseAddress: 198.18.0.1, bindPort: $port}
---
apiVersion: kubeadm.k8s.io/v1beta4
kind: ClusterConfiguration
kubernetesVersion: $management_version
certificatesDir: $home/pki
controlPlaneEndpoint: 127.0.0.1:$port
apiServer: {certSANs: [127.0.0.1]}
networking: {serviceSubnet: 127.200.0.0/18}
CONFIGURATION
  local part
  for part in ca apiserver apiserver-kubelet-client front-proxy-ca front-proxy-client sa; do
    "$bin/kubeadm" init phase certs "$part" --config "$home/kubeadm.yaml" > "$home/kubeadm.log" 2>&1 || die "kubeadm: $(tail -1 "$home/kubeadm.log")"
  done
  for part in admin super-admin controller-manager scheduler; do
    "$bin/kubeadm" init phase kubeconfig "$part" --config "$home/kubeadm.yaml" --kubeconfig-dir "$home" > "$home/kubeadm.log" 2>&1 ||
      die "kubeadm: $(tail -1 "$home/kubeadm.log")"
  done
  # Programs on the same machine are sent to its own address, which is only a name here.
  sed -i "s|https://198.18.0.1:|https://127.0.0.1:|" "$home"/*.conf
  background etcd "$management_etcd" --data-dir "$home/etcd" --listen-client-urls "http://127.0.0.1:$client" \
    --advertise-client-urls "http://127.0.0.1:$client" --listen-peer-urls "http://127.0.0.1:$peer" \
    --initial-advertise-peer-urls "http://127.0.0.1:$peer" --initial-cluster "default=http://127.0.0.1:$peer"
  background kube-apiserver "$bin/kube-apiserver" --etcd-servers "http://127.0.0.1:$client" --secure-port "$port" --bind-address 127.0.0.1 \
    --advertise-address 198.18.0.1 --endpoint-reconciler-type none --authorization-mode Node,RBAC --allow-privileged \
    --client-ca-file "$home/pki/ca.crt" --tls-cert-file "$home/pki/apiserver.crt" --tls-private-key-file "$home/pki/apiserver.key" \
    --requestheader-client-ca-file "$home/pki/front-proxy-ca.crt" --enable-bootstrap-token-auth \
    --service-account-issuer https://kubernetes.default.svc --service-account-key-file "$home/pki/sa.pub" \
    --service-account-signing-key-file "$home/pki/sa.key" --service-cluster-ip-range 127.200.0.0/18
  export KUBECONFIG=$home/super-admin.conf
  local deadline=$((SECONDS + 90))
  until "$BUTLER_CACHE/tools/kubectl-1.36" get --raw /readyz >/dev/null 2>&1; do
    [ $SECONDS -lt $deadline ] || die "kube-apiserver is not ready: $(tail -1 "$home/kube-apiserver.log")"
    sleep 0.2
  done
  background kube-controller-manager "$bin/kube-controller-manager" --kubeconfig "$home/controller-manager.conf" --bind-address 127.0.0.1 --secure-port 0 \
    --authentication-kubeconfig "$home/controller-manager.conf" --authorization-kubeconfig "$home/controller-manager.conf" \
    --use-service-account-credentials --service-account-private-key-file "$home/pki/sa.key" --root-ca-file "$home/pki/ca.crt" \
    --cluster-signing-cert-file "$home/pki/ca.crt" --cluster-signing-key-file "$home/pki/ca.key" --controllers '*,bootstrapsigner,tokencleaner'
  background kube-scheduler "$bin/kube-scheduler" --kubeconfig "$home/scheduler.conf" --bind-address 127.0.0.1 --secure-port 0 \
    --authentication-kubeconfig "$home/scheduler.conf" --authorization-kubeconfig "$home/scheduler.conf"
}

# start_cluster_api FOLDER: the real Cluster API in the management cluster, with its webhooks, out of what scripts/cluster-api built.
start_cluster_api() {
  local folder=$1 home=$work/management kubectl=$BUTLER_CACHE/tools/kubectl-1.36 program port
  mkdir -p "$home/webhook"
  cp "$home/pki/apiserver.crt" "$home/webhook/tls.crt"
  cp "$home/pki/apiserver.key" "$home/webhook/tls.key"
  "$kubectl" create namespace capi-system >/dev/null
  for program in core kubeadm-bootstrap; do
    port=$(free_port)
    # Objects are made for programs in pods, behind a Service; these are asked where they are.
    "$kubectl" create --dry-run=client --validate=false -o json -f "$folder/objects/$program" |
      python3 "$(dirname "${BASH_SOURCE[0]}")/cluster-api-objects.py" "$program" "https://127.0.0.1:$port" "$home/pki/ca.crt" > "$home/$program.json"
    "$kubectl" apply --server-side -f "$home/$program.json" >/dev/null
    POD_NAMESPACE=capi-system POD_NAME=$program POD_UID=$program background "$program" "$folder/$program" --kubeconfig "$KUBECONFIG" \
      --webhook-port "$port" --webhook-cert-dir "$home/webhook" --health-addr "127.0.0.1:$(free_port)" \
      --diagnostics-address "127.0.0.1:$(free_port)" --insecure-diagnostics
    local deadline=$((SECONDS + 60))
    until (exec 3<>"/dev/tcp/127.0.0.1/$port") 2>/dev/null; do
      [ $SECONDS -lt $deadline ] || die "Cluster API's $program does not answer: $(tail -1 "$home/$program.log")"
      sleep 0.2
    done
  done
}

stop_management() {
  local process
  for process in "${management_processes[@]}"; do kill "$process" 2>/dev/null || true; done
  for process in "${management_processes[@]}"; do wait "$process" 2>/dev/null || true; done
  management_processes=()
}
