package deploy

import (
	"bytes"
	"errors"
	"io"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// object is a document of a manifest. Its fields are looked up by their paths.
type object map[string]any

// at returns what stands at a path of keys, nil if there is nothing. Of a list the first
// element counts.
func (o object) at(path ...string) any {
	var v any = map[string]any(o)
	for _, key := range path {
		if list, ok := v.([]any); ok && len(list) > 0 {
			v = list[0]
		}
		m, ok := v.(map[string]any)
		if !ok {
			return nil
		}
		v = m[key]
	}
	return v
}

func readManifest(t *testing.T, name string) map[string]object {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(root, "example", "kubernetes", name))
	if err != nil {
		t.Fatal(err)
	}
	objects := map[string]object{}
	dec, err := yaml.NewLoader(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	for {
		o := map[string]any{}
		if err := dec.Load(&o); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		kind, _ := o["kind"].(string)
		if objects[kind] != nil {
			t.Fatalf("%s has two of kind %s", name, kind)
		}
		objects[kind] = o
	}
	return objects
}

// The account may get and update the one Lease, create Leases, and nothing more.
func TestRBAC(t *testing.T) {
	m := readManifest(t, "deployment.yaml")
	want := []any{
		map[string]any{
			"apiGroups": []any{"coordination.k8s.io"}, "resources": []any{"leases"},
			"resourceNames": []any{"yacron2-leader"}, "verbs": []any{"get", "update"},
		},
		map[string]any{
			"apiGroups": []any{"coordination.k8s.io"}, "resources": []any{"leases"}, "verbs": []any{"create"},
		},
	}
	if got := m["Role"]["rules"]; !reflect.DeepEqual(got, want) {
		t.Errorf("rules: %v", got)
	}
	account := m["ServiceAccount"].at("metadata", "name")
	for what, got := range map[string]any{
		"the binding's role":    m["RoleBinding"].at("roleRef", "name"),
		"the binding's subject": m["RoleBinding"].at("subjects", "name"),
		"the pods' account":     m["Deployment"].at("spec", "template", "spec", "serviceAccountName"),
		"the role's name":       m["Role"].at("metadata", "name"),
	} {
		if account == nil || got != account {
			t.Errorf("%s is %v, the account %v", what, got, account)
		}
	}
	if kind := m["RoleBinding"].at("roleRef", "kind"); kind != "Role" {
		t.Errorf("the binding's role is a %v", kind)
	}
	cluster, err := os.ReadFile(filepath.Join(root, "example", "kubernetes", "cluster.yaml"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(cluster), "leaseName: yacron2-leader\n") {
		t.Error("the configuration has another Lease than the role")
	}
	checkPods(t, m["Deployment"])
	if n := m["Deployment"].at("spec", "replicas"); n != 3 {
		t.Errorf("%v replicas", n)
	}
}

// checkPods looks at what both manifests have in common.
func checkPods(t *testing.T, workload object) {
	t.Helper()
	pod := []string{"spec", "template", "spec"}
	at := func(path ...string) any { return workload.at(append(pod, path...)...) }
	for what, got := range map[string][2]any{
		"not root":              {at("securityContext", "runAsNonRoot"), true},
		"no more privileges":    {at("containers", "securityContext", "allowPrivilegeEscalation"), false},
		"a read-only root":      {at("containers", "securityContext", "readOnlyRootFilesystem"), true},
		"no capabilities":       {at("containers", "securityContext", "capabilities", "drop"), []any{"ALL"}},
		"readiness":             {at("containers", "readinessProbe", "httpGet", "path"), "/ready"},
		"liveness":              {at("containers", "livenessProbe", "httpGet", "path"), "/health"},
		"time for running jobs": {at("terminationGracePeriodSeconds"), 600},
		"the selector": {
			workload.at("spec", "selector", "matchLabels"), workload.at("spec", "template", "metadata", "labels"),
		},
	} {
		if !reflect.DeepEqual(got[0], got[1]) {
			t.Errorf("%s: %v, want %v", what, got[0], got[1])
		}
	}
	// Every mount has its volume.
	volumes := map[any]bool{}
	for _, list := range []any{at("volumes"), workload.at("spec", "volumeClaimTemplates")} {
		all, _ := list.([]any)
		for _, v := range all {
			o, _ := v.(map[string]any)
			name := o["name"]
			if name == nil {
				name = object(o).at("metadata", "name")
			}
			volumes[name] = true
		}
	}
	mounts, _ := at("containers", "volumeMounts").([]any)
	if len(mounts) == 0 {
		t.Error("no mounts")
	}
	for _, v := range mounts {
		if m, _ := v.(map[string]any); !volumes[m["name"]] {
			t.Errorf("a mount without a volume: %v", m)
		}
	}
}

// The pods of the StatefulSet find each other under the names that their certificates and
// peers have.
func TestStatefulSet(t *testing.T) {
	m := readManifest(t, "statefulset.yaml")
	set := m["StatefulSet"]
	checkPods(t, set)
	name, service := set.at("metadata", "name"), set.at("spec", "serviceName")
	if name != "yacron2" || service != m["Service"].at("metadata", "name") || set.at("spec", "replicas") != 3 {
		t.Errorf("set %v of service %v", name, service)
	}
	if m["Service"].at("spec", "clusterIP") != "None" || m["Service"].at("spec", "publishNotReadyAddresses") != true {
		t.Error("the service has no names for each pod from the start")
	}
	if set.at("spec", "template", "spec", "automountServiceAccountToken") != false {
		t.Error("pods that gossip get an account")
	}
	env := map[any]any{}
	list, _ := set.at("spec", "template", "spec", "containers", "env").([]any)
	for _, e := range list {
		o, _ := e.(map[string]any)
		env[o["name"]] = o["value"]
	}
	if env["NODES"] != "yacron2-0 yacron2-1 yacron2-2" || env["DOMAIN"] != ".yacron2" {
		t.Errorf("environment %v", env)
	}
	readme, err := os.ReadFile(filepath.Join(root, "example", "kubernetes", "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(string(readme), "-dns $pod.yacron2\n") {
		t.Error("the certificates of the README have other names")
	}
}
