package realstore

import (
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"github.com/yacron2/yacron2/internal/testcluster"
)

// object is one of the API, as JSON.
type object = map[string]any

const rbac = "/apis/rbac.authorization.k8s.io/v1/namespaces/"

// Namespace is one test's part of an APIServer.
type Namespace struct {
	Name   string
	Server *APIServer
}

// Rule allows verbs on Leases: those with these names, or all.
type Rule struct {
	Verbs []string
	Names []string
}

// LeaderRules returns what a node needs to take part in an election by the Lease of that
// name, and nothing more.
func LeaderRules(lease string) []Rule {
	return []Rule{{Verbs: []string{"get", "update"}, Names: []string{lease}}, {Verbs: []string{"create"}}}
}

// WatcherRules is LeaderRules with the right to watch the Lease.
func WatcherRules(lease string) []Rule {
	return []Rule{{Verbs: []string{"get", "update", "watch"}, Names: []string{lease}}, {Verbs: []string{"create"}}}
}

// Namespace makes a namespace for one test.
func (s *APIServer) Namespace(tb testing.TB) *Namespace {
	tb.Helper()
	answer := s.Admin(tb, http.MethodPost, "/api/v1/namespaces", object{
		"apiVersion": "v1", "kind": "Namespace", "metadata": object{"generateName": "test-"}})
	var made struct {
		Metadata struct{ Name string }
	}
	if err := json.Unmarshal(answer, &made); err != nil {
		tb.Fatal(err)
	}
	return &Namespace{Name: made.Metadata.Name, Server: s}
}

// Account makes a service account that may do what the rules say, waits until they are in
// force, and returns a token.
func (n *Namespace) Account(tb testing.TB, name string, rules ...Rule) (token string) {
	tb.Helper()
	accounts := "/api/v1/namespaces/" + n.Name + "/serviceaccounts"
	n.Server.Admin(tb, http.MethodPost, accounts, object{
		"apiVersion": "v1", "kind": "ServiceAccount", "metadata": object{"name": name}})
	n.bind(tb, name, object{"kind": "ServiceAccount", "name": name, "namespace": n.Name}, rules)
	token = n.Token(tb, name)
	n.awaitRules(tb, token, rules)
	return token
}

// Token returns one more token of a service account.
func (n *Namespace) Token(tb testing.TB, account string) string {
	tb.Helper()
	answer := n.Server.Admin(tb, http.MethodPost,
		"/api/v1/namespaces/"+n.Name+"/serviceaccounts/"+account+"/token", object{
			"apiVersion": "authentication.k8s.io/v1", "kind": "TokenRequest", "spec": object{}})
	var granted struct {
		Status struct{ Token string }
	}
	if err := json.Unmarshal(answer, &granted); err != nil {
		tb.Fatal(err)
	}
	return granted.Status.Token
}

// AllowUser lets a user, such as the owner of a client certificate, do what the rules say.
// It does not wait until they are in force.
func (n *Namespace) AllowUser(tb testing.TB, user string, rules ...Rule) {
	tb.Helper()
	n.bind(tb, user, object{"apiGroup": "rbac.authorization.k8s.io", "kind": "User", "name": user}, rules)
}

// bind makes a Role and gives it to a subject.
func (n *Namespace) bind(tb testing.TB, name string, subject object, rules []Rule) {
	tb.Helper()
	n.Server.Admin(tb, http.MethodPost, rbac+n.Name+"/roles", n.role(name, rules))
	n.Server.Admin(tb, http.MethodPost, rbac+n.Name+"/rolebindings", object{
		"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "RoleBinding", "metadata": object{"name": name},
		"roleRef":  object{"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": name},
		"subjects": []object{subject}})
}

// SetRules replaces what an account may do, and waits until that is in force.
func (n *Namespace) SetRules(tb testing.TB, account, token string, rules ...Rule) {
	tb.Helper()
	n.Server.Admin(tb, http.MethodPut, rbac+n.Name+"/roles/"+account, n.role(account, rules))
	n.awaitRules(tb, token, rules)
}

func (n *Namespace) role(name string, rules []Rule) object {
	list := []object{}
	for _, r := range rules {
		rule := object{"apiGroups": []string{"coordination.k8s.io"}, "resources": []string{"leases"}, "verbs": r.Verbs}
		if len(r.Names) > 0 {
			rule["resourceNames"] = r.Names
		}
		list = append(list, rule)
	}
	return object{"apiVersion": "rbac.authorization.k8s.io/v1", "kind": "Role",
		"metadata": object{"name": name}, "rules": list}
}

// awaitRules waits until the server decides by these rules: it follows changes with a
// delay.
func (n *Namespace) awaitRules(tb testing.TB, token string, rules []Rule) {
	tb.Helper()
	names := []string{"any"}
	for _, r := range rules {
		names = append(names, r.Names...)
	}
	testcluster.Eventually(tb, "the role is in force", func() error {
		for _, name := range names {
			for _, verb := range []string{"get", "update", "create"} {
				want := slices.ContainsFunc(rules, func(r Rule) bool {
					return slices.Contains(r.Verbs, verb) && (len(r.Names) == 0 || slices.Contains(r.Names, name))
				})
				if got := n.allowed(tb, token, verb, name); got != want {
					return fmt.Errorf("%s of the Lease %s: %t, want %t", verb, name, got, want)
				}
			}
		}
		return nil
	})
}

// allowed asks whether the owner of a token may do something with a Lease.
func (n *Namespace) allowed(tb testing.TB, token, verb, name string) bool {
	tb.Helper()
	code, answer := n.Server.Request(tb, token, http.MethodPost, "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews",
		object{"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": object{
			"resourceAttributes": object{"namespace": n.Name, "verb": verb, "group": "coordination.k8s.io",
				"resource": "leases", "name": name}}})
	var review struct {
		Status struct{ Allowed bool }
	}
	if code != http.StatusCreated || json.Unmarshal(answer, &review) != nil {
		tb.Fatalf("asking what a token allows: %d %s", code, answer)
	}
	return review.Status.Allowed
}

// LeasePath returns the path of a Lease of this namespace, or of all with "".
func (n *Namespace) LeasePath(name string) string {
	path := "/apis/coordination.k8s.io/v1/namespaces/" + n.Name + "/leases"
	if name != "" {
		path += "/" + name
	}
	return path
}

// Kubeconfig writes a file by which a client finds the server at a URL, such as that of a
// proxy, and shows a token.
func (n *Namespace) Kubeconfig(tb testing.TB, url, token string) (path string) {
	tb.Helper()
	data, err := json.Marshal(object{"apiVersion": "v1", "kind": "Config", "current-context": "test",
		"clusters": []object{{"name": "test", "cluster": object{"server": url, "certificate-authority": n.Server.CAFile}}},
		"users":    []object{{"name": "test", "user": object{"token": token}}},
		"contexts": []object{{"name": "test", "context": object{"cluster": "test", "user": "test", "namespace": n.Name}}},
	})
	if err != nil {
		tb.Fatal(err)
	}
	path = filepath.Join(tb.TempDir(), "kubeconfig")
	if err := os.WriteFile(path, data, 0o600); err != nil {
		tb.Fatal(err)
	}
	return path
}
