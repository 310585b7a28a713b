package monitoring

import (
	"os/exec"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// ruleFile is what the tests need of the rules.
type ruleFile struct {
	Groups []struct {
		Name  string
		Rules []struct {
			Alert, Expr, For    string
			Labels, Annotations map[string]string
		}
	}
}

func rules(tb testing.TB) ruleFile {
	tb.Helper()
	var f ruleFile
	if err := yaml.Unmarshal([]byte(read(tb, "yacron2.rules.yml")), &f); err != nil {
		tb.Fatal(err)
	}
	return f
}

// TestPromtool lets promtool check the files and run the tests of the rules.
func TestPromtool(t *testing.T) {
	promtool := program(t, "promtool")
	for _, args := range [][]string{
		{"check", "rules", shipped("yacron2.rules.yml")},
		{"check", "config", shipped("prometheus.yml")},
		{"test", "rules", shipped("yacron2.rules.test.yml")},
	} {
		if out, err := exec.Command(promtool, args...).CombinedOutput(); err != nil {
			t.Errorf("promtool %s: %v\n%s", strings.Join(args, " "), err, out)
		}
	}
}

// Each alert has a case in which it fires and one in which it is silent, and says what it
// is about.
func TestAlertsAreTested(t *testing.T) {
	var cases struct {
		Tests []struct {
			Name           string
			AlertRuleTests []struct {
				Alert  string `yaml:"alertname"`
				Expect []any  `yaml:"exp_alerts"`
			} `yaml:"alert_rule_test"`
		}
	}
	if err := yaml.Unmarshal([]byte(read(t, "yacron2.rules.test.yml")), &cases); err != nil {
		t.Fatal(err)
	}
	fires, silent := map[string]bool{}, map[string]bool{}
	for _, test := range cases.Tests {
		for _, c := range test.AlertRuleTests {
			if len(c.Expect) > 0 {
				fires[c.Alert] = true
			} else {
				silent[c.Alert] = true
			}
		}
	}
	page := read(t, "README.md")
	alerts := 0
	for _, g := range rules(t).Groups {
		for _, r := range g.Rules {
			alerts++
			if !fires[r.Alert] || !silent[r.Alert] {
				t.Errorf("%s: a case in which it fires: %v; one in which it does not: %v", r.Alert, fires[r.Alert], silent[r.Alert])
			}
			if s := r.Labels["severity"]; s != "critical" && s != "warning" {
				t.Errorf("%s: severity %q", r.Alert, s)
			}
			if r.Annotations["summary"] == "" || r.Annotations["description"] == "" {
				t.Errorf("%s says nothing", r.Alert)
			}
			if !strings.Contains(page, "`"+r.Alert+"`") {
				t.Errorf("%s is not in the README", r.Alert)
			}
		}
	}
	if alerts == 0 {
		t.Error("there are no alerts")
	}
}
