#!/usr/bin/env bash
# A Kubernetes control plane on loopback, in the foreground: control_plane.sh BIN RUN PORT [keda]
# Programs are in BIN, state goes to RUN; `kubeconfig` there is an administrator's. PORT answers /ready once all of it
# does; the nine ports behind it are taken too. Ends with whoever started it. No pod runs: there is no kubelet.
set -euo pipefail
bin=$1 run=$2 ready=$3
shift 3
api=$((ready + 1)) etcd=$((ready + 2)) peer=$((ready + 3)) manager=$((ready + 4))
adapter=$((ready + 5)) adapter_metrics=$((ready + 6)) keda_grpc=$((ready + 7)) webhooks=$((ready + 8))
want=" $* "
mkdir -p "$run/pki" "$run/log" "$run/answers"
cd "$run"

# One authority for servers and clients, one for the front proxy.
authority() { # name
	openssl req -x509 -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes -days 30 \
		-subj "/CN=$1" -keyout "pki/$1.key" -out "pki/$1.crt" 2>/dev/null
}
certificate() { # authority, name, subject, extensions
	openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:P-256 -nodes \
		-subj "$3" -keyout "pki/$2.key" -out "pki/$2.csr" 2>/dev/null
	openssl x509 -req -in "pki/$2.csr" -CA "pki/$1.crt" -CAkey "pki/$1.key" -CAcreateserial \
		-days 30 -out "pki/$2.crt" -extfile <(printf '%s\n' "$4") 2>/dev/null
}
client='extendedKeyUsage=clientAuth'
authority ca
authority front-ca
certificate ca apiserver /CN=kube-apiserver \
	'subjectAltName=DNS:localhost,DNS:kubernetes,DNS:kubernetes.default.svc,IP:127.0.0.1'
certificate ca admin /O=system:masters/CN=admin "$client"
certificate ca controller-manager /CN=system:kube-controller-manager "$client"
certificate front-ca front-proxy /CN=front-proxy "$client"
openssl genrsa -out pki/accounts.key 2048 2>/dev/null

kubeconfig() { # user, file
	cat >"$2" <<-Y
		apiVersion: v1
		kind: Config
		clusters: [{name: test, cluster: {server: "https://127.0.0.1:$api", certificate-authority: $run/pki/ca.crt}}]
		users: [{name: $1, user: {client-certificate: $run/pki/$1.crt, client-key: $run/pki/$1.key}}]
		contexts: [{name: test, context: {cluster: test, user: $1}}]
		current-context: test
	Y
}
kubeconfig admin kubeconfig
kubeconfig controller-manager controller-manager.kubeconfig
export KUBECONFIG=$run/kubeconfig

launch() { # log name, command...
	local name=$1
	shift
	"$@" >"log/$name" 2>&1 </dev/null &
}
wait_for() { # what, seconds, command...
	local what=$1 deadline=$((SECONDS + $2))
	shift 2
	until "$@" >/dev/null 2>&1; do
		if [ $SECONDS -ge $deadline ]; then
			echo "no $what; see $run/log" >&2
			exit 1
		fi
		sleep 0.2
	done
}
kubectl() { "$bin/kubectl" "$@"; }

launch etcd "$bin/etcd" --data-dir="$run/etcd" --unsafe-no-fsync --log-level=warn \
	--listen-client-urls="http://127.0.0.1:$etcd" --advertise-client-urls="http://127.0.0.1:$etcd" \
	--listen-peer-urls="http://127.0.0.1:$peer" --initial-advertise-peer-urls="http://127.0.0.1:$peer" \
	--initial-cluster="default=http://127.0.0.1:$peer"

launch kube-apiserver "$bin/kube-apiserver" \
	--etcd-servers="http://127.0.0.1:$etcd" \
	--bind-address=127.0.0.1 --secure-port="$api" --endpoint-reconciler-type=none \
	--tls-cert-file=pki/apiserver.crt --tls-private-key-file=pki/apiserver.key --client-ca-file=pki/ca.crt \
	--allow-privileged --authorization-mode=Node,RBAC --service-cluster-ip-range=10.96.0.0/16 \
	--service-account-issuer=https://kubernetes.default.svc \
	--service-account-key-file=pki/accounts.key --service-account-signing-key-file=pki/accounts.key \
	--requestheader-client-ca-file=pki/front-ca.crt --requestheader-allowed-names=front-proxy \
	--requestheader-username-headers=X-Remote-User --requestheader-group-headers=X-Remote-Group \
	--requestheader-extra-headers-prefix=X-Remote-Extra- \
	--proxy-client-cert-file=pki/front-proxy.crt --proxy-client-key-file=pki/front-proxy.key
