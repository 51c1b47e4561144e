#!/bin/sh
# Checks by kubeconform -strict what hone cluster render writes, and what hone itself asks a cluster's API for, against the
# schemas of Kubernetes 1.37 and of agent-sandbox 0.5.6. $1 is a folder to work in, $2 a Python whose packages hold the
# schemas of Kubernetes.
# Needs: internal/env/testdata/schemas/requirements.txt
set -eu
cd "$(dirname "$0")/.."
mkdir -p "$1"
work=$(cd "$1" && pwd)
GOBIN=$work go install github.com/yannh/kubeconform/cmd/kubeconform@v0.8.0
kubernetes=$("$2" -c 'import importlib.util as u; print(u.find_spec("kubernetes_validate").submodule_search_locations[0])')
mkdir -p "$work/kubernetes"
for schema in _definitions configmap-v1 serviceaccount-v1 service-v1 pod-v1 deployment-apps-v1 role-rbac-v1 \
	rolebinding-rbac-v1 networkpolicy-networking-v1; do # the package has them at a URL of its own, which is no file
	sed 's|^  "$id": .*|  "$comment": ""|; s|"/api/_definitions.json#|"_definitions.json#|' \
		"$kubernetes/kubernetes-json-schema/v1.37.0-local-strict/$schema.json" >"$work/kubernetes/$schema.json"
done
check() {
	"$work/kubeconform" -strict -summary -schema-location "$work/kubernetes/{{.ResourceKind}}{{.KindSuffix}}.json" \
		-schema-location 'internal/env/testdata/schemas/{{.ResourceKind}}_{{.ResourceAPIVersion}}.json' "$1"
}
for file in internal/env/testdata/manifests/*.yaml internal/mcp/sandbox/testdata/*.json; do
	echo "$file"
	check "$file"
done
# misspelt FILE KEY: a key that does not exist has to be found.
misspelt() {
	sed "s/\b$2\b/${2}X/" "$1" >"$work/misspelt.${1##*.}"
	if check "$work/misspelt.${1##*.}" >"$work/said"; then
		echo "$1 with ${2}X in place of $2 passes" >&2
		exit 1
	fi
	grep -q "${2}X" "$work/said" || { cat "$work/said" >&2; exit 1; }
}
misspelt internal/env/testdata/manifests/claims.yaml networkPolicyManagement
misspelt internal/env/testdata/manifests/claims.yaml sandboxTemplateRef
misspelt internal/env/testdata/manifests/claims.yaml runtimeClassName
misspelt internal/env/testdata/manifests/pods.yaml terminationGracePeriodSeconds
misspelt internal/env/testdata/manifests/pods.yaml podSelector
misspelt internal/mcp/sandbox/testdata/claim.json warmPoolRef
misspelt internal/mcp/sandbox/testdata/pod.json activeDeadlineSeconds