wait_for kube-apiserver 120 kubectl get --raw /readyz

# Short periods: a test does not wait out a production cluster's.
launch kube-controller-manager "$bin/kube-controller-manager" \
	--kubeconfig=controller-manager.kubeconfig --authentication-kubeconfig=controller-manager.kubeconfig \
	--authorization-kubeconfig=controller-manager.kubeconfig \
	--bind-address=127.0.0.1 --secure-port="$manager" --leader-elect=false \
	--use-service-account-credentials --service-account-private-key-file=pki/accounts.key --root-ca-file=pki/ca.crt \
	--horizontal-pod-autoscaler-sync-period=1s --horizontal-pod-autoscaler-downscale-stabilization=5s
wait_for "default service account" 120 kubectl get serviceaccount default

if [[ $want == *" keda "* ]]; then
	# Operator, adapter and webhooks share one certificate, as the operator's own rotation would give them.
	certificate ca keda /CN=keda "subjectAltName=DNS:localhost,DNS:keda-operator.keda.svc,DNS:keda-metrics-apiserver.keda.svc,DNS:keda-admission-webhooks.keda.svc
		extendedKeyUsage=serverAuth,clientAuth"
	mkdir certs
	cp pki/ca.crt certs/ca.crt
	cp pki/keda.crt certs/tls.crt
	cp pki/keda.key certs/tls.key
	ca=$(base64 -w0 <pki/ca.crt)
	kubectl apply --server-side -k "$bin/keda-crd" >/dev/null
	kubectl wait --for=condition=Established crd --all --timeout=60s >/dev/null
	# The programs run beside the cluster: an ExternalName service leads the API server to them.
	kubectl apply -f - >/dev/null <<-Y
		apiVersion: v1
		kind: Namespace
		metadata: {name: keda}
		---
		apiVersion: v1
		kind: Service
		metadata: {name: keda-metrics-apiserver, namespace: keda}
		spec: {type: ExternalName, externalName: localhost}
		---
		apiVersion: apiregistration.k8s.io/v1
		kind: APIService
		metadata: {name: v1beta1.external.metrics.k8s.io}
		spec:
		  service: {name: keda-metrics-apiserver, namespace: keda, port: $adapter}
		  group: external.metrics.k8s.io
		  version: v1beta1
		  groupPriorityMinimum: 100
		  versionPriority: 100
		  caBundle: $ca
		---
		apiVersion: admissionregistration.k8s.io/v1
		kind: ValidatingWebhookConfiguration
		metadata: {name: keda-admission}
		webhooks:
		- name: vscaledobject.kb.io
		  admissionReviewVersions: [v1]
		  clientConfig: {url: "https://localhost:$webhooks/validate-keda-sh-v1alpha1-scaledobject", caBundle: $ca}
		  failurePolicy: Fail
		  matchPolicy: Equivalent
		  sideEffects: None
		  rules:
		  - {apiGroups: [keda.sh], apiVersions: [v1alpha1], operations: [CREATE, UPDATE], resources: [scaledobjects]}
	Y
	export POD_NAMESPACE=keda KEDA_CLUSTER_OBJECT_NAMESPACE=keda WATCH_NAMESPACE=
	launch keda-operator "$bin/keda-operator" --cert-dir="$run/certs" --zap-encoder=console \
		--enable-prometheus-metrics=false --health-probe-bind-address=0 \
		--metrics-service-bind-address="127.0.0.1:$keda_grpc"
	launch keda-webhooks "$bin/keda-webhooks" --cert-dir="$run/certs" --zap-encoder=console \
		--metrics-bind-address=0 --health-probe-bind-address=0 --port="$webhooks" --cache-miss-to-direct-client
	launch keda-adapter "$bin/keda-adapter" --zap-encoder=console \
		--lister-kubeconfig="$KUBECONFIG" --authentication-kubeconfig="$KUBECONFIG" --authorization-kubeconfig="$KUBECONFIG" \
		--bind-address=127.0.0.1 --secure-port="$adapter" --port="$adapter_metrics" \
		--cert-dir="$run/certs" --tls-cert-file=certs/tls.crt --tls-private-key-file=certs/tls.key --client-ca-file=certs/ca.crt \
		--metrics-service-address="localhost:$keda_grpc"
	wait_for "external metrics API" 180 kubectl wait apiservice/v1beta1.external.metrics.k8s.io --for=condition=Available --timeout=1s
fi
touch answers/ready
exec python3 -m http.server --bind 127.0.0.1 --directory answers "$ready"
